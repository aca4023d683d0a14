//! `optimistic`: looks and remembers versions, then writes only rows that still have them; if one has not, nothing is
//! written and the visitor's seats are looked at again. Rows are written in the order of the clicks: nothing in the idea
//! says otherwise, and the deadlocks are part of what it costs.

use async_trait::async_trait;

use super::rows::{HoldRows, OnRows, Rows, all_free, look};
use super::{Answer, again};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::Order;

const WRITE_SEEN: &str = "-- write_seen
with held as (
    update seats s set status = 'locked', locked_at = clock_timestamp(), order_id = $3, version = s.version + 1
    from unnest($2::smallint[], $4::bigint[]) seen (seat_no, version)
    where s.show_no = $1 and s.seat_no = seen.seat_no and s.version = seen.version
    returning 1
)
select all_or_none((select count(*) from held), cardinality($2))";

#[derive(Debug)]
pub struct Optimistic;

pub fn open(bench: &Bench) -> OnRows<Optimistic> {
    OnRows::open(bench, Optimistic)
}

#[async_trait]
impl HoldRows for Optimistic {
    async fn hold(&self, rows: &Rows, order: &Order) -> Result<Answer, Trouble> {
        again(|| attempt(rows, order)).await
    }
}

async fn attempt(rows: &Rows, order: &Order) -> Result<Option<bool>, Trouble> {
    let seen = look(&rows.pool, rows, order).await?;
    if !all_free(order, &seen) {
        return Ok(Some(false));
    }
    let clicked = order.clicked();
    let version_of = |seat: &i16| seen.iter().find(|seen| seen.seat == *seat).map(|seen| seen.version);
    let versions: Vec<i64> = clicked.iter().filter_map(version_of).collect();
    let held: bool = sqlx::query_scalar(WRITE_SEEN)
        .bind(order.show.0)
        .bind(&clicked)
        .bind(order.id.0)
        .bind(versions)
        .fetch_one(&rows.pool)
        .await?;
    Ok(held.then_some(true))
}
