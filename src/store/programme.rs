//! What's on: the shows of a day and how full they are.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use moka::future::Cache;
use sqlx::postgres::PgPool;

use super::{StoreError, StoreResult};
use crate::domain::cinema::Cinema;
use crate::domain::ids::ShowId;
use crate::domain::money::Money;
use crate::domain::show::Film;

/// One show, as the programme lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Which.
    pub show: ShowId,
    /// What is shown.
    pub film: Film,
    /// Where.
    pub hall: String,
    /// When.
    pub starts_at: DateTime<Utc>,
    /// Until when it is sold online.
    pub sales_close_at: DateTime<Utc>,
    /// Its cheapest seat.
    pub price_from: Money,
    /// How many seats it has.
    pub seats: i64,
    /// How many of them the rule calls available.
    pub free: i64,
}

/// The programme of one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Day {
    /// The day shown, on the cinema's calendar.
    pub date: NaiveDate,
    /// The database's clock when it was read.
    pub now: DateTime<Utc>,
    /// Days that have shows, from today on.
    pub days: Vec<NaiveDate>,
    /// Its shows by start.
    pub listings: Vec<Listing>,
}

/// For how long a day's counts are shown again before they are counted again. A crowd on the first page must not count
/// the day's seats once a view; "62 seats free" two seconds late misleads nobody, and only the hold decides.
pub const MAY_BE_OLD: Duration = Duration::from_secs(2);

/// The programme, remembered for [`MAY_BE_OLD`].
#[derive(Debug)]
pub struct Programme {
    days: Cache<Option<NaiveDate>, Arc<Day>>,
}

impl Default for Programme {
    fn default() -> Self {
        Self { days: Cache::builder().max_capacity(64).time_to_live(MAY_BE_OLD).build() }
    }
}

impl Programme {
    /// A day's programme; of today, or of the first day that has shows, when no day is asked for.
    ///
    /// # Errors
    /// When the database does, or a row cannot be.
    pub async fn day(
        &self,
        pool: &PgPool,
        cinema: &Cinema,
        asked: Option<NaiveDate>,
    ) -> Result<Arc<Day>, Arc<StoreError>> {
        self.days.try_get_with(asked, read(pool, cinema, asked)).await
    }
}

async fn read(pool: &PgPool, cinema: &Cinema, asked: Option<NaiveDate>) -> StoreResult<Arc<Day>> {
    let days = sqlx::query!(
        r#"-- days_with_shows
        select now.at as "now!", array(
            select distinct (starts_at at time zone $1)::date from shows
            where starts_at >= date_trunc('day', now.at, $1) and starts_at < date_trunc('day', now.at, $1) + interval '15 days'
            order by 1) as "days!"
        from (select clock_timestamp() as at) now"#,
        cinema.zone.name()
    )
    .fetch_one(pool)
    .await?;
    let date = asked.or(days.days.first().copied()).unwrap_or_else(|| cinema.date(days.now));
    let next = date.succ_opt().unwrap_or(date);
    let rows = sqlx::query!(
        r#"-- shows_of_day
        select shows.id, films.title, films.poster, films.runtime_min, films.genre, films.rating, films.blurb, halls.name as hall,
               starts_at, sales_close_at, currency, (select min(price) from unnest(zone_prices) price) as "price_from!",
               counted.seats as "seats!", counted.free as "free!"
        from shows join films on films.id = film_id join halls on halls.id = hall_id,
             lateral (select count(*) as seats,
                             count(*) filter (where is_available(status, locked_at, hold_window_s, clock_timestamp())) as free
                      from seats where show_id = shows.id) counted
        where starts_at >= $1 and starts_at < $2
        order by starts_at, films.title"#,
        cinema.start_of(date),
        cinema.start_of(next)
    )
    .fetch_all(pool)
    .await?;
    let listings = rows
        .into_iter()
        .map(|row| {
            let currency = row
                .currency
                .parse()
                .map_err(|error: String| StoreError::corrupt("shows", "currency", row.id, error))?;
            Ok(Listing {
                show: ShowId(row.id),
                film: Film {
                    title: row.title,
                    poster: row.poster,
                    runtime_min: row.runtime_min,
                    genre: row.genre,
                    rating: row.rating,
                    blurb: row.blurb,
                },
                hall: row.hall,
                starts_at: row.starts_at,
                sales_close_at: row.sales_close_at,
                price_from: Money::new(row.price_from, currency),
                seats: row.seats,
                free: row.free,
            })
        })
        .collect::<StoreResult<_>>()?;
    Ok(Arc::new(Day { date, now: days.now, days: days.days, listings }))
}
