//! What the origin does with a key it may know.
