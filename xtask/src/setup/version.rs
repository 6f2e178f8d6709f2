//! Versions as tools print them.

use std::str::FromStr;

use anyhow::{Context, Error, Result};

/// Major, minor, patch.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Version(pub(super) u32, pub(super) u32, pub(super) u32);

impl FromStr for Version {
    type Err = Error;

    /// Reads `22.12.0` or `v22.12.0`; what follows the numbers does not count.
    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.trim().trim_start_matches('v');
        let numbers = numbers.split(['-', '+', ' ']).next().unwrap_or_default();
        let mut parts = numbers.split('.').map(str::parse);
        let mut next = || parts.next().and_then(Result::ok);
        let version = (|| Some(Self(next()?, next()?, next()?)))();
        version.with_context(|| format!("`{}` is no version like 22.12.0", text.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_node_and_npm_are_read() {
        assert_eq!("v20.20.2\n".parse::<Version>().unwrap(), Version(20, 20, 2));
        assert_eq!("11.19.1".parse::<Version>().unwrap(), Version(11, 19, 1));
        assert_eq!(
            "v23.0.0-nightly2026".parse::<Version>().unwrap(),
            Version(23, 0, 0)
        );
    }

    #[test]
    fn other_text_is_refused_with_the_text() {
        assert_eq!(
            "node: not found"
                .parse::<Version>()
                .unwrap_err()
                .to_string(),
            "`node: not found` is no version like 22.12.0"
        );
        assert!("22.12".parse::<Version>().is_err());
    }

    #[test]
    fn versions_are_ordered_by_number_and_not_by_letter() {
        assert!(Version(22, 9, 0) < Version(22, 13, 0));
    }
}
