//! A message broker between the outbox and its receiver: NATS JetStream.
//!
//! **Invariant: a message is acknowledged only after its work was committed.** The broker's own
//! memory of acknowledgements is not durable at the moment they are made, and it does not mark all
//! that it delivers again; so nothing here rests on it. The consumer's record decides. And the broker drops
//! nothing by itself: what waits too long is given up by the consumer, which tells a person.

mod claimed;
mod consume;

use std::error::Error;
use std::fmt::Display;

use async_nats::jetstream::stream::{self, RetentionPolicy};
use async_nats::jetstream::{self, Context};
use async_nats::{HeaderMap, Subject};

pub use self::consume::Limits;
use crate::commands::Trouble;
use crate::outbox::{Message, Receiver};
use crate::server::without_password;

const STREAM: &str = "oncegate-shop";
const FOREIGN_STREAM: &str = "its stream oncegate-shop was made by an earlier build, and drops messages by their age: \
     let `consume` of that build empty it, delete it, and start again";
const SUBJECTS: &str = "shop.>";
/// Written by the broker's clients: a repeat within the window is dropped by the broker itself.
const MESSAGE_ID: &str = "Nats-Msg-Id";
/// The number of the relay's attempt: from 2 on the receiver may have had it.
const ATTEMPT: &str = "Oncegate-Attempt";
/// What the message is about: of one aggregate, nothing is worked off before what was sent earlier.
const AGGREGATE: &str = "Oncegate-Aggregate";

/// A connection to the broker, with the shop's stream.
#[derive(Clone, Debug)]
pub struct Broker(Context);

impl Broker {
    /// Connects to `nats://host:port`, and makes the stream if there is none.
    ///
    /// # Errors
    ///
    /// The broker cannot be reached, has no JetStream, or has a stream that drops messages by itself.
    pub async fn connect(url: &str) -> Result<Self, Trouble> {
        let shown = without_password(url);
        let told = |error: &dyn Display| format!("cannot use the broker {shown}: {error}");
        let client = async_nats::connect(url).await;
        let context = jetstream::new(client.map_err(|error| told(&error))?);
        let stream = stream::Config {
            name: STREAM.into(),
            subjects: vec![SUBJECTS.into()],
            // A message goes when it was acknowledged, and not by its age.
            retention: RetentionPolicy::WorkQueue,
            ..stream::Config::default()
        };
        let made = context.get_or_create_stream(stream).await;
        let made = made.map_err(|error| told(&error))?;
        match made.cached_info().config.retention {
            RetentionPolicy::WorkQueue => Ok(Self(context)),
            _ => Err(told(&FOREIGN_STREAM).into()),
        }
    }
}

impl Receiver for Broker {
    async fn deliver(&self, message: &Message) -> Result<(), Box<dyn Display + Send + Sync>> {
        let mut headers = HeaderMap::new();
        headers.insert(MESSAGE_ID, message.id.as_str());
        headers.insert(ATTEMPT, message.attempt.to_string());
        headers.insert(AGGREGATE, message.aggregate.as_str());
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
