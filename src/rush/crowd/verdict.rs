//! Whether the promises were kept: what people were told, and when, against what the database holds and against each other.
//!
//! Only what is certain counts as a fault. A hold was granted at some instant between its question and its answer; so two
//! holds of one seat are a fault when the second was answered before the first can have lapsed.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use super::record::{Fate, Grant};
use crate::domain::ids::OrderId;
use crate::domain::order::{Order, OrderState};
use crate::domain::seat::SeatNo;

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Two people were told that one seat is theirs, for the same time.
    HeldTwice {
        /// The seat.
        seat: SeatNo,
        /// Their orders, in the order of the answers.
        orders: [OrderId; 2],
    },
    /// Two people were told that they bought one seat.
    SoldTwice {
        /// The seat.
        seat: SeatNo,
        /// Their orders.
        orders: [OrderId; 2],
    },
    /// Somebody was told that seats are held, and the database has no such order, or one with other seats.
    HoldLost {
        /// The order.
        order: OrderId,
    },
    /// What became of an order is not what its visitor was told.
    ToldOtherwise {
        /// The order.
        order: OrderId,
        /// In words.
        what: &'static str,
    },
    /// The server's own proof.
    Proof(String),
    /// Answers that say a server failed.
    ServerFailed {
        /// How many.
        answers: u64,
    },
    /// People who were not answered.
    Unanswered {
        /// How many attempts.
        attempts: u64,
    },
    /// Questions that broke.
    Broken {
        /// How many.
        times: u64,
        /// How.
        what: String,
    },
    /// Watchers whose map was not the last one, when all was quiet.
    OldMaps {
        /// How many.
        watchers: usize,
    },
    /// Seats that were to be sold.
    NotSold {
        /// How many.
        seats: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeldTwice { seat, orders: [a, b] } => write!(f, "seat {seat} was held by {a} and {b} at one time"),
            Self::SoldTwice { seat, orders: [a, b] } => write!(f, "seat {seat} was sold to {a} and to {b}"),
            Self::HoldLost { order } => write!(f, "order {order} was granted, and is not so in the database"),
            Self::ToldOtherwise { order, what } => write!(f, "order {order} {what}"),
            Self::Proof(breach) => write!(f, "matinee prove: {breach}"),
            Self::ServerFailed { answers } => write!(f, "{answers} answers say that a server failed"),
            Self::Unanswered { attempts } => write!(f, "{attempts} attempts were not answered"),
            Self::Broken { times, what } => write!(f, "{times} questions were not answered: {what}"),
            Self::OldMaps { watchers } => write!(f, "{watchers} watchers did not have the last map when all was quiet"),
            Self::NotSold { seats } => write!(f, "{seats} seats were not sold"),
        }
    }
}

/// What people were told against what the database holds.
pub fn told(grants: &[Grant], orders: &HashMap<OrderId, Order>) -> Vec<Fault> {
    let judge = |grant: &Grant| {
        let order = grant.order;
        let Some(found) = orders.get(&order).filter(|found| found.seats.seats() == sorted(&grant.seats)) else {
            return Some(Fault::HoldLost { order });
        };
        let sold = matches!(found.state, OrderState::Sold { .. });
        let refunded = matches!(found.state, OrderState::RefundOwed { .. } | OrderState::Refunded { .. });
        let what = match grant.fate {
            Fate::Sold { .. } if !sold => "was told that it is sold, and is not",
            Fate::Refunded if !refunded => "was told that its money goes back, and it does not",
            Fate::Released { .. } if sold => "was told that it is released, and is sold",
            _ => return None,
        };
        Some(Fault::ToldOtherwise { order, what })
    };
    grants.iter().filter_map(judge).collect()
}

fn sorted(seats: &[SeatNo]) -> Vec<SeatNo> {
    let mut seats = seats.to_vec();
    seats.sort_unstable();
    seats
}

/// What people were told against each other. `window` is how long a hold lasts at least.
pub fn between(grants: &[Grant], window: Duration) -> Vec<Fault> {
    let mut by_seat: HashMap<SeatNo, Vec<&Grant>> = HashMap::new();
    for grant in grants {
        for seat in &grant.seats {
            by_seat.entry(*seat).or_default().push(grant);
        }
    }
    let mut faults = Vec::new();
    for (seat, mut grants) in by_seat {
        grants.sort_by_key(|grant| grant.told);
        for (nth, first) in grants.iter().enumerate() {
            for second in &grants[nth + 1..] {
                let orders = [first.order, second.order];
                if matches!((first.fate, second.fate), (Fate::Sold { .. }, Fate::Sold { .. })) {
                    faults.push(Fault::SoldTwice { seat, orders });
                } else if first.keeps_away_until(window).is_none_or(|until| second.told < until)
                    || matches!(first.fate, Fate::Sold { told } if second.asked > told)
                {
                    faults.push(Fault::HeldTwice { seat, orders });
                }
            }
        }
    }
    faults
}

impl Grant {
    /// Until when nobody else can be granted its seats, as far as is certain; `None` for ever.
    fn keeps_away_until(&self, window: Duration) -> Option<Instant> {
        let lapses = self.asked + window;
        match self.fate {
            Fate::Released { asked } => Some(lapses.min(asked)),
            Fate::Held | Fate::Refunded | Fate::Sold { .. } => Some(lapses),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(10);

    /// Asked a tenth of a second before it was told.
    fn grant(start: Instant, nth: u128, seats: &[i16], told_s: f64, fate: Fate) -> Grant {
        let told = start + Duration::from_secs_f64(told_s);
        let seats = seats.iter().copied().map(SeatNo).collect();
        Grant { order: OrderId(Uuid::from_u128(nth)), seats, asked: told - Duration::from_millis(100), told, fate }
    }

    #[test]
    fn seats_that_two_have_at_one_time() {
        let start = Instant::now() + WINDOW;
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let found = |first: Fate, second_told: f64, second: Fate| {
            let all = [grant(start, 1, &[4, 5], 1.0, first), grant(start, 2, &[5, 6], second_told, second)];
            between(&all, WINDOW)
        };
        let orders = [OrderId(Uuid::from_u128(1)), OrderId(Uuid::from_u128(2))];
        let (held, sold) =
            (vec![Fault::HeldTwice { seat: SeatNo(5), orders }], vec![Fault::SoldTwice { seat: SeatNo(5), orders }]);
        assert_eq!(found(Fate::Held, 5.0, Fate::Held), held);
        assert_eq!(found(Fate::Held, 10.8, Fate::Held), held, "just before it can have lapsed");
        assert_eq!(found(Fate::Held, 11.0, Fate::Held), [], "it may have lapsed");
        assert_eq!(found(Fate::Released { asked: at(4.0) }, 5.0, Fate::Held), []);
        assert_eq!(found(Fate::Released { asked: at(6.0) }, 5.0, Fate::Held), held, "before it was given back");
        assert_eq!(found(Fate::Sold { told: at(3.0) }, 60.0, Fate::Sold { told: at(61.0) }), sold);
        assert_eq!(found(Fate::Sold { told: at(3.0) }, 60.0, Fate::Held), held, "what is sold is not held any more");
        assert_eq!(found(Fate::Sold { told: at(90.0) }, 60.0, Fate::Held), [], "paid late, when it was free again");
    }

    #[test]
    fn other_seats_are_nobody_s_concern() {
        let start = Instant::now();
        let all = [grant(start, 1, &[4, 5], 1.0, Fate::Held), grant(start, 2, &[6], 1.0, Fate::Held)];
        assert_eq!(between(&all, WINDOW), []);
    }

    #[test]
    fn an_order_that_the_database_does_not_have() {
        let all = [grant(Instant::now(), 1, &[4], 1.0, Fate::Held)];
        assert_eq!(told(&all, &HashMap::new()), [Fault::HoldLost { order: all[0].order }]);
    }
}
