//! The server that is built first: it looks a token up, does the work, and deletes the token. It stands beside the gate's tokens, so
//! that one can see what the gap between looking and deleting lets through.
//!
//! **Invariant: it touches nothing of the shop.** What it calls an order is a number in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;
use uuid::Uuid;

use crate::http::Context;
use crate::sql::Dialect;

/// How long an order takes at most: it is done sooner when a second request has looked, so that the gap is seen on any machine.
const WORK: Duration = Duration::from_secs(2);
/// It forgets the oldest of more tokens.
const MOST: usize = 100;

#[derive(Clone, Default)]
struct Naive(Arc<Mutex<VecDeque<Token>>>);

struct Token {
    name: String,
    is_there: bool,
    looks: watch::Sender<u32>,
    orders: u32,
}

/// The routes.
pub(super) fn routes<DB: Dialect>() -> Router<Context<DB>> {
    Router::new()
        .route("/lab/naive", post(issue))
        .route("/lab/naive/{token}", post(take).get(count))
        .with_state(Naive::default())
}

async fn issue(State(naive): State<Naive>) -> Json<Value> {
    let name = Uuid::now_v7().simple().to_string();
    let mut tokens = naive.0.lock().unwrap_or_else(PoisonError::into_inner);
    tokens.truncate(MOST - 1);
    tokens.push_front(Token {
        name: name.clone(),
        is_there: true,
        looks: watch::Sender::default(),
        orders: 0,
    });
    Json(json!({ "token": name }))
}

async fn take(State(naive): State<Naive>, Path(name): Path<String>) -> StatusCode {
    let Some(mut looks) = naive.with(&name, Token::look).flatten() else {
        return StatusCode::CONFLICT;
    };
    drop(timeout(WORK, looks.wait_for(|looks| *looks > 1)).await);
    naive.with(&name, |token| {
        token.orders += 1;
        token.is_there = false;
    });
    StatusCode::CREATED
}

async fn count(State(naive): State<Naive>, Path(name): Path<String>) -> Json<Value> {
    Json(json!({ "orders": naive.with(&name, |token| token.orders) }))
}

impl Token {
    /// What tells how many have looked, if the token is there.
    fn look(&mut self) -> Option<watch::Receiver<u32>> {
        self.looks.send_modify(|looks| *looks += 1);
        self.is_there.then(|| self.looks.subscribe())
    }
}

impl Naive {
    fn with<T>(&self, name: &str, act: impl FnOnce(&mut Token) -> T) -> Option<T> {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.iter_mut().find(|token| token.name == name).map(act)
    }
}
