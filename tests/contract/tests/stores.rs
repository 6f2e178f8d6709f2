//! The suite natively: in memory, and on the SQLite of this machine. In workerd it runs by
//! `tests/workerd/contract.test.mjs`.

mod sqlite;

use oncegate_contract::{Memory, for_each_case, run};
use oncegate_store::Database;

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

#[test]
fn what_is_erased_is_in_neither_table() {
    let database = Sqlite::default();
    run("what_is_erased_is_forgotten", &database);
    for table in ["operations", "operations_earlier"] {
        let kept = format!("SELECT body FROM {table} WHERE body IS NOT NULL");
        assert_eq!(database.run(&kept, Vec::new()).unwrap().len(), 0, "{table}");
    }
}
