//! An order: one visitor's try to buy seats of one show.
//!
//! ```text
//!            start to pay              confirm
//!   Held ------------------> Paying ------------> Sold
//!    | ^                       | |
//!    | '--- declined, failed --' '-- confirm, but the seats went to others --> RefundOwed --> Refunded
//!    '----> Released
//! ```
//!
//! There is no "lapsed" state: nothing runs to write one. A held order whose window is over *is* lapsed, by the rule;
//! [`Order::standing`] says so.

use chrono::{DateTime, Utc};

use super::hold::Selection;
use super::ids::{OrderId, ShowId, VisitorId};
use super::money::Money;
use super::seat::{HoldWindow, Status};

/// Where an order stands in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderState {
    /// Its seats are held since `locked_at`.
    Held,
    /// A payment is under way; the hold was renewed when the first one started.
    Paying,
    /// Paid; its tickets exist.
    Sold {
        /// When.
        sold_at: DateTime<Utc>,
    },
    /// Given back by the visitor.
    Released {
        /// When.
        released_at: DateTime<Utc>,
    },
    /// Money was taken but the seats had gone: the refund is recorded and will be made.
    RefundOwed {
        /// When the payment arrived too late.
        since: DateTime<Utc>,
    },
    /// The money was given back.
    Refunded {
        /// When.
        refunded_at: DateTime<Utc>,
    },
}

/// Where an order stands at an instant, lapse included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Held; can be paid until `ends_at`.
    Held {
        /// Last instant of the hold.
        ends_at: DateTime<Utc>,
    },
    /// A payment is under way.
    Paying {
        /// Last instant of the hold.
        ends_at: DateTime<Utc>,
    },
    /// The hold ran out.
    Lapsed {
        /// When.
        ended_at: DateTime<Utc>,
    },
    /// See [`OrderState::Sold`].
    Sold {
        /// When.
        sold_at: DateTime<Utc>,
    },
    /// See [`OrderState::Released`].
    Released {
        /// When.
        released_at: DateTime<Utc>,
    },
    /// See [`OrderState::RefundOwed`].
    RefundOwed {
        /// When the payment arrived too late.
        since: DateTime<Utc>,
    },
    /// See [`OrderState::Refunded`].
    Refunded {
        /// When.
        refunded_at: DateTime<Utc>,
    },
}

/// An order with everything that was fixed when its seats were held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Identity, unguessable.
    pub id: OrderId,
    /// Of this show.
    pub show: ShowId,
    /// By this visitor.
    pub visitor: VisitorId,
    /// These seats.
    pub seats: Selection,
    /// What each costs, in the order of the seats, fixed when they were held.
    pub prices: Vec<i64>,
    /// The sum of the prices.
    pub total: Money,
    /// How long its hold lasts.
    pub hold_window: HoldWindow,
    /// When the seats were first held.
    pub held_at: DateTime<Utc>,
    /// When the hold began, or was renewed.
    pub locked_at: DateTime<Utc>,
    /// State in the database.
    pub state: OrderState,
}

impl Order {
    /// Last instant of the hold.
    pub fn ends_at(&self) -> DateTime<Utc> {
        self.hold_window.ends_at(self.locked_at)
    }

    /// Where the order stands at `now`: the rule decides whether a hold has lapsed. A payment under way stays one even
    /// past the end, because its outcome (sold all the same, or refunded) is not known yet.
    pub fn standing(&self, now: DateTime<Utc>) -> Standing {
        let ends_at = self.ends_at();
        match self.state {
            OrderState::Held if self.hold_window.is_available(Status::Locked, Some(self.locked_at), now) => {
                Standing::Lapsed { ended_at: ends_at }
            }
            OrderState::Held => Standing::Held { ends_at },
            OrderState::Paying => Standing::Paying { ends_at },
            OrderState::Sold { sold_at } => Standing::Sold { sold_at },
            OrderState::Released { released_at } => Standing::Released { released_at },
            OrderState::RefundOwed { since } => Standing::RefundOwed { since },
            OrderState::Refunded { refunded_at } => Standing::Refunded { refunded_at },
        }
    }

    /// Code for people on the phone: the first group of the id.
    pub fn code(&self) -> String {
        self.id.0.simple().to_string()[..8].to_uppercase()
    }
}
