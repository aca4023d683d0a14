//! Two statements that look right and are not: each was measured to keep parts of holds. They are here so that the checker
//! has something to find.

use async_trait::async_trait;

use super::Answer;
use super::rows::{HoldRows, OnRows, Rows};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::Order;

/// The rows are locked in order and judged by what the lock found, but joined by where they lay. A row that was given back
/// while this waited lies elsewhere, is not found, and the others are kept without it.
const CTID: &str = "-- look_alike_ctid
with locked as materialized (
    select ctid as place, status, locked_at from seats where show_no = $1 and seat_no = any ($2)
    order by seat_no
    for update
), free as materialized (
    select place from locked where is_available(status, locked_at, $4, clock_timestamp())
), held as (
    update seats s set status = 'locked', locked_at = clock_timestamp(), order_id = $3, version = version + 1
    from free
    where (select count(*) from free) = cardinality($2) and s.ctid = free.place
    returning 1
)
select count(*) = cardinality($2) from held";

/// The free seats are counted in the update itself, without locks. The count is not taken again after a wait; the rule is,
/// so a seat that has gone is left out, and the others are kept without it.
const COUNT: &str = "-- look_alike_count
with held as (
    update seats set status = 'locked', locked_at = clock_timestamp(), order_id = $3, version = version + 1
    where show_no = $1 and seat_no = any ($2) and is_available(status, locked_at, $4, clock_timestamp())
      and (select count(*) from seats other
           where other.show_no = $1 and other.seat_no = any ($2)
             and is_available(other.status, other.locked_at, $4, clock_timestamp())) = cardinality($2)
    returning 1
)
select count(*) = cardinality($2) from held";

/// One of the two.
#[derive(Debug)]
pub struct LookAlike(&'static str);

/// The join by ctid.
pub fn ctid(bench: &Bench) -> OnRows<LookAlike> {
    OnRows::open(bench, LookAlike(CTID))
}

/// The count without locks.
pub fn count(bench: &Bench) -> OnRows<LookAlike> {
    OnRows::open(bench, LookAlike(COUNT))
}

#[async_trait]
impl HoldRows for LookAlike {
    async fn hold(&self, rows: &Rows, order: &Order) -> Result<Answer, Trouble> {
        let held = sqlx::query_scalar(self.0)
            .bind(order.show.0)
            .bind(order.sorted())
            .bind(order.id.0)
            .bind(rows.window.seconds())
            .fetch_one(&rows.pool)
            .await?;
        Ok(Answer::at_once(held))
    }
}
