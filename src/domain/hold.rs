//! What may be held: one to ten seats of one show, all or none.

use serde::{Deserialize, Serialize};

use super::Error;
use super::seat::SeatNo;

/// The most seats one visitor may hold in one show, over all of that visitor's orders.
pub const MOST_SEATS: usize = 10;

/// One to ten different seats in ascending order: the only thing that can be asked to be held. Ascending, because rows
/// are locked in this order by everybody, so that two overlapping holds can never wait for each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<SeatNo>", into = "Vec<SeatNo>")]
pub struct Selection(Vec<SeatNo>);

impl Selection {
    /// Sorts, folds duplicates, and refuses none or more than ten.
    ///
    /// # Errors
    /// [`Error::NoSeats`], or [`Error::TooManySeats`] with the number of different seats asked for.
    pub fn new(mut seats: Vec<SeatNo>) -> Result<Self, Error> {
        seats.sort_unstable();
        seats.dedup();
        match seats.len() {
            0 => Err(Error::NoSeats),
            1..=MOST_SEATS => Ok(Self(seats)),
            _ => Err(Error::too_many_seats(&seats, 0)),
        }
    }

    /// The seats, ascending and different.
    pub fn seats(&self) -> &[SeatNo] {
        &self.0
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl TryFrom<Vec<SeatNo>> for Selection {
    type Error = Error;

    fn try_from(seats: Vec<SeatNo>) -> Result<Self, Error> {
        Self::new(seats)
    }
}

impl From<Selection> for Vec<SeatNo> {
    fn from(selection: Selection) -> Self {
        selection.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_selection_is_sorted_different_and_holds_exactly_what_was_asked(seats in prop::collection::vec(-3i16..40, 0..30)) {
            let wanted: std::collections::BTreeSet<i16> = seats.iter().copied().collect();
            match Selection::new(seats.into_iter().map(SeatNo).collect()) {
                Ok(selection) => {
                    let held: Vec<i16> = selection.seats().iter().map(|seat| seat.0).collect();
                    prop_assert_eq!(held, wanted.into_iter().collect::<Vec<_>>());
                    prop_assert!((1..=MOST_SEATS).contains(&selection.count()));
                }
                Err(Error::NoSeats) => prop_assert!(wanted.is_empty()),
                Err(Error::TooManySeats { asked, .. }) => {
                    prop_assert_eq!(usize::from(asked), wanted.len());
                    prop_assert!(wanted.len() > MOST_SEATS);
                }
                Err(other) => prop_assert!(false, "unexpected {:?}", other),
            }
        }
    }
}
