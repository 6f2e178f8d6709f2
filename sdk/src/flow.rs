//! The course of one `submit`: asks the machine, carries out, reports back.
//!
//! Where a reload or a crash may come, and what it finds:
//!
//! | between | stored | the next `submit` |
//! | --- | --- | --- |
//! | storing the record and the first byte | open | sends the same key; nothing was sent before |
//! | the first byte and the answer | open | sends the same key; the gate has at most one execution |
//! | the answer `executed` and storing it | open | sends the same key and gets the replay |
//! | the answer `refused` and raising the epoch | open | hears `refused` again, and raises it |
//! | cancelling and raising the epoch | open | hears that it is cancelled, and raises it |
//! | raising the epoch and sending the next key | none | sends the next key for the first time |

use oncegate_core::attempt::{
    Action, Attempt, Config, End, Event, KeyChoice, Problem, Reason, Why,
};
use oncegate_core::header::IDEMPOTENCY_KEY;
use oncegate_core::outcome::Status;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::Response;

use crate::answer::{Received, operation_of};
use crate::host::{Job, random};
use crate::internal;
use crate::object::{Fields, get_text};
use crate::operation::Operation;
use crate::record::Phase;
use crate::send::{Sent, Waited, send, wait};

/// How often the stored answer of an executed intent is asked for: it is done in any case.
const SENDS_FOR_A_REPLAY: u32 = 2;

struct Flow {
    job: Job,
    operation: Operation,
    aborted: JsFuture,
    /// The intent was executed before: whatever is heard now, it is done (rule T4).
    is_executed: bool,
    storage_missing: bool,
    response: Option<Response>,
    problem: JsValue,
    error: JsValue,
}

/// Runs a job to its result.
pub(crate) async fn run(job: Job) -> Result<Fields, JsValue> {
    let mut flow = Flow::new(job)?;
    if let Some(end) = flow.answer_from_record() {
        return Ok(flow.result(end));
    }
    if flow.operation.record().phase == Phase::Open {
        flow.job.emit("resumed", &flow.event());
    }
    let (mut attempt, mut action) = Attempt::start(flow.now_ms(), flow.config(), seed()?);
    loop {
        let event = match action {
            Action::Finish(end) => return Ok(flow.finish(end)),
            Action::Cancel { .. }
            | Action::Send {
                key: KeyChoice::Next,
                ..
            } if flow.is_executed => {
                return Ok(flow.finish(End::Unknown(Why::NotUnderstood)));
            }
            Action::Cancel { timeout_ms } | Action::Send { timeout_ms, .. } => {
                flow.call(action, timeout_ms).await?
            }
            Action::Wait { until_ms } => flow.wait(until_ms).await,
        };
        (attempt, action) = attempt
            .handle(flow.now_ms(), event)
            .map_err(|_| internal("oncegate: an event came out of order; please report this"))?;
    }
}

fn seed() -> Result<u64, JsValue> {
    Ok(u64::from_le_bytes(random()?))
}

impl Flow {
    fn new(job: Job) -> Result<Self, JsValue> {
        let operation = Operation::open(&job)?;
        Ok(Self {
            aborted: JsFuture::from(job.aborted()),
            job,
            is_executed: operation.record().phase == Phase::Executed,
            operation,
            storage_missing: false,
            response: None,
            problem: JsValue::UNDEFINED,
            error: JsValue::UNDEFINED,
        })
    }

    /// An executed intent is sent again only to get its stored answer, and only where a gate has
    /// said that it still has it: elsewhere the send could be a second execution.
    fn answer_from_record(&self) -> Option<End> {
        let changed = self.operation.is_changed();
        let has_gate = self.operation.record().lifetime_ms.is_some();
        let is_stored = has_gate && self.operation.is_fresh();
        (self.is_executed && (changed || !is_stored)).then_some(End::Done {
            replayed: true,
            changed,
        })
    }

    fn config(&self) -> Config {
        let max_sends = self.job.max_attempts();
        Config {
            base_ms: self.job.base_ms() as u64,
            cap_ms: self.job.cap_ms() as u64,
            attempt_timeout_ms: self.job.attempt_timeout_ms() as u64,
            deadline_ms: self.job.deadline_ms() as u64,
            max_sends: match self.is_executed {
                true => max_sends.min(SENDS_FOR_A_REPLAY),
                false => max_sends,
            },
        }
    }

    fn now_ms(&self) -> u64 {
        self.job.now() as u64
    }

    /// Makes a call; for a cancellation, the headers still carry the key of the send before.
    async fn call(&mut self, action: Action, timeout_ms: u64) -> Result<Event, JsValue> {
        if self.job.is_aborted() {
            return Ok(Event::Aborted);
        }
        if matches!(
            action,
            Action::Send {
                key: KeyChoice::Next,
                ..
            }
        ) {
            self.operation.take_next_key()?;
        }
        if !self.operation.is_fresh() {
            return Ok(Event::KeyTooOld);
        }
        let cancels = matches!(action, Action::Cancel { .. });
        match cancels {
            true => self.job.emit("cancel", &self.event()),
            false => self.prepare_send()?,
        }
        let sent = send(&self.job, cancels, &mut self.aborted, timeout_ms).await;
        Ok(match sent {
            Sent::Aborted => Event::Aborted,
            Sent::Answered(received) if cancels => self.cancelled(received),
            Sent::Answered(received) => self.answered(received),
            Sent::Failed(error) => self.no_answer("failed", error, Event::NetworkError),
            Sent::TimedOut => self.no_answer("timeout", JsValue::UNDEFINED, Event::TimedOut),
        })
    }

    fn prepare_send(&mut self) -> Result<(), JsValue> {
        let durable = self.operation.before_send();
        let key = &self.operation.record().key;
        self.job.headers().set(IDEMPOTENCY_KEY, key)?;
        if !durable && !self.storage_missing {
            self.storage_missing = true;
            self.job.emit("storage-missing", &self.event());
        }
        self.job.emit("send", &self.event());
        Ok(())
    }

    fn answered(&mut self, received: Received) -> Event {
        let answer = received.answer;
        self.operation.set_lifetime(received.lifetime_ms);
        self.response = Some(received.response);
        self.problem = received.problem;
        self.error = JsValue::UNDEFINED;
        let event = self.event();
        event.set_number("status", answer.http_status.into());
        if let Some(status) = answer.status {
            event.set_text("idempotencyStatus", status.as_str());
            event.set_flag("replayed", status == Status::Replayed);
        }
        self.job.emit("answer", &event);
        Event::Answered(answer)
    }

    /// Only an answer about the operation that was met counts: on a route that takes its keys from
    /// somewhere else, the header names another one.
    fn cancelled(&mut self, received: Received) -> Event {
        let mut answer = received.answer;
        let met = self.response.as_ref().and_then(operation_of);
        if operation_of(&received.response) != met {
            answer.problem = Problem::default();
        }
        self.error = JsValue::UNDEFINED;
        Event::Answered(answer)
    }

    fn no_answer(&mut self, reason: &str, error: JsValue, what: Event) -> Event {
        self.error = error;
        let event = self.event();
        event.set_text("reason", reason);
        self.job.emit("network-error", &event);
        what
    }

    async fn wait(&mut self, until_ms: u64) -> Event {
        let wait_ms = until_ms.saturating_sub(self.now_ms());
        let event = self.event();
        event.set_number("waitMs", wait_ms as f64);
        self.job.emit("wait", &event);
        match wait(&mut self.aborted, wait_ms).await {
            Waited::Aborted => Event::Aborted,
            Waited::Over => Event::WaitOver,
        }
    }

    fn finish(mut self, end: End) -> Fields {
        if self.is_executed && !matches!(end, End::Done { .. }) {
            self.response = None;
            return self.result(End::Done {
                replayed: true,
                changed: false,
            });
        }
        let result = self.result(end);
        if let End::Done { changed, .. } = end {
            self.operation.set_executed(changed);
        } else if end.raises_epoch() {
            self.operation.close();
        }
        result
    }

    fn result(&self, end: End) -> Fields {
        let record = self.operation.record();
        let result = Fields::new();
        result.set("intent", &self.job.intent().into());
        result.set_text("key", &record.key);
        result.set_number("sends", record.sends.into());
        result.set("response", &self.response_of(end));
        result.set("problem", &self.problem);
        match end {
            End::Done { replayed, changed } => {
                result.set_text("outcome", "done");
                result.set_flag("replayed", replayed);
                result.set_flag("changed", changed);
            }
            End::Failed(reason) => {
                result.set_text("outcome", "failed");
                result.set_text("reason", reason_word(reason));
            }
            End::Unknown(why) => {
                result.set_text("outcome", "unknown");
                result.set_text("reason", why.as_str());
                result.set("error", &self.error);
            }
        }
        result
    }

    /// A problem about an executed operation is not its answer.
    fn response_of(&self, end: End) -> JsValue {
        let code = get_text(&self.problem, "code").unwrap_or_default();
        let is_about = matches!(
            &*code,
            "key_reused" | "result_expired" | "result_unavailable"
        );
        match &self.response {
            Some(response) if !(is_about && matches!(end, End::Done { .. })) => response.into(),
            _ => JsValue::NULL,
        }
    }

    fn event(&self) -> Fields {
        let record = self.operation.record();
        let event = Fields::new();
        event.set_text("key", &record.key);
        event.set_number("send", record.sends.into());
        event
    }
}

fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Cancelled => "cancelled",
        Reason::Refused => "refused",
    }
}
