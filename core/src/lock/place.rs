//! A place in line, as who has waited in vain carries it: `p1.<ticket>.<until>.<stamp>`.
//!
//! It says since when its holder waits, so that an object that has forgotten its line puts it where it
//! was. Invariant: it is of use to the asker and for the lock that it was written for, and for a moment
//! only: an old place hoarded for later is none.

use alloc::format;
use alloc::string::String;

use super::{Asker, LockName, Ticket};
use crate::stamp::{is_stamped, stamp};

const VERSION: &str = "p1";

/// A place, and until when it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a place has exactly these parts")]
pub struct Place {
    /// Where in the line.
    pub ticket: Ticket,
    /// Until when.
    pub until_ms: u64,
}

impl Place {
    /// Writes it for who stands there.
    pub fn write(self, secret: &[u8], name: &LockName, asker: Asker) -> String {
        let numbers = self.numbers();
        let mark = stamp(secret, &signed(&numbers, name, asker));
        format!("{numbers}.{mark}")
    }

    /// Reads one; `None` for what is none, is over, or is another's.
    pub fn read(
        text: &str,
        secret: &[u8],
        name: &LockName,
        asker: Asker,
        now_ms: u64,
    ) -> Option<Self> {
        let (numbers, mark) = text.rsplit_once('.')?;
        if !is_stamped(secret, &signed(numbers, name, asker), mark) {
            return None;
        }
        let mut parts = numbers.split('.').skip(1);
        let mut number = || parts.next()?.parse().ok();
        let place = Self {
            ticket: Ticket::new(number()?),
            until_ms: number()?,
        };
        (place.until_ms > now_ms).then_some(place)
    }

    fn numbers(self) -> String {
        format!("{VERSION}.{}.{}", self.ticket.as_u64(), self.until_ms)
    }
}

fn signed(numbers: &str, name: &LockName, asker: Asker) -> String {
    format!("place\n{numbers}\n{}\n{}", name.as_str(), asker.to_text())
}
