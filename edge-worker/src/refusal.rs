//! Why a request goes no further: it is refused, or something here fails. The first is said to the
//! client, the second is the platform's to report.

use oncegate_core::problem::Problem;
use worker::{Error, Response, Result};

use crate::answer;

/// Why a request goes no further.
pub(crate) enum Refusal {
    Fault(Error),
    // Boxed: it is the rare case, and large.
    Problem(Box<Problem>),
}

impl Refusal {
    /// What is answered.
    pub(crate) fn answer(self) -> Result<Response> {
        match self {
            Self::Fault(error) => Err(error),
            Self::Problem(problem) => answer::problem(&problem),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Fault(error)
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}
