use alloc::string::{String, ToString};

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

fn only_key(body: &str) -> Result<String, String> {
    only_key_value(body.as_bytes(), &Pointer::parse("/a/id").unwrap())
        .map(|key| key.as_str().into())
        .map_err(|error| error.to_string())
}

fn key(body: &str, pointer: &str) -> Result<String, String> {
    key_value(body.as_bytes(), &Pointer::parse(pointer).unwrap())
        .map(|key| key.as_str().into())
        .map_err(|error| error.to_string())
}

#[track_caller]
fn takes(body: &str, pointer: &str, text: &str) {
    assert_eq!(key(body, pointer).as_deref(), Ok(text));
}

#[track_caller]
fn refuses(body: &str, pointer: &str, message: &str) {
    assert_eq!(key(body, pointer).unwrap_err(), message);
}

#[test]
fn k2_the_examples_of_rfc_6901_find_their_values() {
    const BODY: &str = r#"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3,
        "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}"#;
    for (pointer, text) in [
        ("/foo/0", "bar"),
        ("/foo/1", "baz"),
        ("/", "0"),
        ("/a~1b", "1"),
        ("/c%d", "2"),
        ("/e^f", "3"),
        ("/g|h", "4"),
        ("/i\\j", "5"),
        ("/k\"l", "6"),
        ("/ ", "7"),
        ("/m~0n", "8"),
    ] {
        takes(BODY, pointer, text);
    }
    takes(r#"{"~1": "x"}"#, "/~01", "x");
    takes("\"whole\"", "", "whole");
}

#[test]
fn a_text_that_is_no_pointer_is_refused_with_its_position() {
    let refuses = |text: &str, message: &str| {
        assert_eq!(Pointer::parse(text).unwrap_err().to_string(), message);
    };
    refuses("a/b", "a JSON pointer begins with '/', such as /order/id");
    refuses("#/a", "a JSON pointer begins with '/', such as /order/id");
    refuses("/a~", "write '~0' for '~' and '~1' for '/' (byte 3)");
    refuses("/a/b~2c", "write '~0' for '~' and '~1' for '/' (byte 5)");
    refuses("/é~é~", "write '~0' for '~' and '~1' for '/' (byte 4)");
}

#[test]
fn k2_a_number_is_its_source_text() {
    takes(r#"{"id":9007199254740993}"#, "/id", "9007199254740993");
    takes(r#"{"id":1e2}"#, "/id", "1e2");
    takes(r#"{"id":100}"#, "/id", "100");
    takes(r#"{"id":1.0}"#, "/id", "1.0");
    takes(r#"{"id":-0}"#, "/id", "-0");
    takes(r#"{"id":"100"}"#, "/id", "100");
}

#[test]
fn k2_a_string_is_its_unescaped_text() {
    takes(r#"{"\u0069d":"a\u00e9\ud83d\ude00\n\/"}"#, "/id", "aé😀\n/");
}

#[test]
fn k2_everything_else_is_no_key() {
    const WANTED: &str = "a key is a non-empty string or a number";
    let body = r#"{"a":{"n":null,"t":true,"e":"","o":{},"l":[1]}}"#;
    let place = |pointer: &str, is: &str| {
        refuses(
            body,
            pointer,
            &alloc::format!("'{pointer}' is {is}; {WANTED}"),
        );
    };
    place("/a/n", "null");
    place("/a/t", "true or false");
    place("/a/e", "empty");
    place("/a/o", "an object");
    place("/a/l", "an array");
    place("", "an object");
    for pointer in [
        "/b", "/a/x", "/a/n/x", "/a/e/0", "/a/l/1", "/a/l/-", "/a/l/00", "/a/l/n", "/a/o/0",
        "/a/l/+0",
    ] {
        refuses(
            body,
            pointer,
            &alloc::format!("'{pointer}' is missing; the key is taken from it"),
        );
    }
}

#[test]
fn k2_a_duplicated_name_on_the_path_is_no_key() {
    let duplicate = |body: &str, position: usize| {
        refuses(
            body,
            "/a/id",
            &alloc::format!(
                "'/a/id' is ambiguous: a member name on its path occurs twice (byte {position})"
            ),
        );
    };
    duplicate(r#"{"a":{"id":1,"id":1}}"#, 14);
    duplicate(r#"{"a":{"id":1},"a":{}}"#, 15);
    duplicate(r#"{"a":0,"\u0061":{"id":1}}"#, 8);
    duplicate(r#"{"a":{"id":1,"x":[{}],"i\u0064":2}}"#, 23);
    takes(
        r#"{"a":{"id":1,"b":2,"b":{"id":3}},"id":4,"b":{"a":5}}"#,
        "/a/id",
        "1",
    );
}

#[test]
fn k2_the_whole_body_must_be_json() {
    refuses(
        r#"{"id":1,}"#,
        "/id",
        "'/id' cannot be read: expected a member name in double quotes (byte 9)",
    );
    refuses(
        r#"{"id":1} x"#,
        "/id",
        "'/id' cannot be read: only white space may follow the JSON value (byte 10)",
    );
}

#[test]
fn large_bodies_are_searched_once() {
    let step = "/a".repeat(63);
    let deep = |inner: &str| "{\"a\":".repeat(63) + inner + &"}".repeat(63);
    takes(&deep(&"7".repeat(1_000_000)), &step, &"7".repeat(1_000_000));
    let wide = String::from("{") + &"\"a\\u0061\":0,".repeat(80_000) + "\"a\":1}";
    takes(&deep(&wide), &(step + "/a"), "1");
    let list = String::from("[") + &"[0],".repeat(250_000) + "5]";
    takes(&list, "/250000", "5");
}

#[test]
fn k2_a_name_that_some_server_reads_as_the_keys_own_is_no_other_one() {
    let refuses = |body: &str, at: usize| {
        let message = alloc::format!(
            "'/a/id' is ambiguous: another spelling of its name is read as the same by some servers (byte {at})"
        );
        assert_eq!(only_key(body), Err(message), "{body}");
    };
    refuses(r#"{"a":{"id":1,"ID":2}}"#, 14);
    refuses(r#"{"a":{"Id":2,"id":1}}"#, 7);
    refuses(r#"{"a":{"id":1},"A":{"id":2}}"#, 15);
    refuses(r#"{"a":{"id":1,"\u0131d":2}}"#, 14);
    refuses(r#"{"a":{"id":1,"id\u0000x":2}}"#, 14);
    refuses(r#"{"a":{"iD":2}}"#, 7);
    let elsewhere = r#"{"a":{"id":1,"ids":2,"x":{"ID":3}},"ID":4}"#;
    assert_eq!(only_key(elsewhere).as_deref(), Ok("1"));
}

#[test]
fn k2_a_number_that_can_be_spelled_in_two_ways_is_no_key_of_a_request() {
    let number = |number: &str| only_key(&alloc::format!(r#"{{"a":{{"id":{number}}}}}"#));
    for whole in ["0", "100", "-7", "900719925474099312345"] {
        assert_eq!(number(whole).as_deref(), Ok(whole));
    }
    for other in ["100.0", "1e2", "1E+2", "-0", "0.5"] {
        let error = number(other).unwrap_err();
        assert!(
            error.contains("write it as a whole number"),
            "{other}: {error}"
        );
    }
}
