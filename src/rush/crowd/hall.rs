//! The hall that the crowd wants: which of its seats people like, and what they take when those are gone.

use rand::Rng;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;

use super::scenario::Taste;
use crate::domain::plan::Plan;
use crate::domain::seat::SeatNo;

/// How many of the places that one likes one looks at, before taking what there is.
const GLANCES: usize = 12;
/// How far from the best place, in rows and in columns as parts of the hall, a seat is half as popular.
const NEAR: (f64, f64) = (0.16, 0.16);
/// The best place, in parts of the hall from the screen and from the left.
const BEST: (f64, f64) = (0.62, 0.5);
/// Even the worst seat is somebody's favourite.
const LEAST: f64 = 0.01;

/// A hall, as far as choosing goes.
#[derive(Debug)]
pub struct Hall {
    /// Row of each seat, in the order of the seat numbers from 1.
    rows: Vec<usize>,
    likes: WeightedIndex<f64>,
}

/// Which seats are free, in the order of the seat numbers from 1.
pub type Free = Vec<bool>;

impl Hall {
    /// What people think of a plan; `None` when it has no seat.
    pub fn new(plan: &Plan, taste: Taste) -> Option<Self> {
        let rows = plan.places().iter().map(|place| place.row).collect();
        let height = plan.places().iter().map(|place| place.row).max()?.max(1) as f64;
        let width = f64::from(plan.places().iter().map(|place| place.column).max()?.max(2) - 1);
        let weight = |row: usize, column: u16| match taste {
            Taste::Evenly => 1.0,
            Taste::Popular => {
                let off = |at: f64, best: f64, near: f64| ((at - best) / near).powi(2);
                let far = off(row as f64 / height, BEST.0, NEAR.0) + off(f64::from(column - 1) / width, BEST.1, NEAR.1);
                LEAST + 0.5_f64.powf(far)
            }
        };
        let likes = WeightedIndex::new(plan.places().iter().map(|place| weight(place.row, place.column))).ok()?;
        Some(Self { rows, likes })
    }

    /// The seats that somebody came for: so many side by side, around a liked one.
    pub fn favourite(&self, party: usize, dice: &mut impl Rng) -> Vec<SeatNo> {
        self.around(self.likes.sample(dice), party).map(number).collect()
    }

    /// What somebody takes who sees the map: liked seats side by side; else any side by side; else any; else fewer.
    /// Empty when nothing is free.
    pub fn choose(&self, party: usize, free: &Free, dice: &mut impl Rng) -> Vec<SeatNo> {
        let all_free = |mut seats: std::ops::Range<usize>| seats.all(|seat| free.get(seat) == Some(&true));
        for _ in 0..GLANCES {
            let seats = self.around(self.likes.sample(dice), party);
            if seats.len() == party && all_free(seats.clone()) {
                return seats.map(number).collect();
            }
        }
        let start = dice.random_range(0..self.rows.len());
        for step in 0..self.rows.len() {
            let first = (start + step) % self.rows.len();
            let seats = first..first + party;
            if seats.end <= self.rows.len() && self.rows[first] == self.rows[seats.end - 1] && all_free(seats.clone()) {
                return seats.map(number).collect();
            }
        }
        let from_there = (0..self.rows.len()).map(|step| (start + step) % self.rows.len());
        let mut seats: Vec<usize> = from_there.filter(|seat| free.get(*seat) == Some(&true)).take(party).collect();
        seats.sort_unstable();
        seats.into_iter().map(number).collect()
    }

    /// So many seats of one row that begin with this one, or end with the row.
    fn around(&self, seat: usize, party: usize) -> std::ops::Range<usize> {
        let row = self.rows[seat];
        let end = (seat..self.rows.len()).find(|next| self.rows[*next] != row).unwrap_or(self.rows.len());
        let end = end.min(seat + party);
        let first = end.saturating_sub(party);
        let begin = (first..=seat).find(|begin| self.rows[*begin] == row).unwrap_or(seat);
        begin..end
    }
}

/// Seats are numbered through the plan from 1; a plan has no more than a `SeatNo` can say.
fn number(index: usize) -> SeatNo {
    SeatNo(i16::try_from(index + 1).unwrap_or(i16::MAX))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    fn hall(taste: Taste) -> Hall {
        let rows: String = (1..=10).map(|row| format!("row {row} | ssssssssss\n")).collect();
        Hall::new(&Plan::parse(&format!("zone s Stalls\n{rows}")).unwrap(), taste).unwrap()
    }

    #[test]
    fn the_middle_is_liked_most_and_every_seat_by_somebody() {
        let (hall, mut dice) = (hall(Taste::Popular), SmallRng::seed_from_u64(7));
        let mut counts = [0; 101];
        for _ in 0..100_000 {
            counts[hall.favourite(1, &mut dice)[0].0 as usize] += 1;
        }
        assert!(counts[1..].iter().all(|count| *count > 0), "{counts:?}");
        assert!(counts[65] > 20 * counts[1], "the middle {} and the corner {}", counts[65], counts[1]);
    }

    #[test]
    fn a_party_sits_in_one_row_and_takes_what_is_left_in_the_end() {
        let (hall, mut dice) = (hall(Taste::Evenly), SmallRng::seed_from_u64(7));
        for _ in 0..1_000 {
            let seats = hall.favourite(4, &mut dice);
            assert_eq!(seats.len(), 4);
            assert!(seats.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0), "{seats:?}");
            assert_eq!((seats[0].0 - 1) / 10, (seats[3].0 - 1) / 10, "{seats:?}");
        }
        let mut free = vec![false; 100];
        let choose = |free: &Free, dice: &mut SmallRng| -> Vec<i16> {
            hall.choose(3, free, dice).iter().map(|seat| seat.0).collect()
        };
        assert_eq!(choose(&free, &mut dice), [0_i16; 0]);
        (free[9], free[10]) = (true, true);
        assert_eq!(choose(&free, &mut dice), [10, 11], "fewer, and apart");
        (free[30], free[31], free[32]) = (true, true, true);
        assert_eq!(choose(&free, &mut dice), [31, 32, 33], "side by side if there are");
    }
}
