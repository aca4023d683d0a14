//! Charges and refunds as the API tells them, and what may be asked for.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::domain::money::{Currency, Money};

/// Where a charge stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The bank thinks; `is_due` once it must have finished.
    Processing { is_due: bool },
    /// Somebody must decide on the hosted page.
    RequiresAction { token: String },
    /// Money was taken.
    Captured { at: DateTime<Utc> },
    /// No money was taken, for this reason.
    Declined { reason: String },
    /// It was stopped before it was decided, and never will be.
    Canceled,
}

/// One charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Charge {
    pub id: String,
    pub amount: Money,
    /// None of a charge older than this book.
    pub last4: Option<String>,
    pub state: State,
    pub refunded_minor: i64,
    pub return_url: Option<String>,
    pub metadata: BTreeMap<String, String>,
}

impl Charge {
    /// As the API tells it; `pay` is the address below which the hosted pages lie.
    pub fn json(&self, pay: &str) -> Value {
        let (status, reason, action_url, captured_at) = match &self.state {
            State::Processing { .. } => ("processing", None, None, None),
            State::RequiresAction { token } => ("requires_action", None, Some(format!("{pay}/{token}")), None),
            State::Captured { at } => ("captured", None, None, Some(rfc3339(at))),
            State::Declined { reason } => ("declined", Some(reason), None, None),
            State::Canceled => ("canceled", None, None, None),
        };
        json!({
            "id": self.id,
            "status": status,
            "amount_minor": self.amount.minor,
            "currency": self.amount.currency,
            "decline_reason": reason,
            "action_url": action_url,
            "captured_at": captured_at,
            "refunded_minor": self.refunded_minor,
            "metadata": self.metadata,
        })
    }
}

/// Money given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refund {
    pub id: String,
    pub charge: String,
    pub amount_minor: i64,
    pub created_at: DateTime<Utc>,
}

impl Refund {
    /// As the API tells it.
    pub fn json(&self) -> Value {
        json!({
            "id": self.id,
            "status": "succeeded",
            "amount_minor": self.amount_minor,
            "charge": self.charge,
            "created_at": rfc3339(&self.created_at),
        })
    }
}

/// As every time is told.
pub(super) fn rfc3339(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// What is asked for with a charge, as it arrives.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    amount_minor: i64,
    currency: Currency,
    card: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    return_url: Option<String>,
}

/// What is asked for with a charge. The card's number lives no longer than the request.
#[derive(Clone)]
pub(super) struct NewCharge {
    pub amount: Money,
    pub card: String,
    pub metadata: BTreeMap<String, String>,
    pub return_url: Option<String>,
}

/// More is a mistake of the sender.
const MOST_METADATA: usize = 50;
const LONGEST_METADATA: usize = 500;

impl NewCharge {
    /// Reads a request's body; in words what is wrong with it.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let body: Body = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if body.amount_minor < 0 {
            return Err("amount_minor is negative".to_owned());
        }
        if body.card.len() != 16 || !body.card.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err("card is not sixteen digits".to_owned());
        }
        // Postgres keeps no NUL, in whatever it is wrapped.
        let is_fit = |text: &str| text.len() <= LONGEST_METADATA && !text.contains('\0');
        let are_fit = body.metadata.iter().all(|(name, value)| is_fit(name) && is_fit(value));
        if body.metadata.len() > MOST_METADATA || !are_fit {
            return Err(format!("metadata has more than {MOST_METADATA} entries, or one that is too long"));
        }
        let return_url = body.return_url.map(|text| web_address(&text)).transpose()?;
        let amount = Money::new(body.amount_minor, body.currency);
        Ok(Self { amount, card: body.card, metadata: body.metadata, return_url })
    }

    /// The card's last four digits.
    pub fn last4(&self) -> &str {
        &self.card[12..]
    }

    /// Tells this request from another one with the same key. Made of the last four digits only: a digest over the
    /// whole number could be guessed back in seconds, and so would be the number, kept.
    pub fn fingerprint(&self) -> String {
        #[derive(Serialize)]
        struct Asked<'a>(i64, Currency, &'a str, &'a BTreeMap<String, String>, &'a Option<String>);
        let asked = Asked(self.amount.minor, self.amount.currency, self.last4(), &self.metadata, &self.return_url);
        let text = serde_json::to_string(&asked).unwrap_or_default();
        hex::encode(Sha256::digest(text))
    }
}

/// An address that a browser may be sent to: not a script, not a file.
fn web_address(text: &str) -> Result<String, String> {
    let address = reqwest::Url::parse(text).map_err(|error| format!("return_url: {error}"))?;
    match address.scheme() {
        "http" | "https" => Ok(address.into()),
        other => Err(format!("return_url: {other} is not http or https")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &Value) -> Result<NewCharge, String> {
        NewCharge::parse(body.to_string().as_bytes())
    }

    fn good() -> Value {
        json!({"amount_minor": 2500, "currency": "EUR", "card": "4242424242424242"})
    }

    #[test]
    fn what_is_no_request_is_refused() {
        parse(&good()).ok().unwrap();
        for (field, wrong) in [
            ("amount_minor", json!(-1)),
            ("amount_minor", json!("2500")),
            ("amount_minor", json!(25.5)),
            ("amount_minor", json!(u64::MAX)),
            ("currency", json!("eur")),
            ("card", json!("4242 4242 4242 4242")),
            ("card", json!("424242424242424")),
            ("card", json!("４２４２")),
            ("metadata", json!({"a": 1})),
            ("metadata", json!({"a": "\u{0}"})),
            ("metadata", json!({"a": "x".repeat(501)})),
            ("return_url", json!("/orders")),
            ("return_url", json!("javascript:alert(1)")),
            ("surprise", json!(1)),
        ] {
            let mut body = good();
            body[field] = wrong;
            assert!(parse(&body).is_err(), "{body}");
        }
    }

    #[test]
    fn a_fingerprint_tells_requests_apart() {
        let first = parse(&good()).ok().unwrap().fingerprint();
        assert_eq!(parse(&good()).ok().unwrap().fingerprint(), first);
        for (field, other) in [
            ("amount_minor", json!(2501)),
            ("currency", json!("USD")),
            ("card", json!("4000000000000002")),
            ("metadata", json!({"a": "b"})),
            ("return_url", json!("https://cinema.example/")),
        ] {
            let mut body = good();
            body[field] = other;
            assert_ne!(parse(&body).ok().unwrap().fingerprint(), first, "{body}");
        }
    }
}
