//! A strict reader of JSON (RFC 8259).
//!
//! The reader walks over the body once and hands out events; what it has handed out is
//! grammatical, and [`Event::End`] comes only after a whole text of valid UTF-8, without a byte
//! order mark and with nothing behind the value. It keeps no tree: its memory is one bit for each
//! open bracket, of which there are at most [`MAX_DEPTH`].

mod error;
#[cfg(test)]
mod tests;

pub use self::error::JsonError;
pub(super) use self::error::JsonErrorKind;

/// How deeply arrays and objects may be nested.
pub const MAX_DEPTH: u32 = 64;

/// Walks over a JSON text.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Where the last event begins.
    start: usize,
    /// One bit for each open bracket, the innermost lowest: whether it is an object's.
    objects: u64,
    depth: u32,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    AfterValue,
    FirstElement,
    FirstName,
    Value,
}

/// A step through a JSON text.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "JSON's grammar does not grow")]
pub enum Event<'a> {
    /// `]`
    ArrayEnd,
    /// `[`
    ArrayStart,
    /// `true` or `false`.
    Bool(bool),
    /// The text is over and was valid.
    End,
    /// A member's name; its value follows.
    Name(Text<'a>),
    /// `null`
    Null,
    /// A number, as written.
    Number(&'a str),
    /// `}`
    ObjectEnd,
    /// `{`
    ObjectStart,
    /// A string value.
    String(Text<'a>),
}

impl<'a> Reader<'a> {
    /// Begins to read.
    ///
    /// # Errors
    ///
    /// [`JsonError`] if the body is not UTF-8 or begins with a byte order mark.
    pub fn new(body: &'a [u8]) -> Result<Self, JsonError> {
        let text = core::str::from_utf8(body)
            .map_err(|error| JsonError::new(JsonErrorKind::Utf8, error.valid_up_to()))?;
        if text.starts_with('\u{feff}') {
            return Err(JsonError::new(JsonErrorKind::ByteOrderMark, 0));
        }
        Ok(Self {
            text,
            at: 0,
            start: 0,
            objects: 0,
            depth: 0,
            state: State::Value,
        })
    }

    /// The next event.
    ///
    /// # Errors
    ///
    /// [`JsonError`] says what is wrong and at which byte.
    pub fn read(&mut self) -> Result<Event<'a>, JsonError> {
        self.skip_space();
        let state = self.state;
        match state {
            State::AfterValue => self.after_value(),
            State::FirstElement if self.take(b']') => Ok(self.close(Event::ArrayEnd)),
            State::FirstName if self.take(b'}') => Ok(self.close(Event::ObjectEnd)),
            State::FirstName => self.name(),
            State::FirstElement | State::Value => self.value(),
        }
    }

    /// Reads to the end of the value that began with `first`, the last event.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn skip(&mut self, first: Event<'_>) -> Result<(), JsonError> {
        if matches!(first, Event::ArrayStart | Event::ObjectStart) {
            let inside = self.depth;
            while self.depth >= inside {
                self.read()?;
            }
        }
        Ok(())
    }

    /// The place of the last event's first byte, counted from 1.
    pub fn position(&self) -> usize {
        self.start + 1
    }

    fn after_value(&mut self) -> Result<Event<'a>, JsonError> {
        let in_object = self.objects & 1 == 1;
        match self.peek() {
            None if self.depth == 0 => Ok(Event::End),
            Some(_) if self.depth == 0 => Err(self.error(JsonErrorKind::Trailing)),
            Some(b',') => {
                self.at += 1;
                self.skip_space();
                if in_object { self.name() } else { self.value() }
            }
            Some(b'}') if in_object => {
                self.at += 1;
                Ok(self.close(Event::ObjectEnd))
            }
            Some(b']') if !in_object => {
                self.at += 1;
                Ok(self.close(Event::ArrayEnd))
            }
            _ if in_object => Err(self.expected("',' or '}'")),
            _ => Err(self.expected("',' or ']'")),
        }
    }

    fn name(&mut self) -> Result<Event<'a>, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a member name in double quotes"));
        }
        let start = self.start;
        let name = self.string()?;
        self.skip_space();
        if !self.take(b':') {
            return Err(self.expected("':'"));
        }
        self.start = start;
        self.state = State::Value;
        Ok(Event::Name(name))
    }

    fn value(&mut self) -> Result<Event<'a>, JsonError> {
        match self.peek() {
            Some(b'{') => return self.open(State::FirstName, Event::ObjectStart),
            Some(b'[') => return self.open(State::FirstElement, Event::ArrayStart),
            _ => self.state = State::AfterValue,
        }
        match self.peek() {
            Some(b'"') => self.string().map(Event::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Event::Number),
            Some(b't') => self.literal("true", Event::Bool(true)),
            Some(b'f') => self.literal("false", Event::Bool(false)),
            Some(b'n') => self.literal("null", Event::Null),
            _ => Err(self.expected("a value")),
        }
    }

    fn open(&mut self, state: State, event: Event<'a>) -> Result<Event<'a>, JsonError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(JsonErrorKind::TooDeep));
        }
        self.at += 1;
        self.depth += 1;
        self.objects = self.objects << 1 | u64::from(matches!(state, State::FirstName));
        self.state = state;
        Ok(event)
    }

    fn close(&mut self, event: Event<'a>) -> Event<'a> {
        self.depth -= 1;
        self.objects >>= 1;
        self.state = State::AfterValue;
        event
    }

    fn literal(&mut self, word: &str, event: Event<'a>) -> Result<Event<'a>, JsonError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(event)
    }

    fn number(&mut self) -> Result<&'a str, JsonError> {
        let from = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _signed = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(&self.text[from..self.at])
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.expected("a digit"));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<Text<'a>, JsonError> {
        self.at += 1;
        let from = self.at;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(..=0x1f) => return Err(self.error(JsonErrorKind::Control)),
                Some(_) => self.at += 1,
                None => return Err(self.expected("a closing quote")),
            }
        }
        self.at += 1;
        Ok(Text(&self.text[from..self.at - 1]))
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += match (rest.get(1), unit(rest)) {
            (Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't'), _) => 2,
            (_, Some(0xd800..=0xdbff)) if matches!(unit(&rest[6..]), Some(0xdc00..=0xdfff)) => 12,
            (_, Some(0xd800..=0xdfff)) => return Err(self.error(JsonErrorKind::LoneSurrogate)),
            (_, Some(_)) => 6,
            _ => return Err(self.error(JsonErrorKind::Escape)),
        };
        Ok(())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
        self.start = self.at;
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn expected(&self, what: &'static str) -> JsonError {
        self.error(if self.at < self.text.len() {
            JsonErrorKind::Expected(what)
        } else {
            JsonErrorKind::Ends(what)
        })
    }

    fn error(&self, kind: JsonErrorKind) -> JsonError {
        JsonError::new(kind, self.at)
    }
}

/// A string, as it stands between its quotes.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// Its characters, unescaped.
    pub fn chars(self) -> impl Iterator<Item = char> + 'a {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let (character, length) = match rest.as_bytes() {
                [b'\\', ..] => unescape(rest.as_bytes())?,
                _ => rest.chars().next().map(|next| (next, next.len_utf8()))?,
            };
            rest = &rest[length..];
            Some(character)
        })
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.chars().eq(other.chars())
    }
}

/// The character that `bytes` begin with, and the length of its escape. The reader has let nothing
/// else pass than what is understood here.
fn unescape(bytes: &[u8]) -> Option<(char, usize)> {
    let character = match bytes.get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let units = [unit(bytes), unit(&bytes[6..])];
            let units = units.into_iter().map_while(core::convert::identity);
            let character = char::decode_utf16(units).next()?.ok()?;
            return Some((character, 6 * character.len_utf16()));
        }
        other => char::from(*other),
    };
    Some((character, 2))
}

/// The UTF-16 code unit that `bytes` begin with, as `\uXXXX`.
fn unit(bytes: &[u8]) -> Option<u16> {
    let [b'\\', b'u', digits @ ..] = bytes else {
        return None;
    };
    digits.get(..4)?.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}
