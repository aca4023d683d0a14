//! The append-only record: what each client asked for, what it was told, and when. And the books: what the store itself
//! says when everybody has gone.

use std::time::Duration;

use crate::domain::ids::OrderId;
use crate::domain::seat::SeatNo;

use super::crowd::{Order, ShowNo, Then};

/// From the call to the answer, since the trial began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Before anything was sent.
    pub called: Duration,
    /// After everything was heard.
    pub answered: Duration,
}

/// What a client was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is done.
    Yes,
    /// It is not.
    No,
    /// An error: it may be done or not.
    Nothing,
}

/// One line of the record.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was wanted.
    pub order: Order,
    /// When it was asked for.
    pub span: Span,
    /// The answer.
    pub told: Told,
    /// What the holder did next, when, and the answer to that.
    pub next: Option<(Then, Span, Told)>,
}

/// Something that can be had: a numbered seat, or (without a number) any of a show's places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The show.
    pub show: ShowNo,
    /// The seat.
    pub seat: Option<SeatNo>,
}

/// Somebody has something, says the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    /// What.
    pub place: Place,
    /// Who.
    pub order: OrderId,
    /// How many places; 1 for a numbered seat.
    pub units: u32,
}

/// What the store says at the end.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// Held or sold, by whom.
    pub owned: Vec<Owned>,
    /// Tickets, as they were written.
    pub tickets: Vec<Owned>,
}
