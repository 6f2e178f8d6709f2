//! Working under a claim of the gate.
//!
//! **Invariant: a claim keeps two from the same work and decides nothing.** Whether a message was worked off is said by the
//! consumer's record, in the transaction of the work. So what the gate cannot claim (a message without a usable id, or older than it
//! remembers) or says was done (or refused, or cancelled) is worked on without a claim, which is nothing where the record is; where it
//! does not answer, the message waits, not for ever; and where it says no to the whole call, the consumer ends.

use std::time::Duration;

use async_nats::jetstream::AckKind;
use oncegate_client::{Claim, Claimed, Claims, Error, Message};
use tokio::time::{sleep, timeout};

use super::consume::pause;
use crate::dead::DeadLetter;
use crate::log;

/// How often it is looked whether somebody else's claim is over, which nobody tells.
const LOOK: Duration = Duration::from_secs(2);

/// Whose turn it is.
enum Turn {
    /// Ours, and others hear so.
    Mine(Claim),
    /// Whoever's: the gate has no claim on it.
    Open,
}

/// Works on a message when it is this consumer's turn, for which it waits no longer than `patience`, and says what the broker is
/// to do. `None`: somebody took over, who tells the broker.
///
/// # Errors
///
/// The gate says no to every call that is made so.
pub(super) async fn work(
    claims: &Claims,
    letter: &DeadLetter,
    patience: Duration,
    work: impl Future<Output = AckKind>,
) -> Result<Option<AckKind>, Error> {
    let Ok(turn) = timeout(patience, turn(claims, letter)).await else {
        let (name, seconds) = (letter.name(), patience.as_secs_f64());
        let what = format!(
            "{name}: for {seconds} s somebody else had the claim or the gate did not answer: handed on. See whether the gate can be \
             reached from here, and what the other consumers say"
        );
        log::error("claims", &what);
        return Ok(Some(AckKind::Nak(Some(LOOK))));
    };
    let claim = match turn? {
        Turn::Mine(claim) => claim,
        Turn::Open => return Ok(Some(work.await)),
    };
    let kind = tokio::select! {
        kind = work => kind,
        () = claims.keep(&claim) => {
            log::error("claims", &format!("{}: somebody has taken over", claim.key));
            return Ok(None);
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
    Ok(Some(kind))
}

/// Waits for this consumer's turn.
async fn turn(claims: &Claims, letter: &DeadLetter) -> Result<Turn, Error> {
    let Some(key) = letter.message.clone() else {
        return Ok(Turn::Open);
    };
    let sent_ms = Some(letter.published_ms);
    let mut failures = 0;
    loop {
        let key = key.clone();
        let wait = match claims.claim(Message { key, sent_ms }).await {
            Ok(Claimed::Acquired(claim)) => return Ok(Turn::Mine(claim)),
            Ok(Claimed::Busy(left)) => left.clamp(LOOK / 10, LOOK),
            Ok(_) => return Ok(Turn::Open),
            Err(error) if is_no_key(&error) => return Ok(Turn::Open),
            Err(error) if is_no_to_all(&error) => return Err(error),
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

/// Whether the same call would hear the same again: a secret that the gate does not know, or a scope that is none.
fn is_no_to_all(error: &Error) -> bool {
    match error {
        Error::Refused { problem, .. } => !problem.retryable,
        Error::Setup(_) => true,
        _ => false,
    }
}
