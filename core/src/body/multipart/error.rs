//! What is wrong with a multipart body: kind and place.

use core::fmt;

/// Why a body is not a multipart form that can be used, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultipartError {
    kind: MultipartErrorKind,
    position: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MultipartErrorKind {
    AfterBoundary,
    AfterClosing,
    Backslash,
    ContentType,
    Disposition,
    Encoding,
    Extended,
    HeaderLine,
    NoBlank,
    NoClosing,
    NoName,
    NoOpening,
    Parameter,
    Twice,
}

impl MultipartError {
    pub(super) fn new(kind: MultipartErrorKind, index: usize) -> Self {
        Self {
            kind,
            position: index + 1,
        }
    }

    /// The place in the body where the trouble begins, counted from 1: of a header line its start.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            MultipartErrorKind::AfterBoundary => {
                "a line end or '--' must follow the boundary of Content-Type"
            }
            MultipartErrorKind::AfterClosing => "only a line end may follow the closing boundary",
            MultipartErrorKind::Backslash => "a field's name must have no backslash",
            MultipartErrorKind::ContentType => {
                "a part's Content-Type must name type and subtype, such as text/plain"
            }
            MultipartErrorKind::Disposition => "a part's Content-Disposition must be form-data",
            MultipartErrorKind::Encoding => {
                "a part's Content-Transfer-Encoding must be 7bit, 8bit or binary"
            }
            MultipartErrorKind::Extended => {
                "name* and filename* are not allowed in a form; write name and filename in UTF-8"
            }
            MultipartErrorKind::HeaderLine => {
                "expected a header line, such as Content-Type: text/plain"
            }
            MultipartErrorKind::NoBlank => "a blank line must follow a part's header lines",
            MultipartErrorKind::NoClosing => "the closing boundary is missing",
            MultipartErrorKind::NoName => "a part's Content-Disposition must have a name",
            MultipartErrorKind::NoOpening => {
                "the body does not begin with the boundary of Content-Type"
            }
            MultipartErrorKind::Parameter => "a part's header line has a malformed parameter",
            MultipartErrorKind::Twice => "a part says the same thing twice in its header lines",
        })?;
        write!(f, " (byte {})", self.position)
    }
}

impl core::error::Error for MultipartError {}
