//! The ledger library.
