//! `document`: a whole show is one JSON value with a version. Whoever wants seats reads all of it, changes it in the program
//! by the product's own rule, and writes all of it back if nobody else has; else again. Two visitors of one show always
//! meet, however far apart they sit.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgPool;
use sqlx::types::Json;

use super::rows::tickets;
use super::{Answer, Strategy, again};
use crate::domain::ids::OrderId;
use crate::domain::seat::{HoldWindow, SeatNo, Status};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::{Order, ShowNo};
use crate::rush::laboratory::record::{Books, Owned, Place};

const READ: &str = "-- read
select version, seats, clock_timestamp() from documents where show_no = $1";

const WRITE: &str = "-- write
with written as (
    update documents set version = version + 1, seats = $3 where show_no = $1 and version = $2 returning show_no
), issued as (
    insert into tickets (show_no, seat_no, order_id)
    select written.show_no, seat_no, $5 from written, unnest($4::smallint[]) seat_no
)
select exists (select from written)";

/// A seat in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seat {
    status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    locked_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<OrderId>,
}

#[derive(Debug)]
pub struct Document {
    pool: PgPool,
    window: HoldWindow,
}

/// What becomes of the wanted seats; `None` when it must not be.
type Change<'c> = &'c (dyn Fn(&Seat, DateTime<Utc>) -> Option<Seat> + Sync);

impl Document {
    pub fn open(bench: &Bench) -> Self {
        Self { pool: bench.pool.clone(), window: bench.window }
    }

    fn is_held(&self, seat: &Seat, order: &Order, now: DateTime<Utc>) -> bool {
        let lapsed = self.window.is_available(seat.status, seat.locked_at, now);
        seat.order == Some(order.id) && seat.status == Status::Locked && !lapsed
    }

    async fn attempt(&self, order: &Order, sold: &[i16], change: Change<'_>) -> Result<Option<bool>, Trouble> {
        let (version, Json(mut seats), now): (i64, Json<Vec<Seat>>, DateTime<Utc>) =
            sqlx::query_as(READ).bind(order.show.0).fetch_one(&self.pool).await?;
        for wanted in &order.seats {
            let seat = usize::try_from(wanted.0 - 1).ok().and_then(|nth| seats.get_mut(nth));
            match seat.and_then(|seat| change(seat, now).map(|changed| *seat = changed)) {
                Some(()) => {}
                None => return Ok(Some(false)),
            }
        }
        let written: bool = sqlx::query_scalar(WRITE)
            .bind(order.show.0)
            .bind(version)
            .bind(Json(seats))
            .bind(sold)
            .bind(order.id.0)
            .fetch_one(&self.pool)
            .await?;
        Ok(written.then_some(true))
    }
}

#[async_trait]
impl Strategy for Document {
    async fn hold(&self, order: &Order) -> Result<Answer, Trouble> {
        let hold = |seat: &Seat, now| {
            self.window.is_available(seat.status, seat.locked_at, now).then_some(Seat {
                status: Status::Locked,
                locked_at: Some(now),
                order: Some(order.id),
            })
        };
        again(|| self.attempt(order, &[], &hold)).await
    }

    async fn confirm(&self, order: &Order) -> Result<bool, Trouble> {
        let sell = |seat: &Seat, now| {
            let sold = Seat { status: Status::Booked, locked_at: None, order: Some(order.id) };
            self.is_held(seat, order, now).then_some(sold)
        };
        let tickets = order.sorted();
        Ok(again(|| self.attempt(order, &tickets, &sell)).await?.won)
    }

    async fn release(&self, order: &Order) -> Result<(), Trouble> {
        // A lapsed hold may have lost seats to others: what is still its own is given back.
        let free = |seat: &Seat, _now| {
            let own = seat.order == Some(order.id) && seat.status == Status::Locked;
            Some(if own { Seat { status: Status::Available, locked_at: None, order: None } } else { *seat })
        };
        again(|| self.attempt(order, &[], &free)).await?;
        Ok(())
    }

    async fn books(&self) -> Result<Books, Trouble> {
        let documents: Vec<(i32, Json<Vec<Seat>>)> = sqlx::query_as(
            "-- owned
             select show_no, seats from documents",
        )
        .fetch_all(&self.pool)
        .await?;
        let mut owned = Vec::new();
        for (show, Json(seats)) in documents {
            for (seat, no) in seats.iter().zip(1..) {
                let place = Place { show: ShowNo(show), seat: Some(SeatNo(no)) };
                owned.extend(seat.order.map(|order| Owned { place, order, units: 1 }));
            }
        }
        Ok(Books { owned, tickets: tickets(&self.pool).await? })
    }
}
