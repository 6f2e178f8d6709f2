//! Ways in which a request asks an origin to read another method than its own (rule K5).
//!
//! Frameworks look for them in header fields, in the query and in the body, so a request that is not
//! protected as a POST may be read as a DELETE that is. Names are compared as the most lenient of them
//! reads them, with `-` taken for `_` besides.

use alloc::vec::Vec;

use crate::body::json::{Event, JsonError, Reader};
use crate::body::multipart::{self, Boundary};
use crate::body::{alike, charset, form};

use super::content_type::{is_form, is_json, is_multipart};

/// Names under which a method is looked for, as read by [`is_name`].
const NAMES: [&[u8]; 4] = [
    b"_method",
    b"x_http_method",
    b"x_http_method_override",
    b"x_method_override",
];

/// Whether a header field with this name overrides the method.
pub fn is_override_header(name: &str) -> bool {
    name.starts_with(['x', 'X']) && is_name(name.as_bytes())
}

/// Whether a query has a parameter that overrides the method.
pub fn query_overrides(query: &str) -> bool {
    !query.is_empty() && has_field(query.as_bytes())
}

/// Whether a body of this type may have a field that overrides the method.
pub fn may_override(content_type: &str) -> bool {
    is_form(content_type) || is_multipart(content_type) || is_json(content_type)
}

/// Whether a body is a form that some server may read as anything but UTF-8.
pub fn is_in_other_charset(content_type: &str) -> bool {
    let is_form = is_form(content_type) || is_multipart(content_type);
    is_form && charset::is_other(content_type.as_bytes())
}

/// Whether a body has a field that overrides the method. A body that cannot be read as what it says it
/// is may be read by somebody, so there the name alone is enough; a form that is not UTF-8 may have any name.
pub fn body_overrides(content_type: &str, body: &[u8]) -> bool {
    if is_in_other_charset(content_type) {
        return true;
    }
    if is_form(content_type) {
        return has_field(body);
    }
    if is_json(content_type) {
        return has_member(body).unwrap_or_else(|_| mentions_name(body));
    }
    match Boundary::parse(content_type).map(|boundary| multipart::parts(body, &boundary)) {
        Ok(Ok(parts)) => parts.iter().any(|part| is_name(part.name)),
        _ => is_multipart(content_type) && mentions_name(body),
    }
}

fn has_field(fields: &[u8]) -> bool {
    form::has_name(fields, is_name)
}

/// Whether the top level of a JSON body has such a member.
fn has_member(body: &[u8]) -> Result<bool, JsonError> {
    let mut reader = Reader::new(body)?;
    let mut found = false;
    let first = reader.read()?;
    if !matches!(first, Event::ObjectStart) {
        return Ok(false);
    }
    while let Event::Name(name) = reader.read()? {
        let mut bytes = [0; 32];
        let mut length = 0;
        for (place, character) in bytes.iter_mut().zip(name.chars()) {
            *place = u8::try_from(character).unwrap_or(b'?');
            length += 1;
        }
        found |= is_name(&bytes[..length]);
        let value = reader.read()?;
        reader.skip(value)?;
    }
    reader.read()?;
    Ok(found)
}

fn is_name(name: &[u8]) -> bool {
    let read = |byte: &u8| if *byte == b'-' { b'_' } else { *byte };
    let name: Vec<u8> = name.iter().map(read).collect();
    NAMES.iter().any(|known| alike::is_field(&name, known))
}

fn mentions_name(body: &[u8]) -> bool {
    let mut windows = body.windows(NAMES[0].len());
    windows.any(|window| window.eq_ignore_ascii_case(NAMES[0]))
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn k5_header_fields_that_override_the_method() {
        for name in [
            "x-http-method-override",
            "X-HTTP-Method",
            "x_method_override",
            "x-method-override",
        ] {
            assert!(is_override_header(name), "{name}");
        }
        for name in ["x-method", "_method", "x-http-methods", "accept"] {
            assert!(!is_override_header(name), "{name}");
        }
    }

    #[test]
    fn k5_fields_of_a_query_or_form_that_override_the_method() {
        for fields in [
            "_method=DELETE",
            "a=1&_method=PUT",
            "%5Fmethod=PUT",
            "_METHOD=x",
            "+_method=PUT",
            ".method=PUT",
            "[method=PUT",
            "[_method]=PUT",
            "a=1&%5B%5B%5B%5B%5B%5B%5B%5B%5B%5B%5B%5B%5B%5B%5B%5B%5B%5B%5B_method]=PUT",
            "_method[]=PUT",
            "a;_method=PUT",
            "_method%00x=PUT",
            "X-HTTP-Method-Override=PUT",
            "_method",
        ] {
            assert!(query_overrides(fields), "{fields}");
            let form = "application/x-www-form-urlencoded; charset=utf-8";
            assert!(body_overrides(form, fields.as_bytes()), "{fields}");
            assert!(!body_overrides("text/plain", fields.as_bytes()));
        }
        for coded in [
            "application/x-www-form-urlencoded; charset=utf-16",
            "multipart/form-data; boundary=x; charset=ibm037",
        ] {
            assert!(body_overrides(coded, b"a=1"), "whatever it says there");
        }
        assert!(!body_overrides("text/plain; charset=utf-16", b"a=1"));
        let joined = "application/x-www-form-urlencoded, text/plain";
        assert!(body_overrides(joined, b"_method=PUT"), "as PHP reads it");
        for fields in [
            "",
            "method=PUT",
            "a=_method",
            "_methods=1",
            "_metho%",
            "%5=1",
            "pay_method=card",
            "pay[method]=card",
            "pay.method=card",
            "[method]=card",
        ] {
            assert!(!query_overrides(fields), "{fields}");
        }
        assert!(!query_overrides(&"a".repeat(100_000)));
    }

    #[test]
    fn k5_parts_of_a_multipart_form_that_override_the_method() {
        let multipart = "multipart/form-data; boundary=x";
        let part = |name: &str| {
            alloc::format!(
                "--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n_method\r\n--x--\r\n"
            )
        };
        assert!(body_overrides(multipart, part("_method").as_bytes()));
        assert!(body_overrides(multipart, part("[_method]").as_bytes()));
        assert!(!body_overrides(multipart, part("method").as_bytes()));
        // Whoever can read such a body finds the field.
        assert!(body_overrides(multipart, b"\n--x; name=_method"));
        assert!(!body_overrides(multipart, b"\n--x; name=method"));
    }

    #[test]
    fn k5_members_of_a_json_object_that_override_the_method() {
        let json = |body: &str| body_overrides("application/json", body.as_bytes());
        assert!(json(r#"{"a":{},"_method":"DELETE"}"#));
        assert!(json(r#"{"\u005fmethod":"DELETE"}"#));
        assert!(json(r#"{"_method":"DELETE""#));
        assert!(!json(r#"{"a":{"_method":1}}"#));
        assert!(!json(r#"["_method"]"#));
        assert!(!json(r#"{"a":"_method"}"#));
    }
}
