//! Was anybody promised what another had? Judged from what the clients were told and what the store holds, never from what
//! a strategy says of itself.
//!
//! A hold is counted only while it is certain: from the answer "yes" until its holder gave it back or paid, or until it may
//! have lapsed at the earliest. Two certain holds of one seat at one instant are a fault under every interleaving.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use crate::domain::ids::OrderId;

use super::crowd::{Order, Then};
use super::record::{Books, Entry, Owned, Place, Span, Told};

/// Clocks of the store and of the clients may differ by this over a hold's window.
const MARGIN: Duration = Duration::from_millis(5);

/// What the seats are.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How long a hold keeps others away.
    pub window: Duration,
    /// How many places a show has when they are not numbered.
    pub unnumbered: Option<u32>,
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// More tickets than places.
    SoldTwice(Place, Vec<OrderId>),
    /// Two were told yes, and both had it at one instant.
    HeldTwice(Place, Vec<OrderId>),
    /// Has some of what it wanted, or was told no and has something: order, seats it has, seats it wanted.
    HeldInPart(OrderId, usize, usize),
    /// Was told yes, and in the middle of its window it was not so.
    Stolen(OrderId),
    /// Was told that it bought, and lacks tickets: order, tickets, seats.
    SaleLost(OrderId, usize, usize),
    /// Has tickets that nobody was told of.
    UntoldSale(OrderId),
    /// Gave its seats back and has them.
    KeptAfterRelease(OrderId),
}

impl Fault {
    /// Its column in a table.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::SoldTwice(..) => "sold twice",
            Self::HeldTwice(..) => "held twice",
            Self::HeldInPart(..) => "held in part",
            Self::Stolen(_) => "stolen",
            Self::SaleLost(..) => "sale lost",
            Self::UntoldSale(_) => "untold sale",
            Self::KeptAfterRelease(_) => "kept after release",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seat {
            Some(seat) => write!(f, "seat {seat} of show {}", self.show.0),
            None => write!(f, "the places of show {}", self.show.0),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |order: &OrderId| format!("attempt {}", order.0.as_u128());
        let names = |orders: &[OrderId]| orders.iter().map(name).collect::<Vec<_>>().join(" and ");
        match self {
            Self::SoldTwice(place, orders) => write!(f, "{place} sold twice: to {}", names(orders)),
            Self::HeldTwice(place, orders) => write!(f, "{place} held twice at one instant: by {}", names(orders)),
            Self::HeldInPart(order, has, wanted) => write!(f, "{} has {has} of {wanted} seats", name(order)),
            Self::Stolen(order) => write!(f, "{} was told yes and lost its seats within the window", name(order)),
            Self::SaleLost(order, has, wanted) => {
                write!(f, "{} was told that it bought {wanted} seats and has {has} tickets", name(order))
            }
            Self::UntoldSale(order) => write!(f, "{} has tickets that nobody was told of", name(order)),
            Self::KeptAfterRelease(order) => write!(f, "{} gave its seats back and still has them", name(order)),
        }
    }
}

/// A time in which somebody certainly had something.
struct Tenure {
    from: Duration,
    to: Duration,
    units: u32,
    order: OrderId,
    sold: bool,
}

/// Every fault of a record. `looked` is when the books were read.
pub fn faults(terms: Terms, record: &[Entry], books: &Books, looked: Span) -> Vec<Fault> {
    let mut found = sold_twice(terms, books);
    found.extend(held_twice(terms, record));
    let has = by_order(&books.owned);
    let tickets = by_order(&books.tickets);
    for entry in record {
        let count = |of: &HashMap<OrderId, usize>| of.get(&entry.order.id).copied().unwrap_or(0);
        found.extend(broken_word(terms, entry, count(&has), count(&tickets), looked));
    }
    found
}

fn by_order(owned: &[Owned]) -> HashMap<OrderId, usize> {
    let mut counts = HashMap::new();
    for one in owned {
        *counts.entry(one.order).or_insert(0) += one.units as usize;
    }
    counts
}

fn sold_twice(terms: Terms, books: &Books) -> Vec<Fault> {
    let mut sold: BTreeMap<Place, (u32, Vec<OrderId>)> = BTreeMap::new();
    for ticket in &books.tickets {
        let (units, orders) = sold.entry(ticket.place).or_default();
        *units += ticket.units;
        orders.push(ticket.order);
    }
    let capacity = terms.unnumbered.unwrap_or(1);
    sold.into_iter()
        .filter(|(_, (units, _))| *units > capacity)
        .map(|(place, (_, orders))| Fault::SoldTwice(place, orders.into_iter().take(3).collect()))
        .collect()
}

/// What the holder of an order certainly had, and when.
fn tenure(terms: Terms, entry: &Entry) -> Option<Tenure> {
    if entry.told != Told::Yes {
        return None;
    }
    let lapses = entry.span.called + terms.window.saturating_sub(MARGIN);
    let (to, sold) = match entry.next {
        Some((Then::Confirm, _, Told::Yes)) => (Duration::MAX, true),
        Some((Then::Confirm | Then::Release, span, _)) => (lapses.min(span.called), false),
        Some((Then::Leave, ..)) | None => (lapses, false),
    };
    let units = if terms.unnumbered.is_some() { u32::try_from(entry.order.seats.len()).unwrap_or(u32::MAX) } else { 1 };
    let tenure = Tenure { from: entry.span.answered, to, units, order: entry.order.id, sold };
    (tenure.from < tenure.to).then_some(tenure)
}

fn places(terms: Terms, order: &Order) -> Vec<Place> {
    match terms.unnumbered {
        Some(_) => vec![Place { show: order.show, seat: None }],
        None => order.seats.iter().map(|seat| Place { show: order.show, seat: Some(*seat) }).collect(),
    }
}

fn held_twice(terms: Terms, record: &[Entry]) -> Vec<Fault> {
    let mut tenures: BTreeMap<Place, Vec<Tenure>> = BTreeMap::new();
    for entry in record {
        for place in places(terms, &entry.order) {
            tenures.entry(place).or_default().extend(tenure(terms, entry));
        }
    }
    let capacity = terms.unnumbered.unwrap_or(1);
    let mut found = Vec::new();
    for (place, mut tenures) in tenures {
        tenures.sort_by_key(|tenure| tenure.from);
        let mut present: Vec<&Tenure> = Vec::new();
        for tenure in &tenures {
            present.retain(|other| other.to > tenure.from);
            present.push(tenure);
            let units: u32 = present.iter().map(|other| other.units).sum();
            // Two sales are two tickets, which are counted as such, or a lost sale.
            if units > capacity && !present.iter().all(|other| other.sold) {
                found.push(Fault::HeldTwice(place, present.iter().rev().take(3).map(|other| other.order).collect()));
            }
        }
    }
    found
}

/// What one order was told, against what it has.
fn broken_word(terms: Terms, entry: &Entry, has: usize, tickets: usize, looked: Span) -> Option<Fault> {
    let (order, wanted) = (entry.order.id, entry.order.seats.len());
    let in_window = |until: Duration| until < entry.span.called + terms.window.saturating_sub(MARGIN);
    match (entry.told, entry.next) {
        (Told::No, _) if has > 0 => Some(Fault::HeldInPart(order, has, wanted)),
        (Told::Yes, Some((Then::Confirm, _, Told::Yes))) => {
            (tickets != wanted).then_some(Fault::SaleLost(order, tickets, wanted))
        }
        (Told::Yes, Some((Then::Confirm, _, Told::Nothing))) => {
            (tickets != 0 && tickets != wanted).then_some(Fault::SaleLost(order, tickets, wanted))
        }
        _ if tickets > 0 => Some(Fault::UntoldSale(order)),
        (Told::Yes, Some((Then::Confirm, span, Told::No))) => in_window(span.answered).then_some(Fault::Stolen(order)),
        (Told::Yes, Some((Then::Release, _, Told::Yes))) => (has > 0).then_some(Fault::KeptAfterRelease(order)),
        (Told::Yes, None | Some((Then::Leave, ..))) if in_window(looked.answered) => match has {
            0 => Some(Fault::Stolen(order)),
            has => (has != wanted).then_some(Fault::HeldInPart(order, has, wanted)),
        },
        _ => None,
    }
}
