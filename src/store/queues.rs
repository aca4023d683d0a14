//! Waiting rooms: who came, in which order.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgPool;

use super::StoreResult;
use super::pool::resilient;
use crate::domain::ids::{ShowId, VisitorId};
use crate::domain::queue::Opening;

/// What is known of a show's waiting room and of one visitor in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// When the show's sale opens; `None`: it is on sale.
    pub opening: Option<Opening>,
    /// The visitor's number, in the order of coming; `None` when the visitor has not come.
    pub number: Option<i64>,
    /// The last number that was given.
    pub last: i64,
    /// How many came before the opening.
    pub early: i64,
    /// The database's clock.
    pub now: DateTime<Utc>,
}

/// A show's waiting room, and a visitor in it. `None` when there is no such show.
///
/// # Errors
/// When the database does.
pub async fn look(pool: &PgPool, show: ShowId, visitor: VisitorId) -> StoreResult<Option<Queued>> {
    let row = resilient(|| async {
        Ok(sqlx::query!(
            r#"-- look_at_queue
            select sales_open_at, admit_per_minute, place.number as "number?", coalesce(last, 0) as "last!",
                   coalesce(early, 0) as "early!", clock_timestamp() as "now!"
            from shows left join queues on queues.show_id = shows.id
                       left join queue_numbers place on place.show_id = shows.id and place.visitor_id = $2
            where shows.id = $1"#,
            show.0,
            visitor.0
        )
        .fetch_optional(pool)
        .await?)
    })
    .await?;
    Ok(row.map(|row| Queued {
        opening: row.sales_open_at.map(|at| Opening { at, per_minute: row.admit_per_minute }),
        number: row.number,
        last: row.last,
        early: row.early,
        now: row.now,
    }))
}

/// Gives the visitor the next number. Whoever has one keeps it, unless it is to be given up for one at the end.
///
/// After the opening, numbers whose turn came while nobody waited are passed over: whoever comes then is let in at once, for
/// a whole turn, and a thousand who come together are still let in one after the other.
///
/// Not flushed: before an opening tens of thousands come within a minute, and all write to the one row that counts them. The
/// worst that a crash can take is the last half second's numbers, whose visitors take new ones when they look again.
///
/// # Errors
/// When the database does.
pub async fn join(pool: &PgPool, show: ShowId, visitor: VisitorId, anew: bool) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query_file!("src/store/sql/join_queue.sql", show.0, visitor.0, anew).execute(pool).await?;
        Ok(())
    })
    .await
}

/// Sets a show's opening, or takes it away. `false` when there is no such show.
///
/// # Errors
/// When the database does.
pub async fn open(pool: &PgPool, show: ShowId, opening: Option<Opening>) -> StoreResult<bool> {
    resilient(|| async {
        let done = sqlx::query!(
            "-- open_sale
             update shows set sales_open_at = $2, admit_per_minute = $3 where id = $1",
            show.0,
            opening.map(|opening| opening.at),
            opening.and_then(|opening| opening.per_minute)
        )
        .execute(pool)
        .await?;
        Ok(done.rows_affected() == 1)
    })
    .await
}
