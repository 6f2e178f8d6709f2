//! A message broker between the outbox and its receiver: NATS JetStream.
//!
//! **Invariant: a message is acknowledged only after its work was committed.** The broker's own
//! memory of acknowledgements is not durable at the moment they are made, and it does not mark all
//! that it delivers again; so nothing here rests on it. The consumer's record decides.

use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, AckKind, Context, stream};
use async_nats::{HeaderMap, Subject};
use futures_util::StreamExt;

use crate::commands::Trouble;
use crate::consumer::WINDOW_MS;
use crate::log;
use crate::outbox::{Message, Receiver};
use crate::server::without_password;
use crate::shop::effects;
use crate::sql::{Database, Dialect};

const STREAM: &str = "oncegate-shop";
const SUBJECTS: &str = "shop.>";
const CONSUMER: &str = "effects";
/// Written by the broker's clients: a repeat within the window is dropped by the broker itself.
const MESSAGE_ID: &str = "Nats-Msg-Id";
/// The number of the relay's attempt: from 2 on the receiver may have had it.
const ATTEMPT: &str = "Oncegate-Attempt";
/// How long the broker waits for an acknowledgement before it delivers again.
const ACK_WAIT: Duration = Duration::from_secs(10);
/// Clocks differ, and a purge may come early.
const MARGIN: Duration = Duration::from_secs(60 * 60);
/// How long work that failed waits before it is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// A connection to the broker, with the shop's stream.
#[derive(Clone, Debug)]
pub struct Broker(Context);

impl Broker {
    /// Connects to `nats://host:port`, and makes the stream if there is none.
    ///
    /// # Errors
    ///
    /// The broker cannot be reached, or has no JetStream.
    pub async fn connect(url: &str) -> Result<Self, Trouble> {
        let shown = without_password(url);
        let told = |error: &dyn Display| format!("cannot use the broker {shown}: {error}");
        let client = async_nats::connect(url).await;
        let context = jetstream::new(client.map_err(|error| told(&error))?);
        let stream = stream::Config {
            name: STREAM.into(),
            subjects: vec![SUBJECTS.into()],
            // What consumers have forgotten must not be delivered any more.
            max_age: Duration::from_millis(WINDOW_MS) - MARGIN,
            ..stream::Config::default()
        };
        let made = context.get_or_create_stream(stream).await;
        made.map_err(|error| told(&error))?;
        Ok(Self(context))
    }

    /// Does the work of every message that is delivered, until the future is dropped.
    ///
    /// # Errors
    ///
    /// The broker is gone.
    pub async fn consume<DB: Dialect>(&self, database: &Database<DB>) -> Result<(), Trouble> {
        let consumer = self.consumer().await?;
        let mut messages = consumer.messages().await?;
        while let Some(delivered) = messages.next().await {
            let delivered = match delivered {
                Ok(delivered) => delivered,
                Err(error) => {
                    log::error("broker", &error);
                    continue;
                }
            };
            let kind = match work(database, &delivered).await {
                Ok(()) => AckKind::Ack,
                Err(error) => {
                    log::error("consumer", &error);
                    AckKind::Nak(Some(PAUSE))
                }
            };
            // An acknowledgement that is lost brings the message again, and the record drops it.
            if let Err(error) = delivered.ack_with(kind).await {
                log::error("broker", &error);
            }
        }
        Err("the broker ended the delivery".into())
    }

    async fn consumer(&self) -> Result<PullConsumer, Trouble> {
        let settings = pull::Config {
            durable_name: Some(CONSUMER.into()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            // One after the other: what is ordered per aggregate stays so.
            max_ack_pending: 1,
            ..pull::Config::default()
        };
        let stream = self.0.get_stream(STREAM).await?;
        Ok(stream.get_or_create_consumer(CONSUMER, settings).await?)
    }
}

impl Receiver for Broker {
    async fn deliver(&self, message: &Message) -> Result<(), Box<dyn Display + Send + Sync>> {
        let mut headers = HeaderMap::new();
        headers.insert(MESSAGE_ID, message.id.as_str());
        headers.insert(ATTEMPT, message.attempt.to_string());
        let subject: Subject = format!("shop.{}", message.topic).into();
        let payload = message.payload.clone().into();
        let publish = async {
            let sent = self
                .0
                .publish_with_headers(subject, headers, payload)
                .await?;
            // Stored by the broker, and not only on its way.
            sent.await?;
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        };
        publish
            .await
            .map_err(|error| Box::new(error.to_string()) as _)
    }
}

async fn work<DB: Dialect>(
    database: &Database<DB>,
    delivered: &jetstream::Message,
) -> Result<(), Trouble> {
    let headers = delivered.headers.as_ref();
    let header = |name| headers.and_then(|headers| headers.get(name));
    let id =
        header(MESSAGE_ID).ok_or("a message without an id: whoever sent it must give it one")?;
    let attempt = header(ATTEMPT).and_then(|value| value.as_str().parse().ok());
    let topic = delivered.subject.strip_prefix("shop.").unwrap_or_default();
    let message = Message {
        id: id.to_string(),
        topic: topic.to_owned(),
        payload: String::from_utf8(delivered.payload.to_vec())?,
        attempt: attempt.unwrap_or(1),
    };
    effects::receive(database, &message).await?;
    Ok(())
}
