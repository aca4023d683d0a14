//! The place of one show's snapshot: who reads it anew, and who hears of changes.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sqlx::postgres::PgPool;
use tokio::sync::broadcast;

use super::pace::Pace;
use super::{MAY_BE_OLD, Snapshot};
use crate::domain::ids::{OrderId, ShowId, VisitorId};
use crate::store::plans::Plans;
use crate::store::{StoreResult, maps, orders};

/// While this server sells a show quickly, its maps are read anew at most this often: fifty readings a second show every
/// visitor what the last hold changed within a blink, and cost a fiftieth of a core.
const BETWEEN_READINGS: Duration = Duration::from_millis(20);

/// How many changes a viewer may be behind before it must read the map anew.
const BEHIND: usize = 64;

/// From one snapshot of a show to the next, for those who watch.
#[derive(Debug)]
pub struct Change {
    /// What they know.
    pub before: Arc<Snapshot>,
    /// What is so now.
    pub after: Arc<Snapshot>,
    /// The change in words, made once for all who watch.
    pub frame: OnceLock<Bytes>,
}

/// One show's place.
#[derive(Debug)]
pub struct Cell {
    /// Those who look at the map.
    pub(super) lookers: Pace,
    /// Holds that lost.
    pub(super) losers: Pace,
    latest: RwLock<Option<Arc<Snapshot>>>,
    /// Whoever reads has it; the others wait and share what was read.
    reading: tokio::sync::Mutex<()>,
    changes: broadcast::Sender<Arc<Change>>,
    /// What its times are counted from.
    made_at: Instant,
    /// When this server last took or gave back a seat here, in nanoseconds since the cell was made.
    taken_at: AtomicU64,
    freed_at: AtomicU64,
    /// Whose the orders are: that never changes, so it is asked once an order.
    owners: Mutex<HashMap<OrderId, VisitorId>>,
}

impl Cell {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            lookers: Pace::new(now),
            losers: Pace::new(now),
            latest: RwLock::default(),
            reading: tokio::sync::Mutex::default(),
            changes: broadcast::Sender::new(BEHIND),
            made_at: now,
            taken_at: AtomicU64::new(0),
            freed_at: AtomicU64::new(0),
            owners: Mutex::default(),
        }
    }

    fn latest(&self) -> Option<Arc<Snapshot>> {
        self.latest.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The latest snapshot, if a crowd may see it: not older than [`MAY_BE_OLD`], nor than what this server gave back.
    pub(super) fn recent(&self, now: Instant) -> Option<Arc<Snapshot>> {
        let snapshot = self.latest()?;
        let asked = self.since_made(snapshot.asked_at);
        let age = now.saturating_duration_since(snapshot.asked_at);
        let knows_what_was_freed = asked > self.freed_at.load(Ordering::Acquire);
        let knows_what_was_taken = asked > self.taken_at.load(Ordering::Acquire) || age < BETWEEN_READINGS;
        (age <= MAY_BE_OLD && knows_what_was_freed && knows_what_was_taken).then_some(snapshot)
    }

    /// A snapshot of a reading that began after `asked`; reads unless somebody else just did.
    pub(super) async fn read_after(
        &self,
        pool: &PgPool,
        plans: &Plans,
        show: ShowId,
        asked: Instant,
    ) -> StoreResult<Option<Arc<Snapshot>>> {
        let _alone = self.reading.lock().await;
        let before = self.latest();
        if let Some(latest) = before.as_ref().filter(|latest| latest.asked_at >= asked) {
            return Ok(Some(Arc::clone(latest)));
        }
        let asked_at = Instant::now();
        let Some(reading) = maps::read(pool, plans, show).await? else { return Ok(None) };
        let after = Arc::new(Snapshot::new(reading.map, reading.orders, asked_at));
        // Under the lock under which viewers begin to watch: each of them hears of every change after what it was given.
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        *latest = Some(Arc::clone(&after));
        if let Some(before) = before.filter(|before| before.version != after.version) {
            // Nobody may be watching.
            let _ = self.changes.send(Arc::new(Change { before, after: Arc::clone(&after), frame: OnceLock::new() }));
        }
        Ok(Some(after))
    }

    /// The latest snapshot, and every change after it.
    pub(super) fn watch(&self) -> (Option<Arc<Snapshot>>, broadcast::Receiver<Arc<Change>>) {
        let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
        (latest.clone(), self.changes.subscribe())
    }

    /// For how long nobody has looked or lost.
    pub(super) fn quiet_for(&self, now: Instant) -> Duration {
        self.lookers.quiet_for(now).min(self.losers.quiet_for(now))
    }

    /// The version of the latest snapshot.
    pub(super) fn version(&self) -> Option<u64> {
        self.latest().map(|latest| latest.version)
    }

    pub(super) fn watchers(&self) -> usize {
        self.changes.receiver_count()
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watchers() > 0
    }

    /// Whether the latest snapshot is at least this old; also when there is none.
    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        self.latest().is_none_or(|latest| latest.asked_at.elapsed() >= age)
    }

    pub(super) fn taken(&self, now: Instant) {
        self.taken_at.fetch_max(self.since_made(now), Ordering::AcqRel);
    }

    pub(super) fn freed(&self, now: Instant) {
        self.freed_at.fetch_max(self.since_made(now), Ordering::AcqRel);
    }

    fn since_made(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.made_at).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Whose the snapshot's seats are.
    pub(super) async fn owners(&self, pool: &PgPool, snapshot: &Snapshot) -> StoreResult<HashSet<VisitorId>> {
        let (mut owners, mut unknown) = (HashSet::new(), Vec::new());
        {
            let known = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
            for order in &snapshot.orders {
                match known.get(order) {
                    Some(owner) => _ = owners.insert(*owner),
                    None => unknown.push(*order),
                }
            }
        }
        if !unknown.is_empty() {
            let found = orders::owners(pool, &unknown).await?;
            owners.extend(found.iter().map(|(_, owner)| *owner));
            self.owners.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        }
        Ok(owners)
    }
}
