//! The worlds, by name.

use oncegate_core::key::KeyKind;
use oncegate_core::proof::Origin;

use super::small::{KEY_TTL_MS, LEASE_MS, May, RESULT_TTL_MS, RETENTION_MS, SETTLE_MS, Small};

/// Nothing but leases end.
const MINUTES: &[u64] = &[0, LEASE_MS];
/// Until no courier listens and every request is over.
const HOURS: &[u64] = &[0, LEASE_MS, SETTLE_MS];
/// Until everything is forgotten that may be.
const DAYS: &[u64] = &[
    0,
    LEASE_MS,
    SETTLE_MS,
    RESULT_TTL_MS,
    KEY_TTL_MS,
    RETENTION_MS,
];

/// Nothing may happen but one client at a ledger.
const QUIET: May = May {
    back: false,
    cancel: false,
    copy: false,
    erase: false,
    finish: false,
    lie: false,
    lose: false,
    operator: false,
    other: false,
    other_card: false,
    probe: false,
    purge: false,
    restore: false,
    second_key: false,
    stranger: false,
    stream: false,
    switch: false,
    twice: false,
    wait: false,
};

const LEDGER: Small = Small {
    name: "",
    origin: Origin::Ledger,
    kind: KeyKind::Client,
    attempts: 2,
    ages: MINUTES,
    may: QUIET,
    plant: None,
};

impl Small {
    /// Every world, by what is hostile in it.
    pub const ALL: [Self; 14] = [
        Self {
            name: "ledger: a delayed copy, lies and losses, two keys",
            may: May {
                cancel: true,
                copy: true,
                lie: true,
                lose: true,
                second_key: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "ledger: three attempts, a delayed copy, losses",
            attempts: 3,
            may: May {
                copy: true,
                lose: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "ledger: an order number, another card, a delayed copy",
            kind: KeyKind::Generated,
            may: May {
                copy: true,
                lose: true,
                switch: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "ledger: an order number, another card, cancellations",
            kind: KeyKind::Generated,
            may: May {
                cancel: true,
                copy: true,
                lose: true,
                switch: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "ledger: the gate finishes, completions are told twice",
            may: May {
                cancel: true,
                finish: true,
                lose: true,
                twice: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "ledger: the gate asks, two keys",
            may: May {
                cancel: true,
                lose: true,
                probe: true,
                second_key: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "ledger: another person, waiters",
            may: May {
                lose: true,
                other: true,
                stranger: true,
                twice: true,
                wait: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "ledger: another card in another tab, two keys",
            may: May {
                other: true,
                other_card: true,
                second_key: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "ledger: times, clock steps, purges, erasure, a person",
            ages: DAYS,
            may: May {
                back: true,
                cancel: true,
                erase: true,
                lose: true,
                operator: true,
                purge: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "ledger: streams",
            may: May {
                lose: true,
                other: true,
                stream: true,
                wait: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "none: a delayed copy, losses, two keys, a person",
            origin: Origin::None,
            attempts: 3,
            ages: HOURS,
            may: May {
                cancel: true,
                copy: true,
                lose: true,
                operator: true,
                second_key: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "none: streams, waiters, times",
            origin: Origin::None,
            ages: DAYS,
            may: May {
                back: true,
                erase: true,
                lose: true,
                operator: true,
                other: true,
                stream: true,
                twice: true,
                wait: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "read: the gate asks, a person, a delayed copy, two keys",
            origin: Origin::Read,
            attempts: 3,
            ages: HOURS,
            may: May {
                cancel: true,
                copy: true,
                finish: true,
                lose: true,
                operator: true,
                second_key: true,
                ..QUIET
            },
            ..LEDGER
        },
        Self {
            name: "read: an order number, another card",
            origin: Origin::Read,
            kind: KeyKind::Generated,
            attempts: 3,
            ages: HOURS,
            may: May {
                copy: true,
                finish: true,
                lose: true,
                switch: true,
                ..QUIET
            },
            ..LEDGER
        },
    ];

    /// A ledger that is set back from a backup, and days in which the gate could forget what came of it.
    pub const RESTORED: Self = Self {
        name: "ledger: set back from a backup, times",
        ages: DAYS,
        may: May {
            lose: true,
            restore: true,
            ..QUIET
        },
        ..LEDGER
    };

    /// Origins without a ledger, and statuses that are not true: what nothing can mend (A6).
    pub const LIED_TO: [Self; 2] = [
        Self {
            name: "none: lies",
            origin: Origin::None,
            may: May { lie: true, ..QUIET },
            ..LEDGER
        },
        Self {
            name: "read: lies",
            origin: Origin::Read,
            may: May { lie: true, ..QUIET },
            ..LEDGER
        },
    ];
}
