//! What a `Content-Type` says of a body.

use alloc::string::String;

/// Type and subtype. PHP reads them up to a comma or white space, too, and two header lines come joined with a comma: what
/// anybody may read as a form is one.
fn media_type(content_type: &str) -> String {
    let mut words = content_type.trim_start().split([';', ',', ' ', '\t']);
    words.next().unwrap_or_default().to_ascii_lowercase()
}

pub(crate) fn is_form(content_type: &str) -> bool {
    media_type(content_type) == "application/x-www-form-urlencoded"
}

pub(super) fn is_json(content_type: &str) -> bool {
    let media_type = media_type(content_type);
    media_type == "application/json" || media_type.ends_with("+json")
}

pub(super) fn is_multipart(content_type: &str) -> bool {
    media_type(content_type) == "multipart/form-data"
}
