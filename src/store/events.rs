//! The order's story, read.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::pool::resilient;
use super::{StoreError, StoreResult};
use crate::domain::ids::{OrderId, PaymentId, ShowId};
use crate::domain::saga::{Actor, Happening, OrderEvent};

pub(super) struct EventRow {
    pub order_id: Uuid,
    pub at: DateTime<Utc>,
    pub event: String,
    pub actor: String,
    pub payment_id: Option<Uuid>,
    pub why: Option<String>,
}

impl TryFrom<EventRow> for OrderEvent {
    type Error = StoreError;

    fn try_from(row: EventRow) -> StoreResult<Self> {
        let corrupt = |column, what: &str| StoreError::corrupt("order_events", column, row.order_id, what);
        let what = Happening::ALL.into_iter().find(|what| what.as_str() == row.event);
        let actor = Actor::ALL.into_iter().find(|actor| actor.as_str() == row.actor);
        Ok(Self {
            order: OrderId(row.order_id),
            at: row.at,
            what: what.ok_or_else(|| corrupt("event", &row.event))?,
            actor: actor.ok_or_else(|| corrupt("actor", &row.actor))?,
            payment: row.payment_id.map(PaymentId),
            why: row.why,
        })
    }
}

/// What happened to an order, in its order.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn of_order(pool: &PgPool, order: OrderId) -> StoreResult<Vec<OrderEvent>> {
    let rows = resilient(|| async {
        Ok(sqlx::query_as!(
            EventRow,
            r#"-- events_of_order
            select order_id, at, event::text as "event!", actor::text as "actor!", payment_id, why
            from order_events where order_id = $1 order by at, event"#,
            order.0
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter().map(OrderEvent::try_from).collect()
}

/// Where a look at the events ended: the oldest transaction that was still running then. What it commits is found by a look
/// from here; what is found twice changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Horizon(String);

/// The present horizon.
///
/// # Errors
/// When the database does.
pub async fn horizon(pool: &PgPool) -> StoreResult<Horizon> {
    let horizon = sqlx::query_scalar!(
        r#"-- horizon
        select pg_snapshot_xmin(pg_current_snapshot())::text as "horizon!""#
    )
    .fetch_one(pool)
    .await?;
    Ok(Horizon(horizon))
}

/// The shows whose orders something happened to since a look that ended there, and where this look ends. Unlike the
/// outbox it does not wait for slow transactions: it says only where to look, and whoever looks sees everything.
///
/// # Errors
/// When the database does.
pub async fn shows_since(pool: &PgPool, horizon: &Horizon) -> StoreResult<(Vec<ShowId>, Horizon)> {
    let row = sqlx::query!(
        r#"-- shows_since
        select pg_snapshot_xmin(pg_current_snapshot())::text as "horizon!", array(
            select distinct o.show_id from order_events e join orders o on o.id = e.order_id
            where e.xid >= $1::text::xid8) as "shows!""#,
        horizon.0
    )
    .fetch_one(pool)
    .await?;
    Ok((row.shows.into_iter().map(ShowId).collect(), Horizon(row.horizon)))
}
