//! Working under a claim of the gate.
//!
//! **Invariant: a claim spares work and decides nothing.** Whether a message was worked off is said by the consumer's record, in
//! the transaction of the work. So what the gate cannot claim (a message without a usable id, or older than it remembers) is worked
//! on without a claim; and where it does not answer, the message waits, and its broker hears that somebody has it.

use std::time::Duration;

use async_nats::jetstream::AckKind;
use oncegate_client::{Claim, Claimed, Claims, Error, Message};
use tokio::time::sleep;

use super::consume::pause;
use crate::dead::DeadLetter;
use crate::log;

/// How often it is looked whether somebody else's claim is over, which nobody tells.
const LOOK: Duration = Duration::from_secs(2);

/// Whose turn it is.
enum Turn {
    /// Nobody's more: it was worked off.
    Done,
    /// Ours, and others hear so.
    Mine(Claim),
    /// Whoever's: the gate has no claim on it.
    Open,
}

/// Works on a message when it is this consumer's turn, and says what the broker is to do. `None`: somebody took over, who
/// tells the broker.
pub(super) async fn work(
    claims: &Claims,
    letter: &DeadLetter,
    work: impl Future<Output = AckKind>,
) -> Option<AckKind> {
    let claim = match turn(claims, letter).await {
        Turn::Done => return Some(AckKind::Ack),
        Turn::Mine(claim) => claim,
        Turn::Open => return Some(work.await),
    };
    let kind = tokio::select! {
        kind = work => kind,
        () = claims.keep(&claim) => {
            log::error("claims", &format!("{}: somebody has taken over", claim.key));
            return None;
        }
    };
    let said = match kind {
        AckKind::Nak(_) => claims.release(&claim).await,
        // Worked off, or kept as a dead letter.
        _ => claims.complete(&claim, None).await,
    };
    if let Err(error) = said {
        // It ends with its lease, and what was done is recorded.
        log::error("claims", &error);
    }
    Some(kind)
}

/// Waits for this consumer's turn.
async fn turn(claims: &Claims, letter: &DeadLetter) -> Turn {
    let Some(key) = letter.message.clone() else {
        return Turn::Open;
    };
    let sent_ms = Some(letter.published_ms);
    let mut failures = 0;
    loop {
        let key = key.clone();
        let wait = match claims.claim(Message { key, sent_ms }).await {
            Ok(Claimed::Acquired(claim)) => return Turn::Mine(claim),
            Ok(Claimed::Done(_)) => return Turn::Done,
            Ok(Claimed::Busy(left)) => left.clamp(LOOK / 10, LOOK),
            Ok(_) => return Turn::Open,
            Err(error) if is_no_key(&error) => return Turn::Open,
            Err(error) => {
                failures += 1;
                log::error("claims", &error);
                pause(failures)
            }
        };
        sleep(wait).await;
    }
}

/// Whether the gate answered, and takes no such id: a call that is wrong altogether has a status of its own.
fn is_no_key(error: &Error) -> bool {
    matches!(error, Error::Refused { problem, .. } if problem.status == 200 && !problem.retryable)
}
