//! What sdk/js and the engine say to each other: texts of fields in an order that both know (sdk/js/letter.js has the same one).
//!
//! Invariant: a field never holds the separator. An absent one is empty, `=` stands before a text, `t` and `f` are yes and no,
//! and digits are a whole number from 0 (here in decimal, there in hexadecimal: dividing 64-bit numbers takes plain JavaScript
//! a thousand bytes); whatever else stands in one counts as absent.
//!
//! Objects would be read and written member by member, with a name, a call and a handle for each: that was a tenth of the
//! download, and most of what the engine did at its start.

const SEPARATOR: u8 = 0;

/// Reads field by field; behind the last one everything is absent.
pub(crate) struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    pub(crate) fn new(letter: &'a str) -> Self {
        Self(letter)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        self.next().strip_prefix('=')
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        whole_number(self.next())
    }

    /// Yes, no, or nothing said.
    pub(crate) fn choice(&mut self) -> Option<bool> {
        match self.next() {
            "t" => Some(true),
            "f" => Some(false),
            _ => None,
        }
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.choice() == Some(true)
    }

    fn next(&mut self) -> &'a str {
        let end = self.0.bytes().position(|byte| byte == SEPARATOR);
        let (field, rest) = match end.and_then(|end| self.0.split_at_checked(end)) {
            Some((field, rest)) => (field, rest.get(1..).unwrap_or_default()),
            None => (self.0, ""),
        };
        self.0 = rest;
        field
    }
}

/// Writes field by field.
pub(crate) struct Writer(String);

impl Writer {
    pub(crate) fn new() -> Self {
        Self(String::with_capacity(256))
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.0.push('=');
        self.0.push_str(text);
        self.end();
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.0.push_str("0x");
        self.digits(number);
        self.end();
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.0.push(if flag { 't' } else { 'f' });
        self.end();
    }

    pub(crate) fn absent(&mut self, fields: usize) {
        for _ in 0..fields {
            self.end();
        }
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }

    fn end(&mut self) {
        self.0.push(char::from(SEPARATOR));
    }

    fn digits(&mut self, number: u64) {
        if number > 15 {
            self.digits(number >> 4);
        }
        let digit = (number & 15) as u8;
        self.0.push(char::from(match digit {
            0..=9 => b'0' + digit,
            _ => b'a' - 10 + digit,
        }));
    }
}

/// Digits only, and no more than fit.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    let mut number: u64 = 0;
    for byte in text.bytes() {
        let digit = char::from(byte).to_digit(10)?;
        number = number.checked_mul(10)?.checked_add(digit.into())?;
    }
    (!text.is_empty()).then_some(number)
}
