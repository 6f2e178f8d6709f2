//! A transaction on a connection that may be somebody else's.
//!
//! **Invariant: a connection that a service lends goes back as it came**, however the transaction ends:
//! committed, rolled back, or dropped with a future that nobody waits for any more. Where a setting lives
//! as long as the session, such as MySQL's lock timeout, it is set back before the end.

use std::fmt;
use std::ops::{Deref, DerefMut};

use sqlx::SqlStr;
use tokio::runtime::Handle;

use super::Dialect;

/// A transaction. It rolls back when dropped.
pub(crate) struct Transaction<DB: Dialect> {
    /// `None` once it has ended.
    open: Option<sqlx::Transaction<'static, DB>>,
    set_back: Option<SqlStr>,
}

impl<DB: Dialect> Transaction<DB> {
    pub(super) fn new(open: sqlx::Transaction<'static, DB>, lent: bool) -> Self {
        Self {
            open: Some(open),
            set_back: if lent { DB::set_back() } else { None },
        }
    }

    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.set_back().await?;
        match self.open.take() {
            Some(open) => open.commit().await,
            None => Ok(()),
        }
    }

    pub(crate) async fn rollback(mut self) -> Result<(), sqlx::Error> {
        // A connection on which this fails is broken, and goes back to nobody.
        let _ = self.set_back().await;
        match self.open.take() {
            Some(open) => open.rollback().await,
            None => Ok(()),
        }
    }

    async fn set_back(&mut self) -> Result<(), sqlx::Error> {
        if let (Some(sql), Some(open)) = (self.set_back.clone(), &mut self.open) {
            DB::execute(open, sql, &[]).await?;
            self.set_back = None;
        }
        Ok(())
    }
}

const OVER: &str = "a transaction that has ended is not handed out";

impl<DB: Dialect> Deref for Transaction<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &DB::Connection {
        self.open.as_deref().expect(OVER)
    }
}

impl<DB: Dialect> DerefMut for Transaction<DB> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        self.open.as_deref_mut().expect(OVER)
    }
}

/// Nobody waits here, so a task of its own sets the connection back. Outside a runtime no connection can go
/// back to its pool at all.
impl<DB: Dialect> Drop for Transaction<DB> {
    fn drop(&mut self) {
        let (Some(open), Some(set_back)) = (self.open.take(), self.set_back.take()) else {
            return;
        };
        if let Ok(runtime) = Handle::try_current() {
            let lent = Self {
                open: Some(open),
                set_back: Some(set_back),
            };
            runtime.spawn(lent.rollback());
        }
    }
}

impl<DB: Dialect> fmt::Debug for Transaction<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transaction")
    }
}
