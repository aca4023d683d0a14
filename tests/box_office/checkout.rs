//! The checkout: every captured payment ends as one set of tickets or one refund, whatever fails, repeats or is late.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use chrono::TimeDelta;
use matinee::box_office::{self, BoxOffice};
use matinee::domain::Error;
use matinee::domain::ids::{OrderId, PaymentId, ShowId};
use matinee::domain::order::{OrderState, Standing};
use matinee::domain::payment::PaymentState;
use matinee::domain::ticket::TicketCode;
use matinee::store::{payments, tickets};
use uuid::Uuid;

use crate::support::gateway::ScriptedGateway;
use crate::support::{
    BREAKING_CARD, Books, Cinema, DECLINED_CARD, GOOD_CARD, PRICE, QUARTER_HOUR_S, Visitor, all_at_once, an_attempt, taken,
    until,
};

/// Longer than a living server waits for the gateway: from then on others may finish a payment.
const LOST: TimeDelta = TimeDelta::seconds(60);

async fn is_sold(cinema: &Cinema, order: OrderId) -> bool {
    matches!(cinema.order(order).await.state, OrderState::Sold { .. })
}

async fn is_refunded(cinema: &Cinema, order: OrderId) -> bool {
    matches!(cinema.order(order).await.state, OrderState::Refunded { .. })
}

#[tokio::test]
async fn a_good_card_turns_a_hold_into_tickets() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(4).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[2, 3]).await.unwrap();
    ada.pay(order, GOOD_CARD).await.unwrap();
    assert!(is_sold(&cinema, order).await);
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
        assert!(is_sold(&cinema, order).await);
        assert_eq!(cinema.payments(order).await.len(), 1);
        assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
        // Later too: the same ticket, not an error.
        let before = tickets::of_order(&cinema.db, order).await.unwrap();
        for attempt in [attempt, an_attempt()] {
            assert_eq!(ada.pay_as(attempt, order, DECLINED_CARD).await, Ok(()));
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
    for card in [DECLINED_CARD, DECLINED_CARD, GOOD_CARD] {
        assert_eq!(ada.pay_as(attempt, order, card).await, Ok(()));
    }
    assert_eq!(cinema.payments(order).await.len(), 1);
    assert_eq!(cinema.books(order).await, Books::EMPTY);
    assert_eq!(cinema.order(order).await.state, OrderState::Held);
    cinema.proves().await;
}

/// An order whose payment thinks at the gateway.
async fn paying(cinema: &Cinema, show: ShowId, seats: &[i16]) -> (
    Visitor,
    OrderId,
    crate::support::gateway::Thinking,
    tokio::task::JoinHandle<Result<(), Error>>,
    (Arc<BoxOffice>, Arc<ScriptedGateway>),
) {
    let (office, gateway) = cinema.scripted_office();
    let ada = Visitor::at(&office);
    let order = ada.hold(show, seats).await.unwrap();
    let mut charge = gateway.next_charge_thinks();
    let payer = ada.clone();
    let payment = tokio::spawn(async move { payer.pay(order, GOOD_CARD).await });
    charge.began().await;
    (ada, order, charge, payment, (office, gateway))
}

#[tokio::test]
async fn while_a_payment_is_under_way_nothing_waits_and_nothing_else_happens_to_the_order() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let (ada, order, charge, payment, (office, _)) = paying(&cinema, show, &[1, 2]).await;
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

#[tokio::test]
async fn a_late_payment_whose_seats_are_still_free_sells_them() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let (_, order, charge, payment, _) = paying(&cinema, show, &[1, 2]).await;
    cinema.expire(order).await;
    assert_eq!(cinema.free(show).await, [1, 2, 3]);
    // Somebody took one meanwhile and gave it back; somebody else let it lapse.
    let bert = cinema.visitor();
    let back = bert.hold(show, &[1]).await.unwrap();
    bert.release(back).await.unwrap();
    let lapsed = cinema.visitor().hold(show, &[2, 3]).await.unwrap();
    cinema.expire(lapsed).await;

    charge.goes_on();
    assert_eq!(payment.await.unwrap(), Ok(()));
    assert_eq!(cinema.ticketed(order).await, [1, 2]);
    assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
    assert_eq!(cinema.free(show).await, [3]);
    cinema.proves().await;
}

#[tokio::test]
async fn a_late_payment_whose_seat_has_gone_is_refunded_once() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let (ada, order, charge, payment, (office, gateway)) = paying(&cinema, show, &[1, 2]).await;
    cinema.expire(order).await;
    let ended_at = cinema.order(order).await.ends_at();
    let bert = cinema.visitor();
    let bought = bert.hold(show, &[2]).await.unwrap();
    bert.pay(bought, GOOD_CARD).await.unwrap();

    charge.goes_on();
    assert_eq!(payment.await.unwrap(), Ok(()));
    assert!(is_refunded(&cinema, order).await);
    assert_eq!(cinema.ticketed(order).await, Vec::<i16>::new());
    assert_eq!(cinema.ticketed(bought).await, [2]);
    assert_eq!(cinema.books(order).await, Books::refunded(2 * PRICE));
    assert_eq!(cinema.free(show).await, [1, 3], "what nobody took is free");
    // Both clock times are kept: when the hold ended, and when the payment arrived.
    let refund = payments::refund_of_order(&cinema.db, order).await.unwrap().unwrap();
    assert_eq!((refund.amount.minor, refund.hold_ended_at), (2 * PRICE, ended_at));
    assert!(refund.owed_since > refund.hold_ended_at);
    assert!(refund.made.clone().is_some_and(|(made_at, _)| made_at >= refund.owed_since));

    for _ in 0..5 {
        box_office::resume(&office, order).await.unwrap();
        assert_eq!(ada.pay(order, GOOD_CARD).await, Ok(()));
        assert_eq!(ada.release(order).await, Ok(show));
    }
    assert_eq!(payments::refund_of_order(&cinema.db, order).await.unwrap(), Some(refund));
    assert_eq!(gateway.refunds_asked.load(Ordering::SeqCst), 1);
    assert_eq!(cinema.books(order).await, Books::refunded(2 * PRICE));
    cinema.proves().await;
}

#[tokio::test]
async fn a_refund_that_fails_stays_owed_until_somebody_looks() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let (ada, order, charge, payment, (office, gateway)) = paying(&cinema, show, &[1]).await;
    gateway.next_refunds_fail(3);
    cinema.expire(order).await;
    cinema.visitor().hold(show, &[1]).await.unwrap();
    charge.goes_on();
    assert_eq!(payment.await.unwrap(), Ok(()));
    for _ in 0..2 {
        assert!(matches!(cinema.standing(order).await, Standing::RefundOwed { .. }));
        assert_eq!(ada.release(order).await, Ok(show));
        assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
        cinema.proves().await;
        box_office::resume(&office, order).await.unwrap();
    }
    box_office::resume(&office, order).await.unwrap();
    assert!(is_refunded(&cinema, order).await);
    assert_eq!(cinema.books(order).await, Books::refunded(PRICE));
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_who_look_at_an_owed_refund_make_it_once() {
    let cinema = Cinema::open().await;
    for _ in 0..10 {
        let show = cinema.show_of(1).await;
        let (_, order, charge, payment, (office, gateway)) = paying(&cinema, show, &[1]).await;
        // The late payment's own refund reaches the bank, but its answer is lost.
        gateway.next_refunds_lose_their_answer(1);
        cinema.expire(order).await;
        cinema.visitor().hold(show, &[1]).await.unwrap();
        charge.goes_on();
        let offices = [office, cinema.another_office()];
        all_at_once((0..20).map(|nth| {
            let office = Arc::clone(&offices[nth % 2]);
            async move { box_office::resume(&office, order).await.unwrap() }
        }))
        .await;
        assert_eq!(payment.await.unwrap(), Ok(()));
        box_office::resume(&offices[1], order).await.unwrap();
        assert!(is_refunded(&cinema, order).await);
        assert_eq!(cinema.books(order).await, Books::refunded(PRICE));
    }
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
    assert!(is_sold(&cinema, taken).await);

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
        cinema.age(order, LOST).await;
    }
    cinema.expire(late).await;
    cinema.visitor().hold(show, &[3]).await.unwrap();
    for _ in 0..2 {
        for order in [sold, held, late] {
            box_office::resume(&cinema.office, order).await.unwrap();
        }
        assert_eq!(cinema.ticketed(sold).await, [1]);
        assert!(matches!(cinema.standing(held).await, Standing::Held { .. }));
        assert!(is_refunded(&cinema, late).await);
        cinema.proves().await;
    }
    assert_eq!(cinema.books(sold).await, Books::sold_for(PRICE));
    assert_eq!(cinema.books(held).await, Books::EMPTY);
    assert_eq!(cinema.books(late).await, Books::refunded(PRICE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmations_that_meet_make_one_set_of_tickets() {
    const ROUNDS: i16 = 200;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(200).await;
    let offices = [cinema.another_office(), cinema.another_office()];
    for seat in 1..=ROUNDS {
        let order = cinema.visitor().hold(show, &[seat]).await.unwrap();
        let payment = PaymentId(Uuid::new_v4());
        let amount = payments::start(&cinema.db, order, payment, an_attempt()).await.unwrap().unwrap();
        let card = matinee::domain::payment::Card::parse(GOOD_CARD).unwrap();
        cinema.office.gateway.charge(payment, amount, &card).await.unwrap();
        cinema.age(order, LOST).await;
        // Both pages and the same event five times.
        all_at_once((0..5).map(|nth| {
            let office = Arc::clone(&offices[nth % 2]);
            async move { box_office::resume(&office, order).await.unwrap() }
        }))
        .await;
        assert_eq!(cinema.ticketed(order).await, [seat]);
    }
    cinema.proves().await;
}

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
    let codes = [TicketCode::from_random(1), TicketCode::from_random(2)];
    for payment in &payments {
        let again = payments::confirm(&cinema.db, order, payment.id, "ch_another", &codes).await.unwrap();
        assert_eq!(again, None);
        // And "the first one failed" arrives late.
        for reason in [None, Some("declined")] {
            payments::give_up(&cinema.db, order, payment.id, reason).await.unwrap();
        }
    }
    assert_eq!(tickets::of_order(&cinema.db, order).await.unwrap(), sold);
    assert_eq!(cinema.payments(order).await, payments);
    assert!(is_sold(&cinema, order).await);
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_confirmation_that_meets_another_hold_leaves_one_of_them_with_the_seats() {
    const ROUNDS: i16 = 300;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(600).await;
    let (mut sold, mut refunded) = (0, 0);
    let (office, gateway) = cinema.scripted_office();
    for round in 0..ROUNDS {
        let seats = [round * 2 + 1, round * 2 + 2];
        let (ada, bert) = (Visitor::at(&office), cinema.visitor());
        let order = ada.hold(show, &seats).await.unwrap();
        let mut charge = gateway.next_charge_thinks();
        let payment = tokio::spawn(async move { ada.pay(order, GOOD_CARD).await });
        charge.began().await;
        cinema.expire(order).await;
        // The charge has a longer way to its confirmation: a head start makes both ends happen.
        let head_start = Duration::from_micros(u64::from(round.unsigned_abs()) % 30 * 100);
        let take_over = tokio::spawn(async move {
            tokio::time::sleep(head_start).await;
            bert.hold(show, &[seats[1]]).await
        });
        charge.goes_on();
        assert_eq!(payment.await.unwrap(), Ok(()));
        match take_over.await.unwrap() {
            Ok(other) => {
                refunded += 1;
                assert!(is_refunded(&cinema, order).await);
                assert_eq!(cinema.books(order).await, Books::refunded(2 * PRICE));
                assert!(matches!(cinema.standing(other).await, Standing::Held { .. }));
            }
            Err(conflict) => {
                sold += 1;
                assert_eq!(conflict, taken(&[seats[1]], &[]));
                assert_eq!(cinema.ticketed(order).await, seats);
                assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
            }
        }
    }
    println!("{sold} sold, {refunded} refunded");
    assert!(sold > 0 && refunded > 0, "both ends were met: {sold} sold, {refunded} refunded");
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
        let polls = usize::from(round.unsigned_abs()) % 8;
        left_early += usize::from(!dropped_after(polls, ada.pay_as(attempt, order, GOOD_CARD)).await);
        orders.push((ada, attempt, order));
    }
    println!("{left_early} of {ROUNDS} left before the answer");
    assert!(left_early > 100);
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
        if is_sold(&cinema, order).await {
            assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
        } else {
            unpaid += 1;
            assert_eq!(cinema.order(order).await.state, OrderState::Held);
            assert_eq!(cinema.books(order).await, Books::EMPTY);
        }
        // The visitor sends the form again, and has what was bought once.
        ada.pay_as(attempt, order, GOOD_CARD).await.unwrap();
        assert!(is_sold(&cinema, order).await);
        assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    }
    println!("{unpaid} had not begun to pay");
    let stuck: i64 = sqlx::query_scalar("select count(*) from pg_stat_activity where state like 'idle in transaction%'")
        .fetch_one(&cinema.db)
        .await
        .unwrap();
    assert_eq!(stuck, 0);
    cinema.proves().await;
}

/// Polls a future so many times, then drops it: at one of its await points. Whether it had ended by then.
async fn dropped_after(polls: usize, future: impl Future) -> bool {
    let mut future = pin!(future);
    let mut polled = 0;
    std::future::poll_fn(|context| {
        if polled == polls {
            return Poll::Ready(false);
        }
        polled += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(true),
            // Dropped right at this await point, not when it would have gone on.
            Poll::Pending if polled == polls => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
