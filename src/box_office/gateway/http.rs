//! The client of the simulated card processor (`crate::gateway`), which is spoken to over HTTP only.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::{Charge, Gateway, Listed, NoAnswer};
use crate::domain::ids::{OrderId, PaymentId};
use crate::domain::incident::Evidence;
use crate::domain::money::{Currency, Money};
use crate::domain::payment::{Capture, Card};

/// Longer than the slowest bank; the checkout loses its patience by itself.
const LONGEST_CALL: Duration = Duration::from_secs(40);

/// Other lengths are no request to this processor at all, and would be refused as a mistake of ours.
const CARD_DIGITS: usize = 16;

/// Speaks to a gateway.
#[derive(Clone)]
pub struct HttpGateway {
    client: Client,
    /// Where its API is, without a slash at its end: `/v1/..` follows.
    url: String,
    key: String,
    /// Where our visitors find us; they come back to an order's address below it.
    site: String,
}

impl std::fmt::Debug for HttpGateway {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpGateway").field("url", &self.url).field("site", &self.site).finish_non_exhaustive()
    }
}

/// The gateway's name for a charge or a refund. What could be none is refused where it arrives: it becomes a key in the
/// database and a part of addresses.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Reference(String);

impl Reference {
    /// As the gateway writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Reference {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_one = (1..=255).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':'));
        if is_one { Ok(Self(text)) } else { Err("a reference is 1 to 255 letters, digits and -_.:") }
    }
}

/// A charge as the API tells it. Fields that are not of use here are passed over.
#[derive(Debug, Deserialize)]
pub struct ChargeJson {
    id: Reference,
    status: String,
    /// Nobody takes or gives back less than nothing.
    #[serde(deserialize_with = "at_least_nothing")]
    amount_minor: i64,
    currency: Currency,
    decline_reason: Option<String>,
    action_url: Option<String>,
    #[serde(default, deserialize_with = "at_least_nothing")]
    refunded_minor: i64,
    /// Whatever the one who charged wrote there; not all charges are ours.
    #[serde(default)]
    metadata: serde_json::Value,
}

fn at_least_nothing<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let minor = i64::deserialize(deserializer)?;
    if minor < 0 { Err(serde::de::Error::custom("an amount is negative")) } else { Ok(minor) }
}

/// Words for people, as a page and a row can keep them.
fn words(text: &str) -> String {
    const MOST: usize = 200;
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(MOST).collect()
}

impl ChargeJson {
    /// The payment that it was made for, when it names one.
    pub fn payment(&self) -> Option<PaymentId> {
        self.metadata.get("payment")?.as_str()?.parse().ok().map(PaymentId)
    }

    /// What was decided; `None` while the bank thinks, and when it was canceled. `evidence` is where this was read.
    pub fn decision(self, evidence: Evidence) -> Option<Charge> {
        match self.status.as_str() {
            "captured" => {
                let amount = Money::new(self.amount_minor, self.currency);
                Some(Charge::Captured(Capture { reference: self.id.0, amount, evidence: Some(evidence) }))
            }
            "declined" => {
                Some(Charge::Declined { reason: words(self.decline_reason.as_deref().unwrap_or("no reason given")) })
            }
            // A visitor is led there: a web page, and no script.
            "requires_action" => {
                let is_page = |url: &String| {
                    reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
                        && !url.contains(char::is_control)
                };
                self.action_url.filter(is_page).map(|url| Charge::NeedsAction { url })
            }
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Closed {
    charge: Option<ChargeJson>,
}

/// A refund as the API tells it.
#[derive(Debug, Deserialize)]
pub struct RefundJson {
    /// Its name.
    pub id: Reference,
    /// What it gives back.
    pub charge: Reference,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<ChargeJson>,
}

impl HttpGateway {
    /// Speaks to the gateway at this address with this key; visitors come back to `site`.
    ///
    /// # Errors
    /// When there can be no HTTP client.
    pub fn new(url: &str, key: &str, site: &str) -> Result<Self, String> {
        // No proxy: the gateway is a neighbour, and a key is nothing to show to others.
        let client = Client::builder().no_proxy().timeout(LONGEST_CALL).build().map_err(|error| error.to_string())?;
        let trimmed = |text: &str| text.trim_end_matches('/').to_owned();
        Ok(Self { client, url: trimmed(url), key: key.to_owned(), site: trimmed(site) })
    }

    /// Asks, and also gives back the answer as it came.
    async fn ask<T: for<'de> Deserialize<'de>>(&self, request: RequestBuilder) -> Result<(T, Evidence), NoAnswer> {
        let no_answer = |error: reqwest::Error| NoAnswer(error.without_url().to_string());
        let response = request.bearer_auth(&self.key).send().await.map_err(no_answer)?;
        let status = response.status();
        if status != StatusCode::OK {
            // Refused, still at work, or out of order: in each case what became of it must be asked for.
            let words = response.text().await.unwrap_or_default();
            return Err(NoAnswer(format!("{status}: {}", words.chars().take(200).collect::<String>())));
        }
        let text = response.text().await.map_err(no_answer)?;
        let answer =
            serde_json::from_str(&text).map_err(|error| NoAnswer(format!("not what was asked for: {error}")))?;
        Ok((answer, Evidence::answer(text)))
    }
}

#[async_trait]
impl Gateway for HttpGateway {
    async fn charge(&self, payment: PaymentId, order: OrderId, amount: Money, card: &Card) -> Result<Charge, NoAnswer> {
        if card.digits().len() != CARD_DIGITS {
            return Ok(Charge::Declined { reason: "the card processor takes cards of sixteen digits".to_owned() });
        }
        let body = json!({
            "amount_minor": amount.minor, "currency": amount.currency, "card": card.digits(),
            "metadata": { "payment": payment.0, "order": order.0 },
            "return_url": format!("{}/orders/{order}/return", self.site),
        });
        let request = || {
            let request = self.client.post(format!("{}/v1/charges", self.url));
            request.header("Idempotency-Key", payment.0.to_string()).json(&body)
        };
        let (charge, evidence): (ChargeJson, _) = match self.ask(request()).await {
            // An error of its own, told at once: with the same key the same charge may be asked for again.
            Err(NoAnswer(words)) if words.starts_with('5') => self.ask(request()).await?,
            answer => answer?,
        };
        charge.decision(evidence).ok_or_else(|| NoAnswer("it was canceled meanwhile".to_owned()))
    }

    async fn find(&self, payment: PaymentId, cancel: bool) -> Result<Option<Charge>, NoAnswer> {
        let request = self.client.post(format!("{}/v1/keys/{}/close?cancel={cancel}", self.url, payment.0));
        let (closed, evidence): (Closed, _) = self.ask(request).await?;
        Ok(closed.charge.and_then(|charge| charge.decision(evidence)))
    }

    async fn refund(&self, payment: PaymentId, charge: &str, amount: Money) -> Result<String, NoAnswer> {
        let request = self.client.post(format!("{}/v1/charges/{charge}/refunds", self.url));
        let request = request.header("Idempotency-Key", payment.0.to_string());
        let (refund, _): (RefundJson, _) = self.ask(request.json(&json!({ "amount_minor": amount.minor }))).await?;
        Ok(refund.id.0)
    }

    async fn books(&self, after: Option<&str>) -> Result<Vec<Listed>, NoAnswer> {
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        let request = self.client.get(format!("{}/v1/charges?limit=1000{after}", self.url));
        let (page, _): (Page, _) = self.ask(request).await?;
        let listed = page.data.into_iter().map(|charge| Listed {
            payment: charge.payment(),
            refunded_minor: charge.refunded_minor,
            captured: (charge.status == "captured").then(|| Money::new(charge.amount_minor, charge.currency)),
            reference: charge.id.0,
        });
        Ok(listed.collect())
    }
}
