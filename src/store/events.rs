//! The order's story, read.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::pool::resilient;
use super::{StoreError, StoreResult};
use crate::domain::ids::{OrderId, PaymentId};
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
