//! `advisory`: locks that Postgres keeps by number, taken in seat order until the end of the transaction; then look and
//! write as if alone. They guard only against those who take them too.

use async_trait::async_trait;

use super::rows::{HoldRows, OnRows, Rows, all_free, look, write};
use super::{Answer, again};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::Order;

const LOCK: &str = "-- lock
select pg_advisory_xact_lock($1, seat_no) from unnest($2::integer[]) seat_no";

#[derive(Debug)]
pub struct Advisory;

pub fn open(bench: &Bench) -> OnRows<Advisory> {
    OnRows::open(bench, Advisory)
}

#[async_trait]
impl HoldRows for Advisory {
    async fn hold(&self, rows: &Rows, order: &Order) -> Result<Answer, Trouble> {
        again(|| attempt(rows, order)).await
    }
}

async fn attempt(rows: &Rows, order: &Order) -> Result<Option<bool>, Trouble> {
    let numbers: Vec<i32> = order.sorted().into_iter().map(i32::from).collect();
    let mut transaction = rows.pool.begin().await?;
    sqlx::query(LOCK).bind(order.show.0).bind(numbers).execute(&mut *transaction).await?;
    // A statement of its own, so that it sees what was committed while this waited.
    let free = all_free(order, &look(&mut *transaction, rows, order).await?);
    if free {
        write(&mut *transaction, order).await?;
    }
    transaction.commit().await?;
    Ok(Some(free))
}
