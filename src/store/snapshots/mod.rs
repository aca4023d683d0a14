//! One snapshot a show: what this server last read of its seats, shared by everybody who looks.
//!
//! Nothing refreshes a snapshot by a timer: whoever looks next compares its age. While few look, each of them gets a reading
//! that began after the question, so it is as true as asking the database oneself. Only when many look (or lose) at once are
//! they served from a reading that may be [`MAY_BE_OLD`], and even then what this server itself gave back is seen at once.
//! Readings of a show follow one another and are never at work side by side; those who wait meanwhile share the next one.
//!
//! A snapshot can say "no" early and never "yes": only the hold's own statement grants a seat.

mod cell;
mod pace;
mod snapshot;
pub mod watch;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use sqlx::postgres::PgPool;
use tokio::sync::Notify;

use super::plans::Plans;
use super::{StoreResult, pool};
use crate::domain::ids::{ShowId, VisitorId};
pub use cell::{Cell, Change};
pub use snapshot::Snapshot;

/// How old a map or a refusal from memory can be at most, whatever wrote to the database and wherever.
pub const MAY_BE_OLD: Duration = Duration::from_millis(100);

/// So many who look at (or lose in) one show within [`MAY_BE_OLD`] are a crowd, which is served from memory. Below that the
/// database answers each of them, exactly: ten statements of a third of a millisecond in a tenth of a second are no load.
const CROWD: u32 = 10;

/// A snapshot that nobody asked for as long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// Connections of its own: in a rush the others are all taken by holds, and a map that waits behind them is old.
const CONNECTIONS: u32 = 2;

/// The snapshots of one server.
#[derive(Debug)]
pub struct Snapshots {
    pool: PgPool,
    plans: Arc<Plans>,
    cells: RwLock<HashMap<ShowId, Arc<Cell>>>,
    /// Rung when this server changed a seat that somebody watches, and when somebody begins to watch.
    news: Notify,
}

impl Snapshots {
    /// None yet; reads through connections of its own to the same database.
    pub fn new(pool: &PgPool, plans: Arc<Plans>) -> Self {
        Self { pool: pool::beside(pool, CONNECTIONS), plans, cells: RwLock::default(), news: Notify::new() }
    }

    /// The show's seats: read after this question was asked, or, in a crowd, at most [`MAY_BE_OLD`]. `None` when there is no
    /// such show.
    ///
    /// # Errors
    /// When the database does, or a row cannot be.
    pub async fn get(&self, show: ShowId) -> StoreResult<Option<Arc<Snapshot>>> {
        let now = Instant::now();
        let cell = self.cell(show, now);
        if cell.lookers.note(now) >= CROWD
            && let Some(snapshot) = cell.recent(now)
        {
            return Ok(Some(snapshot));
        }
        self.read(show, &cell, now).await
    }

    /// The show's seats, read after `asked`.
    async fn read(&self, show: ShowId, cell: &Cell, asked: Instant) -> StoreResult<Option<Arc<Snapshot>>> {
        let found = cell.read_after(&self.pool, &self.plans, show, asked).await?;
        if found.is_none() {
            // Made-up shows must not pile up.
            self.cells.write().unwrap_or_else(PoisonError::into_inner).remove(&show);
        }
        Ok(found)
    }

    /// Notes that a hold lost in this show. In a crowd of losers: the seats, at most [`MAY_BE_OLD`], so that the next ones can
    /// be refused without the database. `None` when there is no crowd, or the database does not answer.
    pub async fn for_losers(&self, show: ShowId) -> Option<Arc<Snapshot>> {
        let cell = self.known(show)?;
        let now = Instant::now();
        if !cell.losers.is_crowded(now, CROWD) {
            return None;
        }
        if let Some(snapshot) = cell.recent(now) {
            return Some(snapshot);
        }
        let read = self.read(show, &cell, now).await;
        read.inspect_err(|error| tracing::debug!(%error, "no snapshot for a crowd of losers")).ok().flatten()
    }

    /// Whether a visitor has seats in a snapshot. `None` when the database does not tell.
    pub async fn has_seats(&self, snapshot: &Snapshot, visitor: VisitorId) -> Option<bool> {
        let cell = self.known(snapshot.map.show.id)?;
        let owners = snapshot.owners.get_or_try_init(|| cell.owners(&self.pool, snapshot)).await;
        owners.inspect_err(|error| tracing::debug!(%error, "no owners")).ok().map(|owners| owners.contains(&visitor))
    }

    /// A hold lost.
    pub fn lost(&self, show: ShowId) {
        let now = Instant::now();
        self.cell(show, now).losers.note(now);
    }

    /// This server has taken seats of the show, or sold them.
    pub fn taken(&self, show: ShowId) {
        if let Some(cell) = self.known(show) {
            cell.taken(Instant::now());
            self.ring_for(&cell);
        }
    }

    /// This server has given seats of the show back: no snapshot from before counts any more.
    pub fn freed(&self, show: ShowId) {
        if let Some(cell) = self.known(show) {
            cell.freed(Instant::now());
            self.ring_for(&cell);
        }
    }

    fn ring_for(&self, cell: &Cell) {
        if cell.is_watched() {
            self.news.notify_one();
        }
    }

    fn known(&self, show: ShowId) -> Option<Arc<Cell>> {
        self.cells.read().unwrap_or_else(PoisonError::into_inner).get(&show).cloned()
    }

    /// The show's place; made if need be, and kept for a while from now.
    fn cell(&self, show: ShowId, now: Instant) -> Arc<Cell> {
        if let Some(cell) = self.cells.read().unwrap_or_else(PoisonError::into_inner).get(&show) {
            // Under the lock, so that nobody forgets it meanwhile.
            cell.lookers.touch(now);
            return Arc::clone(cell);
        }
        let mut cells = self.cells.write().unwrap_or_else(PoisonError::into_inner);
        cells.retain(|_, cell| cell.is_watched() || cell.quiet_for(now) < FORGOTTEN_AFTER);
        Arc::clone(cells.entry(show).or_insert_with(|| Arc::new(Cell::new(now))))
    }

    /// Ends its connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
