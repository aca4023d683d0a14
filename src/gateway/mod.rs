//! A card processor, simulated: another company's service, as a merchant meets one. It takes and gives back nobody's
//! money.
//!
//! What it imitates of a real one: charges and refunds that are idempotent by a key which lapses after a day; banks that
//! think, refuse, ask the card's holder on a page of the processor's own, or do not answer; answers that are lost; and
//! signed webhooks that come late, twice, or in the wrong order. [`TEST_CARDS`] says which card number does what.
//!
//! It is spoken to over HTTP only. Nothing in here knows Matinee: its books lie in a schema of their own, no type of it
//! leaves this room, and it can run on another machine. What Matinee shares with it is [`signature`], as a merchant shares
//! a processor's library.

mod api;
mod books;
mod cards;
mod charge;
mod error;
mod hosted;
pub mod past;
pub mod signature;
mod webhooks;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use books::Books;
pub use cards::{TEST_CARDS, TestCard};

pub use webhooks::deliver;

/// What a gateway runs with. Several may run with the same, on one database.
#[derive(Clone)]
pub struct Settings {
    /// Connections of its own; see [`connect`].
    pub pool: PgPool,
    /// Keys that may speak to the API as a bearer. While one is being replaced there are two; with none, nobody may.
    pub api_keys: Vec<String>,
    /// Secrets that sign webhooks. While one is being replaced there are two.
    pub webhook_secrets: Vec<String>,
    /// Where webhooks are sent. Without it events are recorded and wait.
    pub webhook_url: Option<String>,
    /// Where a browser reaches the router, with the path prefix if there is one and without a slash at its end:
    /// `https://pay.example` or `http://127.0.0.1:3000/gateway`. Hosted pages are addressed with it.
    pub public_url: String,
    /// Whom the hosted page says the money is for.
    pub merchant: String,
}

impl fmt::Debug for Settings {
    /// Without what must stay secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("webhook_url", &self.webhook_url)
            .field("public_url", &self.public_url)
            .field("merchant", &self.merchant)
            .finish_non_exhaustive()
    }
}

/// Longer than any statement here takes; a request that waits longer is better told to come again.
const PATIENCE: [(&str, &str); 3] =
    [("lock_timeout", "5s"), ("statement_timeout", "10s"), ("idle_in_transaction_session_timeout", "10s")];

/// Opens the gateway's own connections, each made when first needed.
///
/// # Errors
/// When the address is not one.
pub fn connect(database_url: &str) -> Result<PgPool, sqlx::Error> {
    let options = PgConnectOptions::from_str(database_url)?.application_name("matinee gateway").options(PATIENCE);
    Ok(PgPoolOptions::new().max_connections(8).acquire_timeout(Duration::from_secs(10)).connect_lazy_with(options))
}

/// What a request meets.
struct Service {
    settings: Settings,
    books: Books,
}

/// A request's body is a few hundred bytes.
const MOST_BODY: usize = 64 * 1024;

/// The whole service: the API below `/v1`, the hosted pages below `/pay`. Its own links work below any prefix, so it can
/// be nested; [`Settings::public_url`] must then say so.
pub fn router(settings: Settings) -> Router {
    let books = Books::new(settings.pool.clone());
    let service = Arc::new(Service { settings, books });
    api::routes(&service)
        .merge(hosted::routes())
        .with_state(service)
        .layer(DefaultBodyLimit::max(MOST_BODY))
        // A client that hangs up must not stop a charge halfway, nor drop a transaction of ours in its middle.
        .layer(from_fn(api::to_its_end))
}
