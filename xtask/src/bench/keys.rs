//! Requests under keys of the benchmark's own choice. Invariant: no key is made twice.

use oncegate_core::identity::Identity;
use oncegate_core::key::Key;

const BODY: &str = r#"{"item":"tea-kettle","quantity":1,"price":{"value":3900,"currency":"EUR"},"note":"please ring twice"}"#;

/// Makes keys, and requests under them.
pub(super) struct Keys {
    /// What the gate makes identities with: a key's shard is told by it.
    secret: String,
    next: u64,
}

impl Keys {
    pub(super) fn new(secret: &str) -> Self {
        Self {
            secret: secret.to_owned(),
            next: 0,
        }
    }

    /// A key of any shard.
    pub(super) fn any(&mut self) -> String {
        self.next += 1;
        format!("bench-{:012}", self.next)
    }

    /// A key whose operation one of these shards holds, and the place of that shard among them.
    pub(super) fn in_one_of(&mut self, shards: &[u16], authority: &str) -> (usize, String) {
        loop {
            let text = self.any();
            let key = Key::parse(&text).expect("the benchmark's keys are keys");
            let shard = Identity::of_key(self.secret.as_bytes(), authority, &key).shard();
            if let Some(place) = shards.iter().position(|wanted| *wanted == shard) {
                return (place, text);
            }
        }
    }
}

/// One order under this key, for whoever listens at this authority.
pub(super) fn request(authority: &str, key: &str) -> Vec<u8> {
    format!(
        "POST /orders HTTP/1.1\r\nhost: {authority}\r\naccept: application/json\r\nuser-agent: oncegate-bench\r\n\
         content-type: application/json\r\nidempotency-key: \"{key}\"\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_of_the_shard_that_was_asked_for() {
        let mut keys = Keys::new("secret");
        for _ in 0..8 {
            let (place, key) = keys.in_one_of(&[3, 77], "a:1");
            let key = Key::parse(&key).unwrap();
            let shard = Identity::of_key(b"secret", "a:1", &key).shard();
            assert_eq!([3, 77][place], shard);
        }
    }
}
