//! What this isolate knows of the switch.
//!
//! Invariant: a request waits for the Desk only if this isolate has not asked it for half a minute, and
//! then for half a second at most. If the Desk does not answer, the last known position holds; if
//! there is none, the gate protects.

use std::cell::RefCell;
use std::rc::Rc;

use oncegate_core::switch::Switch;
use worker::{Context, Env, Result};

use crate::config::Config;
use crate::desk::message::ToDesk;
use crate::shards::within;
use crate::{desk, log, platform};

/// Younger is good enough.
const FRESH_MS: u64 = 5_000;

/// Older is not good enough to decide by: the switch may have been set long ago.
const STALE_MS: u64 = 30_000;

/// How long a request waits at most.
const DEADLINE_MS: u64 = 500;

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

#[derive(Default)]
struct Known {
    switch: Rc<Switch>,
    /// When the Desk was last asked, whether or not it has answered.
    asked_ms: u64,
}

/// The switch, as far as it is known.
pub(crate) async fn current(env: &Env, config: &Rc<Config>, context: &Context) -> Rc<Switch> {
    let now_ms = platform::now_ms();
    let (known, asked_ms) = KNOWN.with_borrow(|known| (Rc::clone(&known.switch), known.asked_ms));
    match now_ms.saturating_sub(asked_ms) {
        0..FRESH_MS => known,
        FRESH_MS..STALE_MS => {
            KNOWN.with_borrow_mut(|known| known.asked_ms = now_ms);
            let (env, config) = (env.clone(), Rc::clone(config));
            context.wait_until(async move { ask(&env, &config).await });
            known
        }
        _ => asked(env, config).await,
    }
}

/// The switch as the Desk has it now. Requests that arrive meanwhile wait as well: the asking is noted
/// when it is over.
pub(crate) async fn asked(env: &Env, config: &Config) -> Rc<Switch> {
    within(DEADLINE_MS, ask(env, config)).await;
    let now_ms = platform::now_ms();
    KNOWN.with_borrow_mut(|known| {
        known.asked_ms = now_ms;
        Rc::clone(&known.switch)
    })
}

/// What the Desk has just said.
pub(crate) fn learn(switch: Switch) {
    KNOWN.with_borrow_mut(|known| known.switch = Rc::new(switch));
}

async fn ask(env: &Env, config: &Config) {
    match read(env, config).await {
        Ok(switch) => learn(switch),
        Err(error) => log::warn("switch_unknown").detail(error).write(),
    }
}

async fn read(env: &Env, config: &Config) -> Result<Switch> {
    desk::tell(env, config, &ToDesk::Switch).await?.json().await
}
