//! From the gate to the shop and back, and through the queue.

use oncegate_core::ledger::State;
use oncegate_core::outcome::Status;
use oncegate_core::queue::Fate as Becomes;

use super::super::gate::{Answer, Caller, Job, Turn};
use super::super::sender::Letter;
use super::super::shop::{Fate, Said};
use super::super::{WebhookBug, WebhookOracle};
use super::{Event, HARD_TIMEOUT_MS, OVERDUE_MS, World};

impl World {
    /// Nothing is claimed, and nothing stored, before its sender is proved.
    pub(super) fn arrive(&mut self, caller: Caller, letter: &Letter) {
        let Caller::Sender(_, call) = caller else {
            return;
        };
        self.summary.deliveries += 1;
        let Ok(key) = self.sender.read(letter, self.now_ms, self.bug) else {
            self.summary.refused += 1;
            return self.say(caller, 403, "");
        };
        let job = Job {
            key: key.as_str().to_owned(),
            fact: letter.fact(),
        };
        let job = match self.bug {
            Some(WebhookBug::KeyOfDelivery) => job.of_delivery(call),
            _ => job,
        };
        match self.is_stored {
            true => self.store(caller, job),
            false => self.claim(caller, &job),
        }
    }

    /// Acknowledged when the queue has it, and not if nobody knows whether it has.
    fn store(&mut self, caller: Caller, job: Job) {
        let fails = self.goes_wrong(self.rates.queue_fails);
        if !fails || self.random.chance(500) {
            self.put(job);
        }
        match fails && self.bug != Some(WebhookBug::AcknowledgedUnstored) {
            true => self.say(caller, 503, ""),
            false => self.acknowledge(caller),
        }
    }

    pub(super) fn put(&mut self, job: Job) {
        let id = self.shelf.put(job, self.now_ms);
        let at_ms = self.now_ms + self.random.between(1, 5_000);
        self.queue.push(at_ms, Event::HandsOut(id));
    }

    pub(super) fn hand_out(&mut self, id: u64) {
        let Some(message) = self.shelf.messages.get_mut(&id) else {
            return;
        };
        message.handed += 1;
        let (handed, job) = (message.handed, message.job.clone());
        self.queue
            .push(self.now_ms + OVERDUE_MS, Event::Overdue(id, handed));
        if self.goes_wrong(self.rates.copy) {
            let again_ms = self.now_ms + self.random.between(1, 30_000);
            self.queue.push(again_ms, Event::HandsOut(id));
        }
        self.claim(Caller::Message(id, handed), &job);
    }

    /// The consumer of a message has ended without a word: it comes again.
    pub(super) fn overdue(&mut self, id: u64, handed: u32) {
        let message = self.shelf.messages.get(&id);
        if message.is_some_and(|message| message.handed == handed) {
            self.hand_out(id);
        }
    }

    fn claim(&mut self, caller: Caller, job: &Job) {
        match self.gate.claim(caller, &job.key, self.now_ms) {
            Turn::Answered(answer) => return self.answer(&answer),
            Turn::Dispatched(attempt) => {
                self.carry(job, attempt);
                if self.bug == Some(WebhookBug::AcknowledgedOnArrival) && !self.is_stored {
                    self.acknowledge(caller);
                }
            }
            Turn::Waits => {}
        }
        let limit_ms = self.now_ms + self.sender.webhook.deadline_ms();
        self.queue.push(limit_ms, Event::GivesUp(caller));
    }

    /// A courier takes an attempt to the shop.
    fn carry(&mut self, job: &Job, attempt: u32) {
        let gets = |job: &Job| Event::ShopGets {
            job: job.clone(),
            attempt,
        };
        match self.travel(1) {
            Some(at_ms) => self.queue.push(at_ms, gets(job)),
            None => self.lose(&job.key, attempt),
        }
        if self.goes_wrong(self.rates.copy) {
            let copy_ms = self.now_ms + self.random.between(1, 60_000);
            self.queue.push(copy_ms, gets(job));
        }
    }

    /// Nothing comes back: noticed soon, when nobody listens any more, or never.
    fn lose(&mut self, key: &str, attempt: u32) {
        let notice_ms = match self.random.between(0, 2) {
            0 => return,
            1 => HARD_TIMEOUT_MS,
            _ => self.random.between(1, 3_000),
        };
        self.tell(self.now_ms + notice_ms, key, attempt, None);
    }

    fn tell(&mut self, at_ms: u64, key: &str, attempt: u32, said: Option<Said>) {
        let key = key.to_owned();
        self.queue.push(at_ms, Event::Told { key, attempt, said });
    }

    pub(super) fn shop_gets(&mut self, job: Job, attempt: u32) {
        self.summary.attempts += 1;
        if self.shop.is_down {
            return self.lose(&job.key, attempt);
        }
        if let Some(said) = self.shop.get(&job.key, self.now_ms) {
            return self.reply(&job.key, attempt, said);
        }
        let fate = match self.goes_wrong(self.rates.fail) {
            true => self.random.pick(&[Fate::Fails, Fate::FailsHonestly]),
            false => Fate::Executes,
        };
        let work_ms = match self.goes_wrong(self.rates.slow) {
            true => self.random.between(1_000, 60_000),
            false => self.random.between(1, 50),
        };
        let process = self.shop.process;
        let ends = Event::ShopEnds {
            job,
            attempt,
            process,
            fate,
        };
        self.queue.push(self.now_ms + work_ms, ends);
    }

    pub(super) fn shop_ends(&mut self, job: Job, attempt: u32, process: u64, fate: Fate) {
        if process != self.shop.process {
            return self.lose(&job.key, attempt);
        }
        let of = (job.key.as_str(), job.fact);
        let (said, commit) = self.shop.end(of, fate, self.now_ms, self.bug);
        if let Some(commit) = commit {
            self.judge.committed(&commit);
            if self.bug == Some(WebhookBug::RowAfterEffect) {
                let late_ms = self.now_ms + self.random.between(50, 2_000);
                let key = job.key.clone();
                self.queue.push(late_ms, Event::RowLate { key, process });
            }
        }
        self.reply(&job.key, attempt, said);
    }

    pub(super) fn write_late(&mut self, key: &str, process: u64) {
        if process == self.shop.process {
            self.shop.write(key, State::Executed, self.now_ms);
        }
    }

    fn reply(&mut self, key: &str, attempt: u32, said: Said) {
        if self.goes_wrong(self.rates.courier_dies) {
            return;
        }
        match self.travel(1) {
            Some(at_ms) => self.tell(at_ms, key, attempt, Some(said)),
            None => self.lose(key, attempt),
        }
    }

    pub(super) fn answer(&mut self, answer: &Answer) {
        match answer.caller {
            Caller::Message(id, _) => self.settle_message(id, answer.state),
            Caller::Sender(..) => {
                let webhook = &self.sender.webhook;
                let word = match (answer.state, self.bug) {
                    (Status::Refused, Some(WebhookBug::RefusalAcknowledged)) => {
                        Some(webhook.acknowledgement())
                    }
                    (state, _) => webhook.word(Some(state), answer.http),
                };
                let (status, body) = word.map_or((answer.http, String::new()), |word| {
                    (word.status, word.body)
                });
                self.say(answer.caller, status, &body);
            }
        }
    }

    fn acknowledge(&mut self, caller: Caller) {
        let word = self.sender.webhook.acknowledgement();
        self.say(caller, word.status, &word.body);
    }

    /// An answer leaves the gate.
    fn say(&mut self, caller: Caller, status: u16, body: &str) {
        let Caller::Sender(index, call) = caller else {
            return;
        };
        let is_taken = self.sender.is_taken(status, body);
        let event = &self.events[index];
        let (name, judge) = (&event.name, &mut self.judge);
        judge.expect(status != 410, WebhookOracle::SaidAsItIs, || {
            format!("{name} is answered with 410")
        });
        if is_taken {
            let is_refused = self.shop.refuses.contains(&event.fact) && !self.is_stored;
            judge.expect(!is_refused, WebhookOracle::SaidAsItIs, || {
                format!("{name} is refused, and acknowledged")
            });
            let is_kept = judge.is_executed(name) || self.is_stored && self.shelf.has(name);
            judge.expect(is_kept, WebhookOracle::AcknowledgedIsKept, || {
                format!("{name} is acknowledged, and neither executed nor kept")
            });
        }
        if self.listens.remove(&call)
            && let Some(at_ms) = self.travel(0)
        {
            self.queue.push(at_ms, Event::Heard { index, is_taken });
        }
    }

    fn settle_message(&mut self, id: u64, state: Status) {
        let becomes = match (Becomes::of(Some(state), None), self.bug) {
            (Becomes::Again, Some(WebhookBug::QueueDropsUnproved)) => Becomes::Done,
            (becomes, _) => becomes,
        };
        match becomes {
            // The word of the consumer may be lost.
            Becomes::Done | Becomes::Refused if self.goes_wrong(self.rates.queue_fails) => {}
            Becomes::Done | Becomes::Refused => drop(self.shelf.messages.remove(&id)),
            Becomes::Again | Becomes::Poison => match self.shelf.retry(id, self.now_ms) {
                Some(at_ms) => self.queue.push(at_ms, Event::HandsOut(id)),
                None => self.bury(),
            },
        }
    }

    fn bury(&mut self) {
        self.summary.dead += 1;
        if self.bug == Some(WebhookBug::DeadLettersDropped) {
            self.shelf.dead.clear();
        }
    }
}
