//! `pessimistic`: `select .. for update` in seat order, then a look at what was locked, then the write. A loser locks too,
//! and whoever wants a seat waits behind whoever looks at it.

use async_trait::async_trait;

use super::rows::{HoldRows, OnRows, Rows, write};
use super::{Answer, again};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::Order;

/// The clock is read after the lock: in the statement that locks, it would be the time before a wait.
const LOCK: &str = "-- lock
select seat_no from seats where show_no = $1 and seat_no = any ($2) order by seat_no for update";

const FREE: &str = "-- free
select count(*) = cardinality($2) from seats
where show_no = $1 and seat_no = any ($2) and is_available(status, locked_at, $3, clock_timestamp())";

#[derive(Debug)]
pub struct Pessimistic;

pub fn open(bench: &Bench) -> OnRows<Pessimistic> {
    OnRows::open(bench, Pessimistic)
}

#[async_trait]
impl HoldRows for Pessimistic {
    async fn hold(&self, rows: &Rows, order: &Order) -> Result<Answer, Trouble> {
        again(|| attempt(rows, order)).await
    }
}

async fn attempt(rows: &Rows, order: &Order) -> Result<Option<bool>, Trouble> {
    let mut transaction = rows.pool.begin().await?;
    sqlx::query(LOCK).bind(order.show.0).bind(order.sorted()).execute(&mut *transaction).await?;
    let free = sqlx::query_scalar(FREE)
        .bind(order.show.0)
        .bind(order.sorted())
        .bind(rows.window.seconds())
        .fetch_one(&mut *transaction)
        .await?;
    if free {
        write(&mut *transaction, order).await?;
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    Ok(Some(free))
}
