use alloc::format;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

const NOW: u64 = 1_900_000_000_000;
const CLAIMS: Claims<'_> = Claims {
    method: "POST",
    path_and_query: "/orders?a=1",
    key: "order-42",
    attempt: "1",
    operation: "op_0123456789012345678901234567890123456789012",
    key_kind: "client",
    fingerprint: "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
};

fn secrets(text: &str) -> Secrets {
    Secrets::parse(text).unwrap()
}

fn old() -> Secrets {
    secrets("old=0123456789abcdef")
}

#[test]
fn l1_a_signature_verifies_and_names_its_secret() {
    let header = old().sign(NOW, &CLAIMS);
    assert_eq!(old().verify(NOW, &header, &CLAIMS), Ok("old"));
}

/// Computed with another implementation: `openssl dgst -sha256 -hmac 0123456789abcdef`.
#[test]
fn k6_the_signed_text_is_the_documented_one() {
    assert_eq!(
        old().sign(NOW, &CLAIMS),
        "t=1900000000000, kid=old, v1=44589155e3f0720483f46a34ae802dc5cfe0ef9d3771d2f5990ae6ec4a1539a3"
    );
}

#[test]
fn l1_a_change_of_any_covered_value_is_noticed() {
    let header = old().sign(NOW, &CLAIMS);
    let changed = [
        Claims {
            method: "PUT",
            ..CLAIMS
        },
        Claims {
            path_and_query: "/orders",
            ..CLAIMS
        },
        Claims {
            key: "order-43",
            ..CLAIMS
        },
        Claims {
            attempt: "2",
            ..CLAIMS
        },
        Claims {
            operation: "",
            ..CLAIMS
        },
        Claims {
            key_kind: "generated",
            ..CLAIMS
        },
        Claims {
            fingerprint: "",
            ..CLAIMS
        },
    ];
    for claims in changed {
        assert_eq!(
            old().verify(NOW, &header, &claims),
            Err(SignatureError::Mismatch),
            "{claims:?}"
        );
    }
    let later = header.replace("t=1900000000000", "t=1900000000001");
    assert_eq!(
        old().verify(NOW, &later, &CLAIMS),
        Err(SignatureError::Mismatch)
    );
}

#[test]
fn l1_values_cannot_move_between_lines() {
    let moved = Claims {
        key: "order-42\n1",
        attempt: "op",
        operation: "",
        ..CLAIMS
    };
    let header = old().sign(NOW, &moved);
    assert_eq!(
        old().verify(NOW, &header, &moved),
        Err(SignatureError::LineBreak)
    );
}

#[test]
fn l1_clocks_may_be_five_minutes_apart() {
    let header = old().sign(NOW, &CLAIMS);
    for now in [NOW - CLOCK_TOLERANCE_MS, NOW + CLOCK_TOLERANCE_MS] {
        assert_eq!(old().verify(now, &header, &CLAIMS), Ok("old"));
    }
    for now in [NOW - CLOCK_TOLERANCE_MS - 1, NOW + CLOCK_TOLERANCE_MS + 1] {
        assert_eq!(
            old().verify(now, &header, &CLAIMS),
            Err(SignatureError::Clock)
        );
    }
}

#[test]
fn l1_the_first_secret_signs_and_all_verify() {
    let both = secrets("new=fedcba9876543210, old=0123456789abcdef");
    let header = both.sign(NOW, &CLAIMS);
    assert_eq!(both.verify(NOW, &header, &CLAIMS), Ok("new"));
    assert_eq!(
        both.verify(NOW, &old().sign(NOW, &CLAIMS), &CLAIMS),
        Ok("old")
    );
    assert_eq!(
        old().verify(NOW, &header, &CLAIMS),
        Err(SignatureError::UnknownSecret)
    );
    let renamed = header.replace("kid=new", "kid=old");
    assert_eq!(
        both.verify(NOW, &renamed, &CLAIMS),
        Err(SignatureError::Mismatch)
    );
}

#[test]
fn l1_only_the_written_form_is_a_signature() {
    let header = old().sign(NOW, &CLAIMS);
    let malformed = [
        String::new(),
        header.replace("t=", "t=+"),
        header.replace(", kid", ",kid"),
        header.replace("v1=", "v1=00"),
        header.to_uppercase(),
        format!("{header}, {header}"),
    ];
    for header in malformed {
        assert_eq!(
            old().verify(NOW, &header, &CLAIMS),
            Err(SignatureError::Malformed),
            "{header}"
        );
    }
}

#[test]
fn secrets_are_refused_with_their_entry() {
    let refuses = |text: &str, message: &str| {
        assert_eq!(Secrets::parse(text).unwrap_err().to_string(), message);
    };
    refuses("", "secret 1: write it as name=secret");
    refuses("a=0123456789abcdef,", "secret 2: write it as name=secret");
    refuses(
        "A=0123456789abcdef",
        "secret 1: a name consists of 1 to 64 lower-case letters, digits, _ and -",
    );
    refuses(
        "a=0123456789abcde",
        "secret 1: a secret has at least 16 characters; take random ones",
    );
    refuses(
        "a=0123456789abcdef,b=0123456789abcdé",
        "secret 2: a secret consists of printable ASCII characters",
    );
    refuses(
        "a=0123456789abcdef,a=0123456789abcdef",
        "secret 2: its name is taken by an earlier one",
    );
}

#[test]
fn secrets_are_never_shown() {
    assert_eq!(format!("{:?}", old()), "{\"old\"}");
}

#[test]
fn a_secret_is_known_by_itself_and_by_nothing_else() {
    let secrets = Secrets::parse("ci=0123456789abcdef,anna=fedcba9876543210").unwrap();
    assert_eq!(secrets.presented("0123456789abcdef"), Some("ci"));
    assert_eq!(secrets.presented("fedcba9876543210"), Some("anna"));
    for wrong in [
        "",
        "0123456789abcde",
        "0123456789abcdef ",
        "0123456789ABCDEF",
        "ci=0123456789abcdef",
    ] {
        assert_eq!(secrets.presented(wrong), None, "{wrong}");
    }
}

#[test]
fn an_alert_is_signed_over_its_time_and_body_and_is_no_signature_of_a_call() {
    let secrets = Secrets::parse("new=0123456789abcdef,old=fedcba9876543210").unwrap();
    let signed = secrets.sign_alert(NOW, "{}");
    assert!(signed.starts_with(&format!("t={NOW}, kid=new, v1=")));
    assert_eq!(signed, secrets.sign_alert(NOW, "{}"));
    assert_ne!(signed, secrets.sign_alert(NOW, "[]"));
    assert_ne!(signed, secrets.sign(NOW, &CLAIMS));
    assert_eq!(
        secrets.verify(NOW, &signed, &CLAIMS),
        Err(SignatureError::Mismatch)
    );
}
