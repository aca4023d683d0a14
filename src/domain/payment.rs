//! A payment: one try to charge a card for one order.

use std::fmt;

use chrono::{DateTime, Utc};

use super::Error;
use super::ids::{Attempt, OrderId, PaymentId};
use super::money::Money;

/// A card number as typed, checked for its form only. Kept no longer than the call to the gateway, never stored, never
/// printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Card(String);

impl Card {
    /// 12 to 19 digits; spaces and hyphens between them are ignored.
    ///
    /// # Errors
    /// [`Error::NotACard`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let digits: String = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
        let ok = (12..=19).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        if ok { Ok(Self(digits)) } else { Err(Error::NotACard) }
    }

    /// The digits, for the gateway alone.
    pub fn digits(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Card(..{})", &self.0[self.0.len() - 4..])
    }
}

/// What became of a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaymentState {
    /// The gateway was asked; no answer is known yet.
    Started,
    /// Money was taken.
    Captured {
        /// When we learnt it.
        settled_at: DateTime<Utc>,
        /// The gateway's own reference.
        reference: String,
    },
    /// The card was refused; no money was taken.
    Declined {
        /// When we learnt it.
        settled_at: DateTime<Utc>,
        /// The gateway's reason, in words for the visitor.
        reason: String,
    },
    /// The gateway failed, and told us (or we asked and it knew of no charge): no money was taken.
    Failed {
        /// When we learnt it.
        settled_at: DateTime<Utc>,
    },
}

/// One try to pay an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Identity, and the gateway's idempotency key.
    pub id: PaymentId,
    /// Of this order.
    pub order: OrderId,
    /// The sender's name for the try.
    pub attempt: Attempt,
    /// How much.
    pub amount: Money,
    /// When it was recorded, before the gateway was asked.
    pub started_at: DateTime<Utc>,
    /// What became of it.
    pub state: PaymentState,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_digits_with_spaces_or_hyphens() {
        assert_eq!(Card::parse("4242 4242-4242 4242").unwrap().digits(), "4242424242424242");
        for text in [
            "",
            "4242",
            "4242424242424242a",
            "4242\u{0}42424242424",
            "42424242424242424242",
            "４２４２４２４２４２４２",
        ] {
            assert_eq!(Card::parse(text), Err(Error::NotACard), "{text:?}");
        }
    }

    #[test]
    fn a_card_is_never_printed() {
        let printed = format!("{:?}", Card::parse("4242424242424242").unwrap());
        assert_eq!(printed, "Card(..4242)");
    }
}
