//! The card processor: the one trait of Matinee, because it has two implementations by nature, a simulated one and
//! (some day) a real one.
//!
//! What an implementation must supply: `charge` and `refund` that are idempotent by their key, and `find`, which tells
//! the truth about a key after an answer was lost. It is called outside any transaction and may take its time.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::PgPool;
use uuid::Uuid;

use crate::domain::ids::PaymentId;
use crate::domain::money::Money;
use crate::domain::payment::{Capture, Card};
use crate::store::charges::{self, ChargeRecord};

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
}

/// No answer: whether money was taken is not known until `find` says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the gateway did not answer: {0}")]
pub struct NoAnswer(pub String);

/// Takes and gives back money.
#[async_trait]
pub trait Gateway: Debug + Send + Sync {
    /// Charges the card. The same key again charges nothing and answers the same.
    async fn charge(&self, key: PaymentId, amount: Money, card: &Card) -> Result<Charge, NoAnswer>;

    /// What became of a key; `None` when the gateway never heard of it (and, being asked, never will charge it).
    async fn find(&self, key: PaymentId) -> Result<Option<Charge>, NoAnswer>;

    /// Gives a captured charge back in full, once; the refund's reference, the same every time.
    async fn refund(&self, charge: &str) -> Result<String, NoAnswer>;
}

/// A card of the simulated gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestCard {
    /// Its digits.
    pub number: &'static str,
    /// What it does, for the payment page.
    pub does: &'static str,
    behaviour: Behaviour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    Succeeds,
    Declines(&'static str),
    SucceedsAfter(Duration),
    Fails,
}

/// The cards that do something; any other number of the right form is declined.
pub const TEST_CARDS: &[TestCard] = &[
    TestCard { number: "4242424242424242", does: "is accepted", behaviour: Behaviour::Succeeds },
    TestCard {
        number: "4000000000000002",
        does: "is declined",
        behaviour: Behaviour::Declines("the bank declined the card"),
    },
    TestCard {
        number: "4000000000009995",
        does: "has too little money",
        behaviour: Behaviour::Declines("the card has insufficient funds"),
    },
    TestCard {
        number: "4000000000000341",
        does: "is accepted after 5 seconds",
        behaviour: Behaviour::SucceedsAfter(Duration::from_secs(5)),
    },
    TestCard { number: "4000000000000119", does: "makes the card processor fail", behaviour: Behaviour::Fails },
];

/// A card processor that keeps its own books in the same database, and charges nobody.
#[derive(Debug)]
pub struct SimulatedGateway {
    pool: PgPool,
}

impl SimulatedGateway {
    /// With its books on this pool.
    pub const fn new(pool: PgPool) -> Self {
        Self { pool }
    }
}

fn no_answer(error: impl std::fmt::Display) -> NoAnswer {
    NoAnswer(error.to_string())
}

/// `None` for a key that was closed because somebody asked for it before its charge arrived.
fn decision(record: ChargeRecord) -> Option<Charge> {
    match (record.captured, record.reason) {
        (true, _) => {
            let amount = Money::new(record.amount_minor, record.currency.parse().ok()?);
            Some(Charge::Captured(Capture { reference: record.reference, amount }))
        }
        (false, Some(reason)) => Some(Charge::Declined { reason }),
        (false, None) => None,
    }
}

fn too_late() -> NoAnswer {
    NoAnswer("the charge arrived after it had been asked for".to_owned())
}

#[async_trait]
impl Gateway for SimulatedGateway {
    async fn charge(&self, key: PaymentId, amount: Money, card: &Card) -> Result<Charge, NoAnswer> {
        if let Some(known) = charges::find(&self.pool, key).await.map_err(no_answer)? {
            return decision(known).ok_or_else(too_late);
        }
        let known = TEST_CARDS.iter().find(|known| known.number == card.digits());
        let behaviour =
            known.map_or(Behaviour::Declines("the card is not one of the test cards"), |known| known.behaviour);
        let reason = match behaviour {
            Behaviour::Succeeds => None,
            Behaviour::Declines(reason) => Some(reason.to_owned()),
            Behaviour::SucceedsAfter(pause) => {
                // The simulated bank thinks. Nothing of ours waits with it: no transaction, no lock, no connection.
                tokio::time::sleep(pause).await;
                None
            }
            Behaviour::Fails => return Err(NoAnswer("simulated failure".to_owned())),
        };
        let reference = format!("ch_{}", Uuid::new_v4().simple());
        let (amount_minor, currency) = (amount.minor, amount.currency.code().to_owned());
        let record = ChargeRecord { reference, amount_minor, currency, captured: reason.is_none(), reason };
        let recorded = charges::record(&self.pool, key, amount, &record).await.map_err(no_answer)?;
        decision(recorded).ok_or_else(too_late)
    }

    async fn find(&self, key: PaymentId) -> Result<Option<Charge>, NoAnswer> {
        // First closed, then read: whoever is told "never heard of it" must be able to rely on that.
        charges::close(&self.pool, key).await.map_err(no_answer)?;
        Ok(charges::find(&self.pool, key).await.map_err(no_answer)?.and_then(decision))
    }

    async fn refund(&self, charge: &str) -> Result<String, NoAnswer> {
        let reference = format!("re_{}", Uuid::new_v4().simple());
        let refund = charges::refund(&self.pool, charge, &reference).await.map_err(no_answer)?;
        refund.ok_or_else(|| NoAnswer(format!("no captured charge {charge}")))
    }
}
