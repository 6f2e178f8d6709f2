//! The gate, and the secret under which it is called.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use rustls::crypto::{CryptoProvider, ring};
use serde::Deserialize;

use crate::call::Call;
use crate::error::Error;

/// How long a connection may take. Answers have deadlines of their own.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const HEALTH_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct Health {
    #[serde(rename = "status")]
    _status: String,
}

/// The gate. Clones share their connections.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    http: reqwest::Client,
    base: Url,
}

impl Client {
    /// The gate at `base`, such as `https://shop.example`, and one of the secrets that it knows for what
    /// will be called: of `LOCKS_SECRETS` for locks.
    ///
    /// Proxies are those of the environment (`HTTPS_PROXY` and the like). For https, the process's
    /// `rustls` provider is used, or *ring* if none was chosen.
    ///
    /// # Errors
    /// [`Error::Setup`]: `base` is no address of a gate, or the secret cannot be sent in a header.
    pub fn new(base: &str, secret: &str) -> Result<Self, Error> {
        // Another part of the program may choose at the same moment, and then its choice stands.
        if CryptoProvider::get_default().is_none() {
            let _ = ring::default_provider().install_default();
        }
        let http = reqwest::Client::builder()
            .default_headers(headers(secret)?)
            .connect_timeout(CONNECT_TIMEOUT)
            // A secret must not follow to where an answer points.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| Error::Setup(format!("no connection can be made: {error}")))?;
        let base = address(base)?;
        Ok(Self(Arc::new(Inner { http, base })))
    }

    /// Asks whether the gate is there and takes calls.
    ///
    /// # Errors
    /// [`Error::NoAnswer`]: it is not there, or somebody else is. [`Error::Refused`]: its settings are wrong.
    pub async fn health(&self) -> Result<(), Error> {
        let doing = "asking how the gate is".to_owned();
        let call = Call::new(self, Method::GET, &["health"], doing);
        let answer = call.send(HEALTH_PATIENCE).await?;
        answer.read::<Health>().map(drop)
    }

    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.0.http
    }

    /// The address of an endpoint: its segments below `/.oncegate/v1`.
    pub(crate) fn endpoint(&self, segments: &[&str]) -> Url {
        let mut url = self.0.base.clone();
        url.path_segments_mut()
            .expect("`address` takes http addresses only, which have segments")
            .pop_if_empty()
            .extend([".oncegate", "v1"])
            .extend(segments);
        url
    }
}

fn address(base: &str) -> Result<Url, Error> {
    let wrong = |reason: &dyn fmt::Display| {
        Error::Setup(format!(
            "{base} is no address of a gate: {reason}; write it as https://shop.example"
        ))
    };
    let url = Url::parse(base).map_err(|error| wrong(&error))?;
    match (url.scheme(), url.query(), url.fragment()) {
        ("http" | "https", None, None) => Ok(url),
        ("http" | "https", ..) => Err(wrong(&"it has a query or a fragment")),
        (scheme, ..) => Err(wrong(&format_args!("{scheme} is not http or https"))),
    }
}

fn headers(secret: &str) -> Result<HeaderMap, Error> {
    let unsendable = || {
        Error::Setup("the secret is empty or has characters that no header can carry".to_owned())
    };
    if secret.trim().is_empty() {
        return Err(unsendable());
    }
    let mut bearer =
        HeaderValue::from_str(&format!("Bearer {secret}")).map_err(|_| unsendable())?;
    // Kept out of whatever prints headers.
    bearer.set_sensitive(true);
    Ok(HeaderMap::from_iter([(AUTHORIZATION, bearer)]))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({})", self.0.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(base: &str, secret: &str) -> String {
        Client::new(base, secret).unwrap_err().to_string()
    }

    #[test]
    fn an_endpoint_is_below_the_gates_address() {
        let at = |base: &str| {
            let gate = Client::new(base, "secret").unwrap();
            gate.endpoint(&["locks", "a b"]).to_string()
        };
        let expected = "https://shop.example/.oncegate/v1/locks/a%20b";
        assert_eq!(at("https://shop.example"), expected);
        assert_eq!(at("https://shop.example/"), expected);
    }

    #[test]
    fn what_is_no_address_or_no_secret_is_said_before_anything_is_sent() {
        assert!(fault("shop.example", "s").contains("is no address of a gate"));
        assert!(fault("ftp://shop.example", "s").contains("ftp is not http or https"));
        assert!(fault("https://shop.example/?a=b", "s").contains("a query"));
        assert!(fault("https://shop.example", "").contains("the secret is empty"));
        assert!(fault("https://shop.example", "a\nb").contains("no header can carry"));
    }

    #[test]
    fn a_secret_is_not_printed() {
        let gate = Client::new("https://shop.example", "hidden").unwrap();
        assert_eq!(format!("{gate:?}"), "Client(https://shop.example/)");
    }
}
