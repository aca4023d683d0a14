//! Orders, read.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::pool::resilient;
use super::{StoreError, StoreResult};
use crate::domain::hold::Selection;
use crate::domain::ids::{OrderId, ShowId, VisitorId};
use crate::domain::money::Money;
use crate::domain::order::{Order, OrderState};
use crate::domain::seat::{HoldWindow, SeatNo};

struct OrderRow {
    id: Uuid,
    show_id: Uuid,
    visitor_id: Uuid,
    seat_nos: Vec<i16>,
    prices: Vec<i64>,
    currency: String,
    hold_window_s: i32,
    held_at: DateTime<Utc>,
    locked_at: DateTime<Utc>,
    state: String,
    state_at: DateTime<Utc>,
    now: DateTime<Utc>,
}

impl TryFrom<OrderRow> for Order {
    type Error = StoreError;

    fn try_from(row: OrderRow) -> StoreResult<Self> {
        let corrupt = |column, what: String| StoreError::corrupt("orders", column, row.id, what);
        let currency = row.currency.parse().map_err(|error| corrupt("currency", error))?;
        let seats = Selection::new(row.seat_nos.iter().copied().map(SeatNo).collect())
            .map_err(|error| corrupt("seat_nos", error.to_string()))?;
        if seats.count() != row.seat_nos.len() || row.prices.len() != row.seat_nos.len() {
            return Err(corrupt("seat_nos", "not different, or not as many as prices".into()));
        }
        let total = Money::sum(row.prices.iter().copied(), currency)
            .ok_or_else(|| corrupt("prices", "their sum does not fit".into()))?;
        let state = match row.state.as_str() {
            "held" => OrderState::Held,
            "paying" => OrderState::Paying,
            "sold" => OrderState::Sold { sold_at: row.state_at },
            "released" => OrderState::Released { released_at: row.state_at },
            "refund_owed" => OrderState::RefundOwed { since: row.state_at },
            "refunded" => OrderState::Refunded { refunded_at: row.state_at },
            other => return Err(corrupt("state", other.into())),
        };
        Ok(Self {
            id: OrderId(row.id),
            show: ShowId(row.show_id),
            visitor: VisitorId(row.visitor_id),
            seats,
            prices: row.prices,
            total,
            hold_window: HoldWindow::from_seconds(row.hold_window_s)
                .ok_or_else(|| StoreError::corrupt("shows", "hold_window_s", row.show_id, row.hold_window_s))?,
            held_at: row.held_at,
            locked_at: row.locked_at,
            state,
        })
    }
}

/// An order and the database's clock when it was read; `None` when there is no such order.
///
/// # Errors
/// When the database does, or the row cannot be.
pub async fn get(pool: &PgPool, order: OrderId) -> StoreResult<Option<(Order, DateTime<Utc>)>> {
    let row = resilient(|| async {
        Ok(sqlx::query_as!(
            OrderRow,
            r#"-- order
            select o.id, show_id, visitor_id, seat_nos, prices, o.currency, hold_window_s, held_at, locked_at,
                   state::text as "state!", state_at, clock_timestamp() as "now!"
            from orders o join shows on shows.id = o.show_id where o.id = $1"#,
            order.0
        )
        .fetch_optional(pool)
        .await?)
    })
    .await?;
    row.map(|row| {
        let now = row.now;
        Ok((row.try_into()?, now))
    })
    .transpose()
}

/// The visitor's orders in a show whose seats are (or may be) kept for the visitor: held and not lapsed, or being paid.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn holding(pool: &PgPool, show: ShowId, visitor: VisitorId) -> StoreResult<Vec<Order>> {
    let rows = resilient(|| async {
        Ok(sqlx::query_as!(
            OrderRow,
            r#"-- holding
            select o.id, show_id, visitor_id, seat_nos, prices, o.currency, hold_window_s, held_at, locked_at,
                   state::text as "state!", state_at, clock_timestamp() as "now!"
            from orders o join shows on shows.id = o.show_id
            where visitor_id = $1 and show_id = $2 and state in ('held', 'paying')
              and not is_available('locked', locked_at, hold_window_s, clock_timestamp())
            order by held_at"#,
            visitor.0,
            show.0
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter().map(Order::try_from).collect()
}

/// The visitor's newest orders, newest first, with the database's clock.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn of_visitor(pool: &PgPool, visitor: VisitorId) -> StoreResult<Vec<(Order, DateTime<Utc>)>> {
    let rows = resilient(|| async {
        Ok(sqlx::query_as!(
            OrderRow,
            r#"-- orders_of_visitor
            select o.id, show_id, visitor_id, seat_nos, prices, o.currency, hold_window_s, held_at, locked_at,
                   state::text as "state!", state_at, clock_timestamp() as "now!"
            from orders o join shows on shows.id = o.show_id where visitor_id = $1 order by held_at desc limit 50"#,
            visitor.0
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter()
        .map(|row| {
            let now = row.now;
            Ok((row.try_into()?, now))
        })
        .collect()
}

/// Whose these orders are, as far as there are such.
///
/// # Errors
/// When the database does.
pub async fn owners(pool: &PgPool, orders: &[OrderId]) -> StoreResult<Vec<(OrderId, VisitorId)>> {
    let orders: Vec<Uuid> = orders.iter().map(|order| order.0).collect();
    let rows = resilient(|| async {
        Ok(sqlx::query!(
            "-- owners
             select id, visitor_id from orders where id = any ($1)",
            &orders
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    Ok(rows.into_iter().map(|row| (OrderId(row.id), VisitorId(row.visitor_id))).collect())
}
