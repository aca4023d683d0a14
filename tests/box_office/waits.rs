//! Judged by the clock after a wait, not before it. The clock stands still until the test moves it, and the waits are
//! real: another transaction keeps the rows.

use chrono::TimeDelta;
use matinee::domain::Error;
use matinee::domain::ids::{OrderId, ShowId};
use matinee::domain::order::{OrderState, Standing};
use matinee::store::refunds;
use sqlx::postgres::PgConnection;
use sqlx::{Postgres, Row, Transaction};
use uuid::Uuid;

use crate::support::clock::Clock;
use crate::support::{Books, Cinema, GOOD_CARD, PRICE, Visitor, taken};

const WINDOW: TimeDelta = TimeDelta::minutes(15);
const MICROSECOND: TimeDelta = TimeDelta::microseconds(1);

/// Keeps rows locked without changing them: whoever waits finds them as they were, so nothing but the clock tells that
/// time has passed.
async fn keep(cinema: &Cinema, rows: &'static str) -> Transaction<'static, Postgres> {
    let mut keeper = cinema.db.begin().await.unwrap();
    sqlx::query(rows).execute(&mut *keeper).await.unwrap();
    keeper
}

const SEATS: &str = "select from seats order by seat_no for update";
const ORDERS: &str = "select from orders for update";

/// The very statement of `holds::hold`, inside the test's own transaction.
async fn hold_within(keeper: &mut PgConnection, show: ShowId, seats: &[i16]) -> OrderId {
    let order = OrderId(Uuid::new_v4());
    let row = sqlx::query(include_str!("../../src/store/sql/hold_seats.sql"))
        .bind(show.0)
        .bind(seats)
        .bind(Uuid::new_v4())
        .bind(order.0)
        .bind(10_i64)
        .bind(None::<i64>)
        .fetch_one(keeper)
        .await
        .unwrap();
    assert!(row.get::<bool, _>("held!"), "the keeper's own hold finds the seats free");
    order
}

/// Ada pays while somebody keeps the rows until `age` after her hold began.
async fn pay_after_a_wait(rows: &'static str, age: TimeDelta) -> (Cinema, OrderId, Result<(), Error>) {
    let (cinema, mut clock) = Clock::stopped().await;
    let show = cinema.show_of(2).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1, 2]).await.unwrap();
    let keeper = keep(&cinema, rows).await;
    let paying = tokio::spawn(async move { ada.pay(order, GOOD_CARD).await });
    cinema.until_waiting(1).await;
    clock.advance(age).await;
    keeper.rollback().await.unwrap();
    let outcome = paying.await.unwrap();
    (cinema, order, outcome)
}

/// H7 for a payment's start: refused.
#[tokio::test]
async fn a_payment_that_waited_past_the_lapse_does_not_start() {
    for rows in [SEATS, ORDERS] {
        let (cinema, order, outcome) = pay_after_a_wait(rows, WINDOW + MICROSECOND).await;
        assert_eq!(outcome, Err(Error::HoldLapsed), "{rows}");
        let after = cinema.order(order).await;
        assert_eq!((after.state, after.locked_at), (OrderState::Held, after.held_at));
        assert_eq!(cinema.free(after.show).await, [1, 2]);
        assert!(cinema.payments(order).await.is_empty());
        cinema.proves().await;
    }
}

#[tokio::test]
async fn a_payment_that_waited_until_the_last_instant_starts() {
    for rows in [SEATS, ORDERS] {
        let (cinema, order, outcome) = pay_after_a_wait(rows, WINDOW).await;
        assert_eq!(outcome, Ok(()), "{rows}");
        assert_eq!(cinema.ticketed(order).await, [1, 2]);
        // Renewed at the last instant: two windows in all, and not a microsecond more.
        let after = cinema.order(order).await;
        assert_eq!(after.ends_at() - after.held_at, WINDOW * 2);
        cinema.proves().await;
    }
}

/// Ada's payment is captured, and its confirmation waits for rows that somebody keeps.
async fn waiting_confirmation(
    cinema: &Cinema,
    ada: &Visitor,
    order: OrderId,
    rows: &'static str,
) -> (Transaction<'static, Postgres>, tokio::task::JoinHandle<Result<(), Error>>) {
    let (office, gateway) = cinema.scripted_office();
    let mut charge = gateway.next_charge_thinks();
    let ada = ada.goes_to(&office);
    let paying = tokio::spawn(async move { ada.pay(order, GOOD_CARD).await });
    charge.began().await;
    let keeper = keep(cinema, rows).await;
    charge.goes_on();
    cinema.until_waiting(1).await;
    (keeper, paying)
}

/// H7: re-taken.
#[tokio::test]
async fn a_confirmation_that_waited_past_the_lapse_sells_what_nobody_took() {
    for rows in [SEATS, ORDERS] {
        let (cinema, mut clock) = Clock::stopped().await;
        let show = cinema.show_of(2).await;
        let ada = cinema.visitor();
        let order = ada.hold(show, &[1, 2]).await.unwrap();
        let (keeper, paying) = waiting_confirmation(&cinema, &ada, order, rows).await;
        clock.advance(WINDOW * 2).await;
        keeper.rollback().await.unwrap();
        assert_eq!(paying.await.unwrap(), Ok(()));
        assert_eq!(cinema.ticketed(order).await, [1, 2]);
        assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
        cinema.proves().await;
    }
}

/// H7: refused.
#[tokio::test]
async fn a_confirmation_that_waited_while_a_seat_was_taken_refunds() {
    let (cinema, mut clock) = Clock::stopped().await;
    let show = cinema.show_of(2).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1, 2]).await.unwrap();
    let (mut keeper, paying) = waiting_confirmation(&cinema, &ada, order, SEATS).await;
    clock.advance(WINDOW + MICROSECOND).await;
    let other = hold_within(&mut keeper, show, &[2]).await;
    keeper.commit().await.unwrap();
    assert_eq!(paying.await.unwrap(), Ok(()));
    assert!(matches!(cinema.standing(order).await, Standing::Refunded { .. }));
    assert_eq!(cinema.books(order).await, Books::refunded(2 * PRICE));
    // The money is said to have come when it was judged, not when it began to wait: after the end of the hold.
    let refund = refunds::of_order(&cinema.db, order).await.unwrap().remove(0);
    assert_eq!((refund.owed_since, refund.hold_ended_at), (clock.now(), clock.now() - MICROSECOND));
    assert_eq!(cinema.standing(other).await, Standing::Held { ends_at: clock.now() + WINDOW });
    assert_eq!(cinema.free(show).await, [1]);
    cinema.proves().await;
}

#[tokio::test]
async fn a_hold_that_waited_for_another_is_told_which_seat_went() {
    let (cinema, mut clock) = Clock::stopped().await;
    let show = cinema.show_of(3).await;
    let lapsed = cinema.visitor().hold(show, &[1, 2]).await.unwrap();
    clock.advance(WINDOW + MICROSECOND).await;
    let mut keeper = cinema.db.begin().await.unwrap();
    hold_within(&mut keeper, show, &[2]).await;
    let bert = cinema.visitor();
    let holding = tokio::spawn(async move { bert.hold(show, &[1, 2, 3]).await });
    cinema.until_waiting(1).await;
    keeper.commit().await.unwrap();
    assert_eq!(holding.await.unwrap(), Err(taken(&[2], &[1, 3])));
    assert_eq!(cinema.free(show).await, [1, 3]);
    assert!(matches!(cinema.standing(lapsed).await, Standing::Lapsed { .. }));
    cinema.proves().await;
}

#[tokio::test]
async fn a_hold_that_waited_for_one_that_came_to_nothing_gets_the_seats() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    for ending in ["rollback", "hold and release"] {
        let mut keeper = cinema.db.begin().await.unwrap();
        let order = hold_within(&mut keeper, show, &[1, 2]).await;
        let bert = cinema.visitor();
        let holding = tokio::spawn(async move { (bert.hold(show, &[2, 3]).await, bert) });
        cinema.until_waiting(1).await;
        if ending == "rollback" {
            keeper.rollback().await.unwrap();
        } else {
            let release = sqlx::query(include_str!("../../src/store/sql/release_hold.sql")).bind(order.0);
            release.execute(&mut *keeper).await.unwrap();
            keeper.commit().await.unwrap();
        }
        let (held, bert) = holding.await.unwrap();
        bert.release(held.unwrap()).await.unwrap();
    }
    assert_eq!(cinema.free(show).await, [1, 2, 3]);
    cinema.proves().await;
}

/// Nobody waits for a seat for ever: after two seconds the visitor is told to come back, and nothing is held.
#[tokio::test]
async fn a_wait_has_an_end() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let ada = cinema.visitor();
    let keeper = keep(&cinema, SEATS).await;
    assert_eq!(ada.hold(show, &[1]).await, Err(Error::Unavailable));
    keeper.rollback().await.unwrap();
    assert_eq!(cinema.free(show).await, [1, 2]);
    ada.hold(show, &[1]).await.unwrap();
    cinema.proves().await;
}
