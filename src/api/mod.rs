//! The commands as server functions: parse, find out who asks, call the box office, redirect. Nothing else.
//!
//! Every success is a redirect to a page that shows the result from the database, so that a form without JavaScript
//! sees as much as one that an island sends.

#![expect(missing_docs, reason = "the server macro makes a struct with public fields of each function's arguments")]

mod answer;

use leptos::prelude::server;
use uuid::Uuid;

use crate::box_office::Progress;
use crate::domain::Error;
use crate::domain::hold::Selection;
use crate::domain::ids::{Attempt, OrderId, ShowId};
use crate::domain::payment::{Card, Email};
use crate::domain::seat::SeatNo;
use crate::{box_office, request};

/// Holds seats of a show, all or none; then the payment page.
///
/// # Errors
/// 409 names the taken seats; 422 for what cannot be held at all.
#[server(endpoint = "hold_seats")]
pub async fn hold_seats(show: Uuid, #[server(default)] seats: Vec<SeatNo>, attempt: Uuid) -> Result<(), Error> {
    let selection = Selection::new(seats)?;
    let attempt = Attempt(attempt);
    let visitor = request::visitor_or_stranger(attempt);
    let order = box_office::hold(&request::office(), visitor, ShowId(show), selection, attempt).await?;
    request::remember(visitor).await?;
    request::redirect(&format!("/orders/{order}/pay"));
    Ok(())
}

/// Gives a hold back; then the seat map.
///
/// # Errors
/// 404 when it is not this visitor's, 409 when it is too late.
#[server(endpoint = "release_hold")]
pub async fn release_hold(order: Uuid) -> Result<(), Error> {
    let visitor = request::visitor().ok_or(Error::UnknownOrder)?;
    let show = box_office::release(&request::office(), visitor, OrderId(order)).await?;
    request::redirect(&format!("/shows/{show}"));
    Ok(())
}

/// Pays an order with a card; then the order's page, which tells what became of it.
///
/// # Errors
/// Only what stopped the payment before any money could move; 409 while the same attempt, sent before, is still at work.
#[server(endpoint = "pay")]
pub async fn pay(order: Uuid, attempt: Uuid, card: String, #[server(default)] email: String) -> Result<(), Error> {
    let (card, email) = (Card::parse(&card)?, Email::parse(&email)?);
    let visitor = request::visitor().ok_or(Error::UnknownOrder)?;
    let progress = box_office::pay(&request::office(), visitor, OrderId(order), Attempt(attempt), card, email).await?;
    // The order's page waits for a person; a program is told to come again.
    match progress {
        Progress::UnderWay if !request::wants_page() => {
            request::retry_after(1);
            return Err(Error::PaymentInProgress);
        }
        // The gateway's own page, which leads back to the order's.
        Progress::Confirm(url) => request::redirect(&url),
        Progress::Told | Progress::UnderWay => request::redirect(&format!("/orders/{order}")),
    }
    Ok(())
}
