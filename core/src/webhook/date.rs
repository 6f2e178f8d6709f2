//! Dates of the calendar, as settings and notifications write them.

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// The first and the last millisecond that a date means: of a day, `2027-01-31`, its first and its last;
/// of an instant, `2027-01-31T12:00:00Z`, that one. In UTC.
pub(crate) fn span_ms(text: &str) -> Option<(u64, u64)> {
    match text.split_once('T') {
        None => {
            let start = day_ms(text)?;
            Some((start, start + DAY_MS - 1))
        }
        Some((day, time)) => {
            let at = day_ms(day)? + time_ms(time.strip_suffix('Z')?)?;
            Some((at, at))
        }
    }
}

/// `2027-01-31 12:00:00`, as milliseconds since 1970 if it were in UTC.
pub(super) fn instant_ms(text: &str) -> Option<u64> {
    let (day, time) = text.split_once(' ')?;
    Some(day_ms(day)? + time_ms(time)?)
}

fn day_ms(text: &str) -> Option<u64> {
    let [year, month, day] = numbers(text, '-', [4, 2, 2])?;
    if year < 1970 || !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let days_of_years: u64 = (1970..year)
        .map(|year| 365 + u64::from(is_leap(year)))
        .sum();
    let days_of_months: u64 = (1..month).map(|month| days_in(year, month)).sum();
    Some((days_of_years + days_of_months + day - 1) * DAY_MS)
}

/// Year, month and day of the day that is so many days after 1970-01-01.
pub(crate) fn of_day(mut days: u64) -> [u64; 3] {
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    [year, month, days + 1]
}

fn time_ms(text: &str) -> Option<u64> {
    let [hours, minutes, seconds] = numbers(text, ':', [2, 2, 2])?;
    let is_time = hours < 24 && minutes < 60 && seconds < 60;
    is_time.then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000)
}

/// Three numbers of exactly these lengths.
fn numbers(text: &str, between: char, lengths: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut read = [0; 3];
    for (number, length) in read.iter_mut().zip(lengths) {
        let part = parts.next()?;
        let is_number = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| is_number)?;
    }
    parts.next().is_none().then_some(read)
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_date_is_a_day_or_an_instant() {
        assert_eq!(span_ms("1970-01-01"), Some((0, DAY_MS - 1)));
        assert_eq!(
            span_ms("2000-02-29T23:59:59Z"),
            Some((951_868_799_000, 951_868_799_000))
        );
        assert_eq!(span_ms("2027-01-31").unwrap().0, 1_801_353_600_000);
        assert_eq!(instant_ms("2026-11-30 08:00:00"), Some(1_796_025_600_000));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "2027",
            "2027-1-31",
            "2027-13-01",
            "2027-02-29",
            "2027-00-10",
            "2027-01-00",
            "1969-12-31",
            "2027-01-01T10:00:00",
            "2027-01-01T24:00:00Z",
            "2027-01-01T10:00Z",
            "+027-01-01",
            "2027-01-01-01",
        ] {
            assert_eq!(span_ms(text), None, "{text}");
        }
        assert_eq!(instant_ms("2027-01-01T10:00:00"), None);
    }
}
