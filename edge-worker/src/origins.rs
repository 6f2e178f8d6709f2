//! The one way out: every call to an origin, protected or not, leaves here.

use oncegate_core::policy::Place;
use worker::{Env, Result};

use crate::wire::{self, Call, Response};
use crate::{breaker, platform};

/// The address of `path_and_query` at an origin. A Worker behind a binding has no host of its own; it
/// finds the client's in `X-Forwarded-Host`, as every origin does.
pub(crate) fn url(place: &Place, path_and_query: &str) -> String {
    match place {
        Place::Service(_) => format!("https://origin{path_and_query}"),
        Place::Url(origin) => format!("{origin}{path_and_query}"),
    }
}

/// Sends a request whose address [`url`] made for this place.
pub(crate) async fn send(env: &Env, place: &Place, call: &Call) -> Result<Response> {
    let answered = match place {
        Place::Service(binding) => wire::call(&platform::bound(env, binding)?, call).await,
        Place::Url(_) => wire::fetch(call).await,
    };
    breaker::heard(place, &answered);
    answered
}
