//! What comes along: a service that imports the ledger compiles the ledger, and not the shop.

use std::path::Path;
use std::process::Command;

/// The crates that a service compiles which imports the ledger for one database, as `cargo tree` lists them.
fn imported(database: &str) -> Vec<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "tree",
        "--package",
        "oncegate-origin",
        "--offline",
        "--locked",
    ]);
    cargo.args(["--no-default-features", "--features", database]);
    cargo.args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    let output = cargo
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .expect("cargo");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let tree = String::from_utf8(output.stdout).expect("names");
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    tree.lines().map(name).collect()
}

#[test]
fn a_service_that_imports_the_ledger_compiles_its_own_database_and_no_shop() {
    let (own, others) = ("sqlx-postgres", ["sqlx-mysql", "sqlx-sqlite"]);
    let shop = [
        "async-nats",
        "clap",
        "hyper-util",
        "oncegate-client",
        "reqwest",
        "rustls",
    ];
    let crates = imported("postgres");
    for needed in [own, "axum", "oncegate-core"] {
        assert!(
            crates.iter().any(|name| name == needed),
            "{needed}: {crates:?}"
        );
    }
    for foreign in others.iter().chain(&shop) {
        assert!(
            !crates.iter().any(|name| name == foreign),
            "{foreign} comes along"
        );
    }
}
