use alloc::string::ToString;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

#[track_caller]
fn accepts(value: &str, key: &str) {
    assert_eq!(Key::parse(value).unwrap().as_str(), key);
}

#[track_caller]
fn refuses(value: &str, message: &str) {
    assert_eq!(Key::parse(value).unwrap_err().to_string(), message);
}

#[test]
fn k1_both_spellings_are_one_key() {
    accepts("order-42", "order-42");
    accepts("\"order-42\"", "order-42");
    accepts(" \t\"order-42\" \t", "order-42");
    accepts("a-_.~:/+=@!$&'()*#Z9", "a-_.~:/+=@!$&'()*#Z9");
    accepts(r#""say \"hi\" \\ bye""#, r#"say "hi" \ bye"#);
}

#[test]
fn k1_parameters_after_a_quoted_key_are_ignored() {
    accepts("\"k\";a=1", "k");
    accepts("\"k\"; a; b=\"x; \\\"y\"; c=:AAA=:", "k");
    refuses(
        "\"k\";",
        "a malformed parameter follows the key (character 5)",
    );
    refuses(
        "\"k\";A=1",
        "a malformed parameter follows the key (character 5)",
    );
    refuses(
        "\"k\";a=\"x",
        "a malformed parameter follows the key (character 5)",
    );
}

#[test]
fn k1_everything_else_is_refused_with_its_position() {
    refuses("", "the key is empty");
    refuses("  ", "the key is empty");
    refuses("\"\"", "the key is empty");
    refuses(
        "a, b",
        "a comma is not allowed: one request carries one key (character 2)",
    );
    refuses(
        "\"a\", \"b\"",
        "a comma is not allowed: one request carries one key (character 4)",
    );
    refuses(
        "\"a,b\"",
        "a comma is not allowed: one request carries one key (character 3)",
    );
    refuses(
        "\"a\";x=1, \"b\"",
        "a comma is not allowed: one request carries one key (character 8)",
    );
    refuses(
        "k;a=1",
        "a bare key has no parameters; put the key in double quotes (character 2)",
    );
    refuses(
        "a b",
        "' ' is not allowed in a bare key; put the key in double quotes (character 2)",
    );
    refuses(
        "  a\u{1}",
        "control characters are not allowed (character 4)",
    );
    refuses(
        "a\u{7f}",
        "control characters are not allowed (character 2)",
    );
    refuses("\"é\"", "only ASCII characters are allowed (character 2)");
    refuses("\"a", "the closing quote is missing (character 3)");
    refuses(
        "\"a\\n\"",
        "a backslash may only precede a quote or a backslash (character 3)",
    );
    refuses(
        "\"a\"b",
        "only parameters may follow the closing quote (character 4)",
    );
}

#[test]
fn k1_the_longest_key_has_255_characters() {
    let longest = "x".repeat(255);
    accepts(&longest, &longest);
    accepts(&alloc::format!("\"{longest}\""), &longest);
    refuses(
        &"x".repeat(256),
        "the key is longer than 255 characters (character 256)",
    );
    refuses(
        &alloc::format!("\"{}\"", "x".repeat(256)),
        "the key is longer than 255 characters (character 257)",
    );
}

#[test]
fn k1_a_value_is_a_key_if_it_can_be_spelled_as_one() {
    for value in ["42", "a b;\"c\\", " x "] {
        let key = Key::from_value(value).unwrap();
        assert_eq!(key.as_str(), value);
        assert_eq!(Key::parse(&key.to_header()), Ok(key));
    }
    for value in ["", "a,b", "订单", "a\n", &"x".repeat(256)] {
        assert!(Key::from_value(value).is_err(), "{value}");
    }
}

#[test]
fn k1_the_origin_sees_one_spelling() {
    for (value, header) in [("\"k\"", "k"), ("k", "k"), (r#""a \"b""#, r#""a \"b""#)] {
        let key = Key::parse(value).unwrap();
        assert_eq!(key.to_header(), header);
        assert_eq!(Key::parse(&key.to_header()), Ok(key));
    }
}

#[test]
fn k1_a_comma_in_a_parameter_may_join_two_lines() {
    let joined = "\"k\";a=\", b\"";
    let error = Key::parse(joined).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a malformed parameter follows the key (character 5)"
    );
}
