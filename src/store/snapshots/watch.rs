//! Keeping watched maps true: which shows changed is one question for all of them, asked while anybody watches.
//!
//! No statement that sells notifies anybody: a `NOTIFY` makes commits wait for each other. The orders' story, which is
//! written anyway, says where something happened; and what this server does itself, it knows at once.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::broadcast;

use super::{Cell, Change, Snapshot, Snapshots};
use crate::domain::ids::ShowId;
use crate::store::StoreResult;
use crate::store::events::{self, Horizon};

/// How often the story is looked at while anybody watches: how late at most another server's sale is seen, unless so many watch
/// that the watch rests longer.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How often at most, when this server itself has news.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(10);

/// A core's time for each viewer who is told of a change: what writing one message to a connection takes.
const TELLING: Duration = Duration::from_micros(10);

/// After each look the watch rests for as many times as long as the look and the telling took, so that those who hold seats
/// do not wait for those who watch: in a sale of ten shows before a thousand viewers, changes are bundled for a fifth of a second.
const REST: u32 = 5;

/// But not longer than this: a map must not be older for being watched by many.
const LONGEST_REST: Duration = Duration::from_millis(500);

/// A watched show is read anew this often whatever the story says: for whoever changes seats behind Matinee's back.
pub const READ_ANYWAY_EVERY: Duration = Duration::from_secs(1);

/// How long the watch waits when the database does not answer.
const AFTER_A_FAULT: Duration = Duration::from_millis(250);

/// What one viewer has been given and will be told.
#[derive(Debug)]
pub struct Viewing {
    /// What is so now.
    pub snapshot: Arc<Snapshot>,
    /// What comes after it.
    pub changes: broadcast::Receiver<Arc<Change>>,
}

impl Snapshots {
    /// Begins to watch a show; `None` when there is no such show.
    ///
    /// # Errors
    /// When the database does, or a row cannot be.
    pub async fn watch(&self, show: ShowId) -> StoreResult<Option<Viewing>> {
        let now = Instant::now();
        let cell = self.cell(show, now);
        if self.read(show, &cell, now).await?.is_none() {
            return Ok(None);
        }
        let (snapshot, changes) = cell.watch();
        self.news.notify_one();
        Ok(snapshot.map(|snapshot| Viewing { snapshot, changes }))
    }

    /// How many are watching on this server.
    pub fn watchers(&self) -> usize {
        self.cells.read().unwrap_or_else(PoisonError::into_inner).values().map(|cell| cell.watchers()).sum()
    }

    /// Reads what is watched as it changes. Never ends; a server runs it beside its requests. It asks the database nothing
    /// while nobody watches.
    pub async fn keep_watching(&self) {
        let mut horizon = None;
        loop {
            let began = Instant::now();
            let watched = self.watched();
            if watched.is_empty() {
                // What happens now is found by the reading that a next viewer begins with.
                horizon = None;
                self.news.notified().await;
                continue;
            }
            let told = match self.look(&watched, horizon.as_ref()).await {
                Ok((reached, told)) => {
                    horizon = Some(reached);
                    told
                }
                Err(error) => {
                    tracing::warn!(%error, "the watch of the maps could not look");
                    tokio::time::sleep(AFTER_A_FAULT).await;
                    continue;
                }
            };
            tokio::time::sleep(rest(began.elapsed(), told)).await;
            let _timeout = tokio::time::timeout(LOOK_EVERY.saturating_sub(began.elapsed()), self.news.notified()).await;
        }
    }

    /// Reads what has changed; how far the story was read, and how many viewers are told of something.
    async fn look(&self, watched: &[(ShowId, Arc<Cell>)], horizon: Option<&Horizon>) -> StoreResult<(Horizon, u32)> {
        let (changed, reached) = match horizon {
            Some(horizon) => events::shows_since(&self.pool, horizon).await?,
            // First the horizon, then the maps: what is committed in between is in both.
            None => (watched.iter().map(|(show, _)| *show).collect(), events::horizon(&self.pool).await?),
        };
        let mut told = 0;
        for (show, cell) in watched {
            if changed.contains(show) || cell.is_older_than(READ_ANYWAY_EVERY) {
                let before = cell.version();
                self.read(*show, cell, Instant::now()).await?;
                told += if cell.version() == before { 0 } else { cell.watchers() };
            }
        }
        Ok((reached, u32::try_from(told).unwrap_or(u32::MAX)))
    }

    fn watched(&self) -> Vec<(ShowId, Arc<Cell>)> {
        let cells = self.cells.read().unwrap_or_else(PoisonError::into_inner);
        cells.iter().filter(|(_, cell)| cell.is_watched()).map(|(show, cell)| (*show, Arc::clone(cell))).collect()
    }
}

/// For how long the watch rests after a look that took so long and made so many viewers hear of something.
fn rest(look: Duration, told: u32) -> Duration {
    (look + TELLING * told).saturating_mul(REST).clamp(LOOK_AT_MOST_EVERY, LONGEST_REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_are_told_the_longer_it_rests_and_never_longer_than_stated() {
        let (quick, slow) = (Duration::from_millis(1), Duration::from_millis(30));
        assert_eq!(rest(quick, 0), LOOK_AT_MOST_EVERY, "few watch: the next look comes at once");
        assert_eq!(rest(quick, 1_000), Duration::from_millis(55));
        assert_eq!(rest(slow, 1_000), Duration::from_millis(200));
        assert_eq!(rest(slow, u32::MAX), LONGEST_REST);
        assert_eq!(rest(Duration::MAX / 2, 0), LONGEST_REST, "a database that took its time");
    }
}
