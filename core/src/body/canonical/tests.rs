use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::spelling::{Value, spell};
use super::*;
use crate::body::dice::Dice;
use crate::hex;

fn pointers(excluded: &[&str]) -> Vec<Pointer> {
    excluded
        .iter()
        .map(|pointer| Pointer::parse(pointer).unwrap())
        .collect()
}

#[track_caller]
fn says(body: &str, expected: &str) {
    assert_eq!(text(body.as_bytes(), &[]).unwrap(), expected);
}

#[track_caller]
fn says_without(excluded: &[&str], body: &str, expected: &str) {
    assert_eq!(
        text(body.as_bytes(), &pointers(excluded)).unwrap(),
        expected
    );
}

#[track_caller]
fn refuses(body: &str, message: &str) {
    let error = text(body.as_bytes(), &[]).unwrap_err();
    assert_eq!(error.to_string(), message);
}

/// The sample of RFC 8785, sections 3.2.2 to 3.2.4, with the numbers' decimal values.
#[test]
fn k3_rfc_8785s_sample_is_written_as_published() {
    says(
        r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#,
        concat!(
            r#"{"literals":[null,true,false],"#,
            r#""numbers":[33333333333333329e-8,1e30,45e-1,2e-3,1e-27],"#,
            r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#,
        ),
    );
}

/// The sample of RFC 8785, section 3.2.3.
#[test]
fn k3_rfc_8785s_members_are_sorted_as_published() {
    says(
        r#"{
            "\u20ac": "Euro Sign",
            "\r": "Carriage Return",
            "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One",
            "\ud83d\ude00": "Emoji: Grinning Face",
            "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis"
        }"#,
        concat!(
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",",
            "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",",
            "\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        ),
    );
}

/// Numbers of RFC 8785, appendix B, with their decimal values. Where the appendix rounds two to
/// one, they stay two.
#[test]
fn k3_rfc_8785s_numbers_keep_their_decimal_values() {
    for (source, spelling) in [
        ("0", "0"),
        ("-0", "0"),
        ("5e-324", "5e-324"),
        ("-5e-324", "-5e-324"),
        ("1.7976931348623157e+308", "17976931348623157e292"),
        ("9007199254740992", "9007199254740992"),
        ("-9007199254740992", "-9007199254740992"),
        ("295147905179352830000", "29514790517935283e4"),
        ("9.999999999999997e+22", "9999999999999997e7"),
        ("1e+23", "1e23"),
        ("1.0000000000000001e+23", "10000000000000001e7"),
        ("999999999999999700000", "9999999999999997e5"),
        ("1e+21", "1e21"),
        ("9.999999999999997e-7", "9999999999999997e-22"),
        ("0.000001", "1e-6"),
        ("333333333.3333332", "3333333333333332e-7"),
        ("333333333.33333325", "33333333333333325e-8"),
        ("-0.0000033333333333333333", "-33333333333333333e-22"),
        ("1424953923781206.2", "14249539237812062e-1"),
    ] {
        says(source, spelling);
    }
}

#[test]
fn k3_numbers_are_equal_by_exact_decimal_value() {
    for source in [
        "1",
        "1.0",
        "10e-1",
        "1e0",
        "1E+0",
        "0.1e1",
        "0.001e0003",
        "1000e-03",
        "1.000",
    ] {
        says(source, "1");
    }
    for source in [
        "0",
        "-0",
        "0.00",
        "-0e5",
        "0e99999999999999999999",
        "-0.0E-7",
    ] {
        says(source, "0");
    }
    says("100", "1e2");
    says("-120.50", "-1205e-1");
    says("0.10", "1e-1");
    says("9007199254740993", "9007199254740993");
    says("1e9223372036854775807", "1e9223372036854775807");
    says("10e9223372036854775807", "1e9223372036854775808");
    says("0.01e-9223372036854775808", "1e-9223372036854775810");
    says("1e-000000000000000000000000000000000012", "1e-12");
}

#[test]
fn k3_a_body_that_depends_on_its_reader_is_refused() {
    refuses(
        "[1e9223372036854775808]",
        "the number's exponent is over 64 bits (byte 2)",
    );
    refuses(
        "[0, 1e-9223372036854775809]",
        "the number's exponent is over 64 bits (byte 5)",
    );
    refuses(r#"{"a":1,"a":1}"#, "a member name occurs twice (byte 8)");
    refuses(
        r#"{"b":[{"a":1,"c":2,"\u0061":1}]}"#,
        "a member name occurs twice (byte 20)",
    );
    refuses(
        r#"{"a":1,"#,
        "the body ends where a member name in double quotes is expected (byte 8)",
    );
    refuses("1 1", "only white space may follow the JSON value (byte 3)");
    let excluded = text(br#"{"a":1,"a":2}"#, &pointers(&["/a"]));
    assert_eq!(
        excluded.unwrap_err().to_string(),
        "a member name occurs twice (byte 8)"
    );
}

#[test]
fn k3_excluded_members_are_left_out() {
    let body = r#"{"c":3,"a":{"x":1,"y":[2]},"b":null}"#;
    says_without(&["/b"], body, r#"{"a":{"x":1,"y":[2]},"c":3}"#);
    says_without(&["/a/x", "/c"], body, r#"{"a":{"y":[2]},"b":null}"#);
    says_without(&["/a", "/a/x"], body, r#"{"b":null,"c":3}"#);
    says_without(&["/a/x", "/a/y"], body, r#"{"a":{},"b":null,"c":3}"#);
    says_without(
        &["/d", "/a/x/z", "/a/0", "/b/0"],
        body,
        r#"{"a":{"x":1,"y":[2]},"b":null,"c":3}"#,
    );
    says_without(&["/a~1\u{e9}"], r#"{"a\/\u00e9":1,"b":2}"#, r#"{"b":2}"#);
}

#[test]
fn k3_excluded_elements_keep_the_places_of_the_others() {
    let body = r#"[{"t":1,"v":2},{"t":3,"v":4},5]"#;
    says_without(&["/0"], body, r#"[~,{"t":3,"v":4},5]"#);
    says_without(&["/0/t", "/2"], body, r#"[{"v":2},{"t":3,"v":4},~]"#);
    says_without(&["/3", "/-", "/00"], body, body);
    says_without(&["/0"], "[1]", "[~]");
    says_without(&["/0"], "[]", "[]");
    says_without(&[""], body, "~");
}

/// Neighbours that a careless form would throw together.
#[test]
fn k3_different_values_have_different_digests() {
    let bodies = [
        "null",
        "true",
        "false",
        "0",
        "1",
        "-1",
        "11",
        "1e1",
        "1e-1",
        "1e11",
        "11e1",
        "\"\"",
        "\"0\"",
        "\"1e1\"",
        "\"null\"",
        "\"~\"",
        "[]",
        "[[]]",
        "[[],[]]",
        "[[[]]]",
        "{}",
        "[{}]",
        "[\"\"]",
        "[null]",
        "[0]",
        "[0,0]",
        "[\"0\"]",
        "[\"0,0\"]",
        "[\"0\",\"0\"]",
        r#"["0\",\"0"]"#,
        "[1,11]",
        "[11,1]",
        "[1,1,1]",
        "[111]",
        "[[1],1]",
        "[1,[1]]",
        "[[1,1]]",
        r#"{"":0}"#,
        r#"{"":""}"#,
        r#"{"a":{}}"#,
        r#"{"a":[]}"#,
        r#"{"a":null}"#,
        r#"{"a":"null"}"#,
        r#"{"a":1,"b":2}"#,
        r#"{"a":"1,\"b\":2"}"#,
        r#"{"a\":1,\"b":2}"#,
        r#"{"a":2,"b":1}"#,
        r#"{"a":{"b":2}}"#,
        r#"[{"a":1},{"b":2}]"#,
        r#"["a",1,"b",2]"#,
        r#"{"a":[1,2]}"#,
        r#"{"a":[1],"b":[2]}"#,
        r#""\\""#,
        r#""\"""#,
        r#""\\\"""#,
        r#""\\n""#,
        r#""\n""#,
        r#""\u0000""#,
        r#""\\u0000""#,
        r#""\u007f""#,
        "\"e\u{301}\"",
        "\"\u{e9}\"",
    ];
    let mut digests: Vec<_> = bodies
        .iter()
        .map(|body| digest(body.as_bytes(), &[]).unwrap())
        .collect();
    digests.push(digest(b"[1]", &pointers(&["/0"])).unwrap());
    digests.push(digest(b"1", &pointers(&[""])).unwrap());
    digests.push(crate::fingerprint::body_sha256(b"1"));
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), bodies.len() + 3);
}

#[test]
fn k3_the_digest_is_that_of_the_prefixed_text() {
    // printf 'oncegate-json-v1\0{"a":1e2}' | sha256sum
    assert_eq!(
        hex::encode(&digest(b"{ \"a\": 100 }", &[]).unwrap()),
        "f63a89b072eb1c72a8ebbdf4e381cf857f641227629b3d458b101fb6f1a8de93"
    );
}

#[test]
fn k3_spelling_does_not_matter_and_every_leaf_does() {
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let value = Value::invent(&mut dice, 4);
        let digest_of = |value: &Value, dice: &mut Dice| {
            let body = spell(value, dice);
            digest(body.as_bytes(), &[]).unwrap_or_else(|error| panic!("{error}: {body}"))
        };
        let first = digest_of(&value, &mut dice);
        for _ in 0..4 {
            assert_eq!(digest_of(&value, &mut dice), first, "{value:?}");
        }
        for leaf in 0..value.leaves() {
            let changed = value.with_changed_leaf(leaf, &mut dice);
            assert_ne!(
                digest_of(&changed, &mut dice),
                first,
                "{value:?} {changed:?}"
            );
        }
    }
}

#[test]
fn large_bodies_are_written_once() {
    let length = |body: String| text(body.as_bytes(), &[]).map(|text| text.len());
    let deep = |inner: &str| "{\"a\":".repeat(63) + inner + &"}".repeat(63);
    assert!(length("{\"\":".repeat(250_000)).is_err());
    assert_eq!(
        length("0".to_string() + "." + &"12".repeat(500_000)),
        Ok(1_000_009)
    );
    assert_eq!(length("7".to_string() + &"0".repeat(1_000_000)), Ok(9));
    assert_eq!(length(deep(&"9".repeat(1_000_000))), Ok(1_000_378));
    assert_eq!(
        length("[0".to_string() + &",0".repeat(500_000) + "]"),
        Ok(1_000_003)
    );
    let members: Vec<_> = (0..70_000).rev().map(|n| format!("\"{n:07}\":0")).collect();
    assert_eq!(
        length(deep(&format!("{{{}}}", members.join(",")))),
        Ok(840_379)
    );
    let prefix = "p".repeat(1_000);
    let members: Vec<_> = (0..1_000)
        .rev()
        .map(|n| format!("\"{prefix}{n:03}\":0"))
        .collect();
    assert_eq!(length(format!("{{{}}}", members.join(","))), Ok(1_008_001));
    let alike = "{\"same\":0".to_string() + &",\"same\":0".repeat(100_000) + "}";
    assert!(length(alike).is_err());
}
