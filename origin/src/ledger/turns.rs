//! Who is at work on a key in this process, and who waits for it.
//!
//! **Invariant: of all attempts of one process under one key, at most one has a connection.** Others
//! would hold theirs for as long as they wait for the first one's row, until no other operation gets
//! one. Between processes the database decides, as if this module did not exist.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use oncegate_core::key::Key;
use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

type Waiting = HashMap<Key, Weak<Queue<()>>>;

/// The keys at which somebody is at work.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<Waiting>>);

/// The right to be at work on a key, until it is dropped.
pub(super) struct Turn {
    key: Key,
    turns: Turns,
    held: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Waits for the turn: first come, first served.
    pub(super) async fn take(&self, key: &Key) -> Turn {
        let queue = self.queue(key);
        Turn {
            key: key.clone(),
            turns: self.clone(),
            held: Some(queue.lock_owned().await),
        }
    }

    fn queue(&self, key: &Key) -> Arc<Queue<()>> {
        let mut waiting = self.waiting();
        let known = waiting.get(key).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let queue = Arc::default();
            waiting.insert(key.clone(), Arc::downgrade(&queue));
            queue
        })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.held.take());
        let mut waiting = self.turns.waiting();
        let over = waiting
            .get(&self.key)
            .is_some_and(|queue| queue.strong_count() == 0);
        if over {
            waiting.remove(&self.key);
        }
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Turns({})", self.waiting().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_is_given_to_one_at_a_time_and_forgotten_when_nobody_waits() {
        let turns = Turns::default();
        let [a, b] = ["a", "b"].map(|key| Key::parse(key).unwrap());
        let first = turns.take(&a).await;
        let other = turns.take(&b).await;
        let (copy, key) = (turns.clone(), a.clone());
        let second = tokio::spawn(async move { copy.take(&key).await });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(first);
        let second = second.await.unwrap();
        drop((second, other));
        assert!(turns.waiting().is_empty());
    }

    /// Whoever gave up waiting leaves its entry to the one that holds the key.
    #[tokio::test]
    async fn who_gives_up_waiting_leaves_nothing_behind() {
        let turns = Turns::default();
        let key = Key::parse("a").unwrap();
        let first = turns.take(&key).await;
        {
            let mut second = Box::pin(turns.take(&key));
            tokio::select! {
                biased;
                _ = &mut second => panic!("the key is taken"),
                () = std::future::ready(()) => {}
            }
        }
        drop(first);
        assert!(turns.waiting().is_empty());
    }
}
