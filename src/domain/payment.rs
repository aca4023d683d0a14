//! A payment: one try to charge a card for one order.

use std::fmt;

use chrono::{DateTime, Utc};

use super::Error;
use super::ids::{Attempt, OrderId, PaymentId};
use super::incident::Evidence;
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

    /// The last four: all of a card that may be kept.
    pub fn ending(&self) -> &str {
        &self.0[self.0.len() - 4..]
    }
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Card(..{})", self.ending())
    }
}

/// Where a visitor wants the tickets sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email(String);

impl Email {
    /// Something before an `@` and a name with a dot, or a machine's, behind it: enough to tell a typing error from an
    /// address. `None` when nothing was typed. Whether it exists only the mail server knows.
    ///
    /// # Errors
    /// [`Error::NotAnAddress`] for anything else.
    pub fn parse(text: &str) -> Result<Option<Self>, Error> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let plain = text.len() <= 254 && text.chars().all(|c| !c.is_whitespace() && !c.is_control());
        let parts =
            text.rsplit_once('@').filter(|(name, host)| !name.is_empty() && !host.is_empty() && !name.contains('@'));
        match parts.filter(|(_, host)| plain && !host.starts_with('.') && !host.ends_with('.')) {
            Some(_) => Ok(Some(Self(text.to_owned()))),
            None => Err(Error::NotAnAddress),
        }
    }

    /// As typed.
    pub fn as_str(&self) -> &str {
        &self.0
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
        /// Whether it bought the order's tickets; else there is a refund of it.
        bought: bool,
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
    /// The card's last four digits; unknown for payments from before they were kept.
    pub card_ending: Option<String>,
    /// Where its holder confirms the card, when the gateway wants that.
    pub action_url: Option<String>,
    /// What became of it.
    pub state: PaymentState,
}

impl Payment {
    /// Whether nothing about it can be open: it was settled without money, or its money bought the tickets.
    pub const fn is_at_rest(&self) -> bool {
        match self.state {
            PaymentState::Started | PaymentState::Captured { bought: false, .. } => false,
            PaymentState::Captured { bought: true, .. }
            | PaymentState::Declined { .. }
            | PaymentState::Failed { .. } => true,
        }
    }
}

/// What the gateway says of money that it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Its own name for the charge.
    pub reference: String,
    /// How much it took.
    pub amount: Money,
    /// Its words, in case they turn out to be an incident; `None` when nobody has kept them.
    pub evidence: Option<Evidence>,
}

/// Why money goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundReason {
    /// The hold had ended, and the seats were not all free any more.
    TooLate,
    /// Another payment had bought (or could not buy) the seats before.
    PaidTwice,
    /// The visitor had released the seats.
    GivenBack,
    /// The gateway took another amount than was asked for.
    WrongAmount,
}

impl RefundReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::TooLate, Self::PaidTwice, Self::GivenBack, Self::WrongAmount];

    /// The word used in SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooLate => "too_late",
            Self::PaidTwice => "paid_twice",
            Self::GivenBack => "given_back",
            Self::WrongAmount => "wrong_amount",
        }
    }
}

/// A refund, owed or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refund {
    /// Of this payment, whose id is also the refund's idempotency key.
    pub payment: PaymentId,
    /// Of this order.
    pub order: OrderId,
    /// How much: all that was taken.
    pub amount: Money,
    /// Why.
    pub reason: RefundReason,
    /// The end of the order's hold.
    pub hold_ended_at: DateTime<Utc>,
    /// When the payment arrived.
    pub owed_since: DateTime<Utc>,
    /// When it was made, with the gateway's reference; `None` while it is owed.
    pub made: Option<(DateTime<Utc>, String)>,
    /// The gateway's reference of the charge.
    pub charge: String,
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
    fn an_address_is_something_at_somewhere_or_nothing_at_all() {
        for text in ["ada@example.org", " ada@localhost ", "ä.b+c@kino.example"] {
            assert_eq!(Email::parse(text).unwrap().unwrap().as_str(), text.trim());
        }
        assert_eq!(Email::parse("  "), Ok(None));
        for text in
            ["ada", "@example.org", "ada@", "a b@example.org", "a@b@c", "ada@.org", "ada@example.", "a\r\nBcc: b@c"]
        {
            assert_eq!(Email::parse(text), Err(Error::NotAnAddress), "{text:?}");
        }
    }

    #[test]
    fn a_card_is_never_printed() {
        let printed = format!("{:?}", Card::parse("4242424242424242").unwrap());
        assert_eq!(printed, "Card(..4242)");
    }
}
