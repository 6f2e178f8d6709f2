//! The command line: what can be done, and what it needs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use oncegate_client::{Claims, Client, Error};
use oncegate_core::claim::{LONGEST_LEASE_MS, SHORTEST_LEASE_MS, checked_scope};
use oncegate_origin::commands::Trouble;
use oncegate_origin::lab::Lab;

/// The reference shop: a ledger origin behind the Oncegate gate.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Recompute stock, charges, points and payouts from the rows; fails if the books do not balance.
    Check(At),
    /// Do the work of what the broker delivers, until SIGINT or SIGTERM.
    Consume(Consume),
    /// List, replay or discard messages that nobody could work off.
    #[command(subcommand)]
    DeadLetters(DeadLetters),
    /// Bring the tables up to date.
    Migrate(At),
    /// Be a stand-in for a payment provider, until SIGINT or SIGTERM.
    Provider(Provider),
    /// Forget keys after their retention, and the records of messages that no broker delivers any more.
    Purge(Purge),
    /// Deliver what the outbox owes, until SIGINT or SIGTERM. Any number of relays may run.
    Relay(Relay),
    /// Serve the shop until SIGINT or SIGTERM.
    Serve(Box<Serve>),
    /// Settle what merchants are owed for finished orders. A second run at the same time is harmless.
    Settle(Settle),
}

#[derive(Args)]
pub(crate) struct At {
    /// The database: sqlite:PATH (created if there is none), mysql://… or postgres://….
    #[arg(
        long,
        value_name = "URL",
        env = "ONCEGATE_DATABASE",
        hide_env_values = true
    )]
    pub(crate) database: String,
}

#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) at: At,
    /// Where to listen; port 0 takes any free port.
    #[arg(long, env = "ONCEGATE_LISTEN", default_value = "127.0.0.1:8788")]
    pub(crate) listen: SocketAddr,
    /// The secrets the gate signs with: name=secret[,name2=secret2].
    #[arg(long, env = "ONCEGATE_SIGNING_SECRETS", hide_env_values = true)]
    pub(crate) signing_secrets: String,
    /// The secrets of those who may see `/books`, `/metrics`, `/points/{user}` and all `/orders`: name=secret[,name2=secret2],
    /// sent as `Authorization: Bearer`. Without any, nobody may.
    #[arg(long, env = "ONCEGATE_ADMIN_SECRETS", hide_env_values = true)]
    pub(crate) admin_secrets: Option<String>,
    /// The secret the payment provider signs its callbacks with, 16 characters or more. Without it no
    /// callback is taken.
    #[arg(long, env = "ONCEGATE_CALLBACK_SECRET", hide_env_values = true)]
    pub(crate) callback_secret: Option<String>,
    /// The payment provider's address, http://HOST:PORT. Without it `POST /orders/{id}/pay` is not there.
    #[arg(long, value_name = "URL", env = "ONCEGATE_PROVIDER")]
    pub(crate) provider: Option<String>,
    /// How long the provider is waited for.
    #[arg(long, env = "ONCEGATE_PROVIDER_TIMEOUT_MS", default_value_t = 20_000)]
    pub(crate) provider_timeout_ms: u64,
    /// How long a settlement's lock stays with a run that says nothing: longer than the slowest row takes. One
    /// call of `POST /settlements` goes on for so long at most.
    #[arg(long, env = "ONCEGATE_SETTLE_LEASE_MS", default_value_t = 60_000)]
    pub(crate) settle_lease_ms: u64,
    /// How often payments and settlements that were begun and not finished are looked into.
    #[arg(long, env = "ONCEGATE_RECOVER_MS", default_value_t = 10_000)]
    pub(crate) recover_ms: u64,
    /// Relay the outbox to the shop itself in this process. Without it, run `relay`.
    #[arg(long, env = "ONCEGATE_RELAY")]
    pub(crate) relay: bool,
    /// Let `PUT /faults` break things on purpose. For demonstrations and tests only.
    #[arg(long)]
    pub(crate) faults: bool,
    #[command(flatten)]
    pub(crate) lab: AtTheGate,
}

/// What the back room of `--faults` asks the gate for. What is not given, it does not do; without `--faults` none of it is used, since
/// `consume` has some of these variables as well.
#[derive(Args)]
pub(crate) struct AtTheGate {
    /// With `--faults`: the gate's address.
    #[arg(long, value_name = "URL", env = "ONCEGATE_GATE")]
    gate: Option<String>,
    /// With `--faults`: one of the gate's `LOCKS_SECRETS`, without its name.
    #[arg(long, env = "ONCEGATE_LOCKS_SECRET", hide_env_values = true)]
    locks_secret: Option<String>,
    /// With `--faults`: one of the gate's `CLAIMS_SECRETS`, without its name.
    #[arg(long, env = "ONCEGATE_CLAIMS_SECRET", hide_env_values = true)]
    claims_secret: Option<String>,
    /// With `--faults`: one of the gate's `ADMIN_SECRETS`, without its name: to run a job again.
    #[arg(long, env = "ONCEGATE_GATE_ADMIN_SECRET", hide_env_values = true)]
    gate_admin_secret: Option<String>,
}

impl Serve {
    /// What there is of the back room.
    pub(crate) fn lab(&self) -> Result<Lab, Trouble> {
        if !self.faults {
            return Ok(Lab::default());
        }
        let AtTheGate {
            gate,
            locks_secret,
            claims_secret,
            gate_admin_secret,
        } = &self.lab;
        let secrets = [locks_secret, claims_secret, gate_admin_secret].map(Option::as_deref);
        Lab::new(gate.as_deref(), secrets)
    }
}

#[derive(Args)]
pub(crate) struct Relay {
    #[command(flatten)]
    pub(crate) at: At,
    /// The broker to deliver to, with JetStream. Without it the shop itself is the receiver.
    #[arg(
        long,
        value_name = "nats://HOST:PORT",
        env = "ONCEGATE_BROKER",
        hide_env_values = true
    )]
    pub(crate) broker: Option<String>,
    /// First make every dead message due again.
    #[arg(long)]
    pub(crate) revive: bool,
}

#[derive(Args)]
pub(crate) struct Consume {
    #[command(flatten)]
    pub(crate) at: At,
    /// The broker that delivers, with JetStream.
    #[arg(
        long,
        value_name = "nats://HOST:PORT",
        env = "ONCEGATE_BROKER",
        hide_env_values = true
    )]
    pub(crate) broker: String,
    #[command(flatten)]
    pub(crate) claiming: Claiming,
}

#[derive(Args)]
pub(crate) struct Claiming {
    /// The gate at which each message is claimed before it is worked on, so that one consumer works on it at a time. Without it
    /// the records in the database keep consumers apart.
    #[arg(
        long,
        value_name = "URL",
        env = "ONCEGATE_GATE",
        requires = "claims_secret"
    )]
    pub(crate) gate: Option<String>,
    /// One of the gate's CLAIMS_SECRETS, without its name.
    #[arg(
        long,
        env = "ONCEGATE_CLAIMS_SECRET",
        hide_env_values = true,
        requires = "gate"
    )]
    pub(crate) claims_secret: Option<String>,
    /// What tells these claims from all others at the gate: the queue, and who consumes it.
    #[arg(long, env = "ONCEGATE_CLAIMS_SCOPE", default_value = "shop/effects",
        value_parser = |scope: &str| checked_scope(scope.to_owned()).map_err(|wrong| wrong.to_string()))]
    pub(crate) claims_scope: String,
    /// How long a claim stays with a consumer that says nothing. One that works says something three times in it.
    #[arg(long, env = "ONCEGATE_CLAIMS_LEASE_MS", default_value_t = 30_000,
        value_parser = clap::value_parser!(u64).range(SHORTEST_LEASE_MS..=LONGEST_LEASE_MS))]
    pub(crate) claims_lease_ms: u64,
}

impl Claiming {
    /// The claims, if they are wanted.
    pub(crate) fn claims(&self) -> Result<Option<Claims>, Error> {
        let (Some(gate), Some(secret)) = (&self.gate, &self.claims_secret) else {
            return Ok(None);
        };
        let lease = Duration::from_millis(self.claims_lease_ms);
        let gate = Client::new(gate, secret)?;
        Ok(Some(gate.claims(&self.claims_scope, lease)))
    }
}

#[derive(Subcommand)]
pub(crate) enum DeadLetters {
    /// Forget the letter in a place without doing its work.
    Discard(Letter),
    /// Show them, one JSON object a line.
    List(At),
    /// Do the work of all of them in order, or of the one in a place. Each goes when its work is committed.
    Replay(Letters),
}

#[derive(Args)]
pub(crate) struct Letter {
    #[command(flatten)]
    pub(crate) at: At,
    /// Its place, as `list` shows it.
    #[arg(long)]
    pub(crate) place: String,
}

#[derive(Args)]
pub(crate) struct Letters {
    #[command(flatten)]
    pub(crate) at: At,
    /// The place of one letter, as `list` shows it.
    #[arg(long)]
    pub(crate) place: Option<String>,
}

#[derive(Args)]
pub(crate) struct Purge {
    #[command(flatten)]
    pub(crate) at: At,
    /// How long keys are kept after they were settled: the `ledger_retention` of the gate's routes. Never less
    /// than two weeks, twice as long as the gate remembers a key unless told otherwise: a key that is
    /// forgotten sooner can have a second effect.
    #[arg(long, env = "ONCEGATE_RETENTION_DAYS", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(14..))]
    pub(crate) retention_days: u32,
}

#[derive(Args)]
pub(crate) struct Settle {
    #[command(flatten)]
    pub(crate) at: At,
    /// How long the lock stays with a run that says nothing: longer than the slowest row takes.
    #[arg(long, env = "ONCEGATE_SETTLE_LEASE_MS", default_value_t = 60_000)]
    pub(crate) lease_ms: u64,
    /// A rest in the middle of each row, to spare the database.
    #[arg(long, env = "ONCEGATE_SETTLE_PAUSE_MS", default_value_t = 0)]
    pub(crate) pause_ms: u64,
}

#[derive(Args)]
pub(crate) struct Provider {
    /// Where to listen; port 0 takes any free port.
    #[arg(
        long,
        env = "ONCEGATE_PROVIDER_LISTEN",
        default_value = "127.0.0.1:8789"
    )]
    pub(crate) listen: SocketAddr,
    /// The provider's books, a SQLite file, created if there is none.
    #[arg(long, value_name = "PATH", env = "ONCEGATE_PROVIDER_BOOKS")]
    pub(crate) books: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l9_a_retention_after_which_a_key_could_come_back_is_refused() {
        let days = |days| {
            let arguments = [
                "oncegate-origin",
                "purge",
                "--database",
                "sqlite:x",
                "--retention-days",
                days,
            ];
            Cli::try_parse_from(arguments).map(|_| ())
        };
        assert!(days("14").is_ok());
        let error = days("0").unwrap_err().to_string();
        assert!(error.contains("14"), "{error}");
    }

    #[test]
    fn a_scope_that_the_gate_takes_from_nobody_is_refused() {
        let scope = |scope| {
            let arguments =
                "oncegate-origin consume --database sqlite:x --broker nats://x --claims-scope";
            Cli::try_parse_from(arguments.split(' ').chain([scope])).map(|_| ())
        };
        assert!(scope("shop/effects").is_ok());
        let error = scope("a b").unwrap_err().to_string();
        assert!(error.contains("letters, digits"), "{error}");
    }

    #[test]
    fn what_only_the_back_room_uses_does_not_stop_a_shop_without_one() {
        let lab = |more: &[&'static str]| {
            let arguments =
                "oncegate-origin serve --database sqlite:x --signing-secrets x --claims-secret s";
            let arguments = arguments.split(' ').chain(more.iter().copied());
            match Cli::try_parse_from(arguments).unwrap().command {
                Command::Serve(serve) => serve.lab().map(|_| ()),
                _ => unreachable!("it says serve"),
            }
        };
        assert!(lab(&[]).is_ok());
        let error = lab(&["--faults"]).unwrap_err().to_string();
        assert!(error.contains("ONCEGATE_GATE"), "{error}");
    }
}
