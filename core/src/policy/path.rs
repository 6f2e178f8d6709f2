//! Paths: the patterns of routes, and the spellings that an origin might take for the same path
//! (rule K5).

use alloc::string::String;
use alloc::vec::Vec;

/// A path pattern: `/orders`, `/orders/:id/pay`, `/hooks/*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Any,
    Literal(String),
    Rest,
}

impl Pattern {
    /// Reads a pattern; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let path = text.strip_prefix('/').ok_or("must begin with '/'")?;
        if canonical(text) != text && !text.ends_with("/*") {
            return Err(
                "must be in canonical form: no empty or dot segments, no ';', no trailing '/'",
            );
        }
        let segments: Vec<_> = path
            .split('/')
            .map(|segment| match segment {
                "*" => Segment::Rest,
                _ if segment.starts_with(':') => Segment::Any,
                _ => Segment::Literal(segment.into()),
            })
            .collect();
        let rest = segments
            .iter()
            .position(|segment| *segment == Segment::Rest);
        match rest {
            Some(index) if index + 1 < segments.len() => Err("'*' may only be the last segment"),
            _ => Ok(Self(segments)),
        }
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let Some(path) = path.strip_prefix('/') else {
            return false;
        };
        let mut segments = path.split('/');
        for pattern in &self.0 {
            match (pattern, segments.next()) {
                (Segment::Rest, Some(_)) => return true,
                (Segment::Any, Some(segment)) if !segment.is_empty() => {}
                (Segment::Literal(literal), Some(segment)) if literal == segment => {}
                _ => return false,
            }
        }
        segments.next().is_none()
    }

    /// Whether some path matches both patterns.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        let diverge = pairs.find_map(|pair| match pair {
            (Segment::Rest, _) | (_, Segment::Rest) => Some(true),
            (Segment::Literal(one), Segment::Literal(two)) if one != two => Some(false),
            _ => None,
        });
        diverge.unwrap_or(self.0.len() == other.0.len())
    }
}

/// The form in which a lenient origin may read `path`: encoded unreserved characters and slashes
/// decoded, parameters, empty and dot segments and a trailing slash removed.
pub(super) fn canonical(path: &str) -> String {
    let decoded = decode(path.as_bytes());
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split(['/', '\\']) {
        match segment.split(';').next().unwrap_or_default() {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    let mut canonical = String::with_capacity(decoded.len());
    for segment in &segments {
        canonical.push('/');
        canonical.push_str(segment);
    }
    if canonical.is_empty() {
        canonical.push('/');
    }
    canonical
}

/// Decodes as long as it changes something: an origin behind a proxy may decode twice.
fn decode(path: &[u8]) -> String {
    let mut text = decode_once(path);
    loop {
        let again = decode_once(text.as_bytes());
        if again == text {
            return text;
        }
        text = again;
    }
}

fn decode_once(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    let mut rest = path;
    while let [byte, after @ ..] = rest {
        let decoded = match rest {
            [b'%', high, low, ..] => hex_pair(*high, *low).filter(|byte| is_decoded(*byte)),
            _ => None,
        };
        text.push(char::from(decoded.unwrap_or(*byte)));
        rest = if decoded.is_some() { &rest[3..] } else { after };
    }
    text
}

fn is_decoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~/\\;%".contains(&byte)
}

fn hex_pair(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[track_caller]
    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap()
    }

    #[test]
    fn a_pattern_matches_whole_paths() {
        assert!(pattern("/orders").matches("/orders"));
        for path in ["/orders/", "/orders/1", "/order", "orders", "/ORDERS", ""] {
            assert!(!pattern("/orders").matches(path), "{path}");
        }
        assert!(pattern("/orders/:id/pay").matches("/orders/42/pay"));
        assert!(!pattern("/orders/:id/pay").matches("/orders//pay"));
        assert!(pattern("/hooks/*").matches("/hooks/a/b"));
        assert!(!pattern("/hooks/*").matches("/hooks"));
    }

    #[test]
    fn k5_spellings_that_an_origin_may_read_as_the_same_path() {
        for path in [
            "/orders",
            "/orders/",
            "//orders",
            "/./orders",
            "/x/../orders",
            "/%6Frders",
            "/%6frders",
            "/orders;v=1",
            "/x/%2e%2e/orders",
            "/x%2F..%2forders",
            "/orders%2f",
            "\\orders",
            "/%256Frders",
            "/orders/.",
            "/orders%3Bv",
        ] {
            assert_eq!(canonical(path), "/orders", "{path}");
        }
        for path in ["/orders/1", "/orders%20", "/Orders"] {
            assert_ne!(canonical(path), "/orders", "{path}");
        }
    }

    #[test]
    fn overlaps_are_found() {
        for (one, two) in [
            ("/a", "/a"),
            ("/a/:x", "/a/b"),
            ("/a/*", "/a/b/c"),
            ("/:x/b", "/a/:y"),
        ] {
            assert!(pattern(one).overlaps(&pattern(two)), "{one} {two}");
            assert!(pattern(two).overlaps(&pattern(one)), "{two} {one}");
        }
        for (one, two) in [
            ("/a", "/b"),
            ("/a", "/a/b"),
            ("/a/:x", "/b/:x"),
            ("/a/b", "/a/c"),
        ] {
            assert!(!pattern(one).overlaps(&pattern(two)), "{one} {two}");
        }
    }

    #[test]
    fn a_pattern_is_canonical() {
        for text in ["orders", "/orders/", "/a//b", "/a/../b", "/a;b", "/*/a"] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }
}
