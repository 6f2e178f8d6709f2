//! The edge gate.
