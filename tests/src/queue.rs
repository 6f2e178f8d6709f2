//! What will happen, in the order of time and, within a millisecond, in the order of its making.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(Debug)]
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Entry<E>>,
    made: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at_ms: u64,
    number: u64,
    event: E,
}

impl<E> Queue<E> {
    pub(crate) fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            made: 0,
        }
    }

    pub(crate) fn push(&mut self, at_ms: u64, event: E) {
        self.made += 1;
        let number = self.made;
        self.heap.push(Entry {
            at_ms,
            number,
            event,
        });
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, E)> {
        self.heap.pop().map(|entry| (entry.at_ms, entry.event))
    }
}

// Reversed: the heap gives its greatest entry first.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ms, other.number).cmp(&(self.at_ms, self.number))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_time_and_then_of_their_making() {
        let mut queue = Queue::new();
        for (at_ms, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b')] {
            queue.push(at_ms, event);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [(1, 'a'), (2, 'b'), (5, 'c'), (5, 'd')]);
    }
}
