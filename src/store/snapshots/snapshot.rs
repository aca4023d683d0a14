//! What was read of a show at one instant, and what was made of it once for all who look.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::OnceCell;

use crate::domain::ids::{OrderId, VisitorId};
use crate::domain::nearest::Choices;
use crate::domain::show::SeatMap;

/// A show's seats, read at one instant.
#[derive(Debug)]
pub struct Snapshot {
    /// The seats, and the database's clock when they were read.
    pub map: SeatMap,
    /// A fingerprint of everything that a map shows, in 53 bits: the whole numbers that JavaScript can hold. Two servers give
    /// the same seats the same one.
    pub version: u64,
    /// The orders that its seats belong to.
    pub(super) orders: Vec<OrderId>,
    /// Whose these orders are; asked for when somebody needs to know.
    pub(super) owners: OnceCell<HashSet<VisitorId>>,
    /// When the database was asked, by this server's own clock.
    pub(super) asked_at: Instant,
    /// The map as JSON.
    pub json: OnceLock<Bytes>,
    /// The same, compressed with brotli.
    pub brotli: OnceLock<Bytes>,
    /// Where everything stands and what was free when it was read, for those who lost and want the nearest choice.
    pub choices: OnceLock<Choices>,
    /// The map's rows as HTML, for somebody who holds and picked nothing.
    pub rows: OnceLock<Arc<str>>,
}

impl Snapshot {
    pub(super) fn new(map: SeatMap, orders: Vec<OrderId>, asked_at: Instant) -> Self {
        let version = version(&map);
        let (owners, json, brotli, choices, rows) = Default::default();
        Self { map, version, orders, owners, asked_at, json, brotli, choices, rows }
    }

    /// The latest that the database's clock can show now. A hold that has not lapsed by this time has not lapsed: the clock
    /// was read after it was asked for, so at least as much time has passed here as there.
    pub fn now_at_the_latest(&self) -> DateTime<Utc> {
        let passed = TimeDelta::from_std(self.asked_at.elapsed()).unwrap_or(TimeDelta::MAX);
        self.map.now.checked_add_signed(passed).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

fn version(map: &SeatMap) -> u64 {
    let mut hasher = DefaultHasher::new();
    map.show.zone_prices.hash(&mut hasher);
    map.show.hold_window.seconds().hash(&mut hasher);
    for seat in &map.seats {
        (seat.status, seat.locked_at).hash(&mut hasher);
    }
    hasher.finish() >> 11
}
