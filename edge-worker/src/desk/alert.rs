//! Telling somebody of operations in trouble, by the Desk's alarm.
//!
//! Invariant: before anything is sent it is written down when to try again, so that whatever happens
//! then, it happens again.

use oncegate_core::alert::Alerts;
use oncegate_core::header;
use serde::Serialize;
use worker::{Date, Result};

use super::message::{Listed, Troubled};
use super::object::Desk;
use crate::config::Config;
use crate::fields::Fields;
use crate::log;
use crate::shards::within;
use crate::wire::{self, Call, Response};

/// The name of the note with what became of the alerts.
const ALERTS: &str = "alerts";

/// How long a webhook may take.
const DEADLINE_MS: u64 = 10_000;

/// An alert, as it is sent.
#[derive(Serialize)]
struct Alert {
    at_ms: u64,
    operations: Vec<Troubled>,
    more: u64,
}

impl Desk {
    /// Sets the alarm for the next alert, if there is something to tell of and somebody to tell.
    pub(super) async fn arm(&self) -> Result<()> {
        let Some(due_ms) = self.due_ms()? else {
            return Ok(());
        };
        let wait_ms = due_ms.saturating_sub(Date::now().as_millis());
        self.storage().set_alarm(wait_ms.cast_signed()).await
    }

    /// Sends an alert, if it is time.
    pub(super) async fn alert(&self) -> Result<()> {
        let now_ms = Date::now().as_millis();
        if self.due_ms()?.is_none_or(|due_ms| due_ms > now_ms) {
            return self.arm().await;
        }
        let mut alerts = self.alerts()?;
        alerts.try_now(now_ms);
        self.store()?.set_note(ALERTS, &alerts)?;
        self.arm().await?;
        let config = self.config()?;
        let Listed { operations, more } = self.store()?.ripe(now_ms, after_ms(&config))?;
        let at_ms = now_ms;
        if send(
            &config,
            &Alert {
                at_ms,
                operations,
                more,
            },
        )
        .await?
        {
            let mut alerts = self.alerts()?;
            alerts.heard(now_ms);
            self.store()?.set_note(ALERTS, &alerts)?;
            self.arm().await?;
        }
        Ok(())
    }

    fn due_ms(&self) -> Result<Option<u64>> {
        let config = self.config()?;
        if config.alerts.is_none() {
            return Ok(None);
        }
        let alerts = self.alerts()?;
        let heard_ms = alerts.heard_ms().unwrap_or_default();
        let ripe = self.store()?.ripeness(after_ms(&config), heard_ms)?;
        Ok(alerts.due_ms(ripe))
    }

    fn alerts(&self) -> Result<Alerts> {
        Ok(self.store()?.note(ALERTS)?.unwrap_or_default())
    }
}

fn after_ms(config: &Config) -> u64 {
    config.alerts.as_ref().map_or(0, |alerts| alerts.after_ms())
}

/// Whether the webhook has heard.
async fn send(config: &Config, alert: &Alert) -> Result<bool> {
    let Some(alerts) = &config.alerts else {
        return Ok(false);
    };
    let body = serde_json::to_string(alert)?;
    let mut fields = Fields::default();
    fields.set("content-type", "application/json");
    let signature = config.signing_secrets.sign_alert(alert.at_ms, &body);
    fields.set(header::ALERT_SIGNATURE, signature);
    let call = Call::new(&alerts.webhook, "POST", &fields, Some(body.into()))?;
    let answered = within(DEADLINE_MS, wire::fetch(&call)).await;
    let fault = match answered {
        Some(Ok(response)) if is_success(&response) => return Ok(true),
        Some(Ok(response)) => format!("status {}", response.status_code()),
        Some(Err(error)) => error.to_string(),
        None => format!("no answer within {DEADLINE_MS} ms"),
    };
    log::error("alert_unheard").detail(fault).write();
    Ok(false)
}

fn is_success(response: &Response) -> bool {
    (200..300).contains(&response.status_code())
}
