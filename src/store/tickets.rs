//! Tickets, read. They are written by `payments::confirm` alone.

use sqlx::postgres::PgPool;

use super::pool::resilient;
use super::{StoreError, StoreResult};
use crate::domain::ids::{OrderId, ShowId};
use crate::domain::seat::SeatNo;
use crate::domain::ticket::{Ticket, TicketCode};

/// The tickets of an order, by seat; none unless it is sold.
///
/// # Errors
/// When the database does, or a code is not one.
pub async fn of_order(pool: &PgPool, order: OrderId) -> StoreResult<Vec<Ticket>> {
    let rows = resilient(|| async {
        Ok(sqlx::query!(
            "-- tickets_of_order
             select code, show_id, seat_no from tickets where order_id = $1 order by seat_no",
            order.0
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter()
        .map(|row| {
            let code =
                TicketCode::parse(&row.code).ok_or_else(|| StoreError::corrupt("tickets", "code", order, &row.code))?;
            Ok(Ticket { code, order, show: ShowId(row.show_id), seat: SeatNo(row.seat_no) })
        })
        .collect()
}
