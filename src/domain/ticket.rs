//! A ticket: one sold seat.

use std::fmt;

use super::ids::{OrderId, ShowId};
use super::seat::SeatNo;

/// What the door scans: 13 characters of Crockford's base 32 (no I, L, O, U), 65 random bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TicketCode(String);

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH: usize = 13;

impl TicketCode {
    /// From 128 random bits, of which 65 are used: with a billion tickets a guess hits one in 37 thousand million.
    pub fn from_random(mut bits: u128) -> Self {
        let mut code = String::with_capacity(LENGTH);
        for _ in 0..LENGTH {
            code.push(char::from(ALPHABET[(bits & 31) as usize]));
            bits >>= 5;
        }
        Self(code)
    }

    /// Reads a code back; `None` when it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let ok = text.len() == LENGTH && text.bytes().all(|byte| ALPHABET.contains(&byte));
        ok.then(|| Self(text.to_owned()))
    }

    /// The characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TicketCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One sold seat of a show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// What the door scans.
    pub code: TicketCode,
    /// Bought with.
    pub order: OrderId,
    /// For this show.
    pub show: ShowId,
    /// This seat.
    pub seat: SeatNo,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn codes_read_back(bits in any::<u128>()) {
            let code = TicketCode::from_random(bits);
            prop_assert_eq!(TicketCode::parse(code.as_str()), Some(code));
        }
    }

    #[test]
    fn what_is_no_code_is_refused() {
        for text in ["", "0123456789ABI", "0123456789AB", "0123456789ABCD", "0123456789ab\0", "日本語日本語日"] {
            assert_eq!(TicketCode::parse(text), None, "{text:?}");
        }
    }
}
