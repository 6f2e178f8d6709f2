//! The states of an order.

use super::Status;

/// Where an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a status that a shop forgets must be a compile error"
)]
pub enum OrderStatus {
    /// Placed, and not paid yet.
    WaitPay,
    /// The money is there.
    Paid,
    /// On its way.
    Shipped,
    /// With the customer.
    Finished,
    /// Called off.
    Canceled,
}

impl Status for OrderStatus {
    const ALL: &'static [Self] = &[
        Self::WaitPay,
        Self::Paid,
        Self::Shipped,
        Self::Finished,
        Self::Canceled,
    ];
    const MOVES: &'static [(Self, Self)] = &[
        (Self::WaitPay, Self::Paid),
        (Self::WaitPay, Self::Canceled),
        (Self::Paid, Self::Shipped),
        (Self::Paid, Self::Canceled),
        (Self::Shipped, Self::Finished),
    ];

    fn code(self) -> i64 {
        match self {
            Self::WaitPay => 1,
            Self::Paid => 2,
            Self::Shipped => 3,
            Self::Finished => 4,
            Self::Canceled => 9,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::WaitPay => "WAIT_PAY",
            Self::Paid => "PAID",
            Self::Shipped => "SHIPPED",
            Self::Finished => "FINISHED",
            Self::Canceled => "CANCELED",
        }
    }
}
