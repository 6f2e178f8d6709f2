//! When the client sends, waits and stops.
