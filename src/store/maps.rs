//! A show with its seats, for a seat map.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::plans::Plans;
use super::pool::resilient;
use super::{StoreError, StoreResult};
use crate::domain::ids::{OrderId, PlanId, ShowId};
use crate::domain::queue::Opening;
use crate::domain::seat::{HoldWindow, Status};
use crate::domain::show::{Film, Seat, SeatMap, Show};

struct ShowRow {
    id: Uuid,
    title: String,
    poster: String,
    runtime_min: i32,
    genre: String,
    rating: String,
    blurb: String,
    hall: String,
    starts_at: DateTime<Utc>,
    sales_close_at: DateTime<Utc>,
    sales_open_at: Option<DateTime<Utc>>,
    admit_per_minute: Option<i32>,
    hold_window_s: i32,
    currency: String,
    zone_prices: Vec<i64>,
    plan_id: Uuid,
    now: DateTime<Utc>,
    // Only seats that are not simply available travel: in parallel arrays, one row for the whole map.
    seat_nos: Vec<i16>,
    booked: Vec<bool>,
    locked_at: Vec<Option<DateTime<Utc>>>,
    order_ids: Vec<Uuid>,
}

/// A map, and whose orders its seats belong to: for the server alone, an order's id is a secret.
#[derive(Debug)]
pub struct Reading {
    /// The map.
    pub map: SeatMap,
    /// The orders that hold or bought a seat; some may have several.
    pub orders: Vec<OrderId>,
}

impl ShowRow {
    async fn into_map(self, pool: &PgPool, plans: &Plans) -> StoreResult<SeatMap> {
        let plan = plans.get(pool, PlanId(self.plan_id)).await?;
        let corrupt = |column, what: String| StoreError::corrupt("shows", column, self.id, what);
        let hold_window = HoldWindow::from_seconds(self.hold_window_s)
            .ok_or_else(|| corrupt("hold_window_s", self.hold_window_s.to_string()))?;
        let currency = self.currency.parse().map_err(|error| corrupt("currency", error))?;
        if self.zone_prices.len() < plan.zones().len() {
            return Err(corrupt(
                "zone_prices",
                format!("{} prices for {} zones", self.zone_prices.len(), plan.zones().len()),
            ));
        }
        let mut seats: Vec<Seat> = plan
            .places()
            .iter()
            .map(|place| Seat { no: place.no, status: Status::Available, locked_at: None })
            .collect();
        for ((no, booked), locked_at) in self.seat_nos.iter().zip(&self.booked).zip(&self.locked_at) {
            let seat = usize::try_from(*no - 1).ok().and_then(|index| seats.get_mut(index));
            let seat = seat.ok_or_else(|| StoreError::corrupt("seats", "seat_no", self.id, no))?;
            seat.status = if *booked { Status::Booked } else { Status::Locked };
            seat.locked_at = *locked_at;
        }
        let film = Film {
            title: self.title,
            poster: self.poster,
            runtime_min: self.runtime_min,
            genre: self.genre,
            rating: self.rating,
            blurb: self.blurb,
        };
        let show = Show {
            id: ShowId(self.id),
            film,
            hall: self.hall,
            plan,
            starts_at: self.starts_at,
            sales_close_at: self.sales_close_at,
            opening: self.sales_open_at.map(|at| Opening { at, per_minute: self.admit_per_minute }),
            hold_window,
            currency,
            zone_prices: self.zone_prices,
        };
        Ok(SeatMap { show: Arc::new(show), now: self.now, seats: debug_sorted(seats) })
    }
}

fn debug_sorted(seats: Vec<Seat>) -> Vec<Seat> {
    debug_assert!(seats.is_sorted_by_key(|seat| seat.no), "seats are numbered in the plan's order");
    seats
}

/// The show's seats now, by the database's clock; `None` when there is no such show. One statement.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn seat_map(pool: &PgPool, plans: &Plans, show: ShowId) -> StoreResult<Option<SeatMap>> {
    Ok(read(pool, plans, show).await?.map(|reading| reading.map))
}

/// The same, with the orders that its seats belong to.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn read(pool: &PgPool, plans: &Plans, show: ShowId) -> StoreResult<Option<Reading>> {
    let row = resilient(|| async {
        Ok(sqlx::query_as!(
            ShowRow,
            r#"-- seat_map
            select shows.id, films.title, films.poster, films.runtime_min, films.genre, films.rating, films.blurb,
                   halls.name as hall, shows.starts_at, shows.sales_close_at, shows.sales_open_at, shows.admit_per_minute,
                   shows.hold_window_s, shows.currency,
                   shows.zone_prices, shows.plan_id, clock_timestamp() as "now!",
                   taken.seat_nos as "seat_nos!", taken.booked as "booked!",
                   taken.locked_at as "locked_at!: Vec<Option<DateTime<Utc>>>", taken.order_ids as "order_ids!"
            from shows join films on films.id = film_id join halls on halls.id = hall_id,
                 lateral (select coalesce(array_agg(seat_no), '{}') as seat_nos,
                                 coalesce(array_agg(status = 'booked'), '{}') as booked,
                                 coalesce(array_agg(locked_at), '{}') as locked_at,
                                 coalesce(array_agg(order_id), '{}') as order_ids
                          from seats where seats.show_id = shows.id and status <> 'available') taken
            where shows.id = $1"#,
            show.0
        )
        .fetch_optional(pool)
        .await?)
    })
    .await?;
    match row {
        Some(mut row) => {
            let orders = std::mem::take(&mut row.order_ids).into_iter().map(OrderId).collect();
            Ok(Some(Reading { map: row.into_map(pool, plans).await?, orders }))
        }
        None => Ok(None),
    }
}

/// The show without its seats; `None` when there is no such show. One statement.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn show(pool: &PgPool, plans: &Plans, show: ShowId) -> StoreResult<Option<Arc<Show>>> {
    let row = resilient(|| async {
        Ok(sqlx::query_as!(
            ShowRow,
            r#"-- show
            select shows.id, films.title, films.poster, films.runtime_min, films.genre, films.rating, films.blurb,
                   halls.name as hall, shows.starts_at, shows.sales_close_at, shows.sales_open_at, shows.admit_per_minute,
                   shows.hold_window_s, shows.currency,
                   shows.zone_prices, shows.plan_id, clock_timestamp() as "now!", '{}'::smallint[] as "seat_nos!",
                   '{}'::boolean[] as "booked!", '{}'::timestamptz[] as "locked_at!: Vec<Option<DateTime<Utc>>>",
                   '{}'::uuid[] as "order_ids!"
            from shows join films on films.id = film_id join halls on halls.id = hall_id
            where shows.id = $1"#,
            show.0
        )
        .fetch_optional(pool)
        .await?)
    })
    .await?;
    match row {
        Some(row) => Ok(Some(row.into_map(pool, plans).await?.show)),
        None => Ok(None),
    }
}
