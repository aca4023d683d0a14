//! The live map: server-sent events of what changed, to everybody who watches a show.
//!
//! Every message says from which version of the map it leads to which, so a viewer notices by itself when one is missing, on
//! whichever server it is; it then reads the map anew. The server says `resync` when it knows of a gap.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use futures::stream;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Interval;
use tokio_util::sync::CancellationToken;

use super::seats::refused;
use crate::box_office::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::seat::{SeatNo, Status};
use crate::store::snapshots::{Change, Snapshot};

/// How often a viewer hears that the map is still the same: it keeps proxies from closing a quiet connection (nginx does so
/// after 60 s), and a viewer that hears nothing for longer knows that its stream is dead.
const STILL_THERE: Duration = Duration::from_secs(10);

/// So many watch on one server at most; the others ask every few seconds, as every map does without a stream.
const MOST_WATCHERS: usize = 20_000;

/// What the streams need besides the box office.
#[derive(Clone, Debug)]
pub struct Streams {
    /// The office.
    pub office: Arc<BoxOffice>,
    /// Cancelled when the server stops: a stream never ends by itself, and a graceful stop would wait for it.
    pub closing: CancellationToken,
}

/// What a viewer knows already.
#[derive(Deserialize)]
pub struct Known {
    version: Option<u64>,
}

#[derive(Serialize)]
struct SeatJson {
    no: SeatNo,
    status: Status,
    locked_at: Option<DateTime<Utc>>,
}

#[derive(Serialize)]
struct ChangeJson {
    from: u64,
    version: u64,
    now: DateTime<Utc>,
    seats: Vec<SeatJson>,
}

#[derive(Serialize)]
struct VersionJson {
    version: u64,
    now: DateTime<Utc>,
}

/// `GET /shows/{show}/live`, with the version that the viewer has in `?version=` or, after a break, in `Last-Event-ID`.
pub async fn live(
    State(streams): State<Streams>,
    Path(show): Path<String>,
    Query(known): Query<Known>,
    headers: HeaderMap,
) -> Response {
    let Ok(show) = show.parse() else { return refused(&Error::UnknownShow) };
    let snapshots = &streams.office.snapshots;
    if snapshots.watchers() >= MOST_WATCHERS {
        return ([(header::RETRY_AFTER, "60")], refused(&Error::Unavailable)).into_response();
    }
    let viewing = match snapshots.watch(show).await {
        Ok(Some(viewing)) => viewing,
        Ok(None) => return refused(&Error::UnknownShow),
        Err(error) => return refused(&fault(error)),
    };
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let knows = last.or(known.version) == Some(viewing.snapshot.version);
    let opening = if knows { still(&viewing.snapshot) } else { resync(&viewing.snapshot) };
    let viewer = Viewer {
        first: Some(opening),
        latest: viewing.snapshot,
        changes: viewing.changes,
        still_there: tokio::time::interval_at(tokio::time::Instant::now() + STILL_THERE, STILL_THERE),
        closing: streams.closing,
    };
    let frames = stream::unfold(viewer, |mut viewer| async move {
        let frame = viewer.next().await?;
        Some((Ok::<_, Infallible>(frame), viewer))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // nginx would keep messages until its buffer is full.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(frames)).into_response()
}

struct Viewer {
    first: Option<Bytes>,
    latest: Arc<Snapshot>,
    changes: Receiver<Arc<Change>>,
    still_there: Interval,
    closing: CancellationToken,
}

impl Viewer {
    /// The next message; `None` when the server stops.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        tokio::select! {
            () = self.closing.cancelled() => None,
            change = self.changes.recv() => match change {
                Ok(change) => {
                    self.latest = Arc::clone(&change.after);
                    Some(change.frame.get_or_init(|| changed(&change)).clone())
                }
                // Too slow: what it missed is not sent again, it reads the map anew.
                Err(RecvError::Lagged(_)) => Some(resync(&self.latest)),
                Err(RecvError::Closed) => None,
            },
            _ = self.still_there.tick() => Some(still(&self.latest)),
        }
    }
}

/// What differs, seat by seat.
fn changed(change: &Change) -> Bytes {
    let (before, after) = (&change.before, &change.after);
    let pairs = before.map.seats.iter().zip(&after.map.seats);
    let differing = pairs.filter(|(before, after)| before != after);
    let seats = differing.map(|(_, seat)| SeatJson { no: seat.no, status: seat.status, locked_at: seat.locked_at });
    let json = ChangeJson { from: before.version, version: after.version, now: after.map.now, seats: seats.collect() };
    // What is not said of a seat (a new price, a new window) is read anew.
    let is_all = before.map.show == after.map.show && before.map.seats.len() == after.map.seats.len();
    if is_all { frame("seats", after.version, &json) } else { resync(after) }
}

/// There may be a gap: read the map anew.
fn resync(snapshot: &Snapshot) -> Bytes {
    frame("resync", snapshot.version, &VersionJson { version: snapshot.version, now: snapshot.map.now })
}

/// Nothing is new since this version.
fn still(snapshot: &Snapshot) -> Bytes {
    frame("still", snapshot.version, &VersionJson { version: snapshot.version, now: snapshot.map.now })
}

/// A message as the format wants it. JSON has no line breaks of its own.
fn frame(event: &str, version: u64, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("event: {event}\nid: {version}\ndata: {data}\n\n").into()
}
