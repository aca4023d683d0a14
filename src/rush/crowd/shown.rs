//! The map that the crowd was shown last. Thousands see the same version of it: it is unpacked and read once for all of them,
//! and each then judges it by the rule at their own time, as the grid in a browser does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use super::hall::Free;
use super::link::Answer;
use crate::domain::seat::{HoldWindow, Status};

#[derive(Debug, Deserialize)]
struct MapJson {
    now: DateTime<Utc>,
    hold_window_s: HoldWindow,
    seats: Vec<SeatJson>,
}

#[derive(Debug, Deserialize)]
struct SeatJson {
    status: Status,
    locked_at: Option<DateTime<Utc>>,
}

#[derive(Debug)]
struct Read {
    tag: String,
    at: Instant,
    map: MapJson,
}

/// The last map.
#[derive(Debug, Default)]
pub struct Shown(Mutex<Option<Arc<Read>>>);

impl Shown {
    /// Which seats an answer shows as free, and whether all are sold; `None` when it is no map.
    pub fn free(&self, answer: &Answer) -> Option<(Free, bool)> {
        let read = self.read(answer)?;
        let later = TimeDelta::from_std(read.at.elapsed()).unwrap_or(TimeDelta::MAX);
        let (now, window) = (read.map.now.checked_add_signed(later)?, read.map.hold_window_s);
        let seats = || read.map.seats.iter();
        let sold_out = seats().all(|seat| seat.status == Status::Booked);
        Some((seats().map(|seat| window.is_available(seat.status, seat.locked_at, now)).collect(), sold_out))
    }

    fn read(&self, answer: &Answer) -> Option<Arc<Read>> {
        let tag = answer.tag.as_deref()?;
        {
            let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(last) = last.as_ref().filter(|last| last.tag == tag) {
                return Some(Arc::clone(last));
            }
        }
        let map = serde_json::from_slice(&answer.unpacked()?).ok()?;
        let read = Arc::new(Read { tag: tag.to_owned(), at: Instant::now(), map });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&read));
        Some(read)
    }
}
