use alloc::string::{String, ToString};
use alloc::vec::Vec;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::body::dice::Dice;

/// Reads everything; the strings, names and numbers in order.
fn read(body: &[u8]) -> Result<Vec<String>, JsonError> {
    let mut reader = Reader::new(body)?;
    let mut texts = Vec::new();
    loop {
        match reader.read()? {
            Event::End => return Ok(texts),
            Event::Name(text) | Event::String(text) => texts.push(text.chars().collect()),
            Event::Number(source) => texts.push(source.into()),
            _ => {}
        }
    }
}

#[track_caller]
fn reads(body: &str, texts: &[&str]) {
    assert_eq!(read(body.as_bytes()).unwrap(), texts);
}

#[track_caller]
fn refuses(body: impl AsRef<[u8]>, message: &str) {
    assert_eq!(read(body.as_ref()).unwrap_err().to_string(), message);
}

#[test]
fn every_value_is_read() {
    reads(" \t\r\nnull \n", &[]);
    reads("true", &[]);
    reads("false", &[]);
    reads("[]", &[]);
    reads("{ }", &[]);
    reads(r#""""#, &[""]);
    reads(
        r#" { "a" : [ 1 , { } , "b" ] , "c" : { "d" : null } , "a" : false } "#,
        &["a", "1", "b", "c", "d", "a"],
    );
}

#[test]
fn numbers_keep_their_source() {
    for number in [
        "0",
        "-0",
        "10",
        "-1.50",
        "0.0",
        "1e5",
        "1E+05",
        "0e-7",
        "12345678901234567890",
    ] {
        reads(number, &[number]);
    }
}

#[test]
fn escapes_are_understood() {
    reads(
        r#""\"\\\/\b\f\n\r\t\u0041\u00e9\uD83d\uDe00é😀\u007f""#,
        &["\"\\/\u{8}\u{c}\n\r\tAé😀é😀\u{7f}"],
    );
    reads(
        r#""\u0000\uffff\ud7ff\ue000""#,
        &["\0\u{ffff}\u{d7ff}\u{e000}"],
    );
    reads(r#""\\u0041""#, &["\\u0041"]);
}

#[test]
fn positions_are_those_of_the_events() {
    let mut reader = Reader::new(br#" {"a" : [1, "b"]} "#).unwrap();
    let mut positions = Vec::new();
    while !matches!(reader.read().unwrap(), Event::End) {
        positions.push(reader.position());
    }
    assert_eq!(positions, [2, 3, 9, 10, 13, 16, 17]);
}

#[test]
fn a_value_can_be_skipped() {
    let mut reader = Reader::new(br#"[[1,{"a":[]}],2]"#).unwrap();
    reader.read().unwrap();
    let first = reader.read().unwrap();
    reader.skip(first).unwrap();
    assert!(matches!(reader.read(), Ok(Event::Number("2"))));
}

#[test]
fn what_is_not_json_is_refused_with_its_position() {
    refuses("", "the body ends where a value is expected (byte 1)");
    refuses("  ", "the body ends where a value is expected (byte 3)");
    refuses("\u{feff}1", "JSON has no byte order mark (byte 1)");
    refuses(b"[\"\xff\"]", "the body is not valid UTF-8 (byte 3)");
    refuses(b"\"\xed\xa0\x80\"", "the body is not valid UTF-8 (byte 2)");
    refuses("1 2", "only white space may follow the JSON value (byte 3)");
    refuses("{}}", "only white space may follow the JSON value (byte 3)");
    refuses("1\0", "only white space may follow the JSON value (byte 2)");
    refuses("nul", "expected a value (byte 1)");
    refuses("NaN", "expected a value (byte 1)");
    refuses("\u{a0}1", "expected a value (byte 1)");
    refuses("[1,]", "expected a value (byte 4)");
    refuses("[1 2]", "expected ',' or ']' (byte 4)");
    refuses("[1", "the body ends where ',' or ']' is expected (byte 3)");
    refuses("[1}", "expected ',' or ']' (byte 3)");
    refuses("[nullx]", "expected ',' or ']' (byte 6)");
    refuses("{\"a\":1]", "expected ',' or '}' (byte 7)");
    refuses(
        "{\"a\":1,}",
        "expected a member name in double quotes (byte 8)",
    );
    refuses("{a:1}", "expected a member name in double quotes (byte 2)");
    refuses(
        "{'a':1}",
        "expected a member name in double quotes (byte 2)",
    );
    refuses("{\"a\" 1}", "expected ':' (byte 6)");
    refuses("{\"a\":}", "expected a value (byte 6)");
    refuses(
        "[1]//",
        "only white space may follow the JSON value (byte 4)",
    );
}

#[test]
fn numbers_outside_of_the_grammar_are_refused() {
    refuses("-", "the body ends where a digit is expected (byte 2)");
    refuses("[-a]", "expected a digit (byte 3)");
    refuses("[1.]", "expected a digit (byte 4)");
    refuses("[1.e5]", "expected a digit (byte 4)");
    refuses("[1e]", "expected a digit (byte 4)");
    refuses("[1e+]", "expected a digit (byte 5)");
    refuses("[01]", "expected ',' or ']' (byte 3)");
    refuses("[-01]", "expected ',' or ']' (byte 4)");
    refuses("[+1]", "expected a value (byte 2)");
    refuses("[.5]", "expected a value (byte 2)");
    refuses("[0x1]", "expected ',' or ']' (byte 3)");
}

#[test]
fn strings_outside_of_the_grammar_are_refused() {
    let escape = r#"a backslash begins \", \\, \/, \b, \f, \n, \r, \t or \uXXXX (byte 3)"#;
    for body in [
        r#""a\x""#,
        r#""a\u12""#,
        r#""a\u12G4""#,
        r#""a\u+123""#,
        "\"a\\",
        "\"a\\u12",
    ] {
        refuses(body, escape);
    }
    for body in ["\"a\tb\"", "\"a\0\"", "\"a\u{1f}\""] {
        refuses(
            body,
            "control characters in a string must be escaped (byte 3)",
        );
    }
    refuses(
        "\"a",
        "the body ends where a closing quote is expected (byte 3)",
    );
    for body in [
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""\ud800\ud800\udc00""#,
        r#""\udbff\u0041""#,
        r#""\ud800\n""#,
    ] {
        refuses(body, "half of a surrogate pair is missing (byte 2)");
    }
}

#[test]
fn nesting_ends_at_64_levels() {
    let nested =
        |open: &str, close: &str, levels| open.repeat(levels) + "0" + &close.repeat(levels);
    for (open, close, second) in [("[", "]", 65), ("{\"\":", "}", 257)] {
        assert!(read(nested(open, close, 64).as_bytes()).is_ok());
        refuses(
            nested(open, close, 65),
            &alloc::format!("nested more than 64 levels deep (byte {second})"),
        );
    }
}

#[test]
fn large_bodies_are_read_once() {
    let texts = |body: String| read(body.as_bytes()).map(|texts| texts.len());
    assert!(texts("[".repeat(1_000_000)).is_err());
    assert_eq!(texts("9".repeat(1_000_000)), Ok(1));
    assert_eq!(texts(" ".repeat(1_000_000) + "0"), Ok(1));
    assert_eq!(
        texts(String::from("\"") + &"\\u0041".repeat(170_000) + "\""),
        Ok(1)
    );
    assert_eq!(
        texts(String::from("[0") + &",0".repeat(500_000) + "]"),
        Ok(500_001)
    );
    let deep = "[".repeat(63) + "{\"a\":0" + &",\"a\":0".repeat(150_000) + "}" + &"]".repeat(63);
    assert_eq!(texts(deep), Ok(300_002));
}

/// `serde_json` reads the same texts, up to the limits that are ours or its own.
#[test]
fn another_reader_agrees() {
    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"b\":",
        "0",
        "1",
        "-",
        ".",
        "e",
        "+",
        "\\",
        "\\u",
        "\\ud83d\\ude00",
        "\\udc00",
        "00e9",
        "true",
        "null",
        "fals",
        " ",
        "\n",
        "é",
        "\u{7f}",
        "\u{1}",
    ];
    let mut agreed = [0, 0];
    for seed in 0..30_000 {
        let mut dice = Dice::new(seed);
        let length = 1 + dice.below(6);
        let body: String = (0..length).map(|_| dice.pick(PIECES)).collect();
        let other = serde_json::from_str::<serde_json::Value>(&body);
        if other
            .as_ref()
            .is_err_and(|error| error.to_string().contains("out of range"))
        {
            continue;
        }
        assert_eq!(read(body.as_bytes()).is_ok(), other.is_ok(), "{body}");
        agreed[usize::from(other.is_ok())] += 1;
    }
    assert!(agreed.into_iter().all(|times| times > 1_000), "{agreed:?}");
}
