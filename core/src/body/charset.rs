//! The character encoding that a `Content-Type` names.
//!
//! The gate reads bodies as UTF-8. Servers that read them as the `charset` says (ASP.NET, servlets, Django) find
//! other names and values in them, so nothing is taken from a body with another one.

const CHARSET: &[u8] = b"charset";

/// Whether some server may read what has this `Content-Type` as anything but UTF-8. Servers look for the word in
/// different ways (some anywhere in the text), so every place that has it counts, and two are one too many.
pub(crate) fn is_other(content_type: &[u8]) -> bool {
    let named = |text: &[u8]| {
        let mut windows = text.windows(CHARSET.len());
        windows.position(|window| window.eq_ignore_ascii_case(CHARSET))
    };
    named(content_type).is_some_and(|at| {
        let behind = &content_type[at + CHARSET.len()..];
        !says_utf8(behind) || named(behind).is_some()
    })
}

/// Whether this is `=utf-8` or `=us-ascii`, quoted or not, up to the next parameter or line.
fn says_utf8(behind: &[u8]) -> bool {
    let end = behind.iter().position(|byte| matches!(byte, b';' | b','));
    let value = behind[..end.unwrap_or(behind.len())].trim_ascii();
    let Some(value) = value.strip_prefix(b"=").map(<[u8]>::trim_ascii) else {
        return false;
    };
    let bare = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    is_utf8(bare.unwrap_or(value))
}

/// Whether this is the name of UTF-8, or of what it contains.
pub(super) fn is_utf8(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"utf-8") || name.eq_ignore_ascii_case(b"us-ascii")
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn k2_a_charset_is_utf_8_or_another_one() {
        for parameters in [
            "",
            "; boundary=x",
            "; charset=utf-8",
            ";CHARSET = \"UTF-8\" ; a=b",
            "; charset=us-ascii, text/plain",
        ] {
            assert!(
                !is_other(&["a/b", parameters].concat().into_bytes()),
                "{parameters}"
            );
        }
        for parameters in [
            "; charset=utf-16",
            ";charset=\"ibm037\"",
            ", charset=utf-7",
            "; charset=utf-8; charset=utf-16",
            "; charset=utf-8; charset=utf-8",
            "; charset*=utf-8''utf-16",
            "; charset='utf-8'",
            "; charset=\"utf-8",
            "; charset=",
            "; charset",
            "; a=\"; Charset=utf-16\"",
        ] {
            assert!(
                is_other(&["a/b", parameters].concat().into_bytes()),
                "{parameters}"
            );
        }
    }
}
