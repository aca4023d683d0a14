//! The checker itself: it names each breach, and finds none where there is none.

use matinee::domain::saga::Phase;

use crate::support::verdict::{Check, Ledger, MailKind, OrderLine, PaymentLine, Told};

type World = Ledger<u32>;

/// Order 1 was sold after a decline, order 2 paid too late, order 3 released, order 4 lapsed; attempt 5 found the seats taken.
fn kept() -> World {
    let order = |id, phase| OrderLine { id, seats: 2, phase, has_address: true };
    let payment =
        |id, order, bought, captured, refunded| PaymentLine { id, order, is_open: false, bought, captured, refunded };
    Ledger {
        tickets: vec![(1, 1), (2, 1)],
        orders: vec![
            order(1, Phase::Sold),
            order(2, Phase::Refunded),
            order(3, Phase::Released),
            order(4, Phase::Held),
        ],
        payments: vec![payment(10, 1, false, 0, 0), payment(11, 1, true, 25, 0), payment(20, 2, false, 25, 25)],
        mails: vec![(1, MailKind::Tickets), (2, MailKind::Refund)],
        told: vec![
            Told::Held(1),
            Told::NotCharged(10),
            Told::Sold(1, 2),
            Told::Refunded(2),
            Told::Ended(3),
            Told::Ended(4),
            Told::Taken(5),
        ],
    }
}

#[track_caller]
fn finds(expected: &[Check], break_it: impl FnOnce(&mut World)) {
    let mut world = kept();
    break_it(&mut world);
    let mut found: Vec<Check> = world.breaches().into_iter().map(|breach| breach.check).collect();
    found.dedup();
    assert_eq!(found, expected, "{world:#?}");
}

#[test]
fn a_world_in_order_has_no_breach() {
    finds(&[], |_| {});
}

#[test]
fn a_seat_sold_twice() {
    finds(&[Check::SoldTwice], |world| world.tickets[1].0 = 1);
}

#[test]
fn money_that_stays_without_tickets() {
    finds(&[Check::Kept, Check::WrongMails, Check::ToldOtherwise], |world| world.payments[2].refunded = 0);
    finds(&[Check::Kept, Check::ToldOtherwise], |world| world.payments[2].refunded = 24);
    // Of a charge that our books do not know.
    finds(&[Check::Kept], |world| {
        let charge = PaymentLine { id: 99, order: 0, is_open: false, bought: false, captured: 25, refunded: 0 };
        world.payments.push(charge);
    });
}

#[test]
fn tickets_whose_money_went_back_or_never_came() {
    finds(&[Check::TicketsForNothing, Check::WrongMails], |world| world.payments[1].refunded = 25);
    finds(&[Check::TicketsForNothing], |world| world.payments[1].captured = 0);
}

#[test]
fn more_given_back_than_was_taken() {
    finds(&[Check::RefundedTooMuch, Check::ToldOtherwise], |world| world.payments[2].refunded = 50);
}

#[test]
fn what_is_still_under_way() {
    finds(&[Check::Stuck], |world| world.payments[0].is_open = true);
    finds(&[Check::Stuck], |world| world.orders[3].phase = Phase::Paying);
    finds(&[Check::Stuck], |world| world.orders[1].phase = Phase::RefundOwed);
}

#[test]
fn tickets_and_orders_that_do_not_fit() {
    finds(&[Check::WrongTickets, Check::ToldOtherwise], |world| world.tickets.truncate(1));
    finds(&[Check::WrongTickets, Check::ToldOtherwise], |world| world.tickets.push((3, 3)));
    finds(&[Check::WrongTickets, Check::ToldOtherwise], |world| {
        (world.payments[0].bought, world.payments[0].captured) = (true, 25);
    });
    finds(&[Check::WrongTickets, Check::WrongMails], |world| world.orders[0].phase = Phase::Held);
}

#[test]
fn a_mail_too_few_or_too_many() {
    finds(&[Check::WrongMails], |world| world.mails.truncate(1));
    finds(&[Check::WrongMails], |world| world.mails.push((1, MailKind::Tickets)));
    finds(&[Check::WrongMails], |world| world.mails.push((3, MailKind::Refund)));
    finds(&[Check::WrongMails], |world| world.mails.push((7, MailKind::Tickets)));
    finds(&[Check::WrongMails], |world| world.orders[0].has_address = false);
}

#[test]
fn somebody_who_was_told_what_is_not_so() {
    for told in [
        Told::Held(7),
        Told::Taken(1),
        Told::Sold(2, 2),
        Told::Sold(1, 1),
        Told::Sold(3, 0),
        Told::NotCharged(11),
        Told::Ended(1),
        Told::Refunded(1),
        Told::Refunded(3),
    ] {
        finds(&[Check::ToldOtherwise], |world| world.told.push(told));
    }
}
