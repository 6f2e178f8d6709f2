use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::hex;

/// A form as a browser sends it, between boundaries `B`.
const FORM: &str = concat!(
    "--B\r\n",
    "Content-Disposition: form-data; name=\"order\"\r\n",
    "\r\n",
    "A-42\r\n",
    "--B\r\n",
    "Content-Disposition: form-data; name=\"file\"; filename=\"a b.txt\"\r\n",
    "Content-Type: Text/Plain; charset=utf-8\r\n",
    "\r\n",
    "one\r\n--\r\n-B\r\n\r\n",
    "--B--\r\n",
);

fn boundary(content_type: &str) -> Boundary {
    Boundary::parse(content_type).unwrap()
}

fn b() -> Boundary {
    boundary("multipart/form-data; boundary=B")
}

/// A body of one part with these header lines.
fn with_headers(lines: &str) -> String {
    ["--B\r\n", lines, "\r\n\r\n1\r\n--B--"].concat()
}

#[track_caller]
fn refuses(body: impl AsRef<[u8]>, message: &str) {
    let error = parts(body.as_ref(), &b()).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[track_caller]
fn refuses_field(body: &str, name: &str, message: &str) {
    let error = field(body.as_bytes(), &b(), name).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn parts_are_read_in_order() {
    let order = Part {
        name: b"order",
        filename: None,
        content_type: None,
        has_other_charset: false,
        bytes: b"A-42",
        position: 6,
    };
    let file = Part {
        name: b"file",
        filename: Some(b"a b.txt"),
        content_type: Some("text/plain".into()),
        has_other_charset: false,
        bytes: b"one\r\n--\r\n-B\r\n",
        position: 65,
    };
    assert_eq!(parts(FORM.as_bytes(), &b()), Ok(alloc::vec![order, file]));
}

#[test]
fn framing_may_differ_as_far_as_readers_agree() {
    let empty = |body: &str| assert_eq!(parts(body.as_bytes(), &b()), Ok(Vec::new()));
    empty("--B--");
    empty("--B--\r\n");
    empty("--B-- \t\r\nepilogue --B x");
    let one = digest(
        with_headers("content-disposition:form-data;name=a").as_bytes(),
        &b(),
    )
    .unwrap();
    for lines in [
        "Content-Disposition: form-data; name=\"a\"",
        "CONTENT-DISPOSITION:\tForm-Data ; Name=\"a\" ; size=1 ",
        "X-Other: y\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Transfer-Encoding: 8BIT",
    ] {
        assert_eq!(digest(with_headers(lines).as_bytes(), &b()), Ok(one));
    }
    let padded = with_headers("content-disposition:form-data;name=a").replacen("--B", "--B \t", 1);
    assert_eq!(digest(padded.as_bytes(), &b()), Ok(one));
}

#[test]
fn malformed_framing_is_refused_with_its_position() {
    let opening = "the body does not begin with the boundary of Content-Type (byte 1)";
    refuses("", opening);
    refuses("\r\n--B--", opening);
    refuses("--A\r\n", opening);
    let after = "a line end or '--' must follow the boundary of Content-Type (byte 4)";
    refuses("--B", after);
    refuses("--BB\r\n", after);
    refuses("--B\n", after);
    refuses(
        "--B--x",
        "only a line end may follow the closing boundary (byte 6)",
    );
    refuses(
        "--B--\n",
        "only a line end may follow the closing boundary (byte 6)",
    );
    refuses("--B\r\n", "the closing boundary is missing (byte 6)");
    refuses("--B\r\n--B--", "the closing boundary is missing (byte 11)");
    let cut = &FORM[..FORM.len() - 7];
    refuses(cut, "the closing boundary is missing (byte 188)");
    refuses(
        FORM.replace("-B\r\n\r\n", "-B\r\n--Bx\r\n"),
        "a line end or '--' must follow the boundary of Content-Type (byte 189)",
    );
    let blank = "a blank line must follow a part's header lines (byte 6)";
    refuses("--B\r\n\r\n--B--", blank);
    refuses(
        "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n--B--",
        blank,
    );
    refuses(
        "--B\r\nContent-Disposition: form-data; name=a\n\n1\r\n--B--",
        blank,
    );
}

#[test]
fn header_lines_that_can_be_misread_are_refused_with_their_position() {
    let name = "Content-Disposition: form-data; name=a\r\n";
    let first = |lines: &str, message: &str| {
        refuses(with_headers(lines), &[message, " (byte 6)"].concat());
    };
    let second = |line: &str, message: &str| {
        refuses(
            with_headers(&[name, line].concat()),
            &[message, " (byte 46)"].concat(),
        );
    };
    let no_name = "a part's Content-Disposition must have a name";
    first("X: y", no_name);
    first("Content-Disposition: form-data", no_name);
    let disposition = "a part's Content-Disposition must be form-data";
    first("Content-Disposition: attachment; name=a", disposition);
    first("Content-Disposition:", disposition);
    let parameter = "a part's header line has a malformed parameter";
    for malformed in [
        "name",
        "name=",
        "name=\"a",
        "name=\"a\"b",
        "filename=\"a\\\"b\"; name=c",
        "filename=\"a\\\"; name=c",
        "name=a b",
        "name=é",
        "name=a;",
    ] {
        first(
            &["Content-Disposition: form-data; ", malformed].concat(),
            parameter,
        );
    }
    first(
        "Content-Disposition: form-data; name=\"a\\b\"",
        "a field's name must have no backslash",
    );
    let extended =
        "name* and filename* are not allowed in a form; write name and filename in UTF-8";
    first(
        "Content-Disposition: form-data; name=a; filename*=UTF-8''b",
        extended,
    );
    first("Content-Disposition: form-data; name*=UTF-8''b", extended);
    let line = "expected a header line, such as Content-Type: text/plain";
    for malformed in [
        "no line",
        ": x",
        "A B: c",
        " folded: x",
        "\tx",
        "A: b\rC: d",
        "A: b\nC: d",
        "A: \0",
        "é: a",
    ] {
        second(malformed, line);
    }
    let twice = "a part says the same thing twice in its header lines";
    first("Content-Disposition: form-data; name=a; name=a", twice);
    first(
        "Content-Disposition: form-data; name=a; filename=b; filename=b",
        twice,
    );
    refuses(
        with_headers(&[name, "Content-Type: a/b\r\nContent-Type: a/b"].concat()),
        &[twice, " (byte 65)"].concat(),
    );
    second("content-disposition: form-data", twice);
    refuses(
        with_headers(&[name, &"Content-Transfer-Encoding: 8bit\r\n".repeat(2)].concat()),
        &[twice, " (byte 79)"].concat(),
    );
    let media_type = "a part's Content-Type must name type and subtype, such as text/plain";
    for malformed in [
        "",
        "text",
        "text/",
        "/plain",
        "text/plain, text/html",
        "a/b/c",
        "t\u{e9}xt/plain",
    ] {
        second(&["Content-Type: ", malformed].concat(), media_type);
    }
    let encoding = "a part's Content-Transfer-Encoding must be 7bit, 8bit or binary";
    second("Content-Transfer-Encoding: base64", encoding);
}

#[test]
fn k3_the_boundary_is_not_in_the_digest() {
    let other = boundary("multipart/form-data; boundary=\"other one\"");
    let body = FORM.replace("--B", "--other one");
    assert_eq!(
        digest(body.as_bytes(), &other),
        digest(FORM.as_bytes(), &b())
    );
}

#[test]
fn k3_everything_else_of_a_part_is_in_the_digest() {
    let bodies = [
        FORM.into(),
        FORM.replace("A-42", "A-43"),
        FORM.replace("A-42", "A-42\r\n"),
        FORM.replace("\"order\"", "\"Order\""),
        FORM.replace("\"order\"", "\"order\"; filename=\"\""),
        FORM.replace("a b.txt", "a b.TXT"),
        FORM.replace("; filename=\"a b.txt\"", ""),
        FORM.replace("Plain", "Html"),
        FORM.replace("Content-Type: Text/Plain; charset=utf-8\r\n", ""),
        FORM.replace("one\r\n--", "one\r\n -"),
        [&FORM[..59], "--B--"].concat(),
        ["--B", &FORM[62..]].concat(),
        "--B--".into(),
        with_headers("Content-Disposition: form-data; name=ab"),
        with_headers("Content-Disposition: form-data; name=a; filename=b"),
        with_headers("Content-Disposition: form-data; name=a\r\nContent-Type: b/c"),
        with_headers("Content-Disposition: form-data; name=a; filename=\"b/c\""),
    ];
    let mut digests: Vec<_> = bodies
        .iter()
        .map(|body| digest(body.as_bytes(), &b()).unwrap())
        .collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), bodies.len());
}

#[test]
fn k3_the_order_of_the_parts_is_in_the_digest() {
    let one = "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n";
    let two = "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n2\r\n";
    let digest = |parts: &[&str]| digest(parts.concat().as_bytes(), &b()).unwrap();
    assert_ne!(digest(&[one, two, "--B--"]), digest(&[two, one, "--B--"]));
    assert_ne!(digest(&[one, one, "--B--"]), digest(&[one, "--B--"]));
}

#[test]
fn k3_the_digest_is_that_of_the_prefixed_parts() {
    // (printf 'oncegate-multipart-v1\0'
    //  printf '\1\0\0\0\0\0\0\0\1a'; printf '\0\0\0\0\0\0\0\0\0'
    //  printf '\0\0\0\0\0\0\0\0\0'; printf '\1\0\0\0\0\0\0\0\0011') | sha256sum
    let body = with_headers("Content-Disposition: form-data; name=a");
    assert_eq!(
        hex::encode(&digest(body.as_bytes(), &b()).unwrap()),
        "392bc0f597e8d4b2deb411b90b27ca20a09a05e6914c8033317ef71bf4016e7e"
    );
}

#[test]
fn k2_a_field_of_a_form_is_a_key() {
    let key = field(FORM.as_bytes(), &b(), "order").unwrap();
    assert_eq!(key.as_str(), "A-42");
    let chinese = FORM.replace("A-42", "订单").replace("\"order\"", "\"号\"");
    let key = field(chinese.as_bytes(), &b(), "号").unwrap();
    assert_eq!(key.as_str(), "订单");
}

#[test]
fn k2_a_field_of_a_form_without_one_value_is_no_key() {
    refuses_field(FORM, "id", "'id' is missing; the key is taken from it");
    refuses_field(
        FORM,
        "file",
        "'file' is a file; a key is a non-empty string or a number",
    );
    refuses_field(
        &FORM.replace("A-42", ""),
        "order",
        "'order' is empty; a key is a non-empty string or a number",
    );
    refuses_field(
        &FORM.replace("\"file\"", "order"),
        "order",
        "'order' occurs twice; send it once (byte 65)",
    );
    refuses_field(
        &FORM.replace("--B--", ""),
        "order",
        "'order' cannot be read: the closing boundary is missing (byte 190)",
    );
    let latin = FORM.replace("A-42", "\u{1}").into_bytes();
    let latin: Vec<_> = latin
        .into_iter()
        .map(|byte| if byte == 1 { 0xe9 } else { byte })
        .collect();
    assert_eq!(
        field(&latin, &b(), "order").unwrap_err().to_string(),
        "'order' is not valid UTF-8"
    );
}

#[test]
fn k2_a_part_that_some_server_reads_as_another_is_no_key() {
    let part =
        |name: &str| format!("--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n1\r\n");
    for (names, at) in [
        (["no", "NO"], 59),
        (["no", "no[]"], 59),
        (["no", "[no]"], 59),
        (["[no]", "no"], 6),
    ] {
        let body = names.map(part).concat() + "--B--";
        let message =
            "'no' is ambiguous: another spelling of its name is read as the same by some servers";
        refuses_field(&body, "no", &format!("{message} (byte {at})"));
    }
    let twice = part("no").repeat(2) + "--B--";
    refuses_field(&twice, "no", "'no' occurs twice; send it once (byte 59)");
    let others = ["no", "a[no]", "nos"].map(part).concat() + "--B--";
    assert_eq!(field(others.as_bytes(), &b(), "no").unwrap().as_str(), "1");
}

#[test]
fn k2_a_part_or_form_in_another_charset_is_no_key() {
    let part = |name: &str, charset: &str| {
        format!(
            "--B\r\nContent-Type: text/plain{charset}\r\nContent-Disposition: form-data; name={name}\r\n\r\nutf-16\r\n"
        )
    };
    let form = |parts: [String; 2]| parts.concat() + "--B--";
    let plain = form([part("no", "; charset=UTF-8"), part("a", "; charset=utf-16")]);
    assert_eq!(
        field(plain.as_bytes(), &b(), "no").unwrap().as_str(),
        "utf-16"
    );
    let message = "'no' is not UTF-8 by the charset that the form names for it; send it as UTF-8";
    let coded = form([part("no", "; charset=utf-16"), part("a", "")]);
    refuses_field(&coded, "no", message);
    let named = form([part("no", ""), part("_charset_", "")]);
    refuses_field(&named, "no", message);
    let utf8 = named.replacen("utf-16\r\n--B--", "utf-8\r\n--B--", 1);
    assert!(field(utf8.as_bytes(), &b(), "no").is_ok());
}

#[test]
fn large_forms_are_read_once() {
    let count = |body: String, boundary: &Boundary| {
        parts(body.as_bytes(), boundary).map(|parts| parts.len())
    };
    let part = "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
    assert_eq!(count(part.repeat(20_000) + "--B--", &b()), Ok(20_000));
    let long = "-".repeat(70);
    let other = boundary(&["multipart/form-data; boundary=", &long].concat());
    let almost = ["\r\n--", &long[1..], "\r"].concat().repeat(13_000);
    let body = part.replace("--B", &["--", &long].concat()) + &almost + "\r\n--" + &long + "--";
    assert_eq!(count(body, &other), Ok(1));
    for filling in ["\r", "\n", "\r\n", "-", "\r\n--", "\r\n--B", "a: b\r\n"] {
        let filling = filling.repeat(1_000_000 / filling.len());
        assert!(parts(["--B\r\n", &filling].concat().as_bytes(), &b()).is_err());
    }
    let headers = with_headers(&"a: b\r\n".repeat(160_000)).replace(
        "\r\n\r\n1",
        "Content-Disposition: form-data; name=a\r\n\r\n1",
    );
    assert_eq!(count(headers, &b()), Ok(1));
    let parameters = [
        "Content-Disposition: form-data; name=a",
        &"; b=c".repeat(200_000),
    ]
    .concat();
    assert_eq!(count(with_headers(&parameters), &b()), Ok(1));
}
