//! Money that comes when nobody expects it: late, twice, in a wrong amount, for nobody.

use std::sync::Arc;

use matinee::box_office;
use matinee::box_office::gateway::Charge;
use matinee::domain::ids::PaymentId;
use matinee::domain::money::Money;
use matinee::domain::payment::{Capture, Card, RefundReason};
use matinee::domain::saga::Phase;
use matinee::store::refunds;
use uuid::Uuid;

use super::steps::order_in;
use crate::support::gateway::Paying;
use crate::support::{Books, Cinema, DECLINED_CARD, GOOD_CARD, PRICE, all_at_once};

/// A payment that was given up took money after all: it buys the seats, as long as nobody else has them.
#[tokio::test]
async fn money_that_comes_after_giving_up_still_buys_the_seats() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let held = cinema.visitor().hold(show, &[1]).await.unwrap();
    let payment = cinema.given_up(held).await;
    cinema.learns(payment).await;
    assert_eq!(cinema.ticketed(held).await, [1]);

    let lapsed = cinema.visitor().hold(show, &[2]).await.unwrap();
    let payment = cinema.given_up(lapsed).await;
    cinema.expire(lapsed).await;
    cinema.learns(payment).await;
    assert_eq!(cinema.ticketed(lapsed).await, [2]);

    let taken = cinema.visitor().hold(show, &[3]).await.unwrap();
    let payment = cinema.given_up(taken).await;
    cinema.expire(taken).await;
    cinema.visitor().hold(show, &[3]).await.unwrap();
    cinema.learns(payment).await;
    assert_eq!(
        (cinema.phase(taken).await, cinema.reasons(taken).await),
        (Phase::Refunded, vec![RefundReason::TooLate])
    );
    assert_eq!(cinema.books(taken).await, Books::refunded(PRICE));
    cinema.proves().await;
}

/// Money for an order that has ended otherwise goes back; the order stays what it is. Told five times, once is enough.
#[tokio::test]
async fn money_for_an_order_that_has_ended_goes_back() {
    let cinema = Cinema::open().await;
    for (phase, reason) in [
        (Phase::Sold, RefundReason::PaidTwice),
        (Phase::Released, RefundReason::GivenBack),
        (Phase::Refunded, RefundReason::PaidTwice),
    ] {
        let (_, order, spare) = order_in(&cinema, phase).await;
        let (before, tickets) = (cinema.books(order).await, cinema.ticketed(order).await);
        let capture = cinema.captures(spare).await;
        all_at_once((0..5).map(|_| {
            let (office, capture) = (Arc::clone(&cinema.office), capture.clone());
            async move { box_office::learn(&office, spare, Charge::Captured(capture)).await.unwrap() }
        }))
        .await;
        assert_eq!((cinema.phase(order).await, cinema.ticketed(order).await), (phase, tickets));
        assert_eq!(cinema.reasons(order).await.last(), Some(&reason));
        let after = cinema.books(order).await;
        assert_eq!((after.captured - before.captured, after.refunded - before.refunded), (PRICE, PRICE), "{phase:?}");
    }
    cinema.proves().await;
}

/// The first payment's money comes while the second is under way: the first one buys, the second one's goes back.
#[tokio::test]
async fn of_two_payments_that_both_took_money_one_buys_and_one_goes_back() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let Paying { order, charge, payment, office: _office, .. } = cinema.paying(show, &[1]).await;
    let second = cinema.payments(order).await[0].id;
    // A first try from before, which everybody believed dead.
    let first = PaymentId(Uuid::new_v4());
    sqlx::query(
        "insert into payments (id, order_id, attempt, amount_minor, currency, state, started_at, settled_at)
         select $2, order_id, gen_random_uuid(), amount_minor, currency, 'failed', started_at, started_at from payments
         where id = $1",
    )
    .bind(second.0)
    .bind(first.0)
    .execute(&cinema.db)
    .await
    .unwrap();
    cinema.learns(first).await;
    assert_eq!(cinema.ticketed(order).await, [1]);
    charge.goes_on();
    payment.await.unwrap().unwrap();
    assert_eq!((cinema.phase(order).await, cinema.reasons(order).await), (Phase::Sold, vec![RefundReason::PaidTwice]));
    assert_eq!(cinema.books(order).await, Books { captures: 2, captured: 2 * PRICE, refunded: PRICE });
    cinema.proves().await;
}

/// P4: a declined payment is not made a success by nobody's word, nor a success undone by "the first one failed".
#[tokio::test]
async fn late_words_about_an_earlier_try_change_nothing() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1]).await.unwrap();
    ada.pay(order, DECLINED_CARD).await.unwrap();
    ada.pay(order, GOOD_CARD).await.unwrap();
    let story = cinema.story(order).await;
    for payment in cinema.payments(order).await {
        for _ in 0..2 {
            let declined = Charge::Declined { reason: "late news".to_owned() };
            box_office::learn(&cinema.office, payment.id, declined).await.unwrap();
        }
    }
    assert_eq!((cinema.phase(order).await, cinema.ticketed(order).await), (Phase::Sold, vec![1]));
    assert_eq!(cinema.story(order).await, story);
    cinema.proves().await;
}

/// Another amount or currency than was asked for buys nothing: it goes back as it came, and the evidence stays.
#[tokio::test]
async fn money_of_a_wrong_amount_goes_back_as_it_came() {
    let cinema = Cinema::open().await;
    for (amount, currency) in [(PRICE - 1, "EUR"), (PRICE + 1, "EUR"), (PRICE, "JPY")] {
        let show = cinema.show_of(1).await;
        let order = cinema.visitor().hold(show, &[1]).await.unwrap();
        let payment = PaymentId(Uuid::new_v4());
        cinema.starts(order, payment).await.unwrap();
        let wrong = Money::new(amount, currency.parse().unwrap());
        let card = Card::parse(GOOD_CARD).unwrap();
        let Ok(Charge::Captured(capture)) = cinema.office.gateway.charge(payment, order, wrong, &card).await else {
            panic!()
        };
        for _ in 0..2 {
            box_office::learn(&cinema.office, payment, Charge::Captured(capture.clone())).await.unwrap();
        }
        assert_eq!(cinema.reasons(order).await, [RefundReason::WrongAmount]);
        assert_eq!((cinema.phase(order).await, cinema.ticketed(order).await), (Phase::Refunded, vec![]));
        assert_eq!(cinema.books(order).await, Books::refunded(amount));
        assert_eq!(cinema.free(show).await, [1]);
        let refund = refunds::of_order(&cinema.db, order).await.unwrap().remove(0);
        assert_eq!(refund.amount, wrong);
        assert_eq!(cinema.incidents("wrong_amount", &capture.reference).await, 1);
    }
    cinema.proves().await;
}

/// A second charge for a payment that was captured by another one: nothing of the order changes, and the money is not
/// forgotten. (A gateway whose key has lapsed may do so.)
#[tokio::test]
async fn money_beside_a_payment_that_was_captured_is_set_aside_once() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1]).await.unwrap();
    ada.pay(order, GOOD_CARD).await.unwrap();
    let payment = cinema.payments(order).await.remove(0);
    cinema.sql("update gateway.keys set used_at = used_at - interval '25 hours'").await;
    let card = Card::parse(GOOD_CARD).unwrap();
    let charged = cinema.office.gateway.charge(payment.id, order, payment.amount, &card).await;
    let Ok(Charge::Captured(beside)) = charged else { panic!("{charged:?}") };
    let story = cinema.story(order).await;
    for _ in 0..2 {
        box_office::learn(&cinema.office, payment.id, Charge::Captured(beside.clone())).await.unwrap();
    }
    assert_eq!(cinema.incidents("unknown_charge", &beside.reference).await, 1);
    assert_eq!((cinema.story(order).await, cinema.payments(order).await), (story, vec![payment]));
    assert_eq!(cinema.ticketed(order).await, [1]);
    cinema.proves().await;
}

#[tokio::test]
async fn money_for_a_payment_that_nobody_knows_is_set_aside_once() {
    let cinema = Cinema::open().await;
    let unknown = PaymentId(Uuid::new_v4());
    let amount = Money::new(PRICE, "EUR".parse().unwrap());
    let capture = Capture { reference: "ch_from_elsewhere".to_owned(), amount, evidence: None };
    for _ in 0..3 {
        box_office::learn(&cinema.office, unknown, Charge::Captured(capture.clone())).await.unwrap();
    }
    assert_eq!(cinema.incidents("unknown_charge", "ch_from_elsewhere").await, 1);
    // And a word about nobody's payment that moved no money is no incident.
    let declined = Charge::Declined { reason: "no".to_owned() };
    box_office::learn(&cinema.office, PaymentId(Uuid::new_v4()), declined).await.unwrap();
    let incidents: i64 = sqlx::query_scalar("select count(*) from incidents").fetch_one(&cinema.db).await.unwrap();
    assert_eq!(incidents, 1);
    cinema.proves().await;
}
