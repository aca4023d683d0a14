//! Each guard of the statements taken out once, to see that somebody notices. A trial runs one statement, as it is or
//! with a guard less, where that guard is needed, and returns what the suite's checks find. As it is, nothing is found.

use matinee::domain::ids::{OrderId, PaymentId, ShowId};
use matinee::domain::payment::Card;
use matinee::store::plans::Plans;
use matinee::store::{StoreError, payments, proof};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row};
use uuid::Uuid;

use crate::support::clock::Clock;
use crate::support::{Cinema, GOOD_CARD, Visitor, an_attempt};

const HOLD: &str = include_str!("../../src/store/sql/hold_seats.sql");
const RELEASE: &str = include_str!("../../src/store/sql/release_hold.sql");
const START: &str = include_str!("../../src/store/sql/start_payment.sql");
const CONFIRM: &str = include_str!("../../src/store/sql/confirm.sql");

/// The statement with each of these texts replaced; each must be there exactly once, or the mutant would be none.
fn mutant(statement: &str, guards: &[(&str, &str)]) -> String {
    guards.iter().fold(statement.to_owned(), |text, (guard, instead)| {
        assert_eq!(text.matches(guard).count(), 1, "the statement has this guard once: {guard}");
        text.replace(guard, instead)
    })
}

/// What went wrong in a trial; nothing as long as the guards are in.
type Findings = Vec<String>;

fn finds(findings: &Findings, what: &str) {
    assert!(findings.iter().any(|finding| finding.contains(what)), "the mutant lives: {what} not in {findings:?}");
}

async fn breaches(cinema: &Cinema) -> Findings {
    let found = proof::breaches(&cinema.db, &Plans::default()).await.unwrap();
    found.into_iter().map(|breach| format!("{}: {}", breach.question, breach.row)).collect()
}

fn failure(error: sqlx::Error) -> String {
    let error = StoreError::from(error);
    format!("{}: {error}", error.sqlstate().unwrap_or("no SQLSTATE"))
}

/// Runs a hold's statement: whether it held.
async fn hold(connection: &mut PgConnection, statement: &str, show: ShowId, seats: &[i16], visitor: Uuid) -> Result<bool, String> {
    let row = sqlx::query(AssertSqlSafe(statement))
        .bind(show.0)
        .bind(seats)
        .bind(visitor)
        .bind(Uuid::new_v4())
        .bind(10_i64)
        .fetch_one(connection)
        .await
        .map_err(failure)?;
    Ok(row.get("held!"))
}

/// Two holds meet: the first has seats 2 and 3 and has not committed when the second, which wants 1 and 2, comes.
async fn two_holds_meet(statement: &str) -> Findings {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(4).await;
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
async fn a_seat_goes_and_comes_back(statement: &str) -> Findings {
    let cinema = Cinema::open().await;
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

const RULE_IN_LOCKED: (&str, &str) = ("\n      and is_available(s.status, s.locked_at, allowed.hold_window_s, clock_timestamp())", "");
const RULE_IN_PRECHECK: (&str, &str) =
    ("is_available(s.status, s.locked_at, show.hold_window_s, clock_timestamp()) as free", "true as free");
const COUNT: (&str, &str) = ("from locked having count(*) = cardinality($2)", "from locked having count(*) > 0");
const GUARD: (&str, &str) =
    ("all_or_none((select count(*) from held), cardinality($2)) as \"held!\"", "(select count(*) > 0 from held) as \"held!\"");

#[tokio::test]
async fn with_every_guard_in_nothing_is_found() {
    assert_eq!(two_holds_meet(HOLD).await, Findings::new());
    assert_eq!(a_seat_goes_and_comes_back(HOLD).await, Findings::new());
    assert_eq!(a_sold_seat_is_wanted(HOLD).await, Findings::new());
}

#[tokio::test]
async fn without_the_rule_after_the_wait_a_seat_is_stolen() {
    let findings = two_holds_meet(&mutant(HOLD, &[RULE_IN_LOCKED])).await;
    finds(&findings, "promised twice");
    finds(&findings, "P2: a hold that has not lapsed lacks some of its seats");
}

/// Somebody wants seats 1 and 2, of which 2 is sold.
async fn a_sold_seat_is_wanted(statement: &str) -> Findings {
    let cinema = Cinema::open().await;
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
    let findings = a_sold_seat_is_wanted(&mutant(HOLD, &[RULE_IN_LOCKED, RULE_IN_PRECHECK])).await;
    finds(&findings, "a sold seat was held");
    finds(&findings, "P1: a ticket's seat is not booked for its order");
}

#[tokio::test]
async fn without_all_or_none_a_part_is_held() {
    let findings = two_holds_meet(&mutant(HOLD, &[COUNT, GUARD])).await;
    finds(&findings, "P2: a hold that has not lapsed lacks some of its seats");
    finds(&findings, "seat 1 is not free");
}

#[tokio::test]
async fn without_the_count_the_guard_stops_a_partial_hold() {
    assert_eq!(two_holds_meet(&mutant(HOLD, &[COUNT])).await, ["MT001: database: error returned from database: all or none: 1 of 2 seats"]);
}

#[tokio::test]
async fn a_join_by_ctid_loses_a_row_that_moved() {
    let by_ctid = [
        ("select s.seat_no, allowed.zone_prices", "select s.ctid as place, s.seat_no, allowed.zone_prices"),
        ("where s.show_id = $1 and s.seat_no = locked.seat_no", "where s.ctid = locked.place"),
    ];
    finds(&a_seat_goes_and_comes_back(&mutant(HOLD, &by_ctid)).await, "MT001");
    let unguarded = mutant(HOLD, &[&by_ctid[..], &[GUARD]].concat());
    finds(&a_seat_goes_and_comes_back(&unguarded).await, "P2: a hold that has not lapsed lacks some of its seats");
}

/// A visitor sends two forms of six seats each; the second comes before the first has committed.
async fn six_and_six(without_index: bool) -> Findings {
    let cinema = Cinema::open().await;
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
    assert_eq!(six_and_six(false).await, Findings::new());
    finds(&six_and_six(true).await, "P2: a visitor holds more than ten seats of a show");
}

const UNORDERED: (&str, &str) = ("    order by s.seat_no\n    for update of s", "    for update of s");

/// Whose lock order a trial looks at.
#[derive(Clone, Copy, Debug)]
enum Locker {
    Hold,
    Release,
    Start,
    Confirm,
}

/// Seats 1 and 2 lie on their page the other way round, and no index leads to them. Somebody who keeps to the order has 1
/// and then wants 2, while the statement wants both.
async fn somebody_locks_one_then_two(locker: Locker, statement: &str) -> Findings {
    let no_index = [("enable_indexscan", "off"), ("enable_bitmapscan", "off"), ("enable_indexonlyscan", "off")];
    let nested_loops = [("enable_hashjoin", "off"), ("enable_mergejoin", "off"), ("deadlock_timeout", "100ms")];
    let cinema = Cinema::open_with(&[no_index, nested_loops].concat()).await;
    let show = cinema.show_of(2).await;
    let mut order = None;
    let payment = PaymentId(Uuid::new_v4());
    if !matches!(locker, Locker::Hold) {
        let held = cinema.visitor().hold(show, &[1, 2]).await.unwrap();
        if matches!(locker, Locker::Confirm) {
            payments::start(&cinema.db, held, payment, an_attempt()).await.unwrap().unwrap();
        }
        order = Some(held);
    }
    cinema
        .sql(
            "create table turned as select * from seats;
             delete from seats;
             insert into seats select * from turned order by seat_no desc;",
        )
        .await;
    let mut orderly = cinema.db.begin().await.unwrap();
    let lock = "select from seats where seat_no = $1 for update";
    sqlx::query(lock).bind(1_i16).execute(&mut *orderly).await.unwrap();
    let mut connection = cinema.db.acquire().await.unwrap();
    let text = statement.to_owned();
    let other = tokio::spawn(async move {
        let order = order.map_or_else(Uuid::new_v4, |order: OrderId| order.0);
        let query = sqlx::query(AssertSqlSafe(text));
        let query = match locker {
            Locker::Hold => query.bind(show.0).bind(vec![1_i16, 2]).bind(Uuid::new_v4()).bind(order).bind(10_i64),
            Locker::Release => query.bind(order),
            Locker::Start => query.bind(order).bind(payment.0).bind(Uuid::new_v4()),
            Locker::Confirm => {
                query.bind(order).bind(payment.0).bind("ch_1").bind(vec!["0000000000001", "0000000000002"])
            }
        };
        query.execute(&mut *connection).await.map(|_| ()).map_err(failure)
    });
    cinema.until_waiting(1).await;
    let two = sqlx::query(lock).bind(2_i16).execute(&mut *orderly).await.map(|_| ()).map_err(failure);
    orderly.rollback().await.unwrap();
    let findings = [two, other.await.unwrap()].into_iter().filter_map(Result::err).collect();
    cinema.is_broken_on_purpose();
    findings
}

#[tokio::test]
async fn without_an_ordered_lock_two_wait_in_a_circle() {
    for (locker, statement) in
        [(Locker::Hold, HOLD), (Locker::Release, RELEASE), (Locker::Start, START), (Locker::Confirm, CONFIRM)]
    {
        assert_eq!(somebody_locks_one_then_two(locker, statement).await, Findings::new(), "{locker:?}");
        finds(&somebody_locks_one_then_two(locker, &mutant(statement, &[UNORDERED])).await, "40P01");
    }
}

/// Ada's money is taken, her hold has lapsed, Bert has bought seat 2; now her payment is confirmed.
async fn a_payment_comes_too_late(statement: &str, constraint: bool) -> Findings {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let order = ada.hold(show, &[1, 2]).await.unwrap();
    let payment = PaymentId(Uuid::new_v4());
    let amount = payments::start(&cinema.db, order, payment, an_attempt()).await.unwrap().unwrap();
    cinema.office.gateway.charge(payment, amount, &Card::parse(GOOD_CARD).unwrap()).await.unwrap();
    let reference: String = sqlx::query_scalar("select reference from gateway.charges").fetch_one(&cinema.db).await.unwrap();
    cinema.expire(order).await;
    let bought = bert.hold(show, &[2]).await.unwrap();
    bert.pay(bought, GOOD_CARD).await.unwrap();
    if !constraint {
        cinema.sql("alter table tickets drop constraint tickets_one_per_seat").await;
    }
    let confirmed = sqlx::query(AssertSqlSafe(statement))
        .bind(order.0)
        .bind(payment.0)
        .bind(reference)
        .bind(vec!["0000000000001", "0000000000002"])
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
    let unguarded = mutant(
        CONFIRM,
        &[(
            "\n      and ((s.order_id = paid.id and s.status = 'locked')\n           \
             or is_available(s.status, s.locked_at, paid.hold_window_s, clock_timestamp()))",
            "",
        )],
    );
    assert_eq!(a_payment_comes_too_late(CONFIRM, true).await, Findings::new());
    assert_eq!(a_payment_comes_too_late(CONFIRM, false).await, Findings::new());
    let stopped = a_payment_comes_too_late(&unguarded, true).await;
    assert!(stopped.len() == 1 && stopped[0].starts_with("23505") && stopped[0].contains("tickets_one_per_seat"), "{stopped:?}");
    finds(&a_payment_comes_too_late(&unguarded, false).await, "P1: a seat of a show was sold twice");
}

/// Ada's hold has lapsed, Bert has bought one of her seats; now she releases.
async fn a_lapsed_hold_is_released(statement: &str) -> Findings {
    let cinema = Cinema::open().await;
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
    assert_eq!(a_lapsed_hold_is_released(RELEASE).await, Findings::new());
    let blind = mutant(RELEASE, &[(" and s.order_id = released.id and s.status = 'locked'", "")]);
    finds(&a_lapsed_hold_is_released(&blind).await, "P1: a booked seat has no ticket");
}
