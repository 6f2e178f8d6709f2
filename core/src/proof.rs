//! What an origin's answer proves about its attempt.
