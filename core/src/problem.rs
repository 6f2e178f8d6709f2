//! The gate's own answers.
