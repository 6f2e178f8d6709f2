//! A database that is asked over TLS: the server of `ONCEGATE_TEST_DATABASE`, whose certificate is in
//! `ONCEGATE_TEST_ROOT`.

#[expect(dead_code, reason = "shared with the other tests")]
#[path = "../origin/books.rs"]
mod books;
#[expect(dead_code, reason = "shared with the other tests")]
#[path = "../origin/client.rs"]
mod client;
#[expect(dead_code, reason = "shared with the other tests")]
#[path = "../origin/shop.rs"]
mod shop;

use std::process::Command;

use oncegate_origin::sql::{Database, Dialect, Sql, Statements};

use books::{Books, Kind, with_database};

const PROGRAM: &str = env!("CARGO_BIN_EXE_oncegate-origin");

/// Whether the connection is one over TLS.
const IS_SECURE: Sql = Sql {
    mysql: "SELECT variable_value <> '' AS n FROM information_schema.session_status
            WHERE variable_name = 'Ssl_cipher'",
    postgres: "SELECT CASE WHEN ssl THEN CAST(1 AS BIGINT) ELSE 0 END AS n FROM pg_stat_ssl
            WHERE pid = pg_backend_pid()",
    sqlite: "SELECT 0 AS n",
};

/// The URL of a database whose server has to prove who it is, by this root or by those of the web.
fn verified(books: &Books, root: Option<&str>) -> String {
    let (mode, name) = match books.kind() {
        Kind::Postgres => ("sslmode=verify-full", "sslrootcert"),
        Kind::MySql => ("ssl-mode=VERIFY_IDENTITY", "ssl-ca"),
        Kind::Sqlite => panic!("a file has no certificate"),
    };
    let root = root.map(|root| format!("&{name}={root}"));
    format!("{}?{mode}{}", books.url(), root.unwrap_or_default())
}

fn root() -> String {
    std::env::var("ONCEGATE_TEST_ROOT")
        .expect("ONCEGATE_TEST_ROOT: run `cargo xtask test databases`, which sets it")
}

async fn is_secure<DB: Dialect>(url: &str) -> i64 {
    let database = Database::<DB>::open(url).await.unwrap();
    let row = database.read().await.unwrap().first(IS_SECURE, &[]).await;
    row.unwrap().unwrap().get("n").unwrap()
}

#[tokio::test]
async fn a_server_that_proves_who_it_is_is_asked_over_tls() {
    let books = Books::new().await;
    let url = verified(&books, Some(&root()));
    let is_secure = with_database!(books.kind(), DB => is_secure::<DB>(&url).await);
    assert_eq!(is_secure, 1);
    let mut check = Command::new(PROGRAM);
    let output = check.args(["check", "--database", &url]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test]
async fn a_server_whose_certificate_nobody_vouches_for_is_not_asked() {
    let books = Books::new().await;
    let mut check = Command::new(PROGRAM);
    let url = verified(&books, None);
    let output = check.args(["check", "--database", &url]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && stderr.contains("cannot open the database"),
        "{stderr}"
    );
    assert!(stderr.to_lowercase().contains("certificate"), "{stderr}");
}
