//! The suite natively: in memory, and on the SQLite of this machine. In workerd it runs by
//! `tests/workerd/contract.test.mjs`.

mod sqlite;

use oncegate_contract::{Memory, for_each_case, run};

use crate::sqlite::Sqlite;

macro_rules! on_every_store {
    ($($case:ident),* $(,)?) => {
        mod memory {
            $(
                #[test]
                fn $case() {
                    super::run(stringify!($case), &super::Memory::default());
                }
            )*
        }

        mod rusqlite {
            $(
                #[test]
                fn $case() {
                    super::run(stringify!($case), &super::Sqlite::default());
                }
            )*
        }
    };
}

for_each_case!(on_every_store);
