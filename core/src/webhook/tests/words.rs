//! What senders are told.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::outcome::Status;

fn word(sender: &str, state: Option<Status>, status: u16) -> Option<(u16, String)> {
    let word = webhook(sender).word(state, status);
    word.map(|word| (word.status, word.body))
}

const SHOP: &str = r#""hmac","hmac":{"header":"X-Sig","success":"success","fail":"fail"}"#;

#[test]
fn p7_what_was_executed_is_acknowledged_in_the_senders_words_however_it_is_answered() {
    let words = [
        (r#""alipay""#, "success"),
        (r#""wechat""#, r#"{"code":"SUCCESS","message":"成功"}"#),
        (r#""stripe""#, ""),
        (r#""github""#, ""),
        (r#""standard""#, ""),
        (SHOP, "success"),
    ];
    for (sender, said) in words {
        for status in [200, 303, 409, 410, 500] {
            for state in [Status::Executed, Status::Replayed] {
                let told = word(sender, Some(state), status);
                assert_eq!(told, Some((200, said.to_string())), "{sender} {status}");
            }
        }
    }
}

#[test]
fn p7_what_was_not_executed_is_never_acknowledged() {
    let states = [
        None,
        Some(Status::Cancelled),
        Some(Status::InProgress),
        Some(Status::NotExecuted),
        Some(Status::Refused),
        Some(Status::Unknown),
    ];
    for state in states {
        assert_eq!(word(r#""alipay""#, state, 200), Some((503, "fail".into())));
        assert_eq!(word(SHOP, state, 404), Some((404, "fail".into())));
        let (status, body) = word(r#""wechat""#, state, 403).unwrap();
        assert_eq!((status, body.contains("FAIL")), (403, true));
        // The problem itself says why.
        assert_eq!(word(r#""stripe""#, state, 409), None);
        assert_eq!(word(r#""stripe""#, state, 204), Some((503, String::new())));
        // 410 would make some senders give up for good.
        assert_eq!(
            word(r#""standard""#, state, 410),
            Some((409, String::new()))
        );
    }
}
