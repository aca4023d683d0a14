//! Paying: a card turns a hold into tickets, a decline keeps the hold, and a form sent twice is one payment.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use chrono::TimeDelta;
use matinee::box_office;
use matinee::domain::Error;
use matinee::domain::ids::OrderId;
use matinee::domain::order::{OrderState, Standing};
use matinee::domain::payment::PaymentState;
use matinee::store::tickets;
use uuid::Uuid;

use crate::support::gateway::Paying;
use crate::support::{
    BREAKING_CARD, Books, Cinema, DECLINED_CARD, GOOD_CARD, PRICE, QUARTER_HOUR_S, all_at_once, an_attempt, taken,
    until,
};

#[tokio::test]
async fn a_good_card_turns_a_hold_into_tickets() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(4).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[2, 3]).await.unwrap();
    ada.pay(order, GOOD_CARD).await.unwrap();
    assert!(cinema.is_sold(order).await);
    assert_eq!(cinema.ticketed(order).await, [2, 3]);
    assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
    assert_eq!(cinema.free(show).await, [1, 4]);
    // Sold stays sold, whatever the hold's window says.
    cinema.age(order, TimeDelta::days(2)).await;
    assert_eq!(cinema.visitor().hold(show, &[2]).await, Err(taken(&[2], &[])));
    assert_eq!(ada.release(order).await, Err(Error::AlreadySold));
    cinema.proves().await;
}

#[tokio::test]
async fn nobody_pays_or_releases_somebody_elses_order() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let order = ada.hold(show, &[1]).await.unwrap();
    assert_eq!(bert.pay(order, GOOD_CARD).await, Err(Error::UnknownOrder));
    assert_eq!(bert.release(order).await, Err(Error::UnknownOrder));
    assert_eq!(ada.pay(OrderId(Uuid::new_v4()), GOOD_CARD).await, Err(Error::UnknownOrder));
    assert_eq!(cinema.order(order).await.state, OrderState::Held);
    assert!(cinema.payments(order).await.is_empty());
    cinema.proves().await;
}

/// P11.
#[tokio::test]
async fn a_decline_keeps_the_hold_and_a_second_card_sells() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1, 2]).await.unwrap();
    // Two minutes before the end.
    cinema.age(order, TimeDelta::seconds(i64::from(QUARTER_HOUR_S) - 120)).await;
    ada.pay(order, DECLINED_CARD).await.unwrap();
    let declined = cinema.order(order).await;
    assert_eq!(declined.state, OrderState::Held);
    assert_eq!(cinema.visitor().hold(show, &[1]).await, Err(taken(&[1], &[])));

    // Two minutes before the end of the renewed hold: it goes on, and is not renewed again.
    cinema.age(order, TimeDelta::seconds(i64::from(QUARTER_HOUR_S) - 120)).await;
    let before = cinema.order(order).await;
    ada.pay(order, DECLINED_CARD).await.unwrap();
    assert_eq!(cinema.order(order).await.ends_at(), before.ends_at());
    ada.pay(order, GOOD_CARD).await.unwrap();
    let tried = cinema.payments(order).await;
    let keys: std::collections::BTreeSet<_> = tried.iter().map(|payment| payment.id).collect();
    assert_eq!(keys.len(), 3, "each try has its own key");
    assert!(matches!(tried[0].state, PaymentState::Declined { .. }));
    assert!(matches!(tried[2].state, PaymentState::Captured { .. }));
    assert_eq!(cinema.ticketed(order).await, [1, 2]);
    assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
    cinema.proves().await;
}

/// P2 at the counter: the server has the last word.
#[tokio::test]
async fn paying_after_the_end_charges_nothing() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1, 2]).await.unwrap();
    cinema.expire(order).await;
    assert_eq!(ada.pay(order, GOOD_CARD).await, Err(Error::HoldLapsed));
    let bert = cinema.visitor().hold(show, &[1]).await.unwrap();
    assert_eq!(ada.pay(order, GOOD_CARD).await, Err(Error::HoldLapsed));
    assert!(cinema.payments(order).await.is_empty());
    assert_eq!(cinema.books(order).await, Books::EMPTY);
    assert!(matches!(cinema.standing(bert).await, Standing::Held { .. }));
    cinema.proves().await;
}

#[tokio::test]
async fn a_failing_gateway_takes_nothing_and_keeps_the_hold() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1]).await.unwrap();
    ada.pay(order, BREAKING_CARD).await.unwrap();
    assert!(matches!(cinema.payments(order).await[0].state, PaymentState::Failed { .. }));
    assert!(matches!(cinema.standing(order).await, Standing::Held { .. }));
    ada.pay(order, GOOD_CARD).await.unwrap();
    assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    cinema.proves().await;
}

/// P6 and P7, on two servers; later the same ticket, not an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_sent_ten_times_at_once_charges_once() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(40).await;
    let elsewhere = cinema.another_office();
    for (round, same_attempt) in (0..20_i16).zip([true, false].into_iter().cycle()) {
        let ada = cinema.visitor();
        let order = ada.hold(show, &[round * 2 + 1, round * 2 + 2]).await.unwrap();
        let attempt = an_attempt();
        let answers = all_at_once((0..10).map(|nth| {
            let ada = if nth % 2 == 0 { ada.clone() } else { ada.goes_to(&elsewhere) };
            let attempt = if same_attempt { attempt } else { an_attempt() };
            async move { ada.pay_as(attempt, order, GOOD_CARD).await }
        }))
        .await;
        for answer in answers {
            // A form of another try may arrive while the first is under way.
            assert!(answer == Ok(()) || (!same_attempt && answer == Err(Error::PaymentInProgress)), "{answer:?}");
        }
        assert!(cinema.is_sold(order).await);
        assert_eq!(cinema.payments(order).await.len(), 1);
        assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
        // Later too: the same ticket, not an error.
        let before = tickets::of_order(&cinema.db, order).await.unwrap();
        let tried = cinema.payments(order).await[0].attempt;
        for (attempt, card) in [(tried, GOOD_CARD), (an_attempt(), GOOD_CARD), (an_attempt(), DECLINED_CARD)] {
            assert_eq!(ada.pay_as(attempt, order, card).await, Ok(()));
        }
        assert_eq!(tickets::of_order(&cinema.db, order).await.unwrap(), before);
        assert_eq!(cinema.payments(order).await.len(), 1);
    }
    cinema.proves().await;
}

#[tokio::test]
async fn a_declined_form_sent_again_is_not_charged_again() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1]).await.unwrap();
    let attempt = an_attempt();
    for (card, answer) in [(DECLINED_CARD, Ok(())), (DECLINED_CARD, Ok(())), (GOOD_CARD, Err(Error::AttemptReused))] {
        assert_eq!(ada.pay_as(attempt, order, card).await, answer);
    }
    assert_eq!(cinema.payments(order).await.len(), 1);
    assert_eq!(cinema.books(order).await, Books::EMPTY);
    assert_eq!(cinema.order(order).await.state, OrderState::Held);
    cinema.proves().await;
}

#[tokio::test]
async fn while_a_payment_is_under_way_nothing_waits_and_nothing_else_happens_to_the_order() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let Paying { visitor: ada, order, charge, payment, office, .. } = cinema.paying(show, &[1, 2]).await;
    assert!(matches!(cinema.standing(order).await, Standing::Paying { .. }));
    assert_eq!(ada.release(order).await, Err(Error::PaymentInProgress));
    assert_eq!(ada.pay(order, GOOD_CARD).await, Err(Error::PaymentInProgress));
    assert_eq!(cinema.visitor().hold(show, &[2, 3]).await, Err(taken(&[2], &[3])));
    // Too young to be anybody else's business.
    box_office::resume(&office, order).await.unwrap();
    assert!(matches!(cinema.standing(order).await, Standing::Paying { .. }));
    // No transaction is open and no lock is kept while the bank thinks.
    let open: i64 = sqlx::query_scalar(
        "select count(*) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null",
    )
    .fetch_one(&cinema.db)
    .await
    .unwrap();
    assert_eq!(open, 0);
    charge.goes_on();
    assert_eq!(payment.await.unwrap(), Ok(()));
    assert_eq!(cinema.ticketed(order).await, [1, 2]);
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_hangs_up_is_charged_for_tickets_or_not_at_all() {
    const ROUNDS: i16 = 200;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(200).await;
    let mut left_early = 0;
    let mut orders = Vec::new();
    for round in 0..ROUNDS {
        let ada = cinema.visitor();
        let order = ada.hold(show, &[round + 1]).await.unwrap();
        let attempt = an_attempt();
        let nth = u64::from(round.unsigned_abs());
        let payment = ada.pay_as(attempt, order, GOOD_CARD);
        let stayed = if nth.is_multiple_of(2) {
            dropped_at_await_point(nth / 2 % 2 + 1, payment).await
        } else {
            tokio::time::timeout(Duration::from_micros(nth * 37 % 3_000), payment).await.is_ok()
        };
        left_early += usize::from(!stayed);
        orders.push((ada, attempt, order));
    }
    println!("{left_early} of {ROUNDS} left before the answer");
    assert!(left_early > 50, "{left_early}");
    // Whatever was begun goes on by itself.
    until("no payment is under way", || async {
        let under_way: i64 = sqlx::query_scalar("select count(*) from payments where state = 'started'")
            .fetch_one(&cinema.db)
            .await
            .unwrap();
        under_way == 0
    })
    .await;
    cinema.proves().await;
    let mut unpaid = 0;
    for (ada, attempt, order) in orders {
        box_office::resume(&cinema.office, order).await.unwrap();
        if cinema.is_sold(order).await {
            assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
        } else {
            unpaid += 1;
            assert_eq!(cinema.order(order).await.state, OrderState::Held);
            assert_eq!(cinema.books(order).await, Books::EMPTY);
        }
        // The visitor sends the form again, and has what was bought once.
        ada.pay_as(attempt, order, GOOD_CARD).await.unwrap();
        assert!(cinema.is_sold(order).await);
        assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    }
    println!("{unpaid} had not begun to pay");
    let stuck: i64 =
        sqlx::query_scalar("select count(*) from pg_stat_activity where state like 'idle in transaction%'")
            .fetch_one(&cinema.db)
            .await
            .unwrap();
    assert_eq!(stuck, 0);
    cinema.proves().await;
}

/// Polls a future until it has waited so many times, then drops it there. Whether it had ended by then.
async fn dropped_at_await_point(nth: u64, future: impl Future) -> bool {
    let mut future = pin!(future);
    let mut waited = 0;
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending => {
            waited += 1;
            if waited == nth { Poll::Ready(false) } else { Poll::Pending }
        }
    })
    .await
}

/// What the processor would not even look at is a refused card, not a processor that is silent.
#[tokio::test]
async fn a_card_of_another_length_is_declined_in_words() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1]).await.unwrap();
    for card in ["4242 4242 4242", "4242 4242 4242 4242 424"] {
        ada.pay(order, card).await.unwrap();
        let last = cinema.payments(order).await.pop().unwrap();
        assert!(
            matches!(&last.state, PaymentState::Declined { reason, .. } if reason.contains("sixteen digits")),
            "{last:?}"
        );
    }
    ada.pay(order, GOOD_CARD).await.unwrap();
    assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    cinema.proves().await;
}
