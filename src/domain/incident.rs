//! An incident: what nobody expected of the gateway, kept with its evidence for a person to look at.

use std::fmt;

use chrono::{DateTime, Utc};

use super::ids::{IncidentId, PaymentId};
use super::money::Money;

/// What kind of incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Another amount or currency was taken than was asked for. The money goes back.
    WrongAmount,
    /// Money was taken that no payment of ours asked for: for a payment that we do not know, for none at all, or once more
    /// for one that has its money. It is set aside: nobody guesses whose it is.
    UnknownCharge,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::WrongAmount, Self::UnknownCharge];

    /// The word used in SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WrongAmount => "wrong_amount",
            Self::UnknownCharge => "unknown_charge",
        }
    }
}

/// Where words come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A message of the gateway: its body as received, after its signature was found right.
    Message,
    /// An answer of the gateway to a question of ours: its body as received.
    Answer,
    /// Nobody kept the gateway's words: this is what we read in them.
    Reading,
}

impl Source {
    /// Every source.
    pub const ALL: [Self; 3] = [Self::Message, Self::Answer, Self::Reading];

    /// The word used in SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Answer => "answer",
            Self::Reading => "reading",
        }
    }
}

/// What the gateway said, word for word, or what we read in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Where it comes from.
    pub source: Source,
    /// The text.
    pub text: String,
}

impl Evidence {
    /// The body of a signed message.
    pub const fn message(text: String) -> Self {
        Self { source: Source::Message, text }
    }

    /// The body of an answer.
    pub const fn answer(text: String) -> Self {
        Self { source: Source::Answer, text }
    }
}

impl fmt::Debug for Evidence {
    /// Without the text, which is as long as somebody else likes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Evidence({}, {} bytes)", self.source.as_str(), self.text.len())
    }
}

/// That a person looked at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// When, by the database's clock.
    pub at: DateTime<Utc>,
    /// Who, as they call themselves.
    pub by: String,
    /// What came of it.
    pub note: String,
}

/// An incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// What people call it.
    pub id: IncidentId,
    /// When it was recorded.
    pub at: DateTime<Utc>,
    /// What kind.
    pub kind: Kind,
    /// The gateway's name for the charge.
    pub charge: String,
    /// The payment that the charge names, if it names one.
    pub payment: Option<PaymentId>,
    /// What was taken.
    pub amount: Money,
    /// What the gateway said.
    pub evidence: Evidence,
    /// `None` while it is open.
    pub settled: Option<Settlement>,
}
