//! A key taken from an URL-encoded form (rule K2).
//!
//! A field counts only if exactly one field has its name after decoding, so that the first and the
//! last one are the same for whoever reads the form next. Neither may another one have a name that some
//! servers read as the same, nor may it be another one for who takes `;` for `&`.

use alloc::vec::Vec;

use super::{KeySourceError, KeyText, Reason, alike};

/// A field: its name and its value, decoded.
pub type Field = (Vec<u8>, Vec<u8>);

/// Takes the key from the field `name` of an `application/x-www-form-urlencoded` body.
///
/// # Errors
///
/// [`KeySourceError`] if the field is missing, empty, not UTF-8 or there twice, or if its value or
/// any name has a `%` without two hexadecimal digits.
pub fn field(body: &[u8], name: &str) -> Result<KeyText, KeySourceError> {
    value_of(body, name, Undecoded::Refused)
}

/// The same where the key is not taken from this place: a name that does not decode is the name of another field.
///
/// # Errors
///
/// As [`field`], of this field only.
pub(crate) fn beside(body: &[u8], name: &str) -> Result<KeyText, KeySourceError> {
    value_of(body, name, Undecoded::Another)
}

/// What is done with a name that has a `%` without two hexadecimal digits.
#[derive(Clone, Copy)]
enum Undecoded {
    Another,
    Refused,
}

fn value_of(body: &[u8], name: &str, undecoded: Undecoded) -> Result<KeyText, KeySourceError> {
    find(body, name.as_bytes(), undecoded)
        .and_then(|value| KeyText::from_utf8(&value.ok_or(Reason::Missing)?))
        .map_err(|reason| KeySourceError::new(name, reason))
}

/// Takes the key from a segment of a path, called `name` in the route.
///
/// # Errors
///
/// [`KeySourceError`] if the segment is empty, not UTF-8, or has a `%` without two digits.
pub fn segment(encoded: &str, name: &str) -> Result<KeyText, KeySourceError> {
    decode(encoded.as_bytes(), 0, b'+')
        .and_then(|value| KeyText::from_utf8(&value))
        .map_err(|reason| KeySourceError::new(name, reason))
}

/// Every field of an `application/x-www-form-urlencoded` body, decoded, in order.
///
/// # Errors
///
/// [`KeySourceError`] if a name or value has a `%` without two hexadecimal digits.
pub fn fields(body: &[u8]) -> Result<Vec<Field>, KeySourceError> {
    let pairs = body.split(|byte| *byte == b'&');
    let fields = pairs.filter(|pair| !pair.is_empty()).map(|pair| {
        let mut parts = pair.splitn(2, |byte| *byte == b'=');
        let mut next = || decode(parts.next().unwrap_or_default(), 0, b' ');
        Ok((next()?, next()?))
    });
    let fields: Result<_, Reason> = fields.collect();
    fields.map_err(|reason| KeySourceError::new("form", reason))
}

fn find(body: &[u8], wanted: &[u8], undecoded: Undecoded) -> Result<Option<Vec<u8>>, Reason> {
    let mut found = None;
    let mut next = 0;
    for pair in body.split(|byte| *byte == b'&') {
        let start = next;
        next += pair.len() + 1;
        let name = name_of(pair);
        let decoded = match (decode(name, start, b' '), undecoded) {
            (Err(fault), Undecoded::Refused) => return Err(fault),
            (decoded, _) => decoded.ok(),
        };
        let is_wanted = !pair.is_empty() && decoded.as_deref() == Some(wanted);
        if has_name(pair, |name| alike::is_field(name, wanted))
            && (!is_wanted || pair.contains(&b';'))
        {
            return Err(Reason::Alike(start + 1));
        } else if !is_wanted {
            continue;
        } else if found.is_some() {
            return Err(Reason::DuplicateField(start + 1));
        }
        let value = (name.len() + 1).min(pair.len());
        found = Some(decode(&pair[value..], start + value, b' ')?);
    }
    Ok(found)
}

/// Whether some server finds a field of such a name in a form or query, also one that takes `;` for `&` or leaves
/// a `%` without two digits as it is.
pub(crate) fn has_name(fields: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> bool {
    let pieces = fields.split(|byte| matches!(byte, b'&' | b';'));
    let mut names = pieces.filter(|piece| !piece.is_empty()).map(name_of);
    names.any(|name| is_wanted(&decode_leniently(name)))
}

/// What is in front of the `=`, or all of it.
fn name_of(pair: &[u8]) -> &[u8] {
    let equals = pair.iter().position(|byte| *byte == b'=');
    equals.map_or(pair, |equals| &pair[..equals])
}

/// Decodes what begins at `start` in the body; `plus` is what a `+` stands for.
fn decode(encoded: &[u8], start: usize, plus: u8) -> Result<Vec<u8>, Reason> {
    let mut decoded = Vec::new();
    let mut rest = encoded;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        decoded.push(match byte {
            b'+' => plus,
            b'%' => {
                let percent = start + encoded.len() - behind.len();
                rest = behind.get(2..).ok_or(Reason::Percent(percent))?;
                octet(behind).ok_or(Reason::Percent(percent))?
            }
            _ => *byte,
        });
    }
    Ok(decoded)
}

fn decode_leniently(encoded: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut rest = encoded;
    while let [byte, behind @ ..] = rest {
        let escaped = octet(behind).filter(|_| *byte == b'%');
        rest = escaped.map_or(behind, |_| &behind[2..]);
        decoded.push(escaped.unwrap_or(match byte {
            b'+' => b' ',
            byte => *byte,
        }));
    }
    decoded
}

/// The byte that two hexadecimal digits say.
fn octet(digits: &[u8]) -> Option<u8> {
    digits.get(..2)?.iter().try_fold(0, |octet, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(octet << 4 | u8::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[track_caller]
    fn takes(body: &str, key: &str) {
        let found = field(body.as_bytes(), "order id").unwrap();
        assert_eq!(found.as_str(), key);
    }

    #[track_caller]
    fn refuses(body: impl AsRef<[u8]>, message: &str) {
        let error = field(body.as_ref(), "order id").unwrap_err();
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn k2_a_field_is_decoded() {
        takes("order+id=42", "42");
        takes("a=1&order%20id=a%2Bb+c%3d%C3%A9&b", "a+b c=é");
        takes("&&order+id=a=b&&", "a=b");
        takes("order+id=%e8%ae%a2%e5%8d%95", "订单");
        takes("a=100%&order+id=7", "7");
        assert_eq!(field(b"&&=1&", "").unwrap().as_str(), "1");
        takes("order+i=1&order+id2=2&order+id=3&id=4&%ff=5", "3");
    }

    #[test]
    fn k2_a_segment_of_a_path_is_decoded_and_its_plus_is_one() {
        let key = |encoded| segment(encoded, "id").map(|key| key.as_str().to_string());
        assert_eq!(key("a+b%20c%2f").as_deref(), Ok("a+b c/"));
        assert!(key("").is_err() && key("%zz").is_err() && key("%ff").is_err());
    }

    #[test]
    fn k2_a_field_without_one_value_is_no_key() {
        refuses("", "'order id' is missing; the key is taken from it");
        refuses(
            "order=1&id=2",
            "'order id' is missing; the key is taken from it",
        );
        let empty = "'order id' is empty; a key is a non-empty string or a number";
        refuses("order+id=", empty);
        refuses("order+id", empty);
        refuses(
            "order+id=1&a=2&%6frder%20id=1",
            "'order id' occurs twice; send it once (byte 16)",
        );
        refuses(
            "order+id=&order+id=1",
            "'order id' occurs twice; send it once (byte 11)",
        );
    }

    #[test]
    fn k2_a_field_that_some_server_reads_as_another_is_no_key() {
        for (body, at) in [
            ("order+id=1&order_id=2", 12),
            ("order+id=1&order.id=2", 12),
            ("Order+Id=2&order+id=1", 1),
            ("order+id=1&order+id[]=2", 12),
            ("order+id=1&order+id%5Bx%5D=2", 12),
            ("order+id=1&++order+id=2", 12),
            ("order+id=1&order+id%00=2", 12),
            ("order+id=1;a", 1),
            ("order+id=1&a=2;%20order+id=3", 12),
            ("ORDER+ID=1", 1),
            ("order+id=1&[order+id]=2", 12),
            ("order+id=1&%5Border+id=2", 12),
            ("order+id=1&order+id.x=2", 12),
        ] {
            let message = "'order id' is ambiguous: another spelling of its name is read as the same by some servers (byte ";
            refuses(body, &alloc::format!("{message}{at})"));
        }
        takes(
            "order+id=1%3Ba&order+ids=2&a=b;c&orderid=3&[order+ids]=4&a[order+id]=5",
            "1;a",
        );
    }

    #[test]
    fn k2_a_field_in_brackets_is_itself_under_every_spelling() {
        let key =
            |body: &str, name| field(body.as_bytes(), name).map(|key| key.as_str().to_string());
        let body = "order[id]=1&order[no]=2&order_id=3&a.b=4&a.c=5&a-b=6&[]=7";
        for (name, value) in [
            ("order[id]", "1"),
            ("order[no]", "2"),
            ("order_id", "3"),
            ("a.b", "4"),
            ("a-b", "6"),
        ] {
            assert_eq!(key(body, name).as_deref(), Ok(value), "{name}");
        }
        for other in [
            "[order][id]",
            "order.id",
            "ORDER[id]",
            "order[id][]",
            "order[][id]",
            "order[id]x",
            "[[order][id",
        ] {
            let body = alloc::format!("order[id]=1&{other}=2");
            let error = key(&body, "order[id]").unwrap_err().to_string();
            assert!(error.contains("is ambiguous"), "{other}");
        }
        assert!(key("a.b=1&a_b=2", "a.b").is_err() && key("a.b=1&a[b]=2", "a.b").is_err());
    }

    #[test]
    fn k2_a_field_that_cannot_be_decoded_is_no_key() {
        let percent = "'order id' cannot be read: two hexadecimal digits must follow '%' (byte 13)";
        refuses("a=1&order+id%=2", percent);
        refuses("order+id=abc%4", percent);
        refuses("order+id=abc%+1", percent);
        refuses("order+id=%FF", "'order id' is not valid UTF-8");
        refuses(b"order+id=\xc3", "'order id' is not valid UTF-8");
    }

    #[test]
    fn a_large_form_is_read_once() {
        let mut body = "order+i=%41&".repeat(90_000);
        body.push_str("order+id=");
        body.push_str(&"%41".repeat(350_000));
        takes(&body, &"A".repeat(350_000));
        assert_eq!(
            field(&[b'&'; 1_000_000], "a").unwrap_err().to_string(),
            "'a' is missing; the key is taken from it"
        );
        assert!(field(&[b'='; 1_000_000], "a").is_err());
    }
}
