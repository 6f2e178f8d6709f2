//! Who may call an endpoint that is not for everybody.

use oncegate_core::problem::{Code, Problem};
use oncegate_core::signature::Secrets;
use worker::Result;

use crate::arrived::Arrived;

/// The name of the secret that the caller presents. An endpoint for which no secret is configured does
/// not exist.
pub(crate) fn name<'a>(
    arrived: &Arrived,
    secrets: Option<&'a Secrets>,
) -> Result<std::result::Result<&'a str, Problem>> {
    let Some(secrets) = secrets else {
        return Ok(Err(Problem::new(Code::EndpointUnknown)));
    };
    let value = arrived.header("authorization");
    let presented = value
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, secret)| secrets.presented(secret.trim()));
    Ok(presented.ok_or_else(|| Problem::new(Code::Unauthorized)))
}
