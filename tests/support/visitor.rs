//! Somebody who buys, and what they are told.

use std::sync::Arc;

use matinee::box_office::queue::{self, Pass, Waiting};
use matinee::box_office::{self, BoxOffice};
use matinee::domain::Error;
use matinee::domain::hold::Selection;
use matinee::domain::ids::{Attempt, OrderId, PaymentId, ShowId, VisitorId};
use matinee::domain::incident::{Evidence, Source};
use matinee::domain::money::Money;
use matinee::domain::payment::{Capture, Card};
use matinee::domain::saga::Actor;
use matinee::domain::seat::SeatNo;
use matinee::domain::ticket::TicketCode;
use matinee::store::payments::{self, Outcome};
use uuid::Uuid;

use super::Cinema;

/// Test cards of the simulated gateway.
pub const GOOD_CARD: &str = "4242 4242 4242 4242";
pub const DECLINED_CARD: &str = "4000 0000 0000 0002";
pub const BREAKING_CARD: &str = "4000 0000 0000 0119";

/// Somebody who buys, at one of the cinema's servers.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// Where.
    pub office: Arc<BoxOffice>,
    /// Who.
    pub id: VisitorId,
}

impl Visitor {
    /// Somebody new.
    pub fn at(office: &Arc<BoxOffice>) -> Self {
        Self { office: Arc::clone(office), id: VisitorId(Uuid::new_v4()) }
    }

    /// The same person, served by another server.
    pub fn goes_to(&self, office: &Arc<BoxOffice>) -> Self {
        Self { office: Arc::clone(office), id: self.id }
    }

    /// Sends the form once.
    pub async fn hold(&self, show: ShowId, seats: &[i16]) -> Result<OrderId, Error> {
        self.hold_as(an_attempt(), show, seats).await
    }

    /// Sends the form of this attempt.
    pub async fn hold_as(&self, attempt: Attempt, show: ShowId, seats: &[i16]) -> Result<OrderId, Error> {
        let selection = Selection::new(numbers(seats))?;
        box_office::hold(&self.office, self.id, show, selection, attempt, None).await
    }

    /// Sends the form with a pass of the waiting room.
    pub async fn hold_with(&self, pass: Pass, show: ShowId, seats: &[i16]) -> Result<OrderId, Error> {
        let selection = Selection::new(numbers(seats))?;
        box_office::hold(&self.office, self.id, show, selection, an_attempt(), Some(pass)).await
    }

    /// Where the visitor stands in the show's waiting room.
    pub async fn waits(&self, show: ShowId) -> Waiting {
        queue::look(&self.office, Some(self.id), show).await.unwrap().unwrap().waiting
    }

    /// Takes a place in it.
    pub async fn joins(&self, show: ShowId) -> Waiting {
        queue::join(&self.office, self.id, show).await.unwrap();
        self.waits(show).await
    }

    /// Gives seats back.
    pub async fn release(&self, order: OrderId) -> Result<ShowId, Error> {
        box_office::release(&self.office, self.id, order).await
    }

    /// Sends the payment form once.
    pub async fn pay(&self, order: OrderId, card: &str) -> Result<(), Error> {
        self.pay_as(an_attempt(), order, card).await
    }

    /// Sends the payment form of this attempt.
    pub async fn pay_as(&self, attempt: Attempt, order: OrderId, card: &str) -> Result<(), Error> {
        box_office::pay(&self.office, self.id, order, attempt, Card::parse(card)?, None).await.map(|_| ())
    }
}

impl Cinema {
    /// Records that whoever has the order begins to pay it, and nothing more: what is to be charged, if it can be paid.
    pub async fn starts(&self, order: OrderId, payment: PaymentId) -> Option<Money> {
        let visitor = self.order(order).await.visitor;
        payments::start(&self.db, visitor, order, payment, an_attempt(), "4242", None).await.unwrap()
    }

    /// The store's confirmation of a payment, by the gateway's word.
    pub async fn confirms(&self, payment: PaymentId, capture: &Capture) -> Outcome {
        let codes = std::array::from_fn(|_| TicketCode::from_random(Uuid::new_v4().as_u128()));
        let evidence = Evidence { source: Source::Reading, text: format!("charge {}", capture.reference) };
        payments::confirm(&self.db, payment, capture, &evidence, &codes, Actor::Gateway).await.unwrap()
    }
}

/// A name for a try that was not used before.
pub fn an_attempt() -> Attempt {
    Attempt(Uuid::new_v4())
}

/// Seat numbers.
pub fn numbers(seats: &[i16]) -> Vec<SeatNo> {
    seats.iter().copied().map(SeatNo).collect()
}

/// A conflict that names these seats and keeps those.
pub fn taken(seats: &[i16], kept: &[i16]) -> Error {
    Error::SeatTaken { seats: numbers(seats), kept: numbers(kept), nearest: vec![] }
}
