//! The outbox: the orders' events in the order of their transactions, read by consumers that remember how far they are.
//!
//! An event is delivered at least once: a consumer that dies between doing and remembering does it again. So whoever
//! consumes must be able to do it twice. Two events of one order come in the order of their transactions' numbers, which is
//! nearly always that of time; an event that matters carries its time.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::events::EventRow;
use super::pool::resilient;
use super::{StoreError, StoreResult};
use crate::domain::saga::OrderEvent;

/// How far a consumer has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    xid: String,
    order: Uuid,
    event: String,
}

impl Position {
    /// Before everything.
    pub fn start() -> Self {
        Self { xid: "0".to_owned(), order: Uuid::nil(), event: "held".to_owned() }
    }
}

/// An event, and the position behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What happened.
    pub event: OrderEvent,
    /// Where to go on from when it has been dealt with.
    pub position: Position,
}

struct DeliveryRow {
    xid: String,
    order_id: Uuid,
    event: String,
    at: DateTime<Utc>,
    actor: String,
    payment_id: Option<Uuid>,
    why: Option<String>,
}

impl TryFrom<DeliveryRow> for Delivery {
    type Error = StoreError;

    fn try_from(row: DeliveryRow) -> StoreResult<Self> {
        let position = Position { xid: row.xid, order: row.order_id, event: row.event.clone() };
        let DeliveryRow { order_id, event, at, actor, payment_id, why, .. } = row;
        Ok(Self { event: EventRow { order_id, at, event, actor, payment_id, why }.try_into()?, position })
    }
}

/// Takes a consumer's place for as long as `lease`: where it stands. `None` while somebody else reads for it.
///
/// # Errors
/// When the database does.
pub async fn take(pool: &PgPool, consumer: &str, lease: TimeDelta) -> StoreResult<Option<Position>> {
    let seconds = lease.num_seconds() as f64;
    resilient(|| async {
        Ok(sqlx::query_as!(
            Position,
            r#"-- take_consumer
            insert into consumers (name, leased_until) values ($1, clock_timestamp() + $2 * interval '1 second')
            on conflict (name) do update set leased_until = excluded.leased_until
            where consumers.leased_until < clock_timestamp()
            returning xid::text as "xid!", order_id as "order", event::text as "event!""#,
            consumer,
            seconds
        )
        .fetch_optional(pool)
        .await?)
    })
    .await
}

/// What follows a position, at most so many.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn after(pool: &PgPool, position: &Position, most: i64) -> StoreResult<Vec<Delivery>> {
    let rows = resilient(|| async {
        Ok(sqlx::query_file_as!(
            DeliveryRow,
            "src/store/sql/outbox.sql",
            position.xid,
            position.order,
            position.event,
            most
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter().map(Delivery::try_from).collect()
}

/// Remembers that a consumer has dealt with everything up to `to`, and gives its place back. `false` when it stood elsewhere
/// by now, because somebody else had taken over: then nothing changed.
///
/// # Errors
/// When the database does.
pub async fn advance(pool: &PgPool, consumer: &str, from: &Position, to: &Position) -> StoreResult<bool> {
    resilient(|| async {
        let done = sqlx::query!(
            "-- advance_consumer
            update consumers set xid = $5::text::xid8, order_id = $6, event = $7::text::order_event, leased_until = '-infinity'
            where name = $1 and (xid, order_id, event) = ($2::text::xid8, $3, $4::text::order_event)",
            consumer,
            from.xid,
            from.order,
            from.event,
            to.xid,
            to.order,
            to.event
        )
        .execute(pool)
        .await?;
        Ok(done.rows_affected() == 1)
    })
    .await
}
