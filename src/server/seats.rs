//! The map as data: for the grid, and for whoever wants to draw another.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Serialize;
use server_fn::error::FromServerFnError;
use tower_sessions::Session;

use crate::box_office::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::ids::{OrderId, ShowId, VisitorId};
use crate::domain::order::Standing;
use crate::domain::seat::{HoldWindow, SeatNo, Status};
use crate::domain::show::SeatMap;
use crate::store::{maps, orders, visitors};

#[derive(Serialize)]
struct MapJson<'a> {
    show: ShowId,
    now: DateTime<Utc>,
    hold_window_s: HoldWindow,
    /// Differs when a seat differs; nothing else is promised about it.
    version: u64,
    seats: Vec<SeatJson<'a>>,
}

#[derive(Serialize)]
struct SeatJson<'a> {
    no: SeatNo,
    row: &'a str,
    label: String,
    zone: &'a str,
    kind: &'static str,
    price_minor: i64,
    status: Status,
    locked_at: Option<DateTime<Utc>>,
}

/// `GET /shows/{show}/seats`.
pub async fn seats(State(office): State<Arc<BoxOffice>>, Path(show): Path<String>, headers: HeaderMap) -> Response {
    let Ok(show) = show.parse() else { return refused(&Error::UnknownShow) };
    match maps::seat_map(&office.pool, &office.plans, show).await {
        Ok(Some(map)) => answer(&map, &headers),
        Ok(None) => refused(&Error::UnknownShow),
        Err(error) => refused(&fault(error)),
    }
}

fn answer(map: &SeatMap, headers: &HeaderMap) -> Response {
    let version = version(map);
    // Weak: `now` differs, the seats do not. It also survives a proxy that compresses.
    let tag = format!("W/\"{version:x}\"");
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let mut response = if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Json(json(map, version)).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// A fingerprint of the seats in 53 bits, the whole numbers that JavaScript can hold.
fn version(map: &SeatMap) -> u64 {
    let mut hasher = DefaultHasher::new();
    map.show.zone_prices.hash(&mut hasher);
    map.show.hold_window.seconds().hash(&mut hasher);
    for seat in &map.seats {
        (seat.status, seat.locked_at).hash(&mut hasher);
    }
    hasher.finish() >> 11
}

fn json(map: &SeatMap, version: u64) -> MapJson<'_> {
    let (show, plan) = (&map.show, &map.show.plan);
    let seats = plan.places().iter().zip(&map.seats).map(|(place, seat)| SeatJson {
        no: place.no,
        row: &plan.rows()[place.row],
        label: plan.name(place.no),
        zone: &plan.zones()[place.zone],
        kind: place.kind.as_str(),
        price_minor: show.price(place.zone).minor,
        status: seat.status,
        locked_at: seat.locked_at,
    });
    MapJson { show: show.id, now: map.now, hold_window_s: show.hold_window, version, seats: seats.collect() }
}

/// `GET /shows/{show}/mine`: the numbers of the seats that this visitor holds. Asked by a page whose picks were taken: by
/// another of the visitor's own tabs, perhaps, or by a hold whose answer was lost. The map itself is everybody's.
pub async fn mine(State(office): State<Arc<BoxOffice>>, session: Session, Path(show): Path<String>) -> Response {
    let Ok(show) = show.parse() else { return refused(&Error::UnknownShow) };
    let held = match session.id() {
        Some(id) => orders::holding(&office.pool, show, VisitorId(visitors::uuid(id))).await,
        None => Ok(Vec::new()),
    };
    match held {
        Ok(held) => {
            let seats: Vec<SeatNo> = held.iter().flat_map(|order| order.seats.seats().iter().copied()).collect();
            ([(header::CACHE_CONTROL, "no-store")], Json(serde_json::json!({ "seats": seats }))).into_response()
        }
        Err(error) => refused(&fault(error)),
    }
}

#[derive(Serialize)]
struct ClockJson {
    now: DateTime<Utc>,
    standing: &'static str,
    /// Milliseconds until the hold ends; 0 when it is not held.
    left_ms: i64,
}

/// `GET /orders/{order}/clock`: what a countdown needs, by the database's clock.
pub async fn clock(State(office): State<Arc<BoxOffice>>, Path(order): Path<String>) -> Response {
    let Ok(order) = order.parse::<OrderId>() else { return refused(&Error::UnknownOrder) };
    let (order, now) = match orders::get(&office.pool, order).await {
        Ok(Some(found)) => found,
        Ok(None) => return refused(&Error::UnknownOrder),
        Err(error) => return refused(&fault(error)),
    };
    let left = |ends_at: DateTime<Utc>| (ends_at - now).num_milliseconds().max(0);
    let (standing, left_ms) = match order.standing(now) {
        Standing::Held { ends_at } => ("held", left(ends_at)),
        Standing::Paying { ends_at } => ("paying", left(ends_at)),
        Standing::Lapsed { .. } => ("lapsed", 0),
        Standing::Sold { .. } => ("sold", 0),
        Standing::Released { .. } => ("released", 0),
        Standing::RefundOwed { .. } => ("refund_owed", 0),
        Standing::Refunded { .. } => ("refunded", 0),
    };
    ([(header::CACHE_CONTROL, "no-store")], Json(ClockJson { now, standing, left_ms })).into_response()
}

/// An error as the commands answer it too: its fields and its message, under its status.
fn refused(error: &Error) -> Response {
    let parts = error.ser();
    (parts.status_code, [(header::CONTENT_TYPE, parts.content_type)], parts.body).into_response()
}
