//! `conditional`: the product's form of a hold, reduced to the laboratory's tables. A pre-check stops losers without a
//! lock; the lock is taken in seat order and judged again after a wait; the update goes by key; the guard makes a partial
//! result impossible.

use async_trait::async_trait;

use super::Answer;
use super::rows::{HoldRows, OnRows, Rows};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::Order;

const HOLD: &str = "-- hold
with precheck as materialized (
    select count(*) as free from seats
    where show_no = $1 and seat_no = any ($2) and is_available(status, locked_at, $4, clock_timestamp())
), locked as materialized (
    select seat_no from seats
    where (select free from precheck) = cardinality($2) and show_no = $1 and seat_no = any ($2)
      and is_available(status, locked_at, $4, clock_timestamp())
    order by seat_no
    for update
), held as (
    update seats s set status = 'locked', locked_at = clock_timestamp(), order_id = $3, version = version + 1
    from locked
    where (select count(*) from locked) = cardinality($2) and s.show_no = $1 and s.seat_no = locked.seat_no
    returning s.seat_no
)
select all_or_none((select count(*) from held), cardinality($2))";

#[derive(Debug)]
pub struct Conditional;

pub fn open(bench: &Bench) -> OnRows<Conditional> {
    OnRows::open(bench, Conditional)
}

#[async_trait]
impl HoldRows for Conditional {
    async fn hold(&self, rows: &Rows, order: &Order) -> Result<Answer, Trouble> {
        let held = sqlx::query_scalar(HOLD)
            .bind(order.show.0)
            .bind(order.sorted())
            .bind(order.id.0)
            .bind(rows.window.seconds())
            .fetch_one(&rows.pool)
            .await?;
        Ok(Answer::at_once(held))
    }
}
