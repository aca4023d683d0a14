//! Opening the box office: the cinema of the database, and the card processor that it charges with.

use std::net::SocketAddr;
use std::sync::Arc;

use sqlx::postgres::PgPool;

use super::config::Options;
use super::run::Failure;
use super::{Processor, processor};
use crate::box_office::BoxOffice;
use crate::box_office::gateway::http::HttpGateway;
use crate::gateway::TEST_CARDS;
use crate::store::cinemas;

/// What a command works with: the office, its processor, and the key of its cookie.
pub struct Open {
    pub office: Arc<BoxOffice>,
    pub processor: Processor,
    pub cookie_key: Vec<u8>,
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
    let (gateway, processor) = match options.gateway() {
        Some((gateway, key)) => {
            let gateway = HttpGateway::new(gateway, key, &site).map_err(Failure::Gateway)?;
            (gateway, Processor { own: None, webhook_secrets: options.webhook_secrets() })
        }
        None => processor::start(url, &cookie_key, &cinema.name, &site, address).await.map_err(Failure::Gateway)?,
    };
    let mut office = BoxOffice::new(database.clone(), cinema, Arc::new(gateway));
    office.test_cards = TEST_CARDS.iter().map(|card| (card.number, card.does)).collect();
    Ok(Open { office: Arc::new(office), processor, cookie_key })
}
