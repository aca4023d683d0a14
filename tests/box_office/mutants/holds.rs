//! The guards of a hold.

use uuid::Uuid;

use super::{Findings, HOLD, RELEASE, breaches, finds, hold, mutant};
use crate::support::{Cinema, GOOD_CARD};

/// Two holds meet: the first has seats 2 and 3 and has not committed when the second, which wants 1 and 2, comes.
async fn two_holds_meet(street: &Cinema, statement: &str) -> Findings {
    two_holds_meet_after(street, "", statement).await
}

/// The same in a database that was changed before.
async fn two_holds_meet_after(street: &Cinema, change: &'static str, statement: &str) -> Findings {
    let cinema = street.next_door().await;
    let show = cinema.show_of(4).await;
    cinema.sql(change).await;
    let mut first = cinema.db.begin().await.unwrap();
    assert_eq!(hold(&mut first, statement, show, &[2, 3], Uuid::new_v4()).await, Ok(true));
    let mut connection = cinema.db.acquire().await.unwrap();
    let text = statement.to_owned();
    let second = tokio::spawn(async move { hold(&mut connection, &text, show, &[1, 2], Uuid::new_v4()).await });
    cinema.until_waiting(1).await;
    first.commit().await.unwrap();
    let mut findings = match second.await.unwrap() {
        Ok(false) => vec![],
        Ok(true) => vec!["seat 2 was promised twice".to_owned()],
        Err(error) => vec![error],
    };
    findings.extend(breaches(&cinema).await);
    if cinema.free(show).await != [1, 4] {
        findings.push("seat 1 is not free".to_owned());
    }
    cinema.is_broken_on_purpose();
    findings
}

/// The first hold comes to nothing: its seat went and came back while the second one waited, which therefore wins.
async fn a_seat_goes_and_comes_back(street: &Cinema, statement: &str) -> Findings {
    let cinema = street.next_door().await;
    let show = cinema.show_of(3).await;
    let mut first = cinema.db.begin().await.unwrap();
    assert_eq!(hold(&mut first, HOLD, show, &[2], Uuid::new_v4()).await, Ok(true));
    let order: Uuid = sqlx::query_scalar("select id from orders").fetch_one(&mut *first).await.unwrap();
    sqlx::query(RELEASE).bind(order).execute(&mut *first).await.unwrap();
    let mut connection = cinema.db.acquire().await.unwrap();
    let text = statement.to_owned();
    let second = tokio::spawn(async move { hold(&mut connection, &text, show, &[1, 2], Uuid::new_v4()).await });
    cinema.until_waiting(1).await;
    first.commit().await.unwrap();
    let mut findings = match second.await.unwrap() {
        Ok(true) => vec![],
        Ok(false) => vec!["both seats were free, and neither was held".to_owned()],
        Err(error) => vec![error],
    };
    findings.extend(breaches(&cinema).await);
    cinema.is_broken_on_purpose();
    findings
}

const RULE_IN_LOCKED: (&str, &str) =
    ("\n          and is_available(s.status, s.locked_at, seen.hold_window_s, clock_timestamp())", "");
const RULE_IN_PRECHECK: (&str, &str) =
    ("is_available(s.status, s.locked_at, show.hold_window_s, clock_timestamp()) as free", "true as free");
const COUNT: (&str, &str) = (") locked having count(*) = cardinality($2)", ") locked having count(*) > 0");
const GUARD: (&str, &str) = (
    "all_or_none((select count(*) from held), cardinality($2)) as \"held!\"",
    "(select count(*) > 0 from held) as \"held!\"",
);

#[tokio::test]
async fn with_every_guard_in_nothing_is_found() {
    let street = Cinema::open().await;
    assert_eq!(two_holds_meet(&street, HOLD).await, Findings::new());
    assert_eq!(a_seat_goes_and_comes_back(&street, HOLD).await, Findings::new());
    assert_eq!(a_sold_seat_is_wanted(&street, HOLD).await, Findings::new());
    street.is_broken_on_purpose();
}

#[tokio::test]
async fn without_the_rule_after_the_wait_a_seat_is_stolen() {
    let street = Cinema::open().await;
    let findings = two_holds_meet(&street, &mutant(HOLD, &[RULE_IN_LOCKED])).await;
    finds(&findings, "promised twice");
    finds(&findings, "P2: a hold that has not lapsed lacks some of its seats");
    street.is_broken_on_purpose();
}

/// Somebody wants seats 1 and 2, of which 2 is sold.
async fn a_sold_seat_is_wanted(street: &Cinema, statement: &str) -> Findings {
    let cinema = street.next_door().await;
    let show = cinema.show_of(2).await;
    let bert = cinema.visitor();
    let sold = bert.hold(show, &[2]).await.unwrap();
    bert.pay(sold, GOOD_CARD).await.unwrap();
    let mut connection = cinema.db.acquire().await.unwrap();
    let mut findings = match hold(&mut connection, statement, show, &[1, 2], Uuid::new_v4()).await {
        Ok(false) => vec![],
        Ok(true) => vec!["a sold seat was held".to_owned()],
        Err(error) => vec![error],
    };
    findings.extend(breaches(&cinema).await);
    cinema.is_broken_on_purpose();
    findings
}

#[tokio::test]
async fn without_any_status_guard_a_sold_seat_is_held() {
    let street = Cinema::open().await;
    let findings = a_sold_seat_is_wanted(&street, &mutant(HOLD, &[RULE_IN_LOCKED, RULE_IN_PRECHECK])).await;
    finds(&findings, "a sold seat was held");
    finds(&findings, "P1: a ticket's seat is not booked for its order");
    street.is_broken_on_purpose();
}

/// The guard behind the guard: an order has a price for each of its seats.
const WITHOUT_A_PRICE_A_SEAT: &str = "do $$
    declare name text := conname from pg_constraint
        where conrelid = 'orders'::regclass and pg_get_constraintdef(oid) like '%cardinality(prices)%';
    begin execute format('alter table orders drop constraint %I', name); end $$";

#[tokio::test]
async fn without_all_or_none_a_part_is_held() {
    let street = Cinema::open().await;
    // Three guards stand behind one another; each alone stops it.
    let stopped =
        |findings: Findings, by: &str| assert!(findings.len() == 1 && findings[0].starts_with(by), "{findings:?}");
    stopped(two_holds_meet_after(&street, WITHOUT_A_PRICE_A_SEAT, &mutant(HOLD, &[COUNT])).await, "MT001");
    stopped(two_holds_meet(&street, &mutant(HOLD, &[COUNT, GUARD])).await, "23514");
    assert_eq!(two_holds_meet_after(&street, WITHOUT_A_PRICE_A_SEAT, &mutant(HOLD, &[GUARD])).await, Findings::new());

    let findings = two_holds_meet_after(&street, WITHOUT_A_PRICE_A_SEAT, &mutant(HOLD, &[COUNT, GUARD])).await;
    finds(&findings, "P2: a hold that has not lapsed lacks some of its seats");
    finds(&findings, "seat 1 is not free");
    street.is_broken_on_purpose();
}

#[tokio::test]
async fn a_join_by_ctid_loses_a_row_that_moved() {
    let street = Cinema::open().await;
    let by_ctid = [
        ("select s.seat_no, seen.zone_prices", "select s.ctid as place, s.seat_no, seen.zone_prices"),
        ("array_agg(seat_no) as seats", "array_agg(place) as places"),
        ("where s.show_id = $1 and s.seat_no = any (winner.seats)", "where s.ctid = any (winner.places)"),
    ];
    finds(&a_seat_goes_and_comes_back(&street, &mutant(HOLD, &by_ctid)).await, "MT001");
    let unguarded = mutant(HOLD, &[&by_ctid[..], &[GUARD]].concat());
    finds(
        &a_seat_goes_and_comes_back(&street, &unguarded).await,
        "P2: a hold that has not lapsed lacks some of its seats",
    );
    street.is_broken_on_purpose();
}

/// A visitor sends two forms of six seats each; the second comes before the first has committed.
async fn six_and_six(street: &Cinema, without_index: bool) -> Findings {
    let cinema = street.next_door().await;
    let show = cinema.show_of(12).await;
    if without_index {
        cinema.sql("alter table orders drop constraint orders_one_at_a_time").await;
    }
    let visitor = Uuid::new_v4();
    let mut first = cinema.db.begin().await.unwrap();
    assert_eq!(hold(&mut first, HOLD, show, &[1, 2, 3, 4, 5, 6], visitor).await, Ok(true));
    let mut connection = cinema.db.acquire().await.unwrap();
    let second = tokio::spawn(async move { hold(&mut connection, HOLD, show, &[7, 8, 9, 10, 11, 12], visitor).await });
    if !without_index {
        cinema.until_waiting(1).await;
    }
    if without_index {
        // Nothing makes it wait.
        assert_eq!(second.await.unwrap(), Ok(true));
        first.commit().await.unwrap();
    } else {
        first.commit().await.unwrap();
        let refused = second.await.unwrap().unwrap_err();
        assert!(refused.starts_with("23505") && refused.contains("orders_one_at_a_time"), "{refused}");
    }
    let findings = breaches(&cinema).await;
    cinema.is_broken_on_purpose();
    findings
}

#[tokio::test]
async fn without_the_index_on_the_orders_number_the_limit_is_outrun() {
    let street = Cinema::open().await;
    assert_eq!(six_and_six(&street, false).await, Findings::new());
    finds(&six_and_six(&street, true).await, "P2: a visitor holds more than ten seats of a show");
    street.is_broken_on_purpose();
}
