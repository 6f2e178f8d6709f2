//! One ledger over several databases, for those whose tables are split.
//!
//! **Invariant: a key has one database, always the same.** A unique index reaches no further than its
//! own database, so everything about a key, its effect included, must happen in the one that this
//! module names. It depends on the key, the number of databases and their order, and on nothing else:
//! number and order are part of the data, as the way in which the service's own tables are split is.

use oncegate_core::key::Key;

use super::Ledger;
use crate::sql::Dialect;

/// Several ledgers, of which each key has one.
#[derive(Clone, Debug)]
pub struct Routed<DB: Dialect> {
    first: Ledger<DB>,
    others: Vec<Ledger<DB>>,
}

impl<DB: Dialect> Routed<DB> {
    /// Ledgers in the order that is part of the data.
    pub fn new(first: Ledger<DB>, others: Vec<Ledger<DB>>) -> Self {
        Self { first, others }
    }

    /// The ledger of a key. Its database is where the effect belongs, too.
    pub fn of(&self, key: &Key) -> &Ledger<DB> {
        self.at(place(key.as_str(), self.others.len() + 1))
    }

    /// All of them, such as for a purge.
    pub fn all(&self) -> impl Iterator<Item = &Ledger<DB>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn at(&self, place: usize) -> &Ledger<DB> {
        match place.checked_sub(1) {
            Some(other) => &self.others[other],
            None => &self.first,
        }
    }
}

/// FNV-1a over the key's bytes, then the high half of a product: easy to write again in the language of
/// whoever moves the rows one day.
fn place(key: &str, databases: usize) -> usize {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // FNV's high bits change little with the last bytes, and order numbers differ in those.
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let product = u128::from(mixed) * databases as u128;
    usize::try_from(product >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of this would look for rows where they are not.
    #[test]
    fn l3_a_key_keeps_its_database() {
        let places = ["a", "order-1", "order-2", "order-3"].map(|key| place(key, 4));
        assert_eq!(places, [2, 1, 0, 1]);
        assert_eq!(place("anything", 1), 0);
    }

    #[test]
    fn keys_are_spread_evenly() {
        for databases in [2, 3, 16] {
            let mut counts = vec![0; databases];
            for order in 0..8_000 {
                counts[place(&format!("order-{order}"), databases)] += 1;
            }
            let share = 8_000 / databases;
            assert!(
                counts
                    .iter()
                    .all(|count| (share * 8 / 10..share * 12 / 10).contains(count)),
                "{counts:?}"
            );
        }
    }
}
