//! Paths: the patterns of routes, and the spellings that an origin might take for the same path
//! (rule K5).
//!
//! A pattern matches a path *exactly*, as it is spelled, or *may match* it: an origin that reads paths
//! leniently could take it for one that the pattern matches. Only the first kind is served.

use alloc::string::String;
use alloc::vec::Vec;

/// A path pattern: `/orders`, `/orders/:id/pay`, `/hooks/*`, and `/orders/` where the origin has its paths so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    exact: Vec<Segment>,
    loose: Vec<Segment>,
    case: Case,
}

/// Whether an origin tells `/Orders` from `/orders`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Counts,
    Ignored,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Any(String),
    Literal(String),
    Rest,
}

impl Pattern {
    /// Reads a pattern; the error says what is wrong with it.
    pub(super) fn parse(text: &str, case: Case) -> Result<Self, &'static str> {
        if !text.starts_with('/') {
            return Err("must begin with '/'");
        }
        let bare = without_slash(text);
        if canonical(bare) != bare {
            return Err("must be in canonical form: no empty or dot segments, no ';'");
        }
        let exact = segments(text);
        let rest = exact.iter().position(|segment| *segment == Segment::Rest);
        match rest {
            Some(index) if index + 1 < exact.len() => Err("'*' may only be the last segment"),
            _ => Ok(Self {
                exact,
                loose: segments(&Readings::of(bare).with(case)[0]),
                case,
            }),
        }
    }

    /// Whether the pattern matches `path` as it is spelled.
    pub(super) fn matches(&self, path: &str) -> bool {
        matches(&self.exact, path, false)
    }

    /// Whether it does, and there is no other spelling that any origin takes for this one.
    pub(super) fn is_exactly(&self, path: &str) -> bool {
        let bare = match self.ends_with_slash() {
            true => without_slash(path),
            false => path,
        };
        self.matches(path) && canonical(bare) == bare
    }

    /// Whether the origin has its paths so that they end with a `/`.
    pub(super) fn ends_with_slash(&self) -> bool {
        self.exact.len() > 1 && self.exact.last().is_some_and(Segment::is_nothing)
    }

    /// Whether an origin could read `path` as one that the pattern matches.
    pub(super) fn may_match(&self, readings: &Readings) -> bool {
        let mut paths = readings.with(self.case).iter();
        paths.any(|path| matches(&self.loose, path, readings.is_folder))
    }

    /// Whether every path is matched.
    pub(super) fn is_everything(&self) -> bool {
        self.exact == [Segment::Rest]
    }

    /// Whether every path that `other` matches is matched.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let ends_alike = self.exact.len() == other.exact.len();
        let mut pairs = self.exact.iter().zip(&other.exact);
        let decided = pairs.find_map(|pair| match pair {
            (Segment::Rest, _) => Some(true),
            (_, Segment::Rest) => Some(false),
            (Segment::Any(_), nothing) if nothing.is_nothing() => Some(false),
            (Segment::Any(_), _) => None,
            (Segment::Literal(one), Segment::Literal(two)) if one == two => None,
            (Segment::Literal(_), _) => Some(false),
        });
        decided.unwrap_or(ends_alike)
    }

    /// Whether a segment is called `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.exact
            .iter()
            .any(|segment| *segment == Segment::Any(name.into()))
    }

    /// The segment called `name` of a path that matches.
    pub(super) fn capture<'a>(&self, path: &'a str, name: &str) -> Option<&'a str> {
        let index = self
            .exact
            .iter()
            .position(|segment| *segment == Segment::Any(name.into()))?;
        path.strip_prefix('/')?.split('/').nth(index)
    }

    /// Whether some path matches both patterns, or may be read as if it did.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let both_tell = self.case == Case::Counts && other.case == Case::Counts;
        let same =
            |one: &str, two: &str| one == two || (!both_tell && one.eq_ignore_ascii_case(two));
        meet(&self.loose, &other.loose, same) || meet(&self.with_slash(), &other.with_slash(), same)
    }

    /// As it is read, with the empty segment behind a `/` at its end.
    fn with_slash(&self) -> Vec<Segment> {
        let mut segments = self.loose.clone();
        if self.ends_with_slash() {
            segments.push(Segment::Literal(String::new()));
        }
        segments
    }
}

fn meet(one: &[Segment], other: &[Segment], same: impl Fn(&str, &str) -> bool) -> bool {
    let mut pairs = one.iter().zip(other);
    let diverge = pairs.find_map(|pair| match pair {
        (Segment::Rest, _) | (_, Segment::Rest) => Some(true),
        (Segment::Literal(one), Segment::Literal(two)) if !same(one, two) => Some(false),
        (Segment::Any(_), nothing) | (nothing, Segment::Any(_)) if nothing.is_nothing() => {
            Some(false)
        }
        _ => None,
    });
    diverge.unwrap_or(one.len() == other.len())
}

impl Segment {
    /// What is behind a `/` at the end.
    fn is_nothing(&self) -> bool {
        matches!(self, Self::Literal(text) if text.is_empty())
    }
}

/// The path without a `/` at its end; the root has none.
fn without_slash(path: &str) -> &str {
    let without = path.strip_suffix('/');
    without.filter(|bare| !bare.is_empty()).unwrap_or(path)
}

fn segments(text: &str) -> Vec<Segment> {
    let segments = text.split('/').skip(1);
    segments
        .map(|segment| match (segment, segment.strip_prefix(':')) {
            ("*", _) => Segment::Rest,
            (_, Some(name)) => Segment::Any(name.into()),
            (literal, None) => Segment::Literal(literal.into()),
        })
        .collect()
}

/// `is_folder` says that what is below the path may be meant: its first entry, which is called nothing.
fn matches(pattern: &[Segment], path: &str, is_folder: bool) -> bool {
    let Some(path) = path.strip_prefix('/') else {
        return false;
    };
    let mut segments = path.split('/');
    for pattern in pattern {
        match (pattern, segments.next()) {
            (Segment::Rest, Some(_)) => return true,
            (Segment::Rest, None) => return is_folder,
            (Segment::Any(_), Some(segment)) if !segment.is_empty() => {}
            (Segment::Literal(literal), Some(segment)) if literal == segment => {}
            _ => return false,
        }
    }
    segments.next().is_none()
}

/// The form in which a path is written if no spelling is left open: encoded unreserved characters
/// and slashes decoded, parameters, empty and dot segments and a trailing slash removed.
pub(super) fn canonical(path: &str) -> String {
    let is_decoded = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/\\;%".contains(&byte);
    join(&decode(path.as_bytes(), is_decoded))
}

/// The forms in which lenient origins may read a path. Bytes stand for themselves, whatever text they
/// spell.
///
/// All of them decode, drop control characters, parameters, empty and dot segments. They differ in what
/// only some origins do: to take an encoded slash for a slash, and to let a segment vanish of which
/// nothing is left, such as `%00` or `;a`.
pub(super) struct Readings {
    as_written: Vec<String>,
    in_lower_case: Vec<String>,
    /// Whether the path ends with a `/`, as some origin reads it.
    is_folder: bool,
}

impl Readings {
    pub(super) fn of(path: &str) -> Self {
        let differ = |byte: u8| matches!(byte, b'%' | b';' | b'\\') || byte.is_ascii_control();
        let ways: &[(bool, bool)] = match path.bytes().any(differ) {
            true => &[(true, false), (true, true), (false, false), (false, true)],
            false => &[(true, false)],
        };
        let as_written: Vec<String> = ways
            .iter()
            .map(|(split, keep)| read(path, *split, *keep))
            .collect();
        let in_lower_case = as_written.iter().map(|text| text.to_ascii_lowercase());
        Self {
            in_lower_case: in_lower_case.collect(),
            as_written,
            is_folder: is_folder(path),
        }
    }

    fn with(&self, case: Case) -> &[String] {
        match case {
            Case::Counts => &self.as_written,
            Case::Ignored => &self.in_lower_case,
        }
    }
}

fn is_folder(path: &str) -> bool {
    let mut decoded = decode(path.as_bytes(), |_| true);
    decoded.retain(|character| !character.is_control());
    let last = decoded.rsplit(['/', '\\']).next().unwrap_or_default();
    matches!(last.split(';').next(), Some("" | "." | ".."))
}

/// Reads a path in one of the ways of [`Readings`].
fn read(path: &str, splits_decoded: bool, keeps_vanished: bool) -> String {
    const SOMETHING: &str = "%";
    let decoded = |text: &str| decode(text.as_bytes(), |_| true);
    let written: Vec<String> = match splits_decoded {
        true => decoded(path).split(['/', '\\']).map(String::from).collect(),
        false => path.split('/').map(decoded).collect(),
    };
    let mut segments: Vec<String> = Vec::new();
    for mut segment in written.into_iter().filter(|segment| !segment.is_empty()) {
        segment.retain(|character| !character.is_control());
        match segment.split(';').next().unwrap_or_default() {
            "." => {}
            ".." => drop(segments.pop()),
            "" if keeps_vanished => segments.push(SOMETHING.into()),
            "" => {}
            name => segments.push(name.replace('/', SOMETHING)),
        }
    }
    let mut path = String::from("/");
    path.push_str(&segments.join("/"));
    path
}

fn join(decoded: &str) -> String {
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
    let mut path = String::with_capacity(decoded.len());
    for segment in &segments {
        path.push('/');
        path.push_str(segment);
    }
    if path.is_empty() {
        path.push('/');
    }
    path
}

/// How often an origin behind proxies may decode a path.
const MOST_DECODINGS: usize = 4;

fn decode(path: &[u8], is_decoded: impl Fn(u8) -> bool) -> String {
    let mut bytes = path.to_vec();
    for _ in 0..MOST_DECODINGS {
        let again = decode_once(&bytes, &is_decoded);
        if again == bytes {
            break;
        }
        bytes = again;
    }
    bytes.into_iter().map(char::from).collect()
}

fn decode_once(path: &[u8], is_decoded: &impl Fn(u8) -> bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let [byte, after @ ..] = rest {
        let decoded = match rest {
            [b'%', high, low, ..] => hex_pair(*high, *low).filter(|byte| is_decoded(*byte)),
            _ => None,
        };
        bytes.push(decoded.unwrap_or(*byte));
        rest = if decoded.is_some() { &rest[3..] } else { after };
    }
    bytes
}

fn hex_pair(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests;
