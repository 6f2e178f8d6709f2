//! Whether a call comes from the gate.
