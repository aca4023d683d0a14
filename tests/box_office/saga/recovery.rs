//! Recovery: what was left open ends, once, whoever looks and however many look at once.

use std::sync::atomic::Ordering;

use matinee::box_office;
use matinee::box_office::recover::Reconciled;
use matinee::domain::payment::RefundReason;
use matinee::domain::saga::Phase;

use crate::support::{Books, Cinema, GOOD_CARD, PRICE, Visitor, all_at_once, until};

/// After a crash of everything: three servers start at once and finish what is open, each thing once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_servers_that_start_at_once_finish_everything_once() {
    const EACH: usize = 25;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3 * EACH).await;
    let (office, gateway) = cinema.scripted_office();
    let mut orders = Vec::new();
    for nth in 0..3 * EACH {
        let ada = Visitor::at(&office);
        let seat = i16::try_from(nth + 1).unwrap();
        let order = ada.hold(show, &[seat]).await.unwrap();
        // Taken and unheard of; never arrived; taken too late.
        if nth % 3 == 1 {
            gateway.next_charge_is_lost()
        } else {
            gateway.next_charge_loses_its_answer()
        }
        gateway.next_finds_are_silent(1);
        ada.pay(order, GOOD_CARD).await.unwrap();
        cinema.age_payments(order).await;
        if nth % 3 == 2 {
            cinema.expire(order).await;
            cinema.visitor().hold(show, &[seat]).await.unwrap();
        }
        orders.push(order);
    }
    office.pool.close().await;
    let done = all_at_once((0..3).map(|_| {
        let office = cinema.another_office();
        async move { box_office::reconcile(&office).await.unwrap() }
    }))
    .await;
    println!("{done:?}");
    let total = |count: fn(&Reconciled) -> usize| done.iter().map(count).sum::<usize>();
    assert_eq!((total(|done| done.settled), total(|done| done.unanswered)), (3 * EACH, 0));
    for (nth, order) in orders.into_iter().enumerate() {
        let (phase, books) = match nth % 3 {
            0 => (Phase::Sold, Books::sold_for(PRICE)),
            1 => (Phase::Held, Books::EMPTY),
            _ => (Phase::Refunded, Books::refunded(PRICE)),
        };
        assert_eq!((cinema.phase(order).await, cinema.books(order).await), (phase, books), "{nth}");
    }
    assert_eq!(box_office::reconcile(&cinema.office).await, Ok(Reconciled::default()), "nothing is left");
    cinema.proves().await;
}

/// A gateway that does not answer stops nobody for ever: what was asked is left alone for a while, then asked again.
#[tokio::test]
async fn a_silent_gateway_leaves_everything_open_until_it_answers() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let (office, gateway) = cinema.scripted_office();
    let ada = Visitor::at(&office);
    let order = ada.hold(show, &[1]).await.unwrap();
    gateway.next_charge_loses_its_answer();
    gateway.next_finds_are_silent(2);
    ada.pay(order, GOOD_CARD).await.unwrap();
    cinema.age_payments(order).await;
    let open = Reconciled { unanswered: 1, ..Reconciled::default() };
    assert_eq!(box_office::reconcile(&office).await, Ok(open));
    assert_eq!(box_office::reconcile(&office).await, Ok(Reconciled::default()), "it was asked a moment ago");
    assert_eq!(cinema.phase(order).await, Phase::Paying);
    cinema.age_payments(order).await;
    assert_eq!(box_office::reconcile(&office).await, Ok(Reconciled { settled: 1, ..Reconciled::default() }));
    assert!(cinema.is_sold(order).await);

    // The same for a refund.
    let late = ada.hold(show, &[2]).await.unwrap();
    let mut charge = gateway.next_charge_thinks();
    let payer = ada.clone();
    let paying = tokio::spawn(async move { payer.pay(late, GOOD_CARD).await });
    charge.began().await;
    cinema.expire(late).await;
    cinema.visitor().hold(show, &[2]).await.unwrap();
    gateway.next_refunds_fail(2);
    charge.goes_on();
    paying.await.unwrap().unwrap();
    let age = "update refunds set asked_at = asked_at - interval '1 minute'";
    cinema.sql(age).await;
    assert_eq!(box_office::reconcile(&office).await, Ok(open));
    assert_eq!(box_office::reconcile(&office).await, Ok(Reconciled::default()));
    cinema.sql(age).await;
    assert_eq!(box_office::reconcile(&office).await, Ok(Reconciled { refunded: 1, ..Reconciled::default() }));
    assert_eq!(gateway.refunds_asked.load(Ordering::SeqCst), 3);
    assert_eq!(cinema.reasons(late).await, [RefundReason::TooLate]);
    cinema.proves().await;
}

/// Who left it open is gone for good, and nobody looks at the order: another server, which had nothing to do, finishes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_server_finishes_what_another_left_open() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let idle = cinema.another_office();
    tokio::spawn(async move { box_office::recover::keep_recovering(&idle).await });
    let looked = "select exists (select from pg_stat_activity where query like '%anything_open%' and state = 'idle'
                                 and pid <> pg_backend_pid())";
    until("it has found nothing to do", || async { sqlx::query_scalar(looked).fetch_one(&cinema.db).await.unwrap() })
        .await;

    let (gone, gateway) = cinema.scripted_office();
    let ada = Visitor::at(&gone);
    let order = ada.hold(show, &[1]).await.unwrap();
    gateway.next_charge_loses_its_answer();
    gateway.next_finds_are_silent(1);
    ada.pay(order, GOOD_CARD).await.unwrap();
    gone.pool.close().await;
    assert_eq!(cinema.phase(order).await, Phase::Paying);
    cinema.age_payments(order).await;
    until("the other one has looked", || async { cinema.is_sold(order).await }).await;
    assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    cinema.proves().await;
}
