//! Which key an intent has.
