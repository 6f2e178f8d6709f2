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
//! | raising the epoch and sending the next key | none | sends the next key for the first time |

use js_sys::Object;
use oncegate_core::attempt::{Action, Attempt, Config, End, Event, KeyChoice, Reason, Why};
use oncegate_core::header::IDEMPOTENCY_KEY;
use oncegate_core::outcome::Status;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::Response;

use crate::host::{Job, random};
use crate::internal;
use crate::object::{get, object, set};
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
pub(crate) async fn run(job: Job) -> Result<Object, JsValue> {
    let mut flow = Flow::new(job)?;
    if let Some(end) = flow.answer_from_record() {
        return Ok(flow.result(end));
    }
    let (mut attempt, mut action) = Attempt::start(flow.now_ms(), flow.config(), seed()?);
    loop {
        let event = match action {
            Action::Finish(end) => return Ok(flow.finish(end)),
            Action::Send {
                key: KeyChoice::Next,
                ..
            } if flow.is_executed => return Ok(flow.finish(End::Unknown(Why::NotUnderstood))),
            Action::Send {
                timeout_ms, key, ..
            } => flow.send(timeout_ms, key).await?,
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
        let record = operation.record();
        let is_executed = record.phase == Phase::Executed;
        if record.phase == Phase::Open {
            let key = record.key.as_str().into();
            job.emit(
                "resumed",
                &object(&[("key", key), ("send", record.sends.into())]),
            );
        }
        Ok(Self {
            aborted: JsFuture::from(job.aborted()),
            job,
            operation,
            is_executed,
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
        let gate_remembers =
            self.operation.record().lifetime_ms.is_some() && self.operation.is_fresh();
        (self.is_executed && (changed || !gate_remembers)).then_some(End::Done {
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

    async fn send(&mut self, timeout_ms: u64, key: KeyChoice) -> Result<Event, JsValue> {
        if self.job.is_aborted() {
            return Ok(Event::Aborted);
        }
        if key == KeyChoice::Next {
            self.operation.take_next_key()?;
        }
        if !self.operation.is_fresh() {
            return Ok(Event::KeyTooOld);
        }
        let durable = self.operation.before_send();
        let key = self.operation.record().key.as_str();
        self.job.headers().set(IDEMPOTENCY_KEY, key)?;
        if !durable && !self.storage_missing {
            self.storage_missing = true;
            self.emit("storage-missing", &[]);
        }
        self.emit("send", &[]);
        let sent = send(&self.job, &mut self.aborted, timeout_ms).await;
        Ok(self.sent(sent))
    }

    fn sent(&mut self, sent: Sent) -> Event {
        match sent {
            Sent::Aborted => Event::Aborted,
            Sent::Answered(received) => {
                let answer = received.answer;
                self.operation.set_lifetime(received.lifetime_ms);
                self.response = Some(received.response);
                self.problem = received.problem;
                self.error = JsValue::UNDEFINED;
                self.emit(
                    "answer",
                    &[
                        ("status", answer.http_status.into()),
                        (
                            "idempotencyStatus",
                            answer.status.map(Status::as_str).into(),
                        ),
                        ("replayed", (answer.status == Some(Status::Replayed)).into()),
                    ],
                );
                Event::Answered(answer)
            }
            Sent::Failed(error) => self.no_answer("failed", error, Event::NetworkError),
            Sent::TimedOut => self.no_answer("timeout", JsValue::UNDEFINED, Event::TimedOut),
        }
    }

    fn no_answer(&mut self, reason: &str, error: JsValue, event: Event) -> Event {
        self.error = error;
        self.emit("network-error", &[("reason", reason.into())]);
        event
    }

    async fn wait(&mut self, until_ms: u64) -> Event {
        let wait_ms = until_ms.saturating_sub(self.now_ms());
        self.emit("wait", &[("waitMs", (wait_ms as f64).into())]);
        match wait(&mut self.aborted, wait_ms).await {
            Waited::Aborted => Event::Aborted,
            Waited::Over => Event::WaitOver,
        }
    }

    fn finish(mut self, end: End) -> Object {
        let end = match end {
            End::Done { .. } => end,
            _ if self.is_executed => {
                self.response = None;
                End::Done {
                    replayed: true,
                    changed: false,
                }
            }
            _ => end,
        };
        let result = self.result(end);
        if let End::Done { changed, .. } = end {
            self.operation.set_executed(changed);
        } else if end.raises_epoch() {
            self.operation.close();
        }
        result
    }

    fn result(&self, end: End) -> Object {
        let record = self.operation.record();
        let result = object(&[
            ("intent", self.job.intent().into()),
            ("key", record.key.as_str().into()),
            ("sends", record.sends.into()),
            ("response", self.response_of(end)),
            ("problem", self.problem.clone()),
        ]);
        let add = |name, value: JsValue| set(&result, name, &value);
        match end {
            End::Done { replayed, changed } => {
                add("outcome", "done".into());
                add("replayed", replayed.into());
                add("changed", changed.into());
            }
            End::Failed(reason) => {
                add("outcome", "failed".into());
                add("reason", reason_word(reason).into());
            }
            End::Unknown(why) => {
                add("outcome", "unknown".into());
                add("reason", why.as_str().into());
                add("error", self.error.clone());
            }
        }
        result
    }

    /// A problem about an executed operation is not its answer.
    fn response_of(&self, end: End) -> JsValue {
        let code = get(&self.problem, "code").as_string().unwrap_or_default();
        let is_about = matches!(
            &*code,
            "key_reused" | "result_expired" | "result_unavailable"
        );
        match &self.response {
            Some(response) if !(is_about && matches!(end, End::Done { .. })) => response.into(),
            _ => JsValue::NULL,
        }
    }

    fn emit(&self, kind: &str, fields: &[(&str, JsValue)]) {
        let record = self.operation.record();
        let event = object(fields);
        set(&event, "key", &record.key.as_str().into());
        set(&event, "send", &record.sends.into());
        self.job.emit(kind, &event);
    }
}

fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Cancelled => "cancelled",
        Reason::Refused => "refused",
    }
}
