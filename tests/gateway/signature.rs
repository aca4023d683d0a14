//! Who says it: good signatures, and every way in which one is not.

use matinee::gateway::signature::{SignatureError, TOLERANCE_S, sign, verify};
use proptest::prelude::*;

const OLD: &str = "whsec_old";
const NEW: &str = "whsec_new";
const BODY: &[u8] = br#"{"id":"evt_1","type":"charge.captured"}"#;
const NOW: i64 = 1_800_000_000;

fn check(secrets: &[&str], header: &str, body: &[u8], now: i64) -> Result<(), SignatureError> {
    verify(secrets, Some(header), body, now, TOLERANCE_S)
}

#[test]
fn a_signature_is_what_others_compute_too() {
    // printf '1800000000.hello' | openssl dgst -sha256 -hmac whsec_new
    let known = "t=1800000000,v1=256dc99e0ed27de79910b344fe014a70841779dd537089d14eca8346f4d64440";
    assert_eq!(sign(&[NEW], b"hello", NOW), known);
    assert_eq!(check(&[NEW], known, b"hello", NOW), Ok(()));
}

#[test]
fn a_recorded_delivery_is_soon_worth_nothing() {
    let header = sign(&[NEW], BODY, NOW);
    for (seconds, wanted) in [
        (0, Ok(())),
        (300, Ok(())),
        (-300, Ok(())),
        (301, Err(SignatureError::Expired)),
        (-301, Err(SignatureError::Expired)),
    ] {
        assert_eq!(check(&[NEW], &header, BODY, NOW + seconds), wanted, "{seconds} s later");
    }
    let far = sign(&[NEW], BODY, i64::MIN);
    assert_eq!(check(&[NEW], &far, BODY, i64::MAX), Err(SignatureError::Expired));
}

#[test]
fn what_was_tampered_with_does_not_match() {
    let header = sign(&[NEW], BODY, NOW);
    let later = header.replace("t=1800000000", "t=1800000001");
    assert_eq!(check(&[NEW], &later, BODY, NOW), Err(SignatureError::Mismatch), "another time");
    assert_eq!(check(&[NEW], &header, b"", NOW), Err(SignatureError::Mismatch), "another body");
    assert_eq!(check(&["whsec_ne"], &header, BODY, NOW), Err(SignatureError::Mismatch), "another secret");
    assert_eq!(check(&[], &header, BODY, NOW), Err(SignatureError::Mismatch), "no secret");
}

#[test]
fn secrets_are_replaced_without_a_gap() {
    for (signs, knows, wanted) in [
        (&[OLD][..], &[OLD][..], Ok(())),
        (&[OLD, NEW], &[OLD], Ok(())),
        (&[OLD, NEW], &[NEW], Ok(())),
        (&[NEW], &[OLD, NEW], Ok(())),
        (&[OLD], &[OLD, NEW], Ok(())),
        (&[OLD], &[NEW], Err(SignatureError::Mismatch)),
    ] {
        let header = sign(signs, BODY, NOW);
        assert_eq!(header.matches("v1=").count(), signs.len());
        assert_eq!(check(knows, &header, BODY, NOW), wanted, "{signs:?} {knows:?}");
    }
}

#[test]
fn a_header_that_is_none() {
    assert_eq!(verify(&[NEW], None, BODY, NOW, TOLERANCE_S), Err(SignatureError::Missing));
    let good = sign(&[NEW], BODY, NOW);
    let mac = good.split("v1=").nth(1).unwrap();
    for header in [
        String::new(),
        "t=1800000000".to_owned(),
        format!("v1={mac}"),
        format!("t=,v1={mac}"),
        format!("t=+1800000000,v1={mac}"),
        format!("t=01800000000,v1={mac}"),
        format!("t=99999999999999999999,v1={mac}"),
        format!("t=1800000000,t=1800000000,v1={mac}"),
        format!("t=1800000000;v1={mac}"),
        format!("t=1800000000, v1={}", &mac[1..]),
        format!("t=1800000000,v1={}", &mac[2..]),
        format!("t=1800000000,v1={mac}00"),
        format!("t=1800000000,v1=zz{}", &mac[2..]),
        format!("{good},"),
        format!("t=1800000000{}", format!(",v1={mac}").repeat(9)),
    ] {
        assert_eq!(check(&[NEW], &header, BODY, NOW), Err(SignatureError::Malformed), "{header}");
    }
    assert_eq!(check(&[NEW], &format!("{good},v2=another-scheme"), BODY, NOW), Ok(()), "schemes to come");
}

proptest! {
    #[test]
    fn what_is_signed_is_believed(
        secrets in prop::collection::vec("[ -~]{1,80}", 1..3),
        body in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<i64>(),
    ) {
        let header = sign(&secrets, &body, at);
        for secret in &secrets {
            prop_assert_eq!(verify(&[secret], Some(&header), &body, at, 0), Ok(()));
        }
    }

    #[test]
    fn one_changed_byte_is_noticed(body in prop::collection::vec(any::<u8>(), 1..200), at in any::<prop::sample::Index>(), bit in 0..8) {
        let header = sign(&[NEW], &body, NOW);
        let mut other = body.clone();
        other[at.index(body.len())] ^= 1_u8 << bit;
        prop_assert_eq!(check(&[NEW], &header, &other, NOW), Err(SignatureError::Mismatch));
    }

    #[test]
    fn no_header_is_believed_by_accident(header in "(t=)?[0-9]{0,12}[,;= ]?(v1=)?[0-9a-f]{0,66}|\\PC{0,60}") {
        prop_assert!(check(&[NEW], &header, BODY, NOW).is_err());
    }
}
