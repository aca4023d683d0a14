//! The order in which rows are locked.

use matinee::domain::ids::{OrderId, PaymentId};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{CONFIRM, Findings, HOLD, RELEASE, START, failure, finds, mutant};
use crate::support::{Cinema, PRICE};

const UNORDERED: (&str, &str) = ("    order by s.seat_no\n", "");

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
async fn somebody_locks_one_then_two(street: &Cinema, locker: Locker, statement: &str) -> Findings {
    let cinema = street.next_door().await;
    let show = cinema.show_of(2).await;
    let mut order = None;
    let ada = cinema.visitor();
    let visitor = ada.id.0;
    let payment = PaymentId(Uuid::new_v4());
    if !matches!(locker, Locker::Hold) {
        let held = ada.hold(show, &[1, 2]).await.unwrap();
        if matches!(locker, Locker::Confirm) {
            cinema.starts(held, payment).await.unwrap();
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
            Locker::Hold => {
                query.bind(show.0).bind(vec![1_i16, 2]).bind(Uuid::new_v4()).bind(order).bind(10_i64).bind(None::<i64>)
            }
            Locker::Release => query.bind(order),
            Locker::Start => {
                query.bind(order).bind(payment.0).bind(Uuid::new_v4()).bind("4242").bind(None::<&str>).bind(visitor)
            }
            Locker::Confirm => {
                let codes = vec!["0000000000001", "0000000000002"];
                let query = query.bind(payment.0).bind("ch_1").bind(2 * PRICE).bind("EUR").bind(codes);
                query.bind("visitor").bind("the test").bind("reading")
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
    let no_index = [("enable_indexscan", "off"), ("enable_bitmapscan", "off"), ("enable_indexonlyscan", "off")];
    let nested_loops = [("enable_hashjoin", "off"), ("enable_mergejoin", "off"), ("deadlock_timeout", "100ms")];
    let street = Cinema::open_with(&[no_index, nested_loops].concat()).await;
    for (locker, statement) in
        [(Locker::Hold, HOLD), (Locker::Release, RELEASE), (Locker::Start, START), (Locker::Confirm, CONFIRM)]
    {
        assert_eq!(somebody_locks_one_then_two(&street, locker, statement).await, Findings::new(), "{locker:?}");
        finds(&somebody_locks_one_then_two(&street, locker, &mutant(statement, &[UNORDERED])).await, "40P01");
    }
    street.is_broken_on_purpose();
}
