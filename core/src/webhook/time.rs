//! Whether the time of a signature is close enough to now.
//!
//! Where a sender signs each repetition anew, its time is that of the sending: an old one is somebody
//! else's copy.

use super::Unbelieved;

/// The longest number of seconds that is read: far beyond any time, and far from an overflow.
const MOST_DIGITS: usize = 12;

/// Checks a time in seconds since 1970, as it stands in `header`.
pub(super) fn check_seconds(
    header: &str,
    text: &str,
    now_ms: u64,
    tolerance_ms: u64,
) -> Result<(), Unbelieved> {
    let is_number = !text.is_empty()
        && text.len() <= MOST_DIGITS
        && text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds: Option<u64> = text.parse().ok().filter(|_| is_number);
    let seconds = seconds
        .ok_or_else(|| Unbelieved::Header(header.into(), "has no time in seconds since 1970"))?;
    check_ms(seconds * 1_000, now_ms, tolerance_ms)
}

/// Checks a time in milliseconds since 1970.
pub(super) fn check_ms(at_ms: u64, now_ms: u64, tolerance_ms: u64) -> Result<(), Unbelieved> {
    match now_ms.abs_diff(at_ms) > tolerance_ms {
        true => Err(Unbelieved::Clock),
        false => Ok(()),
    }
}
