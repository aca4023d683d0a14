//! The one error of Matinee. A variant is a cause a person can act on; everything else is `Internal` with a reference.

use super::hold::MOST_SEATS;
use super::seat::SeatNo;

/// What can go wrong with a command. Over HTTP it is JSON: `{"error": "seat_taken", "seats": [..], "message": ".."}`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Some of the wanted seats are sold or held by somebody. Nothing was held.
    #[error("{}", taken_words(.seats.len(), .kept.is_empty()))]
    SeatTaken {
        /// The taken ones.
        seats: Vec<SeatNo>,
        /// The other wanted ones: still free when this was decided, so that a form can keep them picked.
        kept: Vec<SeatNo>,
        /// As many free seats side by side, as near as can be; empty when there are none, or nobody looked for them.
        nearest: Vec<SeatNo>,
    },
    /// Some of the wanted seats are the visitor's already, by another order: from another tab, or a form sent before.
    /// Nothing was held anew.
    #[error("{}", yours_words(.seats.len()))]
    AlreadyYours {
        /// Those that the visitor holds.
        seats: Vec<SeatNo>,
        /// The other wanted ones, still free when this was decided.
        kept: Vec<SeatNo>,
    },
    /// Nothing was picked.
    #[error("{NO_SEATS}")]
    NoSeats,
    /// More than ten seats in one show.
    #[error("{}", too_many_words(*.asked, *.holding))]
    TooManySeats {
        /// How many different seats this request asked for.
        asked: u16,
        /// How many the visitor holds in this show already.
        holding: u16,
        /// What was asked for, cut to a length that an address can carry: a form can keep it picked, to untick some.
        kept: Vec<SeatNo>,
    },
    /// Seat numbers that this show does not have.
    #[error("This show has no such seat. Please reload the seat map and pick again.")]
    UnknownSeat {
        /// The unknown numbers.
        seats: Vec<SeatNo>,
    },
    /// No such show.
    #[error("There is no such show.")]
    UnknownShow,
    /// The show's sales cut-off has passed.
    #[error("Online sales for this show are closed.")]
    SalesClosed,
    /// The show's sale has not opened.
    #[error("The sale for this show has not opened yet.")]
    NotOpenYet,
    /// The show has a waiting room, and it is not this visitor's turn, or no longer.
    #[error("It is not your turn yet: please wait in the show's waiting room.")]
    NotYourTurn,
    /// The visitor has held some of these seats again and again without buying them.
    #[error(
        "You have held some of these seats for a long time today without buying them, so now it is the turn of others. Please pick other seats, or try again tomorrow."
    )]
    KeptTooLong,
    /// Too many commands from this visitor, or from this address.
    #[error("That was too much at once. Please wait a moment, then try again.")]
    TooManyRequests,
    /// No such order, or not this visitor's.
    #[error("There is no such order.")]
    UnknownOrder,
    /// The hold ran out before this command.
    #[error(
        "Your hold has lapsed: the time to pay was over, and the seats are free for everybody again. You were not charged."
    )]
    HoldLapsed,
    /// The seats were given back before.
    #[error("These seats were released before. You were not charged.")]
    AlreadyReleased,
    /// A payment of this order is under way; wait for its end.
    #[error("A payment for this order is under way. Please wait a moment.")]
    PaymentInProgress,
    /// The order is already paid.
    #[error("This order is paid already.")]
    AlreadySold,
    /// The attempt was used before for something else.
    #[error("This form was sent before with other content. Please reload the page and try again.")]
    AttemptReused,
    /// The card number cannot be one.
    #[error("That is not a card number: use 12 to 19 digits, with or without spaces.")]
    NotACard,
    /// The mail address cannot be one.
    #[error("That is not a mail address. Leave it empty if you want no mail.")]
    NotAnAddress,
    /// A field is missing or not of its kind.
    #[error("The request cannot be understood: {what}.")]
    BadInput {
        /// Which field, and why.
        what: String,
    },
    /// The server could not be reached from the browser.
    #[error("{UNREACHABLE}")]
    Unreachable,
    /// The database cannot be reached right now.
    #[error("The box office is not available right now. Please try again in a moment.")]
    Unavailable,
    /// A fault of ours; the log has the chain under this reference.
    #[error("Something went wrong on our side. If it happens again, tell us this reference: {reference}")]
    Internal {
        /// Found in the log.
        reference: String,
    },
}

/// Said by the browser itself, without asking the server.
pub const NO_SEATS: &str = "Pick at least one seat, then hold it.";

/// Said by the browser itself, which is the only one to know.
pub const UNREACHABLE: &str =
    "The cinema did not answer. Check your connection and try again: nothing is held or charged twice.";

fn yours_words(yours: usize) -> &'static str {
    match yours {
        1 => "You hold one of these seats already, so none was held anew. Continue to payment, or release it.",
        _ => "You hold some of these seats already, so none was held anew. Continue to payment, or release them.",
    }
}

fn taken_words(taken: usize, all: bool) -> &'static str {
    match (taken, all) {
        (1, true) => "This seat was taken a moment ago, so it was not held.",
        (_, true) => "These seats were taken a moment ago, so none was held.",
        (1, false) => "One of these seats was taken a moment ago, so none was held. The others are still picked.",
        (_, false) => "Some of these seats were taken a moment ago, so none was held. The others are still picked.",
    }
}

fn too_many_words(asked: u16, holding: u16) -> String {
    match holding {
        0 => format!("You can hold up to {MOST_SEATS} seats in one show; this was {asked}."),
        _ => format!(
            "You can hold up to {MOST_SEATS} seats in one show; you hold {holding} already, and this was {asked} more."
        ),
    }
}

impl Error {
    /// The errors that carry nothing.
    pub const PLAIN: [Self; 17] = [
        Self::NoSeats,
        Self::UnknownShow,
        Self::SalesClosed,
        Self::NotOpenYet,
        Self::NotYourTurn,
        Self::KeptTooLong,
        Self::TooManyRequests,
        Self::UnknownOrder,
        Self::HoldLapsed,
        Self::AlreadyReleased,
        Self::PaymentInProgress,
        Self::AlreadySold,
        Self::AttemptReused,
        Self::NotACard,
        Self::NotAnAddress,
        Self::Unreachable,
        Self::Unavailable,
    ];

    /// Refuses these different seats of somebody who holds so many already.
    pub fn too_many_seats(asked: &[SeatNo], holding: i64) -> Self {
        Self::TooManySeats {
            asked: u16::try_from(asked.len()).unwrap_or(u16::MAX),
            holding: u16::try_from(holding).unwrap_or(u16::MAX),
            kept: asked.iter().copied().take(2 * MOST_SEATS).collect(),
        }
    }

    /// The word that stands for it in JSON.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SeatTaken { .. } => "seat_taken",
            Self::AlreadyYours { .. } => "already_yours",
            Self::NoSeats => "no_seats",
            Self::TooManySeats { .. } => "too_many_seats",
            Self::UnknownSeat { .. } => "unknown_seat",
            Self::UnknownShow => "unknown_show",
            Self::SalesClosed => "sales_closed",
            Self::NotOpenYet => "not_open_yet",
            Self::NotYourTurn => "not_your_turn",
            Self::KeptTooLong => "kept_too_long",
            Self::TooManyRequests => "too_many_requests",
            Self::UnknownOrder => "unknown_order",
            Self::HoldLapsed => "hold_lapsed",
            Self::AlreadyReleased => "already_released",
            Self::PaymentInProgress => "payment_in_progress",
            Self::AlreadySold => "already_sold",
            Self::AttemptReused => "attempt_reused",
            Self::NotACard => "not_a_card",
            Self::NotAnAddress => "not_an_address",
            Self::BadInput { .. } => "bad_input",
            Self::Unreachable => "unreachable",
            Self::Unavailable => "unavailable",
            Self::Internal { .. } => "internal",
        }
    }

    /// The HTTP status of a JSON answer.
    pub const fn status(&self) -> u16 {
        match self {
            Self::SeatTaken { .. }
            | Self::AlreadyYours { .. }
            | Self::SalesClosed
            | Self::NotOpenYet
            | Self::KeptTooLong
            | Self::HoldLapsed
            | Self::AlreadyReleased => 409,
            Self::PaymentInProgress | Self::AlreadySold => 409,
            Self::NoSeats | Self::TooManySeats { .. } | Self::UnknownSeat { .. } => 422,
            Self::AttemptReused | Self::NotACard | Self::NotAnAddress | Self::BadInput { .. } => 422,
            Self::NotYourTurn => 403,
            Self::TooManyRequests => 429,
            Self::UnknownShow | Self::UnknownOrder => 404,
            Self::Unreachable | Self::Unavailable => 503,
            Self::Internal { .. } => 500,
        }
    }
}
