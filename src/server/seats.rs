//! The map as data: for the grid, and for whoever wants to draw another.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
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
use crate::store::snapshots::Snapshot;
use crate::store::{orders, visitors};

#[derive(Serialize)]
struct MapJson<'a> {
    show: ShowId,
    now: DateTime<Utc>,
    hold_window_s: HoldWindow,
    /// Differs when a seat differs, and is the same on every server; nothing else is promised about it.
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
    match office.snapshots.get(show).await {
        Ok(Some(snapshot)) => answer(&snapshot, &headers),
        Ok(None) => refused(&Error::UnknownShow),
        Err(error) => refused(&fault(error)),
    }
}

fn answer(snapshot: &Snapshot, headers: &HeaderMap) -> Response {
    // Weak: `now` differs, the seats do not. It also survives a proxy that compresses.
    let tag = format!("W/\"{:x}\"", snapshot.version);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let mut response = if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        body(snapshot, headers)
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// The map in words, written and compressed once a snapshot. What takes no brotli is left to the layer that compresses.
fn body(snapshot: &Snapshot, headers: &HeaderMap) -> Response {
    let plain = snapshot.json.get_or_init(|| write(snapshot).into());
    let content_type = (header::CONTENT_TYPE, "application/json");
    if !takes_brotli(headers) {
        return ([content_type], plain.clone()).into_response();
    }
    let small = snapshot.brotli.get_or_init(|| compress(plain));
    ([content_type, (header::CONTENT_ENCODING, "br")], small.clone()).into_response()
}

/// Whether brotli is named, and not with a weight of zero.
fn takes_brotli(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|accepted| accepted.to_str().ok());
    accepted.flat_map(|accepted| accepted.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let zero = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok()) == Some(0.0);
        name.trim().eq_ignore_ascii_case("br") && !zero
    })
}

fn compress(plain: &[u8]) -> Bytes {
    let mut small = Vec::with_capacity(plain.len() / 8);
    // Of 150 KB (1,204 seats) 4.5 KB in 0.7 ms. The middle qualities take two to thirty times as long and leave no less: seats
    // repeat one another within a short distance.
    let parameters = brotli::enc::BrotliEncoderParams { quality: 2, lgwin: 18, ..Default::default() };
    // Writing to a vector cannot fail.
    let _ = brotli::BrotliCompress(&mut &plain[..], &mut small, &parameters);
    small.into()
}

fn write(snapshot: &Snapshot) -> Vec<u8> {
    // Numbers, texts and times alone: nothing that JSON could not say.
    serde_json::to_vec(&json(&snapshot.map, snapshot.version)).unwrap_or_default()
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
pub fn refused(error: &Error) -> Response {
    let parts = error.ser();
    (parts.status_code, [(header::CONTENT_TYPE, parts.content_type)], parts.body).into_response()
}
