//! How long to wait before the next send.
