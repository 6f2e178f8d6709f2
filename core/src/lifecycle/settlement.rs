//! The states of a row that a job works off.

use super::Status;

/// How far a row of a settlement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a status that a job forgets must be a compile error"
)]
pub enum SettlementStatus {
    /// Nobody has begun.
    Init,
    /// A run has taken it. A run that died here is continued, not begun again.
    Settling,
    /// Paid out.
    Done,
}

impl Status for SettlementStatus {
    const ALL: &'static [Self] = &[Self::Init, Self::Settling, Self::Done];
    const MOVES: &'static [(Self, Self)] =
        &[(Self::Init, Self::Settling), (Self::Settling, Self::Done)];

    fn code(self) -> i64 {
        match self {
            Self::Init => 0,
            Self::Settling => 1,
            Self::Done => 2,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Init => "INIT",
            Self::Settling => "SETTLING",
            Self::Done => "DONE",
        }
    }
}
