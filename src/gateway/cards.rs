//! The test cards: which number does what. Any other number is declined.

use std::time::Duration;

/// A card that does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestCard {
    /// Its sixteen digits.
    pub number: &'static str,
    /// What it does, for people: "this card ..".
    pub does: &'static str,
    pub(super) behaviour: Behaviour,
}

/// What the bank and the network do with a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Succeeds,
    Declines(&'static str),
    SucceedsAfter(Duration),
    AsksOnThePage,
    Fails,
    FailsOnce,
    LosesTheAnswer,
    TellsFirst,
    TellsLate(Duration),
    TellsFiveTimes,
    TellsInTheWrongOrder,
    FailsTwoRefunds,
}

const fn card(number: &'static str, does: &'static str, behaviour: Behaviour) -> TestCard {
    TestCard { number, does, behaviour }
}

/// What a bank says that does not say why.
pub(super) const DECLINED: &str = "the bank declined the card";

/// All of them, the useful ones first.
pub const TEST_CARDS: &[TestCard] = &[
    card("4242424242424242", "is accepted", Behaviour::Succeeds),
    card("4000000000000002", "is declined", Behaviour::Declines(DECLINED)),
    card("4000000000009995", "has too little money", Behaviour::Declines("the card has insufficient funds")),
    card("4000000000000341", "is accepted after 5 seconds", Behaviour::SucceedsAfter(Duration::from_secs(5))),
    card("4000000000000259", "is accepted after 20 seconds", Behaviour::SucceedsAfter(Duration::from_secs(20))),
    card("4000000000003220", "must be confirmed on the card processor's page", Behaviour::AsksOnThePage),
    card("4000000000000119", "makes the card processor fail", Behaviour::Fails),
    card("4000000000000127", "is accepted, but the answer is lost", Behaviour::LosesTheAnswer),
    card(
        "4000000000000135",
        "makes the card processor fail once, and is accepted when asked again",
        Behaviour::FailsOnce,
    ),
    card("4000000000000143", "is accepted; the webhook comes before the answer", Behaviour::TellsFirst),
    card(
        "4000000000000150",
        "is accepted; the webhook comes 15 seconds late",
        Behaviour::TellsLate(Duration::from_secs(15)),
    ),
    card("4000000000000168", "is accepted; the webhook comes five times", Behaviour::TellsFiveTimes),
    card(
        "4000000000000176",
        "is accepted; webhooks come in the wrong order, a stale decline last",
        Behaviour::TellsInTheWrongOrder,
    ),
    card("4000000000000184", "is accepted; its refund fails twice, then succeeds", Behaviour::FailsTwoRefunds),
];

/// What happens to a card of this number.
pub(super) fn behaviour_of(number: &str) -> Behaviour {
    let unknown = Behaviour::Declines("the card is not one of the test cards");
    TEST_CARDS.iter().find(|card| card.number == number).map_or(unknown, |card| card.behaviour)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_are_sixteen_digits_and_differ_in_the_last_four() {
        let last4: BTreeSet<&str> = TEST_CARDS.iter().map(|card| &card.number[12..]).collect();
        assert_eq!(last4.len(), TEST_CARDS.len());
        for card in TEST_CARDS {
            assert!(card.number.len() == 16 && card.number.bytes().all(|digit| digit.is_ascii_digit()), "{card:?}");
        }
    }

    #[test]
    fn an_unknown_number_is_declined() {
        assert!(matches!(behaviour_of("1234567812345678"), Behaviour::Declines(_)));
    }
}
