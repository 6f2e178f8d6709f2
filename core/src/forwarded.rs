//! What an origin is told about the way that a request came (rule K6): the addresses that it passed,
//! and the trace that it belongs to.

use alloc::format;
use alloc::string::String;

use crate::hex;

/// The value of `X-Forwarded-For` for an origin: the chain that arrived, and behind it the address from
/// which it came. Only that last one is the gate's word; what stands before it is the client's, or its
/// proxies'.
pub fn forwarded_for(chain: Option<&str>, address: &str) -> String {
    match chain.map(str::trim) {
        None | Some("") => address.into(),
        // The platform may have appended it already.
        Some(chain) if chain.rsplit(',').next().map(str::trim) == Some(address) => chain.into(),
        Some(chain) => format!("{chain}, {address}"),
    }
}

/// Whether a value of `traceparent` can be passed on (W3C Trace Context).
pub fn is_traceparent(value: &str) -> bool {
    let mut fields = value.split('-');
    let mut next = |length| match fields.next() {
        Some(field) if field.len() == length && field.bytes().all(is_lower_hex) => field,
        _ => "",
    };
    let (version, trace, parent, flags) = (next(2), next(32), next(16), next(2));
    let is_named = |id: &str| id.bytes().any(|byte| byte != b'0');
    let has_more = fields.next().is_some();
    is_named(trace)
        && is_named(parent)
        && !flags.is_empty()
        && !matches!(version, "" | "ff")
        && !(version == "00" && has_more)
}

/// The beginning of a trace, from 24 random bytes. It is marked as sampled: an origin that follows its
/// callers would otherwise trace nothing behind a gate.
pub fn new_traceparent(random: &[u8; 24]) -> String {
    let (trace, parent) = random.split_at(16);
    format!("00-{}-{}-01", hex::encode(trace), hex::encode(parent))
}

fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn k6_the_last_address_is_the_one_that_the_gate_saw() {
        assert_eq!(forwarded_for(None, "1.2.3.4"), "1.2.3.4");
        assert_eq!(forwarded_for(Some(" "), "1.2.3.4"), "1.2.3.4");
        assert_eq!(
            forwarded_for(Some("6.6.6.6"), "1.2.3.4"),
            "6.6.6.6, 1.2.3.4"
        );
        assert_eq!(
            forwarded_for(Some("6.6.6.6, 1.2.3.4"), "1.2.3.4"),
            "6.6.6.6, 1.2.3.4"
        );
        assert_eq!(
            forwarded_for(Some("1.2.3.4, 6.6.6.6"), "1.2.3.4"),
            "1.2.3.4, 6.6.6.6, 1.2.3.4"
        );
    }

    #[test]
    fn k6_a_trace_is_passed_on_if_it_is_one() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(is_traceparent(good));
        assert!(is_traceparent(&good.replacen("00", "cc", 1)));
        assert!(is_traceparent(&format!("cc{}-more", &good[2..])));
        for bad in [
            "",
            "00",
            &good[..good.len() - 1],
            &format!("{good}-more"),
            &good.to_ascii_uppercase(),
            &good.replacen("00", "ff", 1),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-",
            &good.replace('-', "_"),
        ] {
            assert!(!is_traceparent(bad), "{bad}");
        }
    }

    #[test]
    fn k6_a_new_trace_is_one() {
        let made = new_traceparent(&[0xab; 24]);
        assert!(is_traceparent(&made), "{made}");
    }
}
