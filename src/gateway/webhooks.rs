//! Tells the merchant's server what happened, again and again until it has heard.

use std::time::Duration;

use chrono::Utc;
use futures::future::join_all;
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;

use super::Settings;
use super::books::{Books, BooksResult, Due};
use super::signature;

/// How long a merchant may take to hear.
const LONGEST_CALL: Duration = Duration::from_secs(10);

/// Longer than a call takes, so that nobody else makes the same one while it runs.
const LEASE: Duration = Duration::from_secs(15);

/// How many are told at the same time.
const AT_ONCE: i64 = 16;

/// How long to rest when there is nothing to tell, and when the books cannot be read.
const REST: Duration = Duration::from_millis(100);
const LONG_REST: Duration = Duration::from_secs(2);

/// Delivers events to [`Settings::webhook_url`] as their time comes, for ever: drop it to stop. What it was doing then is
/// done again after the lease, here or by another gateway; each event is delivered at least once. Without a URL there is
/// nothing to do, and it rests.
pub async fn deliver(settings: Settings) {
    let Some(url) = settings.webhook_url.clone() else {
        return std::future::pending().await;
    };
    let books = Books::new(settings.pool.clone());
    // No proxy: the merchant is a neighbour. A redirect is no answer that anybody heard.
    let client = reqwest::Client::builder().no_proxy().redirect(Policy::none()).timeout(LONGEST_CALL).build();
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "no webhooks: there is no HTTP client");
            return std::future::pending().await;
        }
    };
    let merchant = Merchant { client, url, secrets: settings.webhook_secrets };
    loop {
        match books.lease_events(AT_ONCE, LEASE).await {
            Ok(due) if due.is_empty() => tokio::time::sleep(REST).await,
            Ok(due) => {
                for result in join_all(due.iter().map(|event| tell(&books, &merchant, event))).await {
                    if let Err(error) = result {
                        // Its lease ends, and it is told again.
                        tracing::error!(%error, "the gateway's books do not say what became of a webhook");
                    }
                }
            }
            Err(error) => {
                tracing::error!(%error, "the gateway cannot read which webhooks are due");
                tokio::time::sleep(LONG_REST).await;
            }
        }
    }
}

/// The other end.
struct Merchant {
    client: reqwest::Client,
    url: String,
    secrets: Vec<String>,
}

impl Merchant {
    /// Whether it has heard.
    async fn hears(&self, body: &str) -> bool {
        let signature = signature::sign(&self.secrets, body.as_bytes(), Utc::now().timestamp());
        let call = self.client.post(&self.url).header(CONTENT_TYPE, "application/json");
        let answer = call.header(signature::HEADER, signature).body(body.to_owned()).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }
}

async fn tell(books: &Books, merchant: &Merchant, event: &Due) -> BooksResult<()> {
    if merchant.hears(&event.body).await {
        books.heard(&event.id).await
    } else {
        tracing::warn!(event = event.id, "a webhook was not heard");
        books.not_heard(&event.id).await
    }
}
