//! Which requests are protected, and how.
