//! The origin's clock: the only place that reads it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the clock is set to a time after 1970");
    u64::try_from(since_epoch.as_millis()).expect("the year is below 500 million")
}
