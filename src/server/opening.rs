//! Opening the box office: the cinema of the database, and the card processor that it charges with.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use sqlx::postgres::PgPool;

use super::config::Options;
use super::run::Failure;
use super::{Processor, processor};
use crate::box_office::gateway::http::HttpGateway;
use crate::box_office::seed::{Bill, Seeded};
use crate::box_office::{self, BoxOffice};
use crate::gateway::past::{self, PastCharge};
use crate::gateway::{self, TEST_CARDS};
use crate::store::cinemas;

/// What a command works with: the office, its processor, and the key of its cookie.
pub struct Open {
    pub office: Arc<BoxOffice>,
    pub processor: Processor,
    pub cookie_key: Vec<u8>,
}

/// Loads the demo cinema, and what it has sold into the books of the simulated card processor. A processor that was named by
/// the flags has books that nobody here may write: then nothing is sold yet.
pub async fn demo_cinema(database: &PgPool, options: &Options, url: &str) -> Result<Seeded, Failure> {
    let processor = match options.gateway().map_err(Failure::Gateway)? {
        Some(_) => None,
        None => Some(gateway::connect(url).map_err(|error| Failure::Gateway(error.to_string()))?),
    };
    let charge = async |bills: Vec<Bill>| {
        let Some(processor) = &processor else { return Ok(None) };
        let past: Vec<PastCharge> = bills
            .into_iter()
            .map(|(payment, amount)| PastCharge {
                key: payment.to_string(),
                amount,
                metadata: BTreeMap::from([("payment".to_owned(), payment.to_string())]),
            })
            .collect();
        let charges = past::remember(processor, &past).await;
        charges.map(Some).map_err(|error| Failure::Gateway(error.to_string()))
    };
    let seeded = box_office::seed(database, charge).await;
    if let Some(processor) = &processor {
        processor.close().await;
    }
    seeded
}

/// Opens the box office, with the card processor that the flags name, or else with the simulated one, started here; its
/// messages come to `address`, if somebody listens there.
pub async fn office(
    database: &PgPool,
    options: &Options,
    url: &str,
    address: Option<SocketAddr>,
) -> Result<Open, Failure> {
    let (cinema, cookie_key) = cinemas::get(database).await?.ok_or(Failure::NoCinema)?;
    let site = options.site_url(address.unwrap_or(options.listen));
    let (gateway, processor) = match options.gateway().map_err(Failure::Gateway)? {
        Some((gateway, key)) => {
            let gateway = HttpGateway::new(gateway, key, &site).map_err(Failure::Gateway)?;
            let webhook_secrets = options.webhook_secrets();
            if webhook_secrets.is_empty() {
                tracing::warn!(
                    "the card processor's messages will be refused: name what they are signed with by --webhook-secret."
                );
            }
            (gateway, Processor { own: None, webhook_secrets })
        }
        None => processor::start(url, &cookie_key, &cinema.name, &site, address).await.map_err(Failure::Gateway)?,
    };
    let mut office = BoxOffice::new(database.clone(), cinema, Arc::new(gateway));
    office.secret = Sha256::new().chain_update(&cookie_key).chain_update("waiting rooms").finalize().into();
    office.test_cards = TEST_CARDS.iter().map(|card| (card.number, card.does)).collect();
    Ok(Open { office: Arc::new(office), processor, cookie_key })
}
