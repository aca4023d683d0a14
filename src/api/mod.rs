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
    let (office, show) = (request::office(), ShowId(show));
    let order =
        match box_office::hold(&office, visitor, show, selection, attempt, request::pass(&office, show, visitor)).await
        {
            // A page shows the choice on its map.
            Err(error) if !request::wants_page() => {
                return come_again(Err(box_office::with_choice(&office, show, error).await));
            }
            held => come_again(held)?,
        };
    request::remember(visitor).await?;
    request::redirect(&format!("/orders/{order}/pay"));
    Ok(())
}

/// Takes a place in a show's waiting room; then the page that says how far it is.
///
/// # Errors
/// 404 when there is no such show.
#[server(endpoint = "join_queue")]
pub async fn join_queue(show: Uuid, attempt: Uuid) -> Result<(), Error> {
    let visitor = request::visitor_or_stranger(Attempt(attempt));
    if box_office::queue::join(&request::office(), visitor, ShowId(show)).await? {
        request::remember(visitor).await?;
    }
    request::redirect(&format!("/shows/{show}/queue"));
    Ok(())
}

/// Gives a hold back; then the seat map.
///
/// # Errors
/// 404 when it is not this visitor's, 409 when it is too late.
#[server(endpoint = "release_hold")]
pub async fn release_hold(order: Uuid) -> Result<(), Error> {
    let visitor = request::visitor().ok_or(Error::UnknownOrder)?;
    let show = come_again(box_office::release(&request::office(), visitor, OrderId(order)).await)?;
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
    let progress = box_office::pay(&request::office(), visitor, OrderId(order), Attempt(attempt), card, email).await;
    match come_again(progress)? {
        // The order's page waits for a person; a program is told to come again.
        Progress::UnderWay if !request::wants_page() => return come_again(Err(Error::PaymentInProgress)),
        // The gateway's own page, which leads back to the order's. A browser does not let a form lead to another site, not even
        // by a redirect (`form-action`), so a person goes by way of the order's page.
        Progress::Confirm(_) if request::wants_page() => request::redirect(&format!("/orders/{order}?confirm")),
        Progress::Confirm(url) => request::redirect(&url),
        Progress::Told | Progress::UnderWay => request::redirect(&format!("/orders/{order}")),
    }
    Ok(())
}

/// Says when to come again, where that is worth it: what stands in the way passes by itself.
fn come_again<T>(answer: Result<T, Error>) -> Result<T, Error> {
    if matches!(answer, Err(Error::PaymentInProgress | Error::Unavailable)) {
        request::retry_after(1);
    }
    answer
}
