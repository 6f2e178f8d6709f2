//! A store in memory: what the others are measured by, so small that it can be read.
//!
//! It has no spans. Dropping a settled row whose time is over is a store's right, not its duty.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use oncegate_core::identity::Identity;
use oncegate_core::operation::{Operation, TroubleState};
use oncegate_store::{Answer, Attention, Found, Open, Place, StoredRequest, Written};

use crate::shelf::{Machine, Shelf};

/// Rows that outlive whoever has opened them.
#[derive(Clone, Debug, Default)]
pub struct Memory(Rc<RefCell<Rows>>);

#[derive(Debug, Default)]
struct Rows {
    operations: BTreeMap<[u8; 32], Row>,
    list: BTreeMap<[u8; 32], Attention>,
}

#[derive(Debug)]
struct Row {
    record: Operation,
    answer: Option<Answer<Vec<u8>>>,
    request: Option<StoredRequest<Vec<u8>>>,
}

impl Machine for Memory {
    type Shelf = Self;

    fn open(&self, _now_ms: u64) -> Self {
        self.clone()
    }
}

impl Shelf for Memory {
    fn find(&self, _now_ms: u64, operation: &Identity) -> Result<Found<Vec<u8>>, String> {
        Ok(match self.0.borrow().operations.get(operation.as_bytes()) {
            Some(row) => Found {
                record: Some(row.record.clone()),
                answer: row.answer.clone(),
                place: Place::Newer,
            },
            None => Found {
                record: None,
                answer: None,
                place: Place::Absent,
            },
        })
    }

    fn write(
        &self,
        operation: &Identity,
        _place: Place,
        record: Operation,
        written: Written<'_, Vec<u8>>,
    ) -> Result<(), String> {
        let operations = &mut self.0.borrow_mut().operations;
        let (answer, request) = match operations.remove(operation.as_bytes()) {
            Some(row) => (row.answer, row.request),
            None => (None, None),
        };
        let answer = answer.filter(|_| record.has_stored_answer());
        let request = written.request.cloned().or(request);
        let row = Row {
            answer: written.answer.cloned().or(answer),
            request: request.filter(|_| !record.is_settled()),
            record,
        };
        operations.insert(*operation.as_bytes(), row);
        Ok(())
    }

    fn forget_earlier(&self, _operation: &Identity) -> Result<(), String> {
        Ok(())
    }

    fn request(&self, operation: &Identity) -> Result<Option<StoredRequest<Vec<u8>>>, String> {
        let rows = self.0.borrow();
        let row = rows.operations.get(operation.as_bytes());
        Ok(row.and_then(|row| row.request.clone()))
    }

    fn open_after(&self, after: Option<&Identity>, limit: u64) -> Result<Open, String> {
        let rows = self.0.borrow();
        let next = rows.operations.iter();
        let next = next.filter(|(id, _)| after.is_none_or(|after| *id > after.as_bytes()));
        let looked: Vec<_> = next.take(limit as usize).collect();
        let open = looked
            .iter()
            .filter(|(_, row)| row.record.keep_until_ms().is_none());
        let is_full = looked.len() as u64 == limit;
        Ok(Open {
            open: open.map(|(id, _)| Identity::from_bytes(**id)).collect(),
            last: looked
                .last()
                .filter(|_| is_full)
                .map(|(id, _)| Identity::from_bytes(**id)),
        })
    }

    fn note(&self, operation: &Identity, due_ms: u64) -> Result<bool, String> {
        let list = &mut self.0.borrow_mut().list;
        let is_new = !list.contains_key(operation.as_bytes());
        list.entry(*operation.as_bytes()).or_insert(Attention {
            operation: *operation,
            due_ms,
            settle_ms: due_ms,
            tries: 0,
            told: None,
        });
        Ok(is_new)
    }

    fn hurry(&self, operation: &Identity, due_ms: u64) -> Result<bool, String> {
        let list = &mut self.0.borrow_mut().list;
        let listed = list.get_mut(operation.as_bytes());
        Ok(listed
            .map(|attention| attention.due_ms = attention.due_ms.min(due_ms))
            .is_some())
    }

    fn due(&self, now_ms: u64, limit: u64) -> Result<Vec<Attention>, String> {
        let rows = self.0.borrow();
        let listed = rows.list.values();
        let mut due: Vec<_> = listed
            .filter(|attention| attention.due_ms <= now_ms)
            .copied()
            .collect();
        due.sort_by_key(|attention| attention.due_ms);
        due.truncate(limit as usize);
        Ok(due)
    }

    fn postpone(&self, attention: Attention) -> Result<(), String> {
        let list = &mut self.0.borrow_mut().list;
        if let Some(listed) = list.get_mut(attention.operation.as_bytes()) {
            *listed = Attention {
                told: listed.told,
                ..attention
            };
        }
        Ok(())
    }

    fn heard(
        &self,
        operation: &Identity,
        told: Option<TroubleState>,
        due_ms: u64,
    ) -> Result<(), String> {
        let list = &mut self.0.borrow_mut().list;
        if let Some(listed) = list.get_mut(operation.as_bytes()) {
            listed.told = told;
            if listed.due_ms == due_ms {
                listed.due_ms = listed.settle_ms;
            }
        }
        Ok(())
    }

    fn rest(&self, operation: &Identity, due_ms: u64) -> Result<(), String> {
        let list = &mut self.0.borrow_mut().list;
        if list
            .get(operation.as_bytes())
            .is_some_and(|listed| listed.due_ms == due_ms)
        {
            list.remove(operation.as_bytes());
        }
        Ok(())
    }

    fn next_due(&self) -> Result<Option<u64>, String> {
        let rows = self.0.borrow();
        Ok(rows.list.values().map(|attention| attention.due_ms).min())
    }
}
