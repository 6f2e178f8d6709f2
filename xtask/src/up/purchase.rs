//! One purchase through the whole chain, with a deliberately lost answer, sent again as the SDK sends it again.

use std::fmt::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use ureq::Agent;

use super::database::Rows;
use crate::http::{Answer, client, get, post, put};
use crate::stack::{Stack, random_hex};
use crate::ui::{Step, seconds};

/// Longer than a lease and a wait, after which the gate sends the operation on by itself.
const PATIENCE: Duration = Duration::from_secs(90);
const ONE_SEND: Duration = Duration::from_secs(30);

/// What one send was answered.
struct Send {
    at: Duration,
    status: u16,
    idempotency_status: String,
}

/// A purchase that came to its end.
pub(super) struct Purchase {
    key: String,
    sends: Vec<Send>,
    order: Value,
    at_origin: Vec<Value>,
}

impl Purchase {
    /// Makes the origin lose its first answer, then sends until the gate knows how the purchase ended.
    pub(super) fn make(stack: &Stack, step: &Step) -> Result<Self> {
        let (client, key) = (client(ONE_SEND), format!("up-{}", random_hex()?));
        let body = body(&client, stack)?;
        let faults = put(
            &client,
            &format!("{}/faults", stack.origin_url()),
            &json!(["drop_after_commit"]),
        )?;
        if faults.status >= 300 {
            bail!(
                "the origin refuses to lose an answer: PUT /faults said {}",
                faults.status
            );
        }
        let (sends, order) = send_until_known(
            &client,
            &format!("{}/orders", stack.gate_url()),
            &key,
            &body,
            step,
        )?;
        let listed = get(
            &client,
            &format!("{}/orders?request_id={key}", stack.origin_url()),
        )?
        .json();
        let at_origin = orders(&listed).to_vec();
        Ok(Self {
            key,
            sends,
            order,
            at_origin,
        })
    }

    /// The key that every send carried.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// What happened, tier by tier.
    pub(super) fn report(&self, rows: &Rows, database: &Path) -> String {
        let mut text = format!(
            "\nOne purchase, its first answer lost on purpose\n  page      key {}\n",
            self.key
        );
        for (number, send) in self.sends.iter().enumerate() {
            let line = format!(
                "send {} after {}: {}, {}",
                number + 1,
                seconds(send.at),
                send.status,
                send.idempotency_status
            );
            let _ = writeln!(text, "  gate      {line}");
        }
        let id = self.order["order"]["id"].as_str().unwrap_or("?");
        let ids: Vec<&str> = self
            .at_origin
            .iter()
            .filter_map(|order| order["id"].as_str())
            .collect();
        let _ = writeln!(text, "  page      order {id}");
        let _ = writeln!(
            text,
            "  origin    has for this key: {}",
            if ids.is_empty() {
                "nothing".to_owned()
            } else {
                ids.join(", ")
            }
        );
        let _ = writeln!(
            text,
            "  database  {} order and {} payment with this key (in all: orders {}, payments {})",
            rows.own_orders, rows.own_payments, rows.orders, rows.payments
        );
        let _ = write!(text, "            {}", database.display());
        text
    }

    /// Fails unless exactly one order and one payment were made, everywhere.
    pub(super) fn judge(&self, rows: &Rows) -> Result<()> {
        let everywhere = (self.at_origin.len(), rows.own_orders, rows.own_payments);
        if everywhere != (1, 1, 1) {
            let (listed, orders, payments) = everywhere;
            bail!(
                "not exactly once: the origin lists {listed} orders of this purchase, the database has {orders} orders and {payments} payments"
            );
        }
        let (shown, stored) = (&self.order["order"]["id"], &self.at_origin[0]["id"]);
        if shown != stored {
            bail!("the page was told of order {shown}, the origin has {stored}");
        }
        if self.sends.len() < 2 {
            bail!("the first answer was not lost: nothing was proved");
        }
        Ok(())
    }
}

fn body(client: &Agent, stack: &Stack) -> Result<String> {
    let catalog = get(client, &format!("{}/catalog", stack.origin_url()))?.json();
    let sku = plentiful(&catalog).context("the shop is sold out: start again with --fresh")?;
    let card = json!({ "number": "4242 4242 4242 4242", "expiry": "12/30", "cvc": "123" });
    Ok(json!({ "cart": [{ "sku": sku, "quantity": 1 }], "card": card, "email": "check@example.com" }).to_string())
}

/// The product with the most left, so that many runs find something to buy.
fn plentiful(catalog: &Value) -> Option<&str> {
    let products = catalog
        .as_array()
        .or_else(|| catalog["products"].as_array())?;
    let stock = |product: &Value| product["stock"].as_u64().unwrap_or(0);
    products
        .iter()
        .filter(|product| stock(product) > 0)
        .max_by_key(|product| stock(product))?["sku"]
        .as_str()
}

fn orders(listed: &Value) -> &[Value] {
    listed
        .as_array()
        .or_else(|| listed["orders"].as_array())
        .map_or(&[], Vec::as_slice)
}

fn send_until_known(
    client: &Agent,
    url: &str,
    key: &str,
    body: &str,
    step: &Step,
) -> Result<(Vec<Send>, Value)> {
    let (started, mut sends) = (Instant::now(), Vec::new());
    while started.elapsed() < PATIENCE {
        let at = started.elapsed();
        let answer = post(client, url, key, body)?;
        let idempotency_status = answer
            .header("idempotency-status")
            .unwrap_or("no Idempotency-Status")
            .to_owned();
        step.note(&format!(
            "send {}: {}, {idempotency_status}",
            sends.len() + 1,
            answer.status
        ));
        let done = matches!(idempotency_status.as_str(), "executed" | "replayed");
        let refused = matches!(idempotency_status.as_str(), "refused" | "cancelled");
        sends.push(Send {
            at,
            status: answer.status,
            idempotency_status,
        });
        match (done, refused) {
            (true, _) => return Ok((sends, answer.json())),
            (_, true) => bail!("the purchase was refused: {}", answer.json()["detail"]),
            _ => sleep(pause(&answer)),
        }
    }
    let last = sends
        .last()
        .map_or("nothing", |send| send.idempotency_status.as_str());
    bail!(
        "the purchase is not settled after {}: the gate still says {last}",
        seconds(PATIENCE)
    )
}

fn pause(answer: &Answer) -> Duration {
    let asked = answer.json()["retry_after_ms"]
        .as_u64()
        .map(Duration::from_millis);
    let header = answer
        .header("retry-after")
        .and_then(|text| text.parse().ok())
        .map(Duration::from_secs);
    asked
        .or(header)
        .unwrap_or(Duration::from_millis(500))
        .clamp(Duration::from_millis(100), Duration::from_secs(30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_with_the_most_left_is_bought() {
        let catalog = json!([{ "sku": "mug", "stock": 3 }, { "sku": "tee", "stock": 9 }, { "sku": "cap", "stock": 0 }]);
        assert_eq!(plentiful(&catalog), Some("tee"));
        assert_eq!(plentiful(&json!([{ "sku": "cap", "stock": 0 }])), None);
    }

    fn purchase(at_origin: &[Value]) -> Purchase {
        let send = |status| Send {
            at: Duration::ZERO,
            status,
            idempotency_status: "unknown".into(),
        };
        let order = json!({ "order": { "id": "ord_1" } });
        Purchase {
            key: "k".into(),
            sends: vec![send(502), send(201)],
            order,
            at_origin: at_origin.to_vec(),
        }
    }

    #[test]
    fn two_orders_or_two_payments_are_never_called_exactly_once() {
        let (one, good) = (
            json!({ "id": "ord_1" }),
            Rows {
                orders: 7,
                payments: 7,
                own_orders: 1,
                own_payments: 1,
            },
        );
        purchase(std::slice::from_ref(&one)).judge(&good).unwrap();
        assert!(purchase(&[one.clone(), one.clone()]).judge(&good).is_err());
        assert!(
            purchase(std::slice::from_ref(&one))
                .judge(&Rows {
                    own_payments: 2,
                    ..good
                })
                .is_err()
        );
        assert!(purchase(&[]).judge(&good).is_err());
        assert!(
            purchase(&[json!({ "id": "ord_2" })])
                .judge(&good)
                .unwrap_err()
                .to_string()
                .contains("the origin has")
        );
    }
}
