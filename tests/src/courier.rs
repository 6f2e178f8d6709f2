//! Couriers, after `edge-worker/src/courier`: one attempt there, its reply back to the shard.
//!
//! Invariant: a courier decides nothing. What it gives to the client is what the shard wrote.

use std::collections::BTreeMap;

use oncegate_core::operation::{Streaming, View};
use oncegate_core::outcome::{Outcome, Status};
use oncegate_core::policy::{HARD_TIMEOUT_MS, STORE_DEADLINE_MS};
use oncegate_core::problem::{Code, Problem};

use crate::env::{Env, Event};
use crate::model::{Answered, Body, CallId, CourierId, KeyId, Payload, Reply, Response};
use crate::network::notice_ms;
use crate::origin::{Delivery, OriginEvent, bare, bare_status};
use crate::plant::Plant;
use crate::shard::{Carried, Completion, ShardEvent, lost_problem};

/// The pauses before the shard is told again.
const TELL_AGAIN_MS: [u64; 5] = [0, 100, 500, 2_000, 5_000];

#[derive(Debug)]
pub(crate) enum CourierEvent {
    /// The shard has it under way, or believes so.
    Start(Dispatch),
    Heard(Reply),
    HardTimeout,
    /// The shard has marked the row: the answer passes as it comes (P6).
    Passes(Streaming),
    /// Its last byte is through, or it has broken.
    Passed,
    Tell,
    /// The shard has written what the reply proves.
    Told(Completed),
    Dies,
}

/// What a shard gives to a courier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    pub(crate) key: KeyId,
    pub(crate) payload: Payload,
    pub(crate) attempt: u32,
    /// Who waits for its answer; nobody, if the gate started it by itself.
    pub(crate) owner: Option<CallId>,
    /// The instance of the shard that waits for the courier's answer.
    pub(crate) instance: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    pub(crate) view: View,
    pub(crate) superseded: bool,
}

#[derive(Debug)]
struct Courier {
    dispatch: Dispatch,
    reply: Option<Reply>,
    /// What the head says of an answer that goes to the caller as it comes, and nowhere else.
    streams: Option<Status>,
    tells: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Couriers(BTreeMap<CourierId, Courier>);

impl Couriers {
    pub(crate) fn handle(&mut self, env: &mut Env, id: CourierId, event: CourierEvent) {
        if let CourierEvent::Start(dispatch) = event {
            return self.start(env, id, dispatch);
        }
        // Whoever is gone hears nothing.
        if !self.0.contains_key(&id) {
            return;
        }
        match event {
            CourierEvent::Start(_) => {}
            CourierEvent::Heard(reply) => self.heard(env, id, reply),
            CourierEvent::HardTimeout => self.heard(env, id, Reply::Broken),
            CourierEvent::Passes(streaming) => self.passes(env, id, streaming),
            CourierEvent::Passed => self.tell(env, id),
            CourierEvent::Tell => self.tell(env, id),
            CourierEvent::Told(completed) => self.told(env, id, completed),
            CourierEvent::Dies => self.die(env, id),
        }
    }

    pub(crate) fn all_die(&mut self, env: &mut Env) {
        let ids: Vec<_> = self.0.keys().copied().collect();
        ids.into_iter().for_each(|id| self.die(env, id));
    }

    fn start(&mut self, env: &mut Env, id: CourierId, dispatch: Dispatch) {
        let Dispatch { key, attempt, .. } = dispatch;
        if dispatch.instance != env.instances[key.shard()] {
            return env.note(format_args!(
                "{id:?} of {key} never starts: the shard is replaced"
            ));
        }
        env.note(format_args!("{id:?} carries attempt {attempt} of {key}"));
        env.witness.begins(key, dispatch.payload, id);
        let courier = Courier {
            dispatch,
            reply: None,
            streams: None,
            tells: 0,
        };
        self.0.insert(id, courier);
        send(env, id, dispatch);
        env.after(
            HARD_TIMEOUT_MS,
            Event::Courier(id, CourierEvent::HardTimeout),
        );
        if env.strikes(env.faults.rates.courier_dies) {
            let dies_ms = env.random.between(1, 30_000);
            env.after(dies_ms, Event::Courier(id, CourierEvent::Dies));
        }
    }

    /// The first reply counts; the answer to a copy is as good as any.
    fn heard(&mut self, env: &mut Env, id: CourierId, reply: Reply) {
        let Some(courier) = self
            .0
            .get_mut(&id)
            .filter(|courier| courier.reply.is_none())
        else {
            return;
        };
        env.note(format_args!("{id:?} hears {reply}"));
        if env.has(Plant::AnswerBeforeWrite) {
            answer_early(env, &courier.dispatch, &reply);
        }
        courier.reply = Some(reply.clone());
        let rate = env.faults.rates.stream;
        if matches!(reply, Reply::Whole(_)) && env.strikes(rate) {
            let completion = Completion {
                key: courier.dispatch.key,
                attempt: courier.dispatch.attempt,
                reply,
                streamed: true,
            };
            return env.after(1, Event::Shard(ShardEvent::Head(completion, id)));
        }
        env.after(TELL_AGAIN_MS[0], Event::Courier(id, CourierEvent::Tell));
    }

    /// The first byte goes to the caller, the last one when the shard has been told of the end.
    fn passes(&mut self, env: &mut Env, id: CourierId, streaming: Streaming) {
        let streams = |courier: &&mut Courier| courier.streams.is_none();
        let Some(courier) = self.0.get_mut(&id).filter(streams) else {
            return;
        };
        courier.streams = Some(streaming.status);
        let breaks = env.strikes(env.faults.rates.stream_breaks);
        if breaks {
            courier.reply = Some(Reply::Broken);
        }
        env.note(format_args!(
            "{id:?} passes its answer on; it breaks: {breaks}"
        ));
        let carried = match &courier.reply {
            _ if streaming.superseded => Some(Carried::Superseded),
            Some(Reply::Whole(answered)) => env
                .has(Plant::EndBeforeWrite)
                .then(|| Carried::Answered(passed(answered, streaming.status))),
            Some(Reply::Broken) | None => Some(Carried::Broken),
        };
        if let Some(carried) = carried {
            carry(env, &courier.dispatch, carried);
        }
        let body_ms = env.random.between(1, 5_000);
        env.after(body_ms, Event::Courier(id, CourierEvent::Passed));
    }

    fn tell(&mut self, env: &mut Env, id: CourierId) {
        let Some(Courier {
            dispatch,
            reply: Some(reply),
            tells,
            streams,
        }) = self.0.get_mut(&id)
        else {
            return;
        };
        let completion = Completion {
            key: dispatch.key,
            attempt: dispatch.attempt,
            reply: reply.clone(),
            streamed: streams.is_some(),
        };
        *tells += 1;
        let pause_ms = TELL_AGAIN_MS.get(*tells).copied();
        match pause_ms {
            Some(pause_ms) => attempt_to_tell(env, id, completion, pause_ms),
            None => {
                env.note(format_args!("{id:?} gives up telling"));
                let problem = Problem::new(Code::GateUnavailable).retry_after(1_000);
                let carried = match streams {
                    Some(_) => Carried::Broken,
                    None => Carried::Answered(Response::problem(problem, None)),
                };
                self.carry(env, id, carried);
            }
        }
    }

    fn told(&mut self, env: &mut Env, id: CourierId, completed: Completed) {
        let Some(courier) = self.0.get(&id) else {
            return;
        };
        let carried = match &courier.reply {
            None => return,
            Some(_) if completed.superseded => Carried::Superseded,
            Some(reply) => Carried::Answered(match (reply, courier.streams) {
                (Reply::Whole(answered), Some(status)) => passed(answered, status),
                (reply, _) => response(env, reply, &completed.view),
            }),
        };
        self.carry(env, id, carried);
    }

    fn carry(&mut self, env: &mut Env, id: CourierId, carried: Carried) {
        if let Some(courier) = self.0.remove(&id) {
            carry(env, &courier.dispatch, carried);
        }
    }

    /// The shard's instance that called it notices; another one does not.
    fn die(&mut self, env: &mut Env, id: CourierId) {
        let Some(courier) = self.0.remove(&id) else {
            return;
        };
        env.note(format_args!("{id:?} dies"));
        let notice_ms = notice_ms(env);
        let lost = ShardEvent::CourierLost(courier.dispatch);
        env.after(notice_ms, Event::Shard(lost));
    }
}

fn send(env: &mut Env, courier: CourierId, dispatch: Dispatch) {
    let hop = env.faults.origin.clone();
    let arrivals = hop.request(env);
    let mut arrives = |wait_ms, is_copy| {
        let delivery = Delivery {
            courier,
            key: dispatch.key,
            payload: dispatch.payload,
            is_copy,
        };
        env.after(wait_ms, Event::Origin(OriginEvent::Arrive(delivery)));
    };
    if let Some(copy_ms) = arrivals.copy_ms {
        arrives(copy_ms, true);
    }
    if let Some(first_ms) = arrivals.first_ms {
        arrives(first_ms, arrivals.copy_ms.is_some());
    }
    if arrivals.copy_ms.is_some() {
        env.witness.ends(dispatch.key, courier);
        env.witness.had_no_effect(dispatch.key, courier);
    } else if arrivals.first_ms.is_none() {
        env.witness.ends(dispatch.key, courier);
        lose(env, courier);
    }
}

/// The request went astray: an error, some proxy's word, or nothing until the time is over.
fn lose(env: &mut Env, courier: CourierId) {
    env.note(format_args!("the request of {courier:?} is lost"));
    let reply = match env.random.between(0, 2) {
        0 => return,
        1 => Reply::Broken,
        _ => Reply::Whole(bare(bare_status(env))),
    };
    let notice_ms = notice_ms(env);
    env.after(
        notice_ms,
        Event::Courier(courier, CourierEvent::Heard(reply)),
    );
}

/// One call of the shard, and what may come of it.
fn attempt_to_tell(env: &mut Env, id: CourierId, completion: Completion, pause_ms: u64) {
    let rates = env.faults.rates.clone();
    let travel_ms = env.random.between(1, 3);
    let again = |env: &mut Env, wait_ms| env.after(wait_ms, Event::Courier(id, CourierEvent::Tell));
    if env.strikes(rates.completion_lost) {
        env.note(format_args!("a completion of {id:?} is lost"));
        again(env, travel_ms + pause_ms);
    } else if env.strikes(rates.completion_late) {
        let late_ms = env.random.between(1, 4) * STORE_DEADLINE_MS / 2;
        env.after(
            late_ms,
            Event::Shard(ShardEvent::Complete(completion, Some(id))),
        );
        again(env, STORE_DEADLINE_MS + pause_ms);
    } else if env.strikes(rates.completion_unheard) {
        env.after(
            travel_ms,
            Event::Shard(ShardEvent::Complete(completion, None)),
        );
        again(env, 2 * travel_ms + pause_ms);
    } else {
        env.after(
            travel_ms,
            Event::Shard(ShardEvent::Complete(completion, Some(id))),
        );
    }
}

fn carry(env: &mut Env, dispatch: &Dispatch, carried: Carried) {
    if let Some(owner) = dispatch.owner {
        let carried = ShardEvent::Carried(owner, dispatch.instance, carried);
        env.after(1, Event::Shard(carried));
    }
}

/// An answer that was passed on as it came.
fn passed(answered: &Answered, status: Status) -> Response {
    Response {
        http: answered.http,
        status: Some(status),
        body: Body::Text(answered.text.clone()),
    }
}

fn response(env: &mut Env, reply: &Reply, view: &View) -> Response {
    match reply {
        Reply::Broken => lost_problem(env, 502, view),
        Reply::Whole(Answered { http, text, .. }) => Response {
            http: *http,
            status: Some(view.state.status()),
            body: Body::Text(text.clone()),
        },
    }
}

/// The planted bug: the client hears what nobody has written down.
fn answer_early(env: &mut Env, dispatch: &Dispatch, reply: &Reply) {
    if let Reply::Whole(Answered {
        http,
        outcome: Some(Outcome::Executed),
        text,
    }) = reply
    {
        let response = Response {
            http: *http,
            status: Some(Status::Executed),
            body: Body::Text(text.clone()),
        };
        carry(env, dispatch, Carried::Answered(response));
    }
}
