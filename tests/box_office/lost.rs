//! Answers that are lost, servers that crash, events that come twice: whoever looks next brings the payment to its end.

use std::sync::Arc;

use matinee::box_office;
use matinee::box_office::gateway::Charge;
use matinee::domain::ids::{OrderId, PaymentId, ShowId};
use matinee::domain::money::Money;
use matinee::domain::order::{OrderState, Standing};
use matinee::domain::payment::{Capture, Card, PaymentState};
use matinee::domain::saga::{Actor, Happening};
use matinee::store::payments::Outcome;
use matinee::store::{payments, tickets};
use uuid::Uuid;

use crate::support::gateway::Paying;
use crate::support::{Books, Cinema, DECLINED_CARD, GOOD_CARD, PRICE, Visitor, all_at_once};

/// The processor fails, says so, and does its work when it is asked again with the same key: one charge, and tickets.
#[tokio::test]
async fn an_error_that_passes_is_asked_about_once_more() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1]).await.unwrap();
    ada.pay(order, "4000 0000 0000 0135").await.unwrap();
    assert!(cinema.is_sold(order).await);
    assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    cinema.proves().await;
}

#[tokio::test]
async fn a_lost_answer_is_asked_for() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let (office, gateway) = cinema.scripted_office();
    let ada = Visitor::at(&office);
    let taken = ada.hold(show, &[1]).await.unwrap();
    gateway.next_charge_loses_its_answer();
    ada.pay(taken, GOOD_CARD).await.unwrap();
    assert!(cinema.is_sold(taken).await);

    let never_arrived = ada.hold(show, &[2]).await.unwrap();
    gateway.next_charge_is_lost();
    ada.pay(never_arrived, GOOD_CARD).await.unwrap();
    assert!(matches!(cinema.payments(never_arrived).await[0].state, PaymentState::Failed { .. }));
    assert!(matches!(cinema.standing(never_arrived).await, Standing::Held { .. }));
    assert_eq!(cinema.books(never_arrived).await, Books::EMPTY);
    cinema.proves().await;
}

/// As after a crash between charge and confirm: money was taken, nobody here knows, and the server is gone.
async fn lost_payment(cinema: &Cinema, show: ShowId, seat: i16, with_charge: bool) -> OrderId {
    let (office, gateway) = cinema.scripted_office();
    let ada = Visitor::at(&office);
    let order = ada.hold(show, &[seat]).await.unwrap();
    if with_charge {
        gateway.next_charge_loses_its_answer();
    } else {
        gateway.next_charge_is_lost();
    }
    gateway.next_finds_are_silent(1);
    ada.pay(order, GOOD_CARD).await.unwrap();
    assert_eq!(cinema.order(order).await.state, OrderState::Paying);
    office.pool.close().await;
    order
}

#[tokio::test]
async fn what_a_crash_left_open_ends_when_somebody_looks() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let sold = lost_payment(&cinema, show, 1, true).await;
    let held = lost_payment(&cinema, show, 2, false).await;
    let late = lost_payment(&cinema, show, 3, true).await;
    cinema.proves().await;
    for order in [sold, held] {
        box_office::resume(&cinema.office, order).await.unwrap();
        assert_eq!(cinema.order(order).await.state, OrderState::Paying, "a living server may still be at it");
        cinema.age_payments(order).await;
    }
    cinema.age_payments(late).await;
    cinema.expire(late).await;
    cinema.visitor().hold(show, &[3]).await.unwrap();
    for _ in 0..2 {
        for order in [sold, held, late] {
            box_office::resume(&cinema.office, order).await.unwrap();
        }
        assert_eq!(cinema.ticketed(sold).await, [1]);
        assert!(matches!(cinema.standing(held).await, Standing::Held { .. }));
        assert!(cinema.is_refunded(late).await);
        cinema.proves().await;
    }
    assert_eq!(cinema.books(sold).await, Books::sold_for(PRICE));
    assert_eq!(cinema.books(held).await, Books::EMPTY);
    assert_eq!(cinema.books(late).await, Books::refunded(PRICE));
}

/// The gateway's contract: whoever asked for a charge and was told that there is none can rely on it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_charge_that_was_asked_for_in_vain_never_happens() {
    const ROUNDS: usize = 100;
    let cinema = Cinema::open().await;
    let gateway = &cinema.office.gateway;
    let card = Card::parse(GOOD_CARD).unwrap();
    let amount = Money::new(PRICE, "EUR".parse().unwrap());
    // The two answers tell the same in other words.
    let facts = |charge: Option<Charge>| match charge {
        Some(Charge::Captured(capture)) => Some((capture.reference, capture.amount)),
        None => None,
        other => panic!("{other:?}"),
    };
    let mut heard_of = 0;
    for _ in 0..ROUNDS {
        let key = PaymentId(Uuid::new_v4());
        let (asking, charging, card) = (Arc::clone(gateway), Arc::clone(gateway), card.clone());
        let (found, charged) = tokio::join!(
            tokio::spawn(async move { asking.find(key, false).await.unwrap() }),
            tokio::spawn(async move { charging.charge(key, OrderId(Uuid::nil()), amount, &card).await }),
        );
        let (found, charged) = (found.unwrap(), charged.unwrap());
        let found = facts(found);
        assert_eq!(found, facts(charged.ok()), "both hear the same");
        assert_eq!(facts(gateway.find(key, false).await.unwrap()), found, "and will hear it again");
        heard_of += usize::from(found.is_some());
    }
    println!("{heard_of} of {ROUNDS} charges came first");
    let captured: i64 = sqlx::query_scalar("select count(*) from gateway.charges where status = 'captured'")
        .fetch_one(&cinema.db)
        .await
        .unwrap();
    assert_eq!(captured, heard_of as i64);
    // These charges belong to no order.
    cinema.is_broken_on_purpose();
}

#[tokio::test]
async fn a_payment_given_up_as_lost_is_not_charged_when_it_was_only_slow() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let Paying { visitor: ada, order, charge, payment, .. } = cinema.paying(show, &[1, 2]).await;
    cinema.age_payments(order).await;
    box_office::resume(&cinema.office, order).await.unwrap();
    assert!(matches!(cinema.standing(order).await, Standing::Held { .. }));
    charge.goes_on();
    assert_eq!(payment.await.unwrap(), Ok(()));
    assert_eq!(cinema.books(order).await, Books::EMPTY);
    assert!(matches!(cinema.standing(order).await, Standing::Held { .. }));
    ada.pay(order, GOOD_CARD).await.unwrap();
    assert_eq!(cinema.ticketed(order).await, [1, 2]);
    assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
    cinema.proves().await;
}

/// P3: the visitor who comes back from the processor's page, the order's page on another server, and the processor's
/// message five times, all at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmations_that_meet_make_one_set_of_tickets() {
    const ROUNDS: i16 = 200;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(200).await;
    let offices = [cinema.another_office(), cinema.another_office()];
    for seat in 1..=ROUNDS {
        let order = cinema.visitor().hold(show, &[seat]).await.unwrap();
        let payment = PaymentId(Uuid::new_v4());
        let amount = cinema.starts(order, payment).await.unwrap();
        let card = Card::parse(GOOD_CARD).unwrap();
        let captured = cinema.office.gateway.charge(payment, order, amount, &card).await.unwrap();
        // As if the card's holder had confirmed it on the processor's page.
        payments::needs_action(&cinema.db, payment, "https://processor.example/pay/1").await.unwrap();
        cinema.age_payments(order).await;
        all_at_once((0..7).map(|nth| {
            let (office, captured) = (Arc::clone(&offices[nth % 2]), captured.clone());
            async move {
                match nth {
                    0 => box_office::returned(&office, order).await.unwrap(),
                    1 => box_office::resume(&office, order).await.unwrap(),
                    _ => box_office::learn(&office, payment, captured).await.unwrap(),
                }
            }
        }))
        .await;
        let told = cinema.story(order).await.into_iter().map(|(what, _)| what);
        let ends = told.filter(|what| matches!(what, Happening::PaymentCaptured | Happening::Sold)).count();
        assert_eq!(ends, 2, "captured once, sold once");
        assert_eq!(cinema.ticketed(order).await, [seat]);
    }
    // Whoever came second, having waited, knew the charge.
    let incidents: i64 = sqlx::query_scalar("select count(*) from incidents").fetch_one(&cinema.db).await.unwrap();
    assert_eq!(incidents, 0);
    cinema.proves().await;
}

/// P4 and P7: the first try failed, the second sold; both are confirmed and given up again.
#[tokio::test]
async fn a_second_confirmation_changes_nothing() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1, 2]).await.unwrap();
    ada.pay(order, DECLINED_CARD).await.unwrap();
    ada.pay(order, GOOD_CARD).await.unwrap();
    let sold = tickets::of_order(&cinema.db, order).await.unwrap();
    let payments = cinema.payments(order).await;
    for payment in &payments {
        if let PaymentState::Captured { reference, .. } = &payment.state {
            let capture = Capture { reference: reference.clone(), amount: payment.amount, evidence: None };
            assert_eq!(cinema.confirms(payment.id, &capture).await, Outcome::Known);
        }
        // And "the first one failed" arrives late.
        for reason in [None, Some("declined")] {
            payments::give_up(&cinema.db, payment.id, reason, Actor::Gateway).await.unwrap();
        }
    }
    assert_eq!(tickets::of_order(&cinema.db, order).await.unwrap(), sold);
    assert_eq!(cinema.payments(order).await, payments);
    assert!(cinema.is_sold(order).await);
    cinema.proves().await;
}
