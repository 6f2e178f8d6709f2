//! How long the other side asks to wait.
