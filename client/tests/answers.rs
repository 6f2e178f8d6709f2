//! What is made of answers: the gate's, and those of whoever is in between.

use oncegate_client::{Client, Error};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Somebody who gives one answer, whatever is asked; the client for it.
async fn answering(status: &'static str, body: &'static str) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut [0; 4_096]).await.unwrap();
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        socket.write_all(answer.as_bytes()).await.unwrap();
    });
    Client::new(&address, "secret").unwrap()
}

#[tokio::test]
async fn the_gate_says_that_it_is_there() {
    let gate = answering("200 OK", r#"{"status":"ok"}"#).await;
    gate.health().await.unwrap();
}

#[tokio::test]
async fn the_gates_no_is_told_with_its_code_and_its_words() {
    let said = r#"{"status":503,"code":"gate_unavailable","detail":"Send it again later.","retryable":true,"retry_after_ms":1000,"title":"t"}"#;
    let error = answering("503 Service Unavailable", said).await;
    let error = error.health().await.unwrap_err();
    assert_eq!(error.code(), Some("gate_unavailable"));
    assert_eq!(
        error.to_string(),
        "asking how the gate is: the gate said no (503, gate_unavailable). Send it again later."
    );
}

#[tokio::test]
async fn what_somebody_in_between_says_is_no_answer_of_the_gate() {
    for (status, body) in [
        ("502 Bad Gateway", "<html>"),
        ("200 OK", "welcome"),
        ("302 Found", ""),
    ] {
        let error = answering(status, body).await.health().await.unwrap_err();
        assert!(matches!(error, Error::NoAnswer { .. }), "{status}: {error}");
        assert_eq!(error.code(), None);
    }
}

#[tokio::test]
async fn nobody_there_is_no_answer() {
    let gate = Client::new("http://127.0.0.1:1", "secret").unwrap();
    let error = gate.health().await.unwrap_err();
    assert!(error.to_string().contains("did not answer"), "{error}");
}
