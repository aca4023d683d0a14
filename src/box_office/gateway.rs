//! The card processor: the one trait of Matinee, because it has two implementations by nature: the client of the simulated
//! processor ([`http`]), and some day that of a real one.
//!
//! What an adapter to a real one must supply: `charge` and `refund` that are idempotent by their key, and `find`, which
//! tells the truth about a key after an answer was lost and settles it: a charge that arrives later with that key must
//! take no money. (With processors that make an intent first and confirm it later, that is: make the intent under the key,
//! and let `find` cancel an intent that is not confirmed.) Amounts are minor units with the currency's own exponent.
//! Money that is taken without our asking, or twice, comes by webhooks and is dealt with by `box_office::learn`.
//! Everything here is called outside any transaction and may take its time.

pub mod http;

use std::fmt::Debug;

use async_trait::async_trait;

use crate::domain::ids::{OrderId, PaymentId};
use crate::domain::money::Money;
use crate::domain::payment::{Capture, Card};

/// What the gateway decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Money was taken.
    Captured(Capture),
    /// The card was refused.
    Declined {
        /// Why, in words for the visitor.
        reason: String,
    },
    /// The card's holder must confirm it on a page of the gateway's own.
    NeedsAction {
        /// Where.
        url: String,
    },
}

/// No answer: whether money was taken is not known until `find` says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the gateway did not answer: {0}")]
pub struct NoAnswer(pub String);

/// A charge as the gateway's own books list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The gateway's name for it.
    pub reference: String,
    /// The payment it was made for; `None` when it names none that could be ours.
    pub payment: Option<PaymentId>,
    /// What was taken; `None` when nothing was.
    pub captured: Option<Money>,
    /// How much of it was given back.
    pub refunded_minor: i64,
}

/// Takes and gives back money.
#[async_trait]
pub trait Gateway: Debug + Send + Sync {
    /// Charges the card for a payment of an order. The same payment again charges nothing and answers the same.
    async fn charge(&self, payment: PaymentId, order: OrderId, amount: Money, card: &Card) -> Result<Charge, NoAnswer>;

    /// What became of a payment; `None` when the gateway never heard of it (and, being asked, never will charge it). With
    /// `cancel`, one that waits for its holder's confirmation is stopped, and then there is none either.
    async fn find(&self, payment: PaymentId, cancel: bool) -> Result<Option<Charge>, NoAnswer>;

    /// Gives a captured charge of a payment back in full, once; the refund's reference, the same every time.
    async fn refund(&self, payment: PaymentId, charge: &str, amount: Money) -> Result<String, NoAnswer>;

    /// The gateway's own books, oldest first, after a charge of this reference; few at a time, none at the end.
    async fn books(&self, after: Option<&str>) -> Result<Vec<Listed>, NoAnswer>;
}
