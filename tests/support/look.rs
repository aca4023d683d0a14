//! What a test looks at: through the store's reading functions, and in the gateway's own books.

use matinee::domain::ids::{OrderId, ShowId};
use matinee::domain::order::{Order, OrderState, Standing};
use matinee::domain::payment::Payment;
use matinee::domain::show::{Seat, SeatMap};
use matinee::store::{maps, orders, payments, tickets};

use super::Cinema;

impl Cinema {
    /// The order as it is in the database.
    pub async fn order(&self, order: OrderId) -> Order {
        orders::get(&self.db, order).await.unwrap().unwrap().0
    }

    /// Where the order stands now, by the database's clock.
    pub async fn standing(&self, order: OrderId) -> Standing {
        let (order, now) = orders::get(&self.office.pool, order).await.unwrap().unwrap();
        order.standing(now)
    }

    /// The order's payments, oldest first.
    pub async fn payments(&self, order: OrderId) -> Vec<Payment> {
        payments::of_order(&self.db, order).await.unwrap()
    }

    /// The seats that the order has tickets for.
    pub async fn ticketed(&self, order: OrderId) -> Vec<i16> {
        tickets::of_order(&self.db, order).await.unwrap().into_iter().map(|ticket| ticket.seat.0).collect()
    }

    /// The show's seats as a map shows them.
    pub async fn seats(&self, show: ShowId) -> SeatMap {
        maps::seat_map(&self.office.pool, &self.office.plans, show).await.unwrap().unwrap()
    }

    /// The numbers of the seats that everybody may pick now.
    pub async fn free(&self, show: ShowId) -> Vec<i16> {
        let map = self.seats(show).await;
        let is_free = |seat: &&Seat| map.show.hold_window.is_available(seat.status, seat.locked_at, map.now);
        map.seats.iter().filter(is_free).map(|seat| seat.no.0).collect()
    }

    /// What the gateway's own books say about an order.
    pub async fn books(&self, order: OrderId) -> Books {
        let (captures, captured, refunded): (i64, i64, i64) = sqlx::query_as(
            "select count(*) filter (where status = 'captured'),
                    coalesce(sum(c.amount_minor) filter (where status = 'captured'), 0)::bigint,
                    coalesce(sum(c.refunded_minor), 0)::bigint
             from gateway.charges c join payments p on p.id::text = c.idempotency_key where p.order_id = $1",
        )
        .bind(order.0)
        .fetch_one(&self.db)
        .await
        .unwrap();
        Books { captures, captured, refunded }
    }

    /// Whether the order was paid and has its tickets.
    pub async fn is_sold(&self, order: OrderId) -> bool {
        matches!(self.order(order).await.state, OrderState::Sold { .. })
    }

    /// Whether the order was paid too late and the money was given back.
    pub async fn is_refunded(&self, order: OrderId) -> bool {
        matches!(self.order(order).await.state, OrderState::Refunded { .. })
    }
}

/// Money, by the gateway's own books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Books {
    /// How many charges took money.
    pub captures: i64,
    /// How much, in cents.
    pub captured: i64,
    /// How much was given back.
    pub refunded: i64,
}

impl Books {
    /// Nothing was taken.
    pub const EMPTY: Self = Self { captures: 0, captured: 0, refunded: 0 };

    /// Taken once and kept.
    pub const fn sold_for(cents: i64) -> Self {
        Self { captures: 1, captured: cents, refunded: 0 }
    }

    /// Taken once and given back.
    pub const fn refunded(cents: i64) -> Self {
        Self { captures: 1, captured: cents, refunded: cents }
    }
}
