mod parts;

use alloc::vec::Vec;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

const NOW: u64 = 1_900_000_000_000;

/// A lock, with the time and the sequence of its shard.
struct Table {
    lock: Lock,
    fences: Fences,
    now_ms: u64,
    owners: u8,
    told: Vec<Told>,
}

fn asker(number: u8) -> Asker {
    Asker::new([number; 32])
}

impl Table {
    fn new() -> Self {
        Self {
            lock: Lock::default(),
            fences: Fences::default(),
            now_ms: NOW,
            owners: 0,
            told: Vec::new(),
        }
    }

    fn with<T>(&mut self, verb: impl FnOnce(Lock, &mut Moment<'_>) -> (Lock, T, Vec<Told>)) -> T {
        self.owners = self.owners.wrapping_add(1);
        let mut moment = Moment {
            now_ms: self.now_ms,
            owner: Owner::new([self.owners; 16]),
            fences: &mut self.fences,
        };
        let (lock, answer, told) = verb(core::mem::take(&mut self.lock), &mut moment);
        self.lock = lock;
        self.told.extend(told);
        answer
    }

    fn ask(&mut self, who: u8, wait_ms: u64, place: Option<Ticket>) -> Turn {
        let ask = Ask {
            asker: asker(who),
            ttl: Ttl::parse(None).unwrap(),
            wait: Wait::parse(Some(wait_ms)).unwrap(),
            place,
        };
        self.with(|lock, moment| lock.acquire(moment, &ask))
    }

    fn get(&mut self, who: u8) -> Held {
        match self.ask(who, 0, None) {
            Turn::Granted(held) => held,
            turn => panic!("{turn:?}"),
        }
    }

    fn wait(&mut self, who: u8) -> Ticket {
        self.wait_at(who, None)
    }

    fn wait_at(&mut self, who: u8, place: Option<Ticket>) -> Ticket {
        match self.ask(who, LONGEST_WAIT_MS, place) {
            Turn::Waits(ticket) => ticket,
            turn => panic!("{turn:?}"),
        }
    }

    fn call_off(&mut self, who: u8) -> Vec<Told> {
        self.with(|lock, moment| {
            let (lock, told) = lock.call_off(moment, asker(who));
            (lock, (), told)
        });
        core::mem::take(&mut self.told)
    }

    fn release(&mut self, owner: Owner) -> Result<(), Lost> {
        self.with(|lock, moment| lock.release(moment, owner))
    }

    fn renew(&mut self, owner: Owner) -> Result<Held, Lost> {
        self.with(|lock, moment| lock.renew(moment, owner, None))
    }

    fn pass(&mut self, by_ms: u64) {
        self.now_ms += by_ms;
        self.with(|lock, moment| {
            let (lock, told) = lock.pass_time(moment);
            (lock, (), told)
        });
    }

    fn told(&mut self) -> Told {
        assert_eq!(self.told.len(), 1, "{:?}", self.told);
        self.told.remove(0)
    }

    fn granted(&mut self, who: u8) -> Held {
        match self.told() {
            Told::Granted(held) if held.asker == asker(who) => held,
            told => panic!("{told:?}"),
        }
    }
}

#[test]
fn a_free_lock_is_had_at_once_and_by_one_only() {
    let mut table = Table::new();
    let held = table.get(1);
    assert_eq!(held.until_ms, NOW + USUAL_TTL_MS);
    assert_eq!(table.ask(2, 0, None), Turn::Busy);
    table.release(held.owner).unwrap();
    assert!(table.get(2).fence > held.fence);
}

#[test]
fn it_ends_exactly_when_it_was_said_to() {
    let mut table = Table::new();
    let held = table.get(1);
    table.now_ms = held.until_ms - 1;
    assert_eq!(table.ask(2, 0, None), Turn::Busy);
    table.now_ms = held.until_ms;
    assert_eq!(table.renew(held.owner), Err(Lost));
    assert_eq!(table.release(held.owner), Err(Lost));
    assert!(table.get(2).fence > held.fence);
}

#[test]
fn a_renewal_counts_from_now_and_keeps_owner_and_fence() {
    let mut table = Table::new();
    let held = table.get(1);
    table.now_ms += 20_000;
    let renewed = table.renew(held.owner).unwrap();
    assert_eq!(renewed.until_ms, table.now_ms + USUAL_TTL_MS);
    assert_eq!((renewed.owner, renewed.fence), (held.owner, held.fence));
}

#[test]
fn only_its_owner_renews_and_releases() {
    let mut table = Table::new();
    let held = table.get(1);
    let other = Owner::new([99; 16]);
    assert_eq!(table.renew(other), Err(Lost));
    assert_eq!(table.release(other), Err(Lost));
    assert_eq!(table.lock.held(), Some(&held));
}

#[test]
fn who_asks_again_has_the_same_lock() {
    let mut table = Table::new();
    let held = table.get(1);
    table.now_ms += 1_000;
    assert_eq!(table.ask(1, 0, None), Turn::Granted(held));
}

#[test]
fn a_late_copy_of_a_request_that_is_done_takes_no_lock() {
    let mut table = Table::new();
    let held = table.get(1);
    table.release(held.owner).unwrap();
    assert_eq!(table.ask(1, 0, None), Turn::Done);
    // Released once more, because the answer was lost.
    assert_eq!(table.release(held.owner), Ok(()));
    let ended = table.get(2);
    table.now_ms = ended.until_ms;
    assert_eq!(table.ask(2, 0, None), Turn::Done);
}

#[test]
fn they_are_served_in_the_order_in_which_they_came() {
    let mut table = Table::new();
    let mut held = table.get(1);
    for who in [2, 3, 4] {
        table.wait(who);
    }
    for who in [2, 3, 4] {
        table.release(held.owner).unwrap();
        let next = table.granted(who);
        assert!(next.fence > held.fence);
        held = next;
    }
}

#[test]
fn who_was_handed_it_and_is_gone_has_it_for_a_moment() {
    let mut table = Table::new();
    let held = table.get(1);
    table.wait(2);
    table.wait(3);
    table.release(held.owner).unwrap();
    let unheard = table.granted(2);
    assert_eq!(unheard.until_ms, table.now_ms + HANDOVER_MS);
    assert_eq!(table.lock.next_ms(), Some(unheard.until_ms));
    table.pass(HANDOVER_MS);
    let confirmed = table.granted(3);
    assert_eq!(
        table.renew(confirmed.owner).unwrap().until_ms,
        table.now_ms + USUAL_TTL_MS
    );
}

#[test]
fn nobody_is_handed_what_is_known_to_be_heard_by_nobody() {
    let mut table = Table::new();
    let held = table.get(1);
    table.wait(2);
    table.wait(3);
    table.lock = core::mem::take(&mut table.lock).gone(asker(2));
    table.release(held.owner).unwrap();
    table.granted(3);
}

#[test]
fn two_that_came_at_one_time_are_two() {
    let mut table = Table::new();
    let mut held = table.get(1);
    // As after the line was lost, when each says since when it waits.
    let at = Some(Ticket::since(NOW));
    for who in [2, 3, 4] {
        assert_eq!(table.wait_at(who, at), Ticket::since(NOW));
    }
    table.lock = core::mem::take(&mut table.lock).gone(asker(3));
    for who in [2, 4] {
        table.release(held.owner).unwrap();
        held = table.granted(who);
    }
}

#[test]
fn the_place_of_who_has_waited_in_vain_is_kept_and_the_lock_with_it() {
    let mut table = Table::new();
    let held = table.get(1);
    let ticket = table.wait(2);
    table.pass(LONGEST_WAIT_MS);
    let Told::Busy(_, place) = table.told() else {
        panic!("{:?}", table.told)
    };
    assert_eq!(place.ticket, ticket);
    let later = table.wait(3);
    table.release(held.owner).unwrap();
    assert_eq!(table.told, []);
    assert!(matches!(table.ask(2, 0, None), Turn::Granted(_)));
    assert_eq!(table.told, []);
    assert_eq!(table.lock.held().unwrap().asker, asker(2));
    assert!(later > ticket);
}

#[test]
fn a_place_is_kept_for_a_while_only() {
    let mut table = Table::new();
    let held = table.get(1);
    table.wait(2);
    table.pass(LONGEST_WAIT_MS);
    table.told();
    table.wait(3);
    table.release(held.owner).unwrap();
    assert_eq!(table.lock.next_ms(), Some(table.now_ms + PLACE_MS));
    table.pass(PLACE_MS);
    table.granted(3);
}

#[test]
fn a_place_is_good_after_the_line_was_forgotten() {
    let mut table = Table::new();
    let held = table.get(1);
    let ticket = table.wait(2);
    table.lock = Lock::restored(table.lock.held().cloned());
    let later = table.wait(3);
    assert_eq!(table.ask(2, 1_000, Some(ticket)), Turn::Waits(ticket));
    table.release(held.owner).unwrap();
    table.granted(2);
    assert!(later > ticket);
}

#[test]
fn the_newer_request_of_one_asker_is_the_one_that_waits() {
    let mut table = Table::new();
    let held = table.get(1);
    let ticket = table.wait(2);
    assert_eq!(table.ask(2, 1_000, None), Turn::Waits(ticket));
    assert_eq!(table.told(), Told::Superseded(asker(2)));
    table.release(held.owner).unwrap();
    table.granted(2);
}

#[test]
fn what_is_called_off_is_out_of_the_line_and_out_of_the_lock() {
    let mut table = Table::new();
    table.get(1);
    table.wait(2);
    table.wait(3);
    assert_eq!(table.call_off(2), [Told::Superseded(asker(2))]);
    assert!(matches!(&table.call_off(1)[..], [Told::Granted(held)] if held.asker == asker(3)));
    // And one whose request is still on its way.
    assert_eq!(table.call_off(4), []);
    assert_eq!(table.ask(4, 0, None), Turn::Done);
}

#[test]
fn what_is_called_off_as_its_turn_comes_leaves_no_owner_behind() {
    let mut table = Table::new();
    let ended = table.get(1);
    table.now_ms = ended.until_ms - 1;
    table.wait(2);
    table.wait(3);
    table.now_ms = ended.until_ms;
    let told = table.call_off(2);
    let granted = |told: &Told| match told {
        Told::Granted(held) => Some(held.owner),
        _ => None,
    };
    let owners: Vec<Owner> = told.iter().filter_map(granted).collect();
    let held = table.lock.held().unwrap();
    assert_eq!((held.asker, owners), (asker(3), [held.owner].into()));
}

#[test]
fn a_person_takes_away_what_they_have_seen_and_nothing_else() {
    let mut table = Table::new();
    let held = table.get(1);
    table.wait(2);
    let mut take = |fence| table.with(|lock, moment| lock.take_away(moment, fence));
    assert_eq!(take(Fence::new(1)), Err(Lost));
    assert_eq!(take(held.fence), Ok(()));
    assert_eq!(take(held.fence), Err(Lost));
    table.granted(2);
    assert_eq!(table.renew(held.owner), Err(Lost));
}

#[test]
fn a_line_has_an_end() {
    let mut table = Table::new();
    table.get(1);
    let ask = |number: u64| Ask {
        asker: Asker::new(core::array::from_fn(|place| {
            number.to_be_bytes()[place % 8]
        })),
        ttl: Ttl::parse(None).unwrap(),
        wait: Wait::parse(Some(1)).unwrap(),
        place: None,
    };
    for number in 0..MOST_WAITERS as u64 {
        let turn = table.with(|lock, moment| lock.acquire(moment, &ask(number + 1_000)));
        assert!(matches!(turn, Turn::Waits(_)));
    }
    let turn = table.with(|lock, moment| lock.acquire(moment, &ask(1)));
    assert_eq!(turn, Turn::Busy);
}
