//! The one spelling of a decimal number.
//!
//! Works on the digits of the source, so that nothing is rounded, however long they are.

use alloc::string::String;
use core::fmt::Write;

/// Appends the spelling of a number of JSON's grammar; `None` if its exponent is over 64 bits.
/// Zero is zero with every exponent.
pub(super) fn write(out: &mut String, source: &str) -> Option<()> {
    let unsigned = source.trim_start_matches('-');
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_zero = |digits: &str| digits.bytes().all(|digit| digit == b'0');
    if all_zero(integer) && all_zero(fraction) {
        out.push('0');
        return Some(());
    }
    if unsigned.len() < source.len() {
        out.push('-');
    }
    let shift = write_digits(out, integer, fraction);
    let exponent = i128::from(exponent.parse::<i64>().ok()?) + shift;
    if exponent != 0 {
        write!(out, "e{exponent}").expect("a String takes everything");
    }
    Some(())
}

/// Appends the digits without zeros at either end; says the power of ten they then stand for.
fn write_digits(out: &mut String, integer: &str, fraction: &str) -> i128 {
    let start = out.len();
    // JSON's integer part has a leading zero only if it is 0.
    if integer == "0" {
        out.push_str(fraction.trim_start_matches('0'));
    } else {
        out.push_str(integer);
        out.push_str(fraction);
    }
    let written = out.len();
    let significant = out[start..].trim_end_matches('0').len();
    out.truncate(start + significant);
    // A body's length always fits.
    (written - out.len()) as i128 - fraction.len() as i128
}
