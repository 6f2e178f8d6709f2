//! What the database file itself says. Invariant: it is read apart from the origin, by another program, so that an origin
//! that is wrong about its own rows is found out.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::process::run_lines;
use crate::setup::Tools;

const SCRIPT: &str = "
const { DatabaseSync } = require('node:sqlite');
const [file, key] = process.argv.slice(1);
const database = new DatabaseSync(file, { readOnly: true });
const count = (sql, ...values) => database.prepare(sql).get(...values).n;
console.log([
  count('SELECT count(*) AS n FROM orders'),
  count('SELECT count(*) AS n FROM payments'),
  count('SELECT count(*) AS n FROM orders WHERE request_id = ?', key),
  count('SELECT count(*) AS n FROM payments WHERE order_id IN (SELECT id FROM orders WHERE request_id = ?)', key),
].join(' '));
";

/// Numbers of rows: of the whole shop and of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    /// All orders.
    pub(super) orders: u64,
    /// All payments.
    pub(super) payments: u64,
    /// Orders of the request.
    pub(super) own_orders: u64,
    /// Payments of the request's orders.
    pub(super) own_payments: u64,
}

/// Counts the rows in the file, and among them those of the request with this key.
pub(super) fn count(tools: &Tools, file: &Path, key: &str) -> Result<Rows> {
    let mut node = tools.node();
    node.args(["--no-warnings", "--eval", SCRIPT, "--"])
        .arg(file)
        .arg(key);
    let (status, printed) = run_lines(&mut node, |_| ())?;
    if !status.success() {
        bail!(
            "the database {} cannot be read: {}",
            file.display(),
            printed.trim()
        );
    }
    parse(&printed).with_context(|| {
        format!(
            "the database {} answers `{}`",
            file.display(),
            printed.trim()
        )
    })
}

fn parse(printed: &str) -> Option<Rows> {
    let numbers: Vec<u64> = printed
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect::<Option<_>>()?;
    let [orders, payments, own_orders, own_payments] = numbers[..] else {
        return None;
    };
    Some(Rows {
        orders,
        payments,
        own_orders,
        own_payments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_numbers_are_rows_and_nothing_else_is() {
        assert_eq!(
            parse("5 4 1 1\n"),
            Some(Rows {
                orders: 5,
                payments: 4,
                own_orders: 1,
                own_payments: 1
            })
        );
        assert_eq!(parse("5 4 1"), None);
        assert_eq!(parse("Error: no such table"), None);
    }
}
