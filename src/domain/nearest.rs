//! When some wanted seats are taken: the nearest equal choice.
//!
//! Equal means as many seats, side by side in one row, in the same zone as the wanted ones. Nearest is counted in places,
//! rows weighing twice, because a row further back changes the view more than a seat further left.

use super::seat::SeatNo;

/// Where a seat stands, as far as choosing needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The seat.
    pub no: SeatNo,
    /// Row, counted from the screen.
    pub row: i32,
    /// Column, counted from the left.
    pub column: i32,
    /// Zone.
    pub zone: i32,
    /// Free to pick, by the rule, and an ordinary chair: wheelchair places are never suggested to somebody who did not ask.
    pub free: bool,
}

/// A show's seats at one instant, arranged for those who look for a choice: in a rush that is done once for thousands.
#[derive(Clone, Debug)]
pub struct Choices {
    /// By seat number.
    spots: Vec<Spot>,
    /// In reading order.
    free: Vec<Spot>,
}

impl Choices {
    /// Of all spots of the plan, in reading order.
    pub fn among(mut spots: Vec<Spot>) -> Self {
        let free = spots.iter().copied().filter(|spot| spot.free).collect();
        spots.sort_unstable_by_key(|spot| spot.no);
        Self { spots, free }
    }

    /// The nearest equal choice for `wanted`; empty when there is none.
    pub fn nearest(&self, wanted: &[SeatNo]) -> Vec<SeatNo> {
        let spot = |no: &SeatNo| {
            let index = self.spots.binary_search_by_key(no, |spot| spot.no).ok()?;
            self.spots.get(index)
        };
        // Nothing is looked up for those who lose in a sold-out show.
        if self.free.is_empty() {
            return Vec::new();
        }
        let mut asked: Vec<&Spot> = wanted.iter().filter_map(spot).collect();
        asked.sort_unstable_by_key(|spot| (spot.row, spot.column));
        let Some(first) = asked.first() else { return Vec::new() };
        let count = asked.len();
        let twice_mean = |value: fn(&Spot) -> i32| {
            let sum: i32 = asked.iter().map(|spot| value(spot)).sum();
            2 * sum / i32::try_from(count).unwrap_or(1)
        };
        let (row, column) = (twice_mean(|spot| spot.row), twice_mean(|spot| spot.column));
        self.free
            .windows(count)
            .filter(|run| run.iter().all(|spot| spot.zone == first.zone))
            .filter(|run| run.windows(2).all(|pair| pair[0].row == pair[1].row && pair[0].column + 1 == pair[1].column))
            .min_by_key(|run| {
                let middle = run[0].column + run[count - 1].column;
                ((2 * run[0].row - row).abs() * 2 + (middle - column).abs(), run[0].no)
            })
            .map(|run| run.iter().map(|spot| spot.no).collect())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rows of five, seats 1.. in reading order; `taken` are not free.
    fn hall(rows: i32, taken: &[i16]) -> Choices {
        let spots = (0..rows * 5).map(|index| {
            let no = SeatNo(i16::try_from(index + 1).unwrap());
            Spot { no, row: index / 5, column: index % 5 + 1, zone: 0, free: !taken.contains(&no.0) }
        });
        Choices::among(spots.collect())
    }

    fn numbers(seats: &[SeatNo]) -> Vec<i16> {
        seats.iter().map(|no| no.0).collect()
    }

    #[test]
    fn prefers_the_same_row_next_to_what_was_wanted() {
        assert_eq!(numbers(&hall(3, &[7]).nearest(&[SeatNo(7), SeatNo(8)])), [8, 9]);
    }

    #[test]
    fn goes_to_the_next_row_when_the_row_is_full_and_stays_together() {
        assert_eq!(numbers(&hall(3, &[6, 8, 10]).nearest(&[SeatNo(7), SeatNo(8)])), [2, 3]);
    }

    #[test]
    fn says_nothing_when_no_equal_choice_is_left() {
        assert!(hall(1, &[2, 4]).nearest(&[SeatNo(1), SeatNo(2)]).is_empty());
        assert!(hall(1, &[1, 2, 3, 4, 5]).nearest(&[SeatNo(1)]).is_empty());
        assert!(hall(1, &[]).nearest(&[]).is_empty());
        assert!(hall(1, &[]).nearest(&[SeatNo(99)]).is_empty());
    }

    proptest! {
        #[test]
        fn a_choice_is_free_side_by_side_and_as_many(
            taken in prop::collection::vec(1i16..=40, 0..30),
            wanted in prop::collection::btree_set(1i16..=40, 1..5),
        ) {
            let hall = hall(8, &taken);
            let wanted: Vec<SeatNo> = wanted.into_iter().map(SeatNo).collect();
            let choice = hall.nearest(&wanted);
            if !choice.is_empty() {
                prop_assert_eq!(choice.len(), wanted.len());
                prop_assert!(choice.iter().all(|no| !taken.contains(&no.0)));
                prop_assert!(choice.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0 && (pair[0].0 - 1) / 5 == (pair[1].0 - 1) / 5));
            }
        }
    }
}
