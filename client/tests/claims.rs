//! What a consumer hears of its claims, by a gate that gives the answers that it is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oncegate_client::{Claimed, Claims, Client, Error, Heard, Message};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

async fn gate(answers: Vec<&'static str>) -> (Claims, Arc<Mutex<Vec<String>>>) {
    gate_with(Duration::from_secs(30), answers).await
}

/// A gate that has the call, and says nothing.
const SILENCE: &str = "nothing";

/// Gives these answers, one for each call; an empty one is a connection that breaks. Keeps what was asked.
async fn gate_with(
    lease: Duration,
    answers: Vec<&'static str>,
) -> (Claims, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut silent = Vec::new();
        for body in answers {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            while !text.ends_with("}]}") {
                let mut bytes = [0; 4_096];
                let count = socket.read(&mut bytes).await.unwrap();
                text.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
            kept.lock().unwrap().push(text);
            if body == SILENCE {
                silent.push(socket);
            } else if !body.is_empty() {
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    });
    let client = Client::new(&address, "secret").unwrap();
    (client.claims("orders/mail", lease), asked)
}

fn message() -> Message {
    Message {
        key: "m-1".to_owned(),
        sent_ms: Some(7),
    }
}

const ACQUIRED: &str = r#"{"items":[{"key":"m-1","answer":"acquired","owner":"o","fence":5,"lease_ends_in_ms":30000,"operation":"op_x"}]}"#;

#[tokio::test]
async fn what_is_claimed_is_completed_by_its_owner() {
    let done = r#"{"items":[{"key":"m-1","answer":"done"}]}"#;
    let (claims, asked) = gate(vec![ACQUIRED, done]).await;
    let Claimed::Acquired(claim) = claims.claim(message()).await.unwrap() else {
        panic!("not acquired");
    };
    assert_eq!((claim.key.as_str(), claim.fence), ("m-1", 5));
    assert_eq!(
        claims.complete(&claim, Some("sent")).await.unwrap(),
        Heard::Done
    );
    let asked = asked.lock().unwrap();
    assert!(asked[0].starts_with("POST /.oncegate/v1/claims HTTP"));
    assert!(asked[0].contains(r#""lease_ms":30000,"items":[{"key":"m-1","sent_at":7}]"#));
    assert!(asked[1].starts_with("POST /.oncegate/v1/claims/complete HTTP"));
    assert!(asked[1].contains(r#"[{"key":"m-1","owner":"o","result":"sent"}]"#));
}

#[tokio::test]
async fn a_call_whose_answer_was_lost_is_made_again_as_it_was() {
    let (claims, asked) = gate(vec!["", ACQUIRED]).await;
    assert!(matches!(
        claims.claim(message()).await,
        Ok(Claimed::Acquired(_))
    ));
    let asked = asked.lock().unwrap();
    let body = |text: &String| text.split("\r\n\r\n").last().map(str::to_owned);
    assert_eq!(body(&asked[0]), body(&asked[1]));
}

#[tokio::test]
async fn a_claim_is_kept_until_somebody_has_taken_over() {
    let held = r#"{"items":[{"key":"m-1","answer":"held","lease_ends_in_ms":30}]}"#;
    let lost = r#"{"items":[{"key":"m-1","answer":"lost"}]}"#;
    // One heartbeat is heard by nobody, however often it is sent.
    let answers = vec![ACQUIRED, held, "", "", "", held, lost];
    let (claims, asked) = gate_with(Duration::from_millis(30), answers).await;
    let Claimed::Acquired(claim) = claims.claim(message()).await.unwrap() else {
        panic!("not acquired");
    };
    claims.keep(&claim).await;
    let asked = asked.lock().unwrap();
    let beats = asked
        .iter()
        .filter(|text| text.starts_with("POST /.oncegate/v1/claims/heartbeat "));
    assert_eq!((asked.len(), beats.count()), (7, 6));
}

/// Longer than the lease it would be somebody else's before the next heartbeat.
#[tokio::test]
async fn a_gate_that_is_silent_keeps_no_heartbeat_from_the_next() {
    let lost = r#"{"items":[{"key":"m-1","answer":"lost"}]}"#;
    let answers = vec![ACQUIRED, SILENCE, SILENCE, lost];
    let (claims, asked) = gate_with(Duration::from_millis(300), answers).await;
    let Claimed::Acquired(claim) = claims.claim(message()).await.unwrap() else {
        panic!("not acquired");
    };
    let kept = timeout(Duration::from_secs(8), claims.keep(&claim)).await;
    assert!(kept.is_ok(), "a heartbeat waited for an answer");
    assert_eq!(asked.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn each_item_is_told_by_itself() {
    let answers = r#"{"items":[
        {"key":"a","answer":"busy","lease_ends_in_ms":1500},
        {"key":"b","answer":"done","result":"r"},
        {"key":"c","answer":"too_old"},
        {"key":"d","answer":"refused","code":"quota_exceeded","detail":"Later.","retry_after_ms":9},
        {"key":"e","answer":"a word to come"}]}"#;
    let (claims, _) = gate(vec![answers]).await;
    let message = |key: &str| Message {
        key: key.to_owned(),
        sent_ms: None,
    };
    let told = claims
        .claim_all(&["a", "b", "c", "d", "e"].map(message))
        .await
        .unwrap();
    assert_eq!(
        *told[0].as_ref().unwrap(),
        Claimed::Busy(Duration::from_millis(1_500))
    );
    assert_eq!(
        *told[1].as_ref().unwrap(),
        Claimed::Done(Some("r".to_owned()))
    );
    assert_eq!(*told[2].as_ref().unwrap(), Claimed::TooOld);
    assert_eq!(told[3].as_ref().unwrap_err().code(), Some("quota_exceeded"));
    assert!(matches!(told[4], Err(Error::NoAnswer { .. })));
}
