//! How time passes without anybody waiting: rows become older, in the order in which everybody locks.

use std::time::Duration;

use matinee::store::StoreResult;
use sqlx::postgres::PgPool;
use uuid::Uuid;

/// Lets the hold of an order lapse, as if its window and a little more had passed. Whether there was one.
pub async fn expire(db: &PgPool, order: Uuid, window: Duration) -> StoreResult<bool> {
    older(db, Some(order), window + Duration::from_secs(1)).await
}

const A_MINUTE_OLDER: &[&str] = &[
    "update payments set started_at = started_at - interval '1 minute', asked_at = asked_at - interval '1 minute'
     where state = 'started'",
    "update refunds set asked_at = asked_at - interval '1 minute' where refunded_at is null",
    "update mails set claimed_at = claimed_at - interval '1 minute' where sent_at is null",
    "update consumers set leased_until = leased_until - interval '1 minute'",
    "update gateway.charges set decides_at = decides_at - interval '1 minute' where status = 'processing'",
    "update gateway.events set next_try_at = next_try_at - interval '1 minute' where deliveries_left > 0",
];

/// As if a minute had passed: every hold, lease, grace and pause is a minute older.
pub async fn a_minute_passes(db: &PgPool) -> StoreResult<()> {
    older(db, None, Duration::from_secs(60)).await?;
    for statement in A_MINUTE_OLDER {
        sqlx::raw_sql(*statement).execute(db).await?;
    }
    Ok(())
}

async fn older(db: &PgPool, order: Option<Uuid>, by: Duration) -> StoreResult<bool> {
    let done = sqlx::query(
        "with aged as materialized (
             select id, show_id from orders where state in ('held', 'paying') and ($1::uuid is null or id = $1)
             order by id for update
         ), locked as materialized (
             select s.show_id, s.seat_no, s.order_id from aged join seats s on s.show_id = aged.show_id
             where s.order_id = aged.id and s.status = 'locked' order by s.seat_no for update of s
         ), seats_aged as (
             update seats s set locked_at = s.locked_at - $2 * interval '1 second'
             from locked where s.show_id = locked.show_id and s.seat_no = locked.seat_no and s.order_id = locked.order_id
         )
         update orders o set held_at = held_at - $2 * interval '1 second', locked_at = locked_at - $2 * interval '1 second',
                             renewed_at = renewed_at - $2 * interval '1 second'
         from aged where o.id = aged.id",
    )
    .bind(order)
    .bind(by.as_secs_f64())
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}
