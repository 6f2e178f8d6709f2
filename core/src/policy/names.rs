//! Names of header fields in settings.

use alloc::string::String;

/// What no setting may name: it speaks of one connection or of one answer, or is the gate's own.
const RESERVED: [&str; 15] = [
    "connection",
    "content-encoding",
    "content-length",
    "date",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
];

/// Reads the name of a header field: in lower case, as runtimes give it.
pub(crate) fn header_name(name: &str) -> Result<String, &'static str> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err("names what is no header field");
    }
    let name = name.to_ascii_lowercase();
    // Some origins take `_` for `-`: such a field is removed on its way, or read as another one.
    if name.contains('_') {
        return Err("names a header field with '_', which proxies and origins drop or misread");
    }
    if RESERVED.contains(&name.as_str()) || name.starts_with("oncegate-") {
        return Err("names a header field that is of one connection or the gate's own");
    }
    Ok(name)
}
