//! Tokens beside their records (rule K2): judged in the turn of the claim or the cancellation that they
//! come with, when the record has been read.

use std::borrow::Cow;

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{Judged, Operation, Terms, View};
use oncegate_core::principal::Principal;
use oncegate_core::problem::{Code, Problem};
use oncegate_core::token::Lifetime;
use oncegate_store::Written;
use worker::Result;

use super::Inner;
use super::row::Found;
use crate::answer::{self, Mark};
use crate::message::{Cancel, Claim};

/// What comes with a key, of which its token is judged.
pub(super) struct Presented<'a> {
    operation: &'a str,
    token: Option<&'a Lifetime>,
    /// Those of an operation that begins with it.
    pub(super) terms: Cow<'a, Terms>,
    principal: Option<Principal>,
    /// Nothing, for a cancellation.
    asked_for: Option<Fingerprint>,
}

/// A token that begins nothing any more.
pub(super) enum Expired {
    /// It was never used, and never will be.
    Unused(View),
    /// Nothing is known of it.
    Forgotten,
}

impl Inner {
    /// Says whether the token that was presented has expired; of no token, and of one that has a record,
    /// the record decides. That it was never used is written down first.
    pub(super) fn expired(
        &self,
        now_ms: u64,
        presented: &Presented<'_>,
        found: &Found,
    ) -> Result<Option<Expired>> {
        Ok(match presented.judged(now_ms, found) {
            Judged::Good => None,
            Judged::Forgotten => Some(Expired::Forgotten),
            Judged::StillUnused => {
                let known = found.record.as_ref();
                known.map(|record| Expired::Unused(record.view(now_ms)))
            }
            Judged::Unused(record) => {
                let view = record.view(now_ms);
                self.keep(now_ms, found.row, *record, Written::NOTHING)?;
                Some(Expired::Unused(view))
            }
        })
    }
}

impl<'a> Presented<'a> {
    pub(super) fn of_claim(claim: &'a Claim, now_ms: u64) -> Self {
        Self {
            operation: &claim.operation,
            token: claim.token.as_ref(),
            terms: terms_at(&claim.terms, now_ms, claim.token.as_ref()),
            principal: claim.principal,
            asked_for: Some(claim.fingerprint),
        }
    }

    /// As a claim: a key can be closed before anything was sent under it.
    pub(super) fn of_cancel(cancel: &'a Cancel, now_ms: u64) -> Self {
        Self {
            operation: &cancel.operation,
            token: cancel.token.as_ref(),
            terms: terms_at(&cancel.terms, now_ms, cancel.token.as_ref()),
            principal: cancel.principal,
            asked_for: None,
        }
    }

    pub(super) fn judged(&self, now_ms: u64, found: &Found) -> Judged {
        let Some(lifetime) = self.token else {
            return Judged::Good;
        };
        let (record, terms) = (found.record.as_ref(), &self.terms);
        Operation::judge_token(
            record,
            now_ms,
            lifetime,
            terms,
            self.principal,
            self.asked_for,
        )
    }
}

impl Expired {
    /// What a request hears that came with it.
    pub(super) fn answer(
        &self,
        now_ms: u64,
        presented: &Presented<'_>,
    ) -> Result<worker::Response> {
        match self {
            Self::Unused(view) => Mark::new(presented.operation, KeyKind::Token, &presented.terms)
                .problem(now_ms, Code::TokenExpired, view),
            Self::Forgotten => {
                answer::turn_away(&Problem::new(Code::TokenExpired), presented.operation)
            }
        }
    }
}

fn terms_at<'a>(terms: &'a Terms, now_ms: u64, token: Option<&Lifetime>) -> Cow<'a, Terms> {
    match token {
        Some(lifetime) => Cow::Owned(terms.clone().of_token(now_ms, lifetime)),
        None => Cow::Borrowed(terms),
    }
}
