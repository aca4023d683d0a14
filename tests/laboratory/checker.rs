//! The checker on records made by hand: each fault is named, and what only looks like one is not.

use std::time::Duration;

use matinee::rush::laboratory::checker::{Fault, Terms, faults};
use matinee::rush::laboratory::crowd::{Order, Then};
use matinee::rush::laboratory::record::{Books, Entry, Owned, Place, Span, Told};

const WINDOW: Duration = Duration::from_secs(1);
const NUMBERED: Terms = Terms { window: WINDOW, unnumbered: None };
/// Long after everything.
const LATER: Span = span(60_000, 60_001);

const fn span(called_ms: u64, answered_ms: u64) -> Span {
    Span { called: Duration::from_millis(called_ms), answered: Duration::from_millis(answered_ms) }
}

fn hold(nth: u64, seats: &[i16], at_ms: u64, told: Told) -> Entry {
    Entry { order: Order::new(nth, 1, seats), span: span(at_ms, at_ms + 10), told, next: None }
}

fn then(entry: Entry, then: Then, at_ms: u64, told: Told) -> Entry {
    Entry { next: Some((then, span(at_ms, at_ms + 10), told)), ..entry }
}

/// What the order has of these seats.
fn of(entry: &Entry, seats: usize) -> Vec<Owned> {
    let seats = entry.order.seats.iter().take(seats);
    seats
        .map(|seat| Owned {
            place: Place { show: entry.order.show, seat: Some(*seat) },
            order: entry.order.id,
            units: 1,
        })
        .collect()
}

fn kinds(found: &[Fault]) -> Vec<&'static str> {
    found.iter().map(Fault::kind).collect()
}

fn check(record: &[Entry], owned: Vec<Owned>, tickets: Vec<Owned>, looked: Span) -> Vec<&'static str> {
    kinds(&faults(NUMBERED, record, &Books { owned, tickets }, looked))
}

fn without_books(record: &[Entry]) -> Vec<&'static str> {
    check(record, vec![], vec![], LATER)
}

#[test]
fn two_holds_of_one_seat_at_one_instant() {
    let (a, b) = (hold(1, &[1, 2], 0, Told::Yes), hold(2, &[2, 3], 500, Told::Yes));
    assert_eq!(without_books(&[a.clone(), b.clone()]), ["held twice"]);
    assert_eq!(without_books(&[b.clone(), a.clone()]), ["held twice"], "in whichever order they are noted");
    let elsewhere = Entry { order: Order::new(2, 2, &[2, 3]), ..b.clone() };
    assert_eq!(without_books(&[a.clone(), elsewhere]), [""; 0], "another show is another seat");
    assert_eq!(without_books(&[a.clone(), hold(2, &[3], 500, Told::Yes)]), [""; 0]);
    assert_eq!(without_books(&[a.clone(), Entry { told: Told::No, ..b.clone() }]), [""; 0]);
    assert_eq!(without_books(&[a, Entry { told: Told::Nothing, ..b }]), [""; 0], "an error is no promise");
}

#[test]
fn a_hold_counts_until_it_may_have_ended() {
    let a = hold(1, &[1], 0, Told::Yes);
    assert_eq!(without_books(&[a.clone(), hold(2, &[1], 970, Told::Yes)]), ["held twice"]);
    assert_eq!(
        without_books(&[a.clone(), hold(2, &[1], 990, Told::Yes)]),
        [""; 0],
        "its window may be over by the answer"
    );
    let released = then(a.clone(), Then::Release, 100, Told::Yes);
    assert_eq!(without_books(&[released.clone(), hold(2, &[1], 80, Told::Yes)]), ["held twice"]);
    assert_eq!(without_books(&[released, hold(2, &[1], 90, Told::Yes)]), [""; 0], "the release was under way");
    let refused = then(a, Then::Confirm, 2_000, Told::No);
    assert_eq!(without_books(&[refused, hold(2, &[1], 1_500, Told::Yes)]), [""; 0]);
}

#[test]
fn what_was_sold_is_never_free_again() {
    let a = then(hold(1, &[1], 0, Told::Yes), Then::Confirm, 100, Told::Yes);
    let b = hold(2, &[1], 50_000, Told::Yes);
    assert_eq!(check(&[a.clone(), b.clone()], of(&a, 1), of(&a, 1), LATER), ["held twice"]);
    let b = then(b, Then::Confirm, 50_100, Told::Yes);
    assert_eq!(check(&[a.clone(), b.clone()], vec![], [of(&a, 1), of(&b, 1)].concat(), LATER), ["sold twice"]);
    assert_eq!(check(std::slice::from_ref(&a), of(&a, 1), of(&a, 1), LATER), [""; 0]);
}

#[test]
fn a_part_of_a_hold() {
    let no = hold(1, &[1, 2], 0, Told::No);
    assert_eq!(check(std::slice::from_ref(&no), of(&no, 1), vec![], LATER), ["held in part"]);
    let yes = hold(1, &[1, 2], 0, Told::Yes);
    let in_time = span(500, 510);
    assert_eq!(check(std::slice::from_ref(&yes), of(&yes, 1), vec![], in_time), ["held in part"]);
    assert_eq!(check(std::slice::from_ref(&yes), vec![], vec![], in_time), ["stolen"]);
    assert_eq!(check(std::slice::from_ref(&yes), of(&yes, 2), vec![], in_time), [""; 0]);
    assert_eq!(
        check(std::slice::from_ref(&yes), of(&yes, 1), vec![], LATER),
        [""; 0],
        "the other was taken when it had lapsed"
    );
}

#[test]
fn a_payment_refused_within_the_window() {
    let yes = hold(1, &[1], 0, Told::Yes);
    assert_eq!(without_books(&[then(yes.clone(), Then::Confirm, 500, Told::No)]), ["stolen"]);
    assert_eq!(without_books(&[then(yes.clone(), Then::Confirm, 990, Told::No)]), [""; 0]);
    assert_eq!(without_books(&[then(yes, Then::Confirm, 500, Told::Nothing)]), [""; 0]);
}

#[test]
fn tickets_that_are_missing_or_that_nobody_was_told_of() {
    let sold = then(hold(1, &[1, 2], 0, Told::Yes), Then::Confirm, 100, Told::Yes);
    let tickets = |entry: &Entry, number| check(std::slice::from_ref(entry), vec![], of(entry, number), LATER);
    assert_eq!(tickets(&sold, 1), ["sale lost"]);
    assert_eq!(tickets(&sold, 0), ["sale lost"]);
    assert_eq!(tickets(&sold, 2), [""; 0]);
    let unheard = then(hold(1, &[1, 2], 0, Told::Yes), Then::Confirm, 100, Told::Nothing);
    assert_eq!((tickets(&unheard, 0), tickets(&unheard, 2)), (vec![], vec![]), "an error may be either");
    assert_eq!(tickets(&unheard, 1), ["sale lost"], "but not a part");
    assert_eq!(tickets(&then(hold(1, &[1], 0, Told::Yes), Then::Confirm, 100, Told::No), 1), ["untold sale"]);
    assert_eq!(tickets(&hold(1, &[1], 0, Told::Yes), 1), ["untold sale"]);
    assert_eq!(tickets(&hold(1, &[1], 0, Told::Nothing), 1), ["untold sale"]);
}

#[test]
fn what_was_given_back_and_kept() {
    let released = then(hold(1, &[1, 2], 0, Told::Yes), Then::Release, 100, Told::Yes);
    assert_eq!(check(std::slice::from_ref(&released), of(&released, 1), vec![], LATER), ["kept after release"]);
    assert_eq!(without_books(&[released]), [""; 0]);
}

#[test]
fn places_without_numbers_are_counted() {
    let terms = Terms { window: WINDOW, unnumbered: Some(5) };
    let none = Books::default();
    let a = hold(1, &[1, 2, 3], 0, Told::Yes);
    let found = |wanted: &[i16]| kinds(&faults(terms, &[a.clone(), hold(2, wanted, 100, Told::Yes)], &none, LATER));
    assert_eq!(found(&[1, 2]), [""; 0], "the same numbers mean nothing");
    assert_eq!(found(&[1, 2, 3]), ["held twice"]);
    let sold = then(a, Then::Confirm, 100, Told::Yes);
    let place = Place { show: sold.order.show, seat: None };
    let tickets = |order| Owned { place, order, units: 3 };
    let other = then(hold(2, &[1, 2, 3], 200, Told::Yes), Then::Confirm, 300, Told::Yes);
    let books = Books { owned: vec![], tickets: vec![tickets(sold.order.id), tickets(other.order.id)] };
    assert_eq!(kinds(&faults(terms, &[sold, other], &books, LATER)), ["sold twice"]);
}
