//! Somebody who buys, and what they are told.

use std::sync::Arc;

use matinee::box_office::{self, BoxOffice};
use matinee::domain::Error;
use matinee::domain::hold::Selection;
use matinee::domain::ids::{Attempt, OrderId, ShowId, VisitorId};
use matinee::domain::payment::Card;
use matinee::domain::seat::SeatNo;
use uuid::Uuid;

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
        box_office::hold(&self.office, self.id, show, selection, attempt).await
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
    Error::SeatTaken { seats: numbers(seats), kept: numbers(kept) }
}
