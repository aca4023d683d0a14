//! Identifiers as newtypes, so that an order can never be looked up by a show's id.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0.hyphenated())
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::from_str(text).map(Self)
            }
        }
    };
}

uuid_newtype! {
    /// A show: a film in a hall at a time.
    ShowId
}
uuid_newtype! {
    /// An order, one visitor's try to buy. Unguessable: whoever knows it may see the order.
    OrderId
}
uuid_newtype! {
    /// One payment of an order; also the gateway's idempotency key.
    PaymentId
}
uuid_newtype! {
    /// An immutable plan of a hall.
    PlanId
}
uuid_newtype! {
    /// A sender's name for one try of a command. The same attempt sent again gets the same answer.
    Attempt
}

/// The number that operators call an incident by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IncidentId(pub i64);

impl fmt::Display for IncidentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for IncidentId {
    type Err = std::num::ParseIntError;

    /// As it is listed, with its `#` or without.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix('#').unwrap_or(text).parse().map(Self)
    }
}

/// Who is asking: the id of a session. It is a secret (it is what the cookie carries), so it is never printed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct VisitorId(pub Uuid);

impl fmt::Debug for VisitorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VisitorId(..)")
    }
}
