//! The guards of a payment's start, of a confirmation, and of a release.

use chrono::TimeDelta;
use matinee::domain::Error;
use matinee::domain::ids::PaymentId;
use matinee::domain::payment::Card;
use matinee::domain::seat::SeatNo;
use sqlx::{AssertSqlSafe, Row};
use uuid::Uuid;

use super::{CONFIRM, Findings, RELEASE, START, breaches, failure, finds, mutant};
use crate::support::clock::Clock;
use crate::support::pause::Moment;
use crate::support::{Cinema, GOOD_CARD, Visitor, until};

/// Ada's money is taken, her hold has lapsed, Bert has bought seat 2; now her payment is confirmed.
async fn a_payment_comes_too_late(street: &Cinema, statement: &str, constraint: bool) -> Findings {
    let cinema = street.next_door().await;
    let show = cinema.show_of(2).await;
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let order = ada.hold(show, &[1, 2]).await.unwrap();
    let payment = PaymentId(Uuid::new_v4());
    let amount = cinema.starts(order, payment).await.unwrap();
    cinema.office.gateway.charge(payment, order, amount, &Card::parse(GOOD_CARD).unwrap()).await.unwrap();
    let reference: String = sqlx::query_scalar("select id from gateway.charges").fetch_one(&cinema.db).await.unwrap();
    cinema.expire(order).await;
    let bought = bert.hold(show, &[2]).await.unwrap();
    bert.pay(bought, GOOD_CARD).await.unwrap();
    if !constraint {
        cinema.sql("alter table tickets drop constraint tickets_one_per_seat").await;
    }
    let confirmed = sqlx::query(AssertSqlSafe(statement))
        .bind(payment.0)
        .bind(reference)
        .bind(amount.minor)
        .bind(amount.currency.code())
        .bind(vec!["0000000000001", "0000000000002"])
        .bind("visitor")
        .bind("the test")
        .bind("reading")
        .fetch_one(&cinema.db)
        .await
        .map_err(failure);
    let mut findings = match confirmed.map(|row| row.get("sold")) {
        Ok(Some(false)) => vec![],
        Ok(sold) => vec![format!("sold: {sold:?}")],
        Err(error) => vec![error],
    };
    findings.extend(breaches(&cinema).await);
    cinema.is_broken_on_purpose();
    findings
}

#[tokio::test]
async fn a_seat_is_sold_twice_only_without_both_guards() {
    let street = Cinema::open().await;
    let unguarded = mutant(
        CONFIRM,
        &[(
            "\n      and ((s.order_id = b.id and s.status = 'locked')\n           \
             or is_available(s.status, s.locked_at, b.hold_window_s, clock_timestamp()))",
            "",
        )],
    );
    assert_eq!(a_payment_comes_too_late(&street, CONFIRM, true).await, Findings::new());
    assert_eq!(a_payment_comes_too_late(&street, CONFIRM, false).await, Findings::new());
    let stopped = a_payment_comes_too_late(&street, &unguarded, true).await;
    assert!(
        stopped.len() == 1 && stopped[0].starts_with("23505") && stopped[0].contains("tickets_one_per_seat"),
        "{stopped:?}"
    );
    finds(&a_payment_comes_too_late(&street, &unguarded, false).await, "P1: a seat of a show was sold twice");
    street.is_broken_on_purpose();
}

/// Ada's hold has lapsed, Bert has bought one of her seats; now she releases.
async fn a_lapsed_hold_is_released(street: &Cinema, statement: &str) -> Findings {
    let cinema = street.next_door().await;
    let show = cinema.show_of(2).await;
    let order = cinema.visitor().hold(show, &[1, 2]).await.unwrap();
    cinema.expire(order).await;
    let bert: Visitor = cinema.visitor();
    let bought = bert.hold(show, &[2]).await.unwrap();
    bert.pay(bought, GOOD_CARD).await.unwrap();
    sqlx::query(AssertSqlSafe(statement)).bind(order.0).execute(&cinema.db).await.unwrap();
    let findings = breaches(&cinema).await;
    cinema.is_broken_on_purpose();
    findings
}

#[tokio::test]
async fn without_asking_whose_seats_they_are_a_release_frees_what_is_sold() {
    let street = Cinema::open().await;
    assert_eq!(a_lapsed_hold_is_released(&street, RELEASE).await, Findings::new());
    let blind = mutant(RELEASE, &[(" and s.order_id = released.id and s.status = 'locked'", "")]);
    finds(&a_lapsed_hold_is_released(&street, &blind).await, "P1: a ticket's seat is not booked for its order");
    street.is_broken_on_purpose();
}

/// Ada begins to pay in time, but somebody keeps her seats locked, unchanged, until her hold has lapsed.
async fn a_payment_starts_after_a_wait(statement: &str) -> Findings {
    let (cinema, mut clock) = Clock::stopped().await;
    let show = cinema.show_of(2).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1, 2]).await.unwrap();
    let mut keeper = cinema.db.begin().await.unwrap();
    sqlx::query("select from seats for update").execute(&mut *keeper).await.unwrap();
    let (db, text) = (cinema.db.clone(), statement.to_owned());
    let starting = tokio::spawn(async move {
        let start = sqlx::query(AssertSqlSafe(text))
            .bind(order.0)
            .bind(Uuid::new_v4())
            .bind(Uuid::new_v4())
            .bind("4242")
            .bind(None::<&str>)
            .bind(ada.id.0);
        let row = start.fetch_one(&db).await.unwrap();
        row.get::<Option<i64>, _>("amount_minor")
    });
    cinema.until_waiting(1).await;
    clock.set(cinema.order(order).await.ends_at() + TimeDelta::microseconds(1)).await;
    keeper.rollback().await.unwrap();
    let mut findings = match starting.await.unwrap() {
        None => vec![],
        Some(amount) => vec![format!("a lapsed hold is being paid: {amount}")],
    };
    findings.extend(breaches(&cinema).await);
    cinema.is_broken_on_purpose();
    findings
}

#[tokio::test]
async fn without_the_clock_after_the_wait_a_lapsed_hold_is_renewed() {
    assert_eq!(a_payment_starts_after_a_wait(START).await, Findings::new());
    let judged = "select judged.* from judged where not is_available('locked', locked_at, hold_window_s, now)";
    let findings = a_payment_starts_after_a_wait(&mutant(START, &[(judged, "select judged.* from judged")])).await;
    finds(&findings, "a lapsed hold is being paid");
    finds(&findings, "P3: a hold was stretched beyond two windows");
}

/// Ada, who holds ten seats, begins to pay in the last instant of her hold. Before that has been committed she holds ten
/// more, and the clock says that the first ten have lapsed.
async fn a_renewal_meets_a_hold(statement: &str, moment: Moment) -> Findings {
    let (cinema, mut clock) = Clock::stopped().await;
    let show = cinema.show_of(20).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).await.unwrap();
    let pause = cinema.pauses(moment).await;
    clock.set(cinema.order(order).await.ends_at()).await;
    let (db, text, payer) = (cinema.db.clone(), statement.to_owned(), ada.id.0);
    let starting = tokio::spawn(async move {
        let start = sqlx::query(AssertSqlSafe(text))
            .bind(order.0)
            .bind(Uuid::new_v4())
            .bind(Uuid::new_v4())
            .bind("4242")
            .bind(None::<&str>)
            .bind(payer);
        start.execute(&db).await.map(|_| ()).map_err(failure)
    });
    cinema.until_waiting(1).await;
    clock.advance(TimeDelta::microseconds(1)).await;
    let holding = tokio::spawn(async move { ada.hold(show, &[11, 12, 13, 14, 15, 16, 17, 18, 19, 20]).await });
    until("the hold is over, or waits for the payment's start", || async {
        holding.is_finished() || cinema.waiting().await == 2
    })
    .await;
    pause.ends().await;
    let (started, held) = (starting.await.unwrap(), holding.await.unwrap());
    if let Err(error) = started {
        assert!(error.starts_with("23505") && error.contains("orders_one_at_a_time"), "{error}");
    }
    if let Err(error) = held {
        assert_eq!(error, Error::too_many_seats(&(11..=20).map(SeatNo).collect::<Vec<_>>(), 10));
    }
    let findings = breaches(&cinema).await;
    cinema.is_broken_on_purpose();
    findings
}

#[tokio::test]
async fn without_a_number_of_its_own_a_renewal_makes_twenty_of_ten() {
    let number = "case when whole.renewed_at is null\n                   \
                  then (select max(nth) + 1 from orders\n                         \
                  where visitor_id = whole.visitor_id and show_id = whole.show_id)\n                   \
                  else o.nth end";
    let numberless = mutant(START, &[(number, "o.nth")]);
    for moment in [Moment::BeforePayment, Moment::AfterRenewal] {
        assert_eq!(a_renewal_meets_a_hold(START, moment).await, Findings::new(), "{moment:?}");
        finds(&a_renewal_meets_a_hold(&numberless, moment).await, "P2: a visitor holds more than ten seats of a show");
    }
}
