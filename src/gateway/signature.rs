//! Who says it: the signature of a webhook, made by the gateway and checked by whoever receives one. Pure; the caller
//! brings the clock.
//!
//! The header is `t=<unix seconds>,v1=<hex>[,v1=<hex>..]`: an HMAC-SHA256 over `"{t}.{body}"` for each secret in use. While
//! a secret is being replaced there are two, and it is enough that the receiver knows one of them.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The header that carries it.
pub const HEADER: &str = "Matinee-Signature";

/// How old, or how far ahead, a signature may be, in seconds: long enough for clocks that differ and slow networks, short
/// enough that a recorded delivery is soon worth nothing.
pub const TOLERANCE_S: u64 = 300;

/// Far more secrets than anybody rotates through; a header with thousands would only keep the receiver busy.
const MOST_SIGNATURES: usize = 8;

/// Why a delivery is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// There is no signature at all.
    #[error("the signature is missing")]
    Missing,
    /// It is not of the form above.
    #[error("the signature is malformed")]
    Malformed,
    /// It is right, and of another time: somebody sends again what was sent then.
    #[error("the signature has expired")]
    Expired,
    /// It was made with none of the secrets, or over another body.
    #[error("the signature does not match")]
    Mismatch,
}

/// The header's value for this body at this time, with a signature for each secret.
pub fn sign<S: AsRef<[u8]>>(secrets: &[S], body: &[u8], now: i64) -> String {
    let signatures = secrets.iter().filter_map(|secret| digest(secret.as_ref(), body, now));
    signatures.fold(format!("t={now}"), |header, mac| header + ",v1=" + &hex::encode(mac.finalize().into_bytes()))
}

/// Whether one of the secrets signed this body, not longer ago (or ahead) than the tolerance in seconds.
///
/// # Errors
/// What is wrong with it; see [`SignatureError`].
pub fn verify<S: AsRef<[u8]>>(
    secrets: &[S],
    header: Option<&str>,
    body: &[u8],
    now: i64,
    tolerance_s: u64,
) -> Result<(), SignatureError> {
    let (signed_at, signatures) = parse(header.ok_or(SignatureError::Missing)?).ok_or(SignatureError::Malformed)?;
    let matches = |secret: &S| {
        let mac = digest(secret.as_ref(), body, signed_at);
        // Compares in constant time.
        mac.is_some_and(|mac| signatures.iter().any(|signature| mac.clone().verify_slice(signature).is_ok()))
    };
    if !secrets.iter().any(matches) {
        Err(SignatureError::Mismatch)
    } else if now.abs_diff(signed_at) > tolerance_s {
        Err(SignatureError::Expired)
    } else {
        Ok(())
    }
}

/// Always there: this MAC takes keys of any length.
fn digest(secret: &[u8], body: &[u8], at: i64) -> Option<Hmac<Sha256>> {
    let mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    Some(mac.chain_update(at.to_string()).chain_update(b".").chain_update(body))
}

/// The time and the signatures. Parts of other names belong to schemes to come and are passed over.
fn parse(header: &str) -> Option<(i64, Vec<[u8; 32]>)> {
    let (mut at, mut signatures) = (None, Vec::new());
    for part in header.split(',') {
        match part.split_once('=')? {
            // Written in one way only, as it was signed.
            ("t", text) => {
                let time = text.parse::<i64>().ok().filter(|time| time.to_string() == text)?;
                if at.replace(time).is_some() {
                    return None;
                }
            }
            ("v1", text) => {
                let mut signature = [0; 32];
                hex::decode_to_slice(text, &mut signature).ok()?;
                signatures.push(signature);
            }
            _ => {}
        }
    }
    (1..=MOST_SIGNATURES).contains(&signatures.len()).then_some((at?, signatures))
}
