//! The crowd: a seeded list of attempts, the same for every strategy. Attempt number n is the same whoever makes it and
//! however quick the strategy is; a quick one only gets further along the list.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use uuid::Uuid;

use crate::domain::ids::OrderId;
use crate::domain::seat::SeatNo;

/// Number of a show within a trial, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShowNo(pub i32);

/// What one visitor wants: seats of one show, in the order they were clicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The attempt's number, as an id of the product's width.
    pub id: OrderId,
    /// The show.
    pub show: ShowNo,
    /// The seats, all different.
    pub seats: Vec<SeatNo>,
}

impl Order {
    /// An order of the attempt with this number.
    pub fn new(nth: u64, show: i32, seats: &[i16]) -> Self {
        let seats = seats.iter().copied().map(SeatNo).collect();
        Self { id: OrderId(Uuid::from_u128(nth.into())), show: ShowNo(show), seats }
    }

    /// Which of so many servers the visitor came to.
    pub fn server(&self, of: usize) -> usize {
        usize::try_from(self.id.0.as_u128() % of.max(1) as u128).unwrap_or(0)
    }

    /// The seats in the order of the clicks, as SQL takes them.
    pub fn clicked(&self) -> Vec<i16> {
        self.seats.iter().map(|seat| seat.0).collect()
    }

    /// The seats in the order in which everybody locks.
    pub fn sorted(&self) -> Vec<i16> {
        let mut seats = self.clicked();
        seats.sort_unstable();
        seats
    }
}

/// What the visitor does once the seats are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Pays.
    Confirm,
    /// Goes back.
    Release,
    /// Closes the tab: the hold lapses. Or leaves the page open, and goes back when it is too late.
    Leave,
}

/// One entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What is wanted.
    pub order: Order,
    /// What happens if it is held.
    pub then: Then,
    /// Whether that happens at once, or after a while; who has left and comes back does so when the hold has lapsed.
    pub at_once: bool,
}

/// How closely the visitors stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// Its word in tables and on the command line.
    pub name: &'static str,
    /// Shows on sale.
    pub shows: i32,
    /// Seats of each.
    pub seats: i16,
    /// How many attempts go to a show before the next one opens; `None`: all shows are open all the time.
    pub attempts_a_show: Option<u64>,
    /// Of a thousand holds, how many are paid.
    pub paid: u32,
    /// Of a thousand holds, how many are left to lapse.
    pub left: u32,
    /// Most seats of an attempt.
    pub party: i16,
}

impl Contention {
    /// Many shows of an ordinary hall: visitors hardly meet.
    pub const fn low() -> Self {
        Self { name: "low", shows: 60, seats: 300, attempts_a_show: None, paid: 100, left: 20, party: 4 }
    }

    /// One small show at a time, and everybody wants it. Few pay, or it would be sold out before anybody is measured.
    pub const fn high(seats: i16, shows: i32) -> Self {
        Self { name: "high", shows, seats, attempts_a_show: Some(1_000), paid: 50, left: 4, party: 4 }
    }
}

/// Who comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// What the list is made from.
    pub seed: u64,
    /// How many act at the same time.
    pub clients: usize,
    /// How closely they stand.
    pub contention: Contention,
}

impl Crowd {
    /// An entry of the list; `None` beyond its end.
    pub fn attempt(&self, nth: u64) -> Option<Attempt> {
        let Contention { shows, seats, attempts_a_show, paid, left, party, .. } = self.contention;
        let mut dice = StdRng::seed_from_u64(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ nth);
        let show = match attempts_a_show {
            None => dice.random_range(1..=shows),
            Some(each) => i32::try_from(nth / each + 1).ok().filter(|show| *show <= shows)?,
        };
        // Neighbours, so that sets overlap; clicked in any order, as people do.
        let wanted = dice.random_range(1..=party.min(seats));
        let first = dice.random_range(1..=seats - wanted + 1);
        let mut picked: Vec<i16> = (first..first + wanted).collect();
        picked.shuffle(&mut dice);
        let then = match dice.random_range(0..1000) {
            roll if roll < paid => Then::Confirm,
            roll if roll < paid + left => Then::Leave,
            _ => Then::Release,
        };
        Some(Attempt { order: Order::new(nth, show, &picked), then, at_once: dice.random() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CROWD: Crowd = Crowd { seed: 7, clients: 2, contention: Contention::high(20, 24) };

    #[test]
    fn the_list_is_the_same_each_time_and_another_for_another_seed() {
        let list = |seed: u64| (0..100).map(|nth| Crowd { seed, ..CROWD }.attempt(nth)).collect::<Vec<_>>();
        assert_eq!(list(7), list(7));
        assert_ne!(list(7), list(8));
    }

    #[test]
    fn seats_are_different_of_the_show_and_not_always_in_order() {
        let attempts: Vec<Attempt> = (0..1000).filter_map(|nth| CROWD.attempt(nth)).collect();
        for Attempt { order, .. } in &attempts {
            let sorted = order.sorted();
            assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]), "{order:?}");
            assert!(sorted.iter().all(|seat| (1..=20).contains(seat)) && sorted.len() <= 4, "{order:?}");
        }
        assert!(attempts.iter().any(|attempt| attempt.order.sorted() != attempt.order.clicked()));
        assert!(
            [Then::Confirm, Then::Leave, Then::Release].iter().all(|then| attempts.iter().any(|a| a.then == *then))
        );
    }

    #[test]
    fn shows_open_one_after_another_until_the_list_ends() {
        let show = |nth| CROWD.attempt(nth).map(|attempt| attempt.order.show.0);
        assert_eq!([show(0), show(999), show(1_000), show(24_000)], [Some(1), Some(1), Some(2), None]);
    }
}
