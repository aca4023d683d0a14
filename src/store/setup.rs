//! Setting up a cinema: plans, halls, films, shows with their seats, and seats that are sold already. Every statement may
//! come twice: what is there stays.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sqlx::postgres::{PgConnection, PgPool};
use uuid::Uuid;

use super::StoreResult;
use crate::domain::ids::{PlanId, ShowId};
use crate::domain::money::Currency;
use crate::domain::plan::Plan;
use crate::domain::seat::HoldWindow;
use crate::domain::show::Film;

/// A plan, by its text.
///
/// # Errors
/// When the database refuses.
pub async fn add_plan(connection: &mut PgConnection, id: PlanId, layout: &str) -> StoreResult<()> {
    sqlx::query!(
        "-- add_plan
         insert into plans (id, layout) values ($1, $2) on conflict do nothing",
        id.0,
        layout
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A hall; if it is there, its next shows get this plan.
///
/// # Errors
/// When the database refuses.
pub async fn add_hall(connection: &mut PgConnection, id: Uuid, name: &str, plan: PlanId) -> StoreResult<()> {
    sqlx::query!(
        "-- add_hall
         insert into halls (id, name, plan_id) values ($1, $2, $3)
         on conflict (id) do update set name = excluded.name, plan_id = excluded.plan_id",
        id,
        name,
        plan.0
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A film.
///
/// # Errors
/// When the database refuses.
pub async fn add_film(connection: &mut PgConnection, id: Uuid, film: &Film) -> StoreResult<()> {
    sqlx::query!(
        "-- add_film
         insert into films (id, title, poster, runtime_min, genre, rating, blurb) values ($1, $2, $3, $4, $5, $6, $7)
         on conflict do nothing",
        id,
        film.title,
        film.poster,
        film.runtime_min,
        film.genre,
        film.rating,
        film.blurb
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A show to be made.
#[derive(Clone, Debug)]
pub struct NewShow {
    /// Its identity.
    pub id: ShowId,
    /// Its film.
    pub film: Uuid,
    /// Its hall.
    pub hall: Uuid,
    /// The plan it is sold with.
    pub plan: PlanId,
    /// Start.
    pub starts_at: DateTime<Utc>,
    /// End of online sales.
    pub sales_close_at: DateTime<Utc>,
    /// How long holds last.
    pub hold_window: HoldWindow,
    /// Of the prices.
    pub currency: Currency,
    /// Minor units by zone.
    pub zone_prices: Vec<i64>,
}

/// A show and its seats, inserted together and in order: scattered, a map read costs seven times as much. `false` when
/// the show was there.
///
/// # Errors
/// When the database refuses.
pub async fn add_show(connection: &mut PgConnection, show: &NewShow, plan: &Plan) -> StoreResult<bool> {
    let added = sqlx::query!(
        "-- add_show
         insert into shows (id, film_id, hall_id, plan_id, starts_at, sales_close_at, hold_window_s, currency, zone_prices)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing",
        show.id.0,
        show.film,
        show.hall,
        show.plan.0,
        show.starts_at,
        show.sales_close_at,
        show.hold_window.seconds(),
        show.currency.code(),
        &show.zone_prices
    )
    .execute(&mut *connection)
    .await?;
    if added.rows_affected() == 0 {
        return Ok(false);
    }
    let zones: Vec<i16> = plan.places().iter().map(|place| i16::try_from(place.zone).unwrap_or_default()).collect();
    sqlx::query!(
        "-- add_seats
         insert into seats (show_id, seat_no, zone, status)
         select $1, place.no, place.zone, 'available' from unnest($2::smallint[]) with ordinality as place (zone, no)
         order by place.no",
        show.id.0,
        &zones
    )
    .execute(connection)
    .await?;
    Ok(true)
}

/// Which of these shows are there.
///
/// # Errors
/// When the database does.
pub async fn known(pool: &PgPool, shows: &[ShowId]) -> StoreResult<HashSet<ShowId>> {
    let ids: Vec<Uuid> = shows.iter().map(|show| show.0).collect();
    let known =
        sqlx::query_scalar!("-- known_shows\nselect id from shows where id = any ($1)", &ids).fetch_all(pool).await?;
    Ok(known.into_iter().map(ShowId).collect())
}

/// An order that is sold from the beginning.
#[derive(Clone, Debug)]
pub struct SoldOrder {
    /// Its identity.
    pub order: Uuid,
    /// Who bought.
    pub visitor: Uuid,
    /// What, ascending.
    pub seats: Vec<i16>,
    /// A ticket code a seat.
    pub codes: Vec<String>,
    /// How it was paid.
    pub payment: Uuid,
    /// The gateway's name for the charge that took the money.
    pub charge: String,
}

/// Sells seats of a fresh show without a person: order, captured payment, tickets and seats, as the saga leaves them. The
/// gateway has taken the money before.
///
/// # Errors
/// When the database refuses.
pub async fn add_sold(connection: &mut PgConnection, show: ShowId, orders: &[SoldOrder]) -> StoreResult<()> {
    let mut order_ids = Vec::new();
    let (mut visitors, mut payments, mut charges) = (Vec::new(), Vec::new(), Vec::new());
    let (mut seat_orders, mut seats, mut codes) = (Vec::new(), Vec::new(), Vec::new());
    for order in orders {
        order_ids.push(order.order);
        visitors.push(order.visitor);
        payments.push(order.payment);
        charges.push(order.charge.clone());
        for (seat, code) in order.seats.iter().zip(&order.codes) {
            seat_orders.push(order.order);
            seats.push(*seat);
            codes.push(code.clone());
        }
    }
    sqlx::query!(
        "-- add_sold
         with sold as materialized (
             select s.show_id, s.seat_no, sale.order_id, sale.code, shows.zone_prices[s.zone + 1] as price
             from unnest($4::uuid[], $5::smallint[], $6::text[]) as sale (order_id, seat_no, code)
             join seats s on s.seat_no = sale.seat_no join shows on shows.id = s.show_id
             where s.show_id = $1
         ), placed as materialized (
             insert into orders (id, show_id, visitor_id, nth, seat_nos, prices, currency, window_s, held_at,
                                 locked_at, state, state_at)
             select given.order_id, $1, given.visitor_id, 1, array_agg(sold.seat_no order by sold.seat_no),
                    array_agg(sold.price order by sold.seat_no), shows.currency, shows.hold_window_s, clock_timestamp(),
                    clock_timestamp(), 'sold', clock_timestamp()
             from unnest($2::uuid[], $3::uuid[]) as given (order_id, visitor_id)
             join sold on sold.order_id = given.order_id join shows on shows.id = $1
             group by given.order_id, given.visitor_id, shows.currency, shows.hold_window_s
             returning id, currency, (select sum(price) from unnest(prices) price)::bigint as amount
         ), paid as (
             insert into payments (id, order_id, attempt, amount_minor, currency, state, started_at, settled_at,
                                   gateway_reference, captured_minor, captured_currency, bought)
             select given.payment_id, placed.id, gen_random_uuid(), amount, currency, 'captured', clock_timestamp(),
                    clock_timestamp(), given.charge, amount, currency, true
             from placed join unnest($2::uuid[], $7::uuid[], $8::text[]) as given (order_id, payment_id, charge)
                         on given.order_id = placed.id
         ), issued as (
             insert into tickets (code, order_id, show_id, seat_no, issued_at)
             select code, order_id, show_id, seat_no, clock_timestamp() from sold
         )
         update seats s set status = 'booked', order_id = sold.order_id
         from sold where s.show_id = sold.show_id and s.seat_no = sold.seat_no",
        show.0,
        &order_ids,
        &visitors,
        &seat_orders,
        &seats,
        &codes,
        &payments,
        &charges
    )
    .execute(connection)
    .await?;
    Ok(())
}
