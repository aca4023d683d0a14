//! What every right strategy does when nobody is in a hurry: one visitor after the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use matinee::domain::ids::OrderId;
use matinee::rush::laboratory::crowd::{Contention, Order};
use matinee::rush::laboratory::{Name, Strategy};

use crate::place::Place;

const SMALL: Contention =
    Contention { name: "test", shows: 2, seats: 6, attempts_a_show: None, paid: 0, left: 0, party: 4 };

async fn holds(strategy: &Arc<dyn Strategy>, order: &Order) -> bool {
    strategy.hold(order).await.unwrap().won
}

/// Tickets of each order.
async fn tickets(strategy: &Arc<dyn Strategy>) -> BTreeMap<OrderId, usize> {
    let mut tickets = BTreeMap::new();
    for ticket in strategy.books().await.unwrap().tickets {
        *tickets.entry(ticket.order).or_default() += ticket.units as usize;
    }
    tickets
}

/// All or none, no seat twice, and what is given back is free. The same numbers of seats for places without numbers.
pub async fn holds_all_or_none(place: &Place, name: Name) {
    let bench = place.bench(600, SMALL).await;
    let strategy = name.open(&bench).await.unwrap();
    let first = Order::new(1, 1, &[3, 1, 2]);
    let too_late = Order::new(2, 1, &[4, 5, 6, 2]);
    let (third, fourth) = (Order::new(3, 1, &[4, 5]), Order::new(4, 1, &[5, 4]));
    let sold_already = Order::new(5, 1, &[6, 1]);
    let elsewhere = Order::new(6, 2, &[1, 2, 3, 4]);
    assert!(holds(&strategy, &first).await);
    assert!(!holds(&strategy, &too_late).await, "one of its seats is taken");
    assert!(holds(&strategy, &third).await, "whoever got nothing keeps nothing");
    strategy.release(&third).await.unwrap();
    assert!(!strategy.confirm(&third).await.unwrap(), "what was given back cannot be bought");
    assert!(holds(&strategy, &fourth).await, "what was given back is free");
    assert!(strategy.confirm(&fourth).await.unwrap() && strategy.confirm(&first).await.unwrap());
    assert!(!holds(&strategy, &sold_already).await);
    strategy.release(&first).await.unwrap();
    assert!(!holds(&strategy, &sold_already).await, "a sale cannot be given back");
    assert!(holds(&strategy, &elsewhere).await, "another show is another show");
    assert_eq!(tickets(&strategy).await, BTreeMap::from([(first.id, 3), (fourth.id, 2)]));
    drop(strategy);
    bench.close().await.unwrap();
}

/// A lapsed hold is free for others, and can neither be bought nor take anything from them.
pub async fn lapses(place: &Place, name: Name) {
    let window = Duration::from_secs(1);
    let bench = place.bench(1, SMALL).await;
    let strategy = name.open(&bench).await.unwrap();
    let (left, next) = (Order::new(1, 1, &[1, 2, 3, 4]), Order::new(2, 1, &[5, 4, 3, 2]));
    assert!(holds(&strategy, &left).await);
    tokio::time::sleep(window + Duration::from_millis(20)).await;
    assert!(!strategy.confirm(&left).await.unwrap(), "a lapsed hold cannot be bought");
    let called = Instant::now();
    assert!(holds(&strategy, &next).await, "a lapsed hold is free");
    assert!(!strategy.confirm(&left).await.unwrap(), "what another holds cannot be bought");
    strategy.release(&left).await.unwrap();
    let bought = strategy.confirm(&next).await.unwrap();
    // On a machine that stood still for a second, it has lapsed in turn.
    assert!(bought || called.elapsed() >= window, "its seats were taken from the next");
    let expected = if bought { BTreeMap::from([(next.id, 4)]) } else { BTreeMap::new() };
    assert_eq!(tickets(&strategy).await, expected);
    drop(strategy);
    bench.close().await.unwrap();
}
