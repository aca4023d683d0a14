//! The saga of an order: reserve, charge, confirm, or compensate. Which step leads from where to where, who takes it, and
//! what it leaves in the order's story.
//!
//! ```text
//!               start payment           sell
//!        Held -----------------> Paying ------> Sold
//!        | |  <----------------- |    |
//!        | |       give up       |    | owe refund           refund made
//!        | |                     |    '------------> RefundOwed --------> Refunded
//!        | '--- sell ------------|--> Sold               ^
//!        |  '-- owe refund ------|-----------------------'
//!        '----- release --> Released
//! ```
//!
//! The two arrows from `Held` past `Paying` are money that the gateway took for a payment which had been given up: it still
//! buys the seats, when nobody else has them. Money for an order that has ended otherwise (sold by another payment,
//! released, refunded) changes no state: the payment alone gets its refund. Compensations: of a hold, release or lapse; of
//! a start, giving up; of a capture, the refund. A lapse is no step: nothing is written when a window ends.

use chrono::{DateTime, Utc};

use super::ids::{OrderId, PaymentId};

/// Where an order is in its saga, as the database names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its seats are held.
    Held,
    /// A payment is under way.
    Paying,
    /// Paid; it has tickets.
    Sold,
    /// Given back.
    Released,
    /// Money goes back.
    RefundOwed,
    /// Money went back.
    Refunded,
}

/// A step of the saga: one conditional statement each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The visitor gives the seats back.
    Release,
    /// The visitor sends a card.
    StartPayment,
    /// The card was declined, or the gateway failed.
    GiveUp,
    /// Money was taken and the seats can be had.
    Sell,
    /// Money was taken and the seats are gone.
    OweRefund,
    /// The gateway gave the money back.
    RefundMade,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Self; 6] = [Self::Held, Self::Paying, Self::Sold, Self::Released, Self::RefundOwed, Self::Refunded];

    /// The word used in SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Paying => "paying",
            Self::Sold => "sold",
            Self::Released => "released",
            Self::RefundOwed => "refund_owed",
            Self::Refunded => "refunded",
        }
    }

    /// Where a step leads from here; `None` when it changes nothing here. The picture above as a table; a test compares the
    /// statements with it.
    pub const fn after(self, step: Step) -> Option<Self> {
        match (step, self) {
            (Step::Release, Self::Held) => Some(Self::Released),
            (Step::StartPayment, Self::Held) => Some(Self::Paying),
            (Step::GiveUp, Self::Paying) => Some(Self::Held),
            (Step::Sell, Self::Held | Self::Paying) => Some(Self::Sold),
            (Step::OweRefund, Self::Held | Self::Paying) => Some(Self::RefundOwed),
            (Step::RefundMade, Self::RefundOwed) => Some(Self::Refunded),
            _ => None,
        }
    }
}

impl Step {
    /// Every step.
    pub const ALL: [Self; 6] =
        [Self::Release, Self::StartPayment, Self::GiveUp, Self::Sell, Self::OweRefund, Self::RefundMade];
}

/// Who took a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The visitor's own command.
    Visitor,
    /// A message of the gateway.
    Gateway,
    /// Whoever looked next and finished what was open.
    Recovery,
}

impl Actor {
    /// Every actor.
    pub const ALL: [Self; 3] = [Self::Visitor, Self::Gateway, Self::Recovery];

    /// The word used in SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Visitor => "visitor",
            Self::Gateway => "gateway",
            Self::Recovery => "recovery",
        }
    }
}

/// What happened to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Happening {
    /// Its seats were held.
    Held,
    /// Its seats were given back.
    Released,
    /// A payment began.
    PaymentStarted,
    /// A card was refused.
    PaymentDeclined,
    /// The gateway failed; nothing was charged.
    PaymentFailed,
    /// Money was taken.
    PaymentCaptured,
    /// It has tickets.
    Sold,
    /// Money is to go back.
    RefundOwed,
    /// Money went back.
    Refunded,
}

impl Happening {
    /// Everything that can happen.
    pub const ALL: [Self; 9] = [
        Self::Held,
        Self::Released,
        Self::PaymentStarted,
        Self::PaymentDeclined,
        Self::PaymentFailed,
        Self::PaymentCaptured,
        Self::Sold,
        Self::RefundOwed,
        Self::Refunded,
    ];

    /// The word used in SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Released => "released",
            Self::PaymentStarted => "payment_started",
            Self::PaymentDeclined => "payment_declined",
            Self::PaymentFailed => "payment_failed",
            Self::PaymentCaptured => "payment_captured",
            Self::Sold => "sold",
            Self::RefundOwed => "refund_owed",
            Self::Refunded => "refunded",
        }
    }
}

/// A line of an order's story. Append-only; written with the change it tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderEvent {
    /// Of this order.
    pub order: OrderId,
    /// When, by the database's clock.
    pub at: DateTime<Utc>,
    /// What.
    pub what: Happening,
    /// Who.
    pub actor: Actor,
    /// With which payment, where there is one.
    pub payment: Option<PaymentId>,
    /// Why, where the event does not say it by itself.
    pub why: Option<String>,
}
