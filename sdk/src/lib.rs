//! Browser SDK of Oncegate.
