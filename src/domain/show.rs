//! A show: a film in a hall at a time, with its prices and its hold window.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::ids::ShowId;
use super::money::{Currency, Money};
use super::nearest::Spot;
use super::plan::{Kind, Place, Plan};
use super::queue::Opening;
use super::seat::{HoldWindow, SeatNo, Status};

/// A film, as a show names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Film {
    /// Title, any script.
    pub title: String,
    /// Name of its poster file under `/posters/`, without the ending.
    pub poster: String,
    /// Length.
    pub runtime_min: i32,
    /// Drama, comedy, ..
    pub genre: String,
    /// From which age.
    pub rating: String,
    /// One line about it.
    pub blurb: String,
}

/// A show with everything a seat map or a ticket says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Show {
    /// Identity.
    pub id: ShowId,
    /// What is shown.
    pub film: Film,
    /// Name of the hall.
    pub hall: String,
    /// The plan it is sold with; never changes after the show was made.
    pub plan: Arc<Plan>,
    /// When the film starts.
    pub starts_at: DateTime<Utc>,
    /// When online sales end: the start plus a grace for trailers. Data, refused by the hold itself.
    pub sales_close_at: DateTime<Utc>,
    /// When its sale opens; `None`: it is on sale.
    pub opening: Option<Opening>,
    /// How long a hold lasts.
    pub hold_window: HoldWindow,
    /// Of all its prices.
    pub currency: Currency,
    /// Price in minor units by zone, in the plan's order.
    pub zone_prices: Vec<i64>,
}

impl Show {
    /// What the seat costs now; holds keep the price they were made at.
    pub fn price(&self, zone: usize) -> Money {
        Money::new(self.zone_prices.get(zone).copied().unwrap_or_default(), self.currency)
    }

    /// "Row C, seat 7, premium, EUR 12.50": what is fixed about a seat. The state is added behind it.
    pub fn seat_words(&self, no: SeatNo) -> String {
        self.plan.place(no).map_or_else(
            || format!("seat {no}"),
            |place| {
                let kind = match place.kind {
                    Kind::Standard => String::new(),
                    kind => format!(", {} place", kind.as_str()),
                };
                format!(
                    "Row {}, seat {}, {}{kind}, {}",
                    self.plan.rows()[place.row],
                    place.number,
                    self.plan.zones()[place.zone].to_lowercase(),
                    self.price(place.zone)
                )
            },
        )
    }
}

/// One seat's hot data, as the database has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Which.
    pub no: SeatNo,
    /// Its status.
    pub status: Status,
    /// When its hold began or was renewed; only for `Locked`.
    pub locked_at: Option<DateTime<Utc>>,
}

/// A show's seats at one instant of the database's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatMap {
    /// The show.
    pub show: Arc<Show>,
    /// The database's clock when the seats were read.
    pub now: DateTime<Utc>,
    /// By ascending seat number.
    pub seats: Vec<Seat>,
}

impl SeatMap {
    /// Where everything stands and what is free, for finding the nearest equal choice.
    pub fn spots(&self) -> Vec<Spot> {
        let window = self.show.hold_window;
        let places = self.show.plan.places().iter().zip(&self.seats);
        let spot = |(place, seat): (&Place, &Seat)| Spot {
            no: place.no,
            row: i32::try_from(place.row).unwrap_or(i32::MAX),
            column: place.column.into(),
            zone: i32::try_from(place.zone).unwrap_or(i32::MAX),
            free: place.kind == Kind::Standard && window.is_available(seat.status, seat.locked_at, self.now),
        };
        places.map(spot).collect()
    }

    /// The seat of a number.
    pub fn seat(&self, no: SeatNo) -> Option<&Seat> {
        let index = self.seats.binary_search_by_key(&no, |seat| seat.no).ok()?;
        self.seats.get(index)
    }
}
