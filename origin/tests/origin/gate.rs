//! Rules L1, L2, L6 and L8 for a service that exists already: a router of its own behind `protect`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use oncegate_core::signature::Secrets;
use oncegate_origin::gate::{Gate, Once};
use oncegate_origin::ledger::{Answer, Effect, Failure};
use oncegate_origin::sql::Dialect;
use serde::Deserialize;
use tower::ServiceExt;

use crate::client::{Call, SECRETS};
use crate::fixture::{Fixture, on_database, take};

#[derive(Clone, Deserialize)]
struct Payment {
    mugs: u32,
}

type Runs = Arc<AtomicU32>;

/// What a service has: a handler that reads JSON, pays, and answers.
async fn pay<DB: Dialect>(
    State(runs): State<Runs>,
    once: Once<DB>,
    Json(payment): Json<Payment>,
) -> Response {
    runs.fetch_add(1, Ordering::SeqCst);
    if payment.mugs == 7 {
        return "changed its mind".into_response();
    }
    once.run(async move |connection: &mut DB::Connection| {
        let end = match payment.mugs {
            0 => Ok(Effect::Refused(Answer::json(402, &"no mugs")?)),
            13 => Err(Failure::Unknown("broken".into())),
            99 => std::future::pending().await,
            mugs => Ok(Effect::Executed(Answer::json(201, &mugs)?)),
        };
        take::<DB>(connection, end).await
    })
    .await
}

/// A layer that claims to know better.
async fn lie(request: axum::extract::Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let outcome = "refused".parse().unwrap();
    response
        .headers_mut()
        .insert("idempotency-outcome", outcome);
    response
}

struct Service {
    router: Router,
    runs: Runs,
}

struct Heard {
    status: u16,
    outcome: Option<String>,
    body: Vec<u8>,
}

impl Service {
    fn of<DB: Dialect>(fixture: &Fixture<DB>, secrets: &str) -> Self {
        let runs = Runs::default();
        let routes = Router::new()
            .route("/payments", post(pay::<DB>))
            .layer(from_fn(lie))
            .with_state(runs.clone());
        let secrets = Secrets::parse(secrets).unwrap();
        let gate = Gate::new(fixture.ledger.clone(), secrets);
        let router = gate.protect(routes).route("/open", post(async || "open"));
        Self { router, runs }
    }

    async fn send(&self, key: &str, body: &str) -> Heard {
        let call = payment(key, body);
        self.ask(&call.path, &call).await
    }

    async fn ask(&self, path: &str, call: &Call) -> Heard {
        let mut request = Request::post(path).header("content-type", "application/json");
        for (name, value) in call.headers_for(path) {
            request = request.header(name, value);
        }
        let body = if path == call.path {
            call.body.clone()
        } else {
            String::new()
        };
        self.request(request.body(Body::from(body)).unwrap()).await
    }

    async fn request(&self, request: Request<Body>) -> Heard {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let outcome = response.headers().get("idempotency-outcome");
        Heard {
            status: response.status().as_u16(),
            outcome: outcome.map(|value| value.to_str().unwrap().to_owned()),
            body: to_bytes(response.into_body(), 10_000)
                .await
                .unwrap()
                .to_vec(),
        }
    }

    fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }
}

fn payment(key: &str, body: &str) -> Call {
    Call {
        path: "/payments".into(),
        ..Call::order(key).with_body(body.into())
    }
}

#[tokio::test]
async fn l1_a_protected_route_takes_signed_calls_only() {
    on_database!(|fixture| {
        let service = Service::of(&fixture, SECRETS);
        let unsigned = Request::post("/payments").body(Body::from("{}")).unwrap();
        let heard = service.request(unsigned).await;
        assert_eq!(
            (heard.status, heard.outcome, service.runs()),
            (401, None, 0)
        );
        let open = Request::post("/open").body(Body::empty()).unwrap();
        assert_eq!(service.request(open).await.status, 200);
        // The secret of the call stands behind a newer one.
        let rotating = Service::of(&fixture, &format!("new=fedcba9876543210,{SECRETS}"));
        assert_eq!(rotating.send("k", r#"{"mugs":1}"#).await.status, 201);
    });
}

#[tokio::test]
async fn l2_a_known_key_is_answered_before_a_handler_reads_the_body() {
    on_database!(|fixture| {
        let service = Service::of(&fixture, SECRETS);
        let first = service.send("k", r#"{"mugs":1}"#).await;
        let again = service.send("k", r#"{"mugs":1}"#).await;
        assert_eq!((first.status, &first.body), (again.status, &again.body));
        assert_eq!((service.runs(), fixture.effects().await), (1, 1));
        // No JSON at all, under the same key: it is the key that counts.
        let other = service.send("k", "{").await;
        assert_eq!(
            (other.status, other.outcome.as_deref()),
            (422, Some("executed"))
        );
        assert_eq!(service.runs(), 1);
    });
}

#[tokio::test]
async fn l8_every_answer_of_a_protected_route_has_the_ledgers_word_and_no_other() {
    on_database!(|fixture| {
        let service = Service::of(&fixture, SECRETS);
        for (key, body, status, outcome) in [
            ("paid", r#"{"mugs":1}"#, 201, Some("executed")),
            ("refused", r#"{"mugs":0}"#, 402, Some("refused")),
            ("refused", r#"{"mugs":0}"#, 402, Some("refused")),
            ("broken", r#"{"mugs":13}"#, 500, None),
            ("invalid", "{", 400, Some("not_executed")),
            ("idle", r#"{"mugs":7}"#, 200, Some("not_executed")),
        ] {
            let heard = service.send(key, body).await;
            assert_eq!(
                (heard.status, heard.outcome.as_deref()),
                (status, outcome),
                "{key}"
            );
        }
        assert_eq!((fixture.effects().await, fixture.rows().await), (1, 2));
    });
}

/// A timeout layer in front of the handler cuts it off in the middle.
#[tokio::test]
async fn l8_an_answer_of_a_handler_that_was_cut_off_says_nothing() {
    on_database!(|fixture| {
        let mut service = Service::of(&fixture, SECRETS);
        let cut = async |request: axum::extract::Request, next: Next| {
            let limit = std::time::Duration::from_millis(300);
            match tokio::time::timeout(limit, next.run(request)).await {
                Ok(response) => response,
                Err(_) => axum::http::StatusCode::REQUEST_TIMEOUT.into_response(),
            }
        };
        let routes = Router::new()
            .route("/payments", post(pay::<DB>))
            .layer(from_fn(cut))
            .with_state(service.runs.clone());
        let secrets = Secrets::parse(SECRETS).unwrap();
        service.router = Gate::new(fixture.ledger.clone(), secrets).protect(routes);
        let heard = service.send("k", r#"{"mugs":99}"#).await;
        assert_eq!((heard.status, heard.outcome), (408, None));
        assert_eq!((fixture.effects().await, fixture.rows().await), (0, 0));
    });
}

#[tokio::test]
async fn l6_a_protected_service_answers_probe_and_cancel() {
    on_database!(|fixture| {
        let service = Service::of(&fixture, SECRETS);
        let (paid, new) = (
            payment("paid", r#"{"mugs":1}"#),
            payment("new", r#"{"mugs":1}"#),
        );
        service.ask("/payments", &paid).await;
        for (question, call, outcome) in [
            ("probe", &paid, "executed"),
            ("probe", &new, "unknown"),
            ("cancel", &paid, "executed"),
            ("cancel", &new, "cancelled"),
            ("probe", &new, "cancelled"),
        ] {
            let heard = service
                .ask(&format!("/.oncegate/ledger/{question}"), call)
                .await;
            assert_eq!(heard.outcome.as_deref(), Some(outcome), "{question}");
        }
        let late = service.ask("/payments", &new).await;
        assert_eq!(
            (late.status, late.outcome.as_deref()),
            (410, Some("cancelled"))
        );
        assert_eq!((service.runs(), fixture.effects().await), (1, 1));
    });
}

#[tokio::test]
async fn l1_a_nested_router_checks_the_path_that_was_signed() {
    on_database!(|fixture| {
        let mut service = Service::of(&fixture, SECRETS);
        service.router = Router::new().nest("/api", service.router);
        let call = Call {
            path: "/api/payments".into(),
            ..payment("k", r#"{"mugs":1}"#)
        };
        assert_eq!(service.ask("/api/payments", &call).await.status, 201);
    });
}
