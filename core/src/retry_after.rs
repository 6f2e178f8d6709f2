//! How long the other side asks to wait: `Retry-After` (RFC 9110, section 10.2.3).
//!
//! Invariant: what is not exactly a number of seconds or one of the three date forms is no answer
//! (`None`), and no value asks for more than [`MAX_WAIT_MS`]. Dates are read strictly: a date that
//! had to be guessed is a wait that had to be guessed.

/// The longest wait that is believed: a day.
pub const MAX_WAIT_MS: u64 = 24 * 60 * 60 * 1_000;

const MEAN_YEAR_MS: f64 = 31_556_952_000.0;
const MONTHS: &str = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
const DAYS: &str = "Mon Tue Wed Thu Fri Sat Sun";
const LONG_DAYS: &str = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday";

/// Reads the value of a `Retry-After` field as a wait from `now_ms`. A date in the past is no wait.
///
/// `now_ms` should be the sender's clock (its `Date` field) where it can be read: then a wrong clock
/// on this side does no harm.
pub fn wait_ms(value: &str, now_ms: u64) -> Option<u64> {
    let value = value.trim_ascii();
    let wait = match seconds(value.as_bytes()) {
        Some(seconds) => seconds.saturating_mul(1_000),
        None => http_date(value, now_ms)?.saturating_sub(now_ms),
    };
    Some(wait.min(MAX_WAIT_MS))
}

/// Reads an HTTP-date in any of its three forms as milliseconds since the Unix epoch.
///
/// A day of the week that does not belong to the date is accepted: it adds nothing to the date,
/// recipients are told to be robust (RFC 9110, section 5.6.7), and whoever formats dates by hand gets it wrong.
/// What is no day of the week is not accepted.
///
/// `now_ms` gives the two-digit years of the oldest form their century: more than 50 years ahead
/// means the past one.
pub fn http_date(value: &str, now_ms: u64) -> Option<u64> {
    imf_fixdate(value)
        .or_else(|| rfc850_date(value, now_ms))
        .or_else(|| asctime_date(value))
}

/// Any number of digits is a number of seconds; more than fit are just very many.
fn seconds(digits: &[u8]) -> Option<u64> {
    let valid = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    valid.then(|| {
        digits.iter().fold(0_u64, |sum, digit| {
            sum.saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        })
    })
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn imf_fixdate(value: &str) -> Option<u64> {
    let mut text = Cursor(value.as_bytes());
    text.one_of(DAYS)?;
    text.literal(", ")?;
    let day = text.number(2)?;
    text.literal(" ")?;
    let month = text.one_of(MONTHS)?;
    text.literal(" ")?;
    let year = text.number(4)?;
    text.literal(" ")?;
    let time = text.time_of_day()?;
    text.literal(" GMT")?;
    text.end()?;
    timestamp(year, month, day, time)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850_date(value: &str, now_ms: u64) -> Option<u64> {
    let mut text = Cursor(value.as_bytes());
    text.one_of(LONG_DAYS)?;
    text.literal(", ")?;
    let day = text.number(2)?;
    text.literal("-")?;
    let month = text.one_of(MONTHS)?;
    text.literal("-")?;
    let year = full_year(text.number(2)?, now_ms);
    text.literal(" ")?;
    let time = text.time_of_day()?;
    text.literal(" GMT")?;
    text.end()?;
    timestamp(year, month, day, time)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime_date(value: &str) -> Option<u64> {
    let mut text = Cursor(value.as_bytes());
    text.one_of(DAYS)?;
    text.literal(" ")?;
    let month = text.one_of(MONTHS)?;
    text.literal(" ")?;
    let day = match text.literal(" ") {
        Some(()) => text.number(1)?,
        None => text.number(2)?,
    };
    text.literal(" ")?;
    let time = text.time_of_day()?;
    text.literal(" ")?;
    let year = text.number(4)?;
    text.end()?;
    timestamp(year, month, day, time)
}

fn full_year(short: u32, now_ms: u64) -> u32 {
    let this_year = 1970 + u32::from((now_ms as f64 / MEAN_YEAR_MS) as u16);
    match this_year - this_year % 100 + short {
        far_ahead if far_ahead > this_year + 50 => far_ahead - 100,
        far_behind if far_behind + 50 <= this_year => far_behind + 100,
        near => near,
    }
}

/// What has not been read yet. A date has one spelling, so this is all that its grammar needs.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn literal(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text.as_bytes())?;
        Some(())
    }

    /// Exactly that many digits, at most four.
    fn number(&mut self, length: usize) -> Option<u32> {
        let (digits, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        seconds(digits)?.try_into().ok()
    }

    /// The position of the name, from 1.
    fn one_of(&mut self, names: &str) -> Option<u32> {
        let names = names.as_bytes().split(|byte| *byte == b' ');
        (1..).zip(names).find_map(|(position, name)| {
            self.0 = self.0.strip_prefix(name)?;
            Some(position)
        })
    }

    /// `08:49:37` in seconds. A leap second is the last second of its minute.
    fn time_of_day(&mut self) -> Option<u32> {
        let hour = self.number(2)?;
        self.literal(":")?;
        let minute = self.number(2)?;
        self.literal(":")?;
        let second = self.number(2)?;
        let valid = hour < 24 && minute < 60 && second <= 60;
        valid.then(|| hour * 3_600 + minute * 60 + second.min(59))
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

fn timestamp(year: u32, month: u32, day: u32, seconds: u32) -> Option<u64> {
    if year < 1970 || day == 0 || day > days_in(year, month) {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    Some((u64::from(days) * 86_400 + u64::from(seconds)) * 1_000)
}

/// Days from 1970-01-01 to the first of the month (from 1).
fn days_before(year: u32, month: u32) -> u32 {
    let leap_days_until = |year: u32| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leap_days_until(year - 1) - leap_days_until(1969);
    years + (1..month).map(|month| days_in(year, month)).sum::<u32>()
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// 1994-11-06T08:49:37Z, the standard's own example.
    const EXAMPLE_MS: u64 = 784_111_777_000;
    /// 2026-01-01T00:00:00Z
    const NEW_YEAR_2026_MS: u64 = 1_767_225_600_000;

    #[test]
    fn seconds_are_a_wait() {
        assert_eq!(wait_ms("0", 5), Some(0));
        assert_eq!(wait_ms("120", 5), Some(120_000));
        assert_eq!(wait_ms(" \t7 ", 5), Some(7_000));
        assert_eq!(wait_ms("007", 5), Some(7_000));
    }

    #[test]
    fn insane_waits_are_capped() {
        assert_eq!(wait_ms("86401", 0), Some(MAX_WAIT_MS));
        assert_eq!(wait_ms("99999999999999999999999999", 0), Some(MAX_WAIT_MS));
        assert_eq!(
            wait_ms("Fri, 31 Dec 9999 23:59:59 GMT", NEW_YEAR_2026_MS),
            Some(MAX_WAIT_MS)
        );
    }

    #[test]
    fn all_three_date_forms_are_read() {
        for value in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(http_date(value, EXAMPLE_MS), Some(EXAMPLE_MS), "{value}");
            assert_eq!(wait_ms(value, EXAMPLE_MS - 1_500), Some(1_500), "{value}");
            assert_eq!(wait_ms(value, EXAMPLE_MS + 1), Some(0), "{value}");
        }
    }

    #[test]
    fn another_day_of_the_week_changes_nothing_and_none_is_no_date() {
        for value in [
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Monday, 06-Nov-94 08:49:37 GMT",
            "Mon Nov  6 08:49:37 1994",
        ] {
            assert_eq!(http_date(value, EXAMPLE_MS), Some(EXAMPLE_MS), "{value}");
        }
        assert_eq!(http_date("Son, 06 Nov 1994 08:49:37 GMT", EXAMPLE_MS), None);
        assert_eq!(http_date("06 Nov 1994 08:49:37 GMT", EXAMPLE_MS), None);
    }

    #[test]
    fn dates_count_leap_years() {
        let at = |value| http_date(value, NEW_YEAR_2026_MS);
        assert_eq!(at("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(at("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000_000));
        assert_eq!(at("Fri, 01 Mar 2024 00:00:00 GMT"), Some(1_709_251_200_000));
        assert_eq!(at("Tue, 29 Feb 2000 00:00:00 GMT"), Some(951_782_400_000));
        assert_eq!(at("Thu Jan  1 00:00:00 2026"), Some(NEW_YEAR_2026_MS));
        assert_eq!(at("Sun, 29 Feb 2100 00:00:00 GMT"), None);
        assert_eq!(
            at("Wed, 31 Dec 2025 23:59:60 GMT"),
            Some(NEW_YEAR_2026_MS - 1_000)
        );
    }

    #[test]
    fn two_digit_years_lie_within_fifty_years() {
        let year = |value| http_date(value, NEW_YEAR_2026_MS);
        assert_eq!(
            year("Thursday, 01-Jan-26 00:00:00 GMT"),
            Some(NEW_YEAR_2026_MS)
        );
        assert_eq!(
            year("Wednesday, 01-Jan-76 00:00:00 GMT"),
            Some(3_345_062_400_000)
        );
        assert_eq!(
            year("Saturday, 01-Jan-77 00:00:00 GMT"),
            Some(220_924_800_000)
        );
        let in_2099 = 4_070_908_800_000;
        assert_eq!(
            http_date("Saturday, 01-Jan-01 00:00:00 GMT", in_2099),
            Some(4_133_980_800_000)
        );
    }

    #[test]
    fn nonsense_is_no_answer() {
        for value in [
            "",
            " ",
            "-1",
            "+1",
            "1.5",
            "1e3",
            "1 s",
            "1,2",
            "soon",
            "０",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 1994 08:49:37 GMT x",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Son, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:00 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sunday, 06-Nov-94-x 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994",
            "Sun Nov é 08:49:37 1994",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "2026-01-01T00:00:00Z",
        ] {
            assert_eq!(wait_ms(value, NEW_YEAR_2026_MS), None, "{value:?}");
        }
    }
}
