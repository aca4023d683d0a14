//! Seats as rows, as the product has them. The strategies that keep them so differ in how they hold; confirm and release
//! are the same statements for all: conditional, in seat order, all or none.

use std::fmt;

use async_trait::async_trait;
use sqlx::postgres::{PgExecutor, PgPool};
use uuid::Uuid;

use super::{Answer, Strategy};
use crate::domain::ids::OrderId;
use crate::domain::seat::{HoldWindow, SeatNo};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::{Order, ShowNo};
use crate::rush::laboratory::record::{Books, Owned, Place};

const LOOK: &str = "-- look
select seat_no, is_available(status, locked_at, $3, clock_timestamp()) as free, version
from seats where show_no = $1 and seat_no = any ($2)";

const WRITE: &str = "-- write
update seats set status = 'locked', locked_at = clock_timestamp(), order_id = $3, version = version + 1
where show_no = $1 and seat_no = any ($2)";

const CONFIRM: &str = "-- confirm
with locked as materialized (
    select seat_no from seats
    where show_no = $1 and seat_no = any ($2) and order_id = $3 and status = 'locked'
      and not is_available(status, locked_at, $4, clock_timestamp())
    order by seat_no for update
), booked as (
    update seats s set status = 'booked', locked_at = null, version = version + 1 from locked
    where (select count(*) from locked) = cardinality($2) and s.show_no = $1 and s.seat_no = locked.seat_no
    returning s.seat_no
), issued as (
    insert into tickets (show_no, seat_no, order_id) select $1, seat_no, $3 from booked
)
select all_or_none((select count(*) from booked), cardinality($2))";

const RELEASE: &str = "-- release
with locked as materialized (
    select seat_no from seats where show_no = $1 and seat_no = any ($2) and order_id = $3 and status = 'locked'
    order by seat_no for update
)
update seats s set status = 'available', locked_at = null, order_id = null, version = version + 1 from locked
where s.show_no = $1 and s.seat_no = locked.seat_no";

/// The table of seats.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Its connections.
    pub pool: PgPool,
    /// How long a hold keeps others away.
    pub window: HoldWindow,
}

/// How one strategy holds seats that are rows.
#[async_trait]
pub trait HoldRows: fmt::Debug + Send + Sync {
    /// Holds all of the seats or none.
    async fn hold(&self, rows: &Rows, order: &Order) -> Result<Answer, Trouble>;

    /// As of the strategy.
    async fn redis_connections(&self) -> usize {
        0
    }
}

/// A strategy on rows.
#[derive(Debug)]
pub struct OnRows<H> {
    rows: Rows,
    how: H,
}

impl<H: HoldRows> OnRows<H> {
    /// On the bench's seats.
    pub fn open(bench: &Bench, how: H) -> Self {
        Self { rows: Rows { pool: bench.pool.clone(), window: bench.window }, how }
    }
}

#[async_trait]
impl<H: HoldRows> Strategy for OnRows<H> {
    async fn hold(&self, order: &Order) -> Result<Answer, Trouble> {
        self.how.hold(&self.rows, order).await
    }

    async fn confirm(&self, order: &Order) -> Result<bool, Trouble> {
        let confirmed = sqlx::query_scalar(CONFIRM)
            .bind(order.show.0)
            .bind(order.sorted())
            .bind(order.id.0)
            .bind(self.rows.window.seconds());
        Ok(confirmed.fetch_one(&self.rows.pool).await?)
    }

    async fn release(&self, order: &Order) -> Result<(), Trouble> {
        sqlx::query(RELEASE).bind(order.show.0).bind(order.sorted()).bind(order.id.0).execute(&self.rows.pool).await?;
        Ok(())
    }

    async fn redis_connections(&self) -> usize {
        self.how.redis_connections().await
    }

    async fn books(&self) -> Result<Books, Trouble> {
        let owned: Vec<(i32, i16, Uuid)> = sqlx::query_as(
            "-- owned
             select show_no, seat_no, order_id from seats where order_id is not null",
        )
        .fetch_all(&self.rows.pool)
        .await?;
        Ok(Books { owned: owned.into_iter().map(one_seat).collect(), tickets: tickets(&self.rows.pool).await? })
    }
}

/// What was seen of a seat.
pub struct Seen {
    /// Its number.
    pub seat: i16,
    /// Whether the rule called it available.
    pub free: bool,
    /// Its version.
    pub version: i64,
}

/// Looks at the order's seats without a lock.
pub async fn look(connection: impl PgExecutor<'_>, rows: &Rows, order: &Order) -> Result<Vec<Seen>, Trouble> {
    let seen: Vec<(i16, bool, i64)> = sqlx::query_as(LOOK)
        .bind(order.show.0)
        .bind(order.clicked())
        .bind(rows.window.seconds())
        .fetch_all(connection)
        .await?;
    Ok(seen.into_iter().map(|(seat, free, version)| Seen { seat, free, version }).collect())
}

/// Whether all of the order's seats were seen, and were free.
pub fn all_free(order: &Order, seen: &[Seen]) -> bool {
    seen.len() == order.seats.len() && seen.iter().all(|seat| seat.free)
}

/// Writes the hold without asking again.
pub async fn write(connection: impl PgExecutor<'_>, order: &Order) -> Result<(), Trouble> {
    sqlx::query(WRITE).bind(order.show.0).bind(order.sorted()).bind(order.id.0).execute(connection).await?;
    Ok(())
}

/// A numbered seat of the books.
pub fn one_seat((show, seat, order): (i32, i16, Uuid)) -> Owned {
    let place = Place { show: ShowNo(show), seat: Some(SeatNo(seat)) };
    Owned { place, order: OrderId(order), units: 1 }
}

/// All tickets.
pub async fn tickets(pool: &PgPool) -> Result<Vec<Owned>, Trouble> {
    let tickets: Vec<(i32, Option<i16>, Uuid)> = sqlx::query_as(
        "-- tickets
         select show_no, seat_no, order_id from tickets",
    )
    .fetch_all(pool)
    .await?;
    let owned = |(show, seat, order): (i32, Option<i16>, Uuid)| Owned {
        place: Place { show: ShowNo(show), seat: seat.map(SeatNo) },
        order: OrderId(order),
        units: 1,
    };
    Ok(tickets.into_iter().map(owned).collect())
}
