//! What the crowd saw: how long each answer took, what was said when, and who was told that which seats are theirs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::domain::ids::OrderId;
use crate::domain::seat::SeatNo;

/// The time of a run is looked at in pieces of this length.
pub const PIECE: Duration = Duration::from_millis(500);
/// Longer times than this, in microseconds, count as this.
const LONGEST_US: u64 = 120_000_000;

/// What somebody asked for, and what came of it: what times are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The whole page.
    Page,
    /// The map.
    Map,
    /// A hold that was granted.
    Held,
    /// A hold that lost.
    Lost,
    /// A payment, to its answer.
    Paid,
    /// A release.
    Released,
}

impl Kind {
    /// All, in the order of a visit.
    pub const ALL: [Self; 6] = [Self::Page, Self::Map, Self::Held, Self::Lost, Self::Paid, Self::Released];

    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Page => "page opened",
            Self::Map => "map read",
            Self::Held => "hold that won",
            Self::Lost => "hold that lost",
            Self::Paid => "payment",
            Self::Released => "release",
        }
    }
}

/// What became of somebody's seats, as they were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing more than that they are held.
    Held,
    /// Bought.
    Sold {
        /// When they were told.
        told: Instant,
    },
    /// Paid too late: the money goes back.
    Refunded,
    /// Given back; nobody may have them before this was asked for.
    Released {
        /// When it was asked for.
        asked: Instant,
    },
}

/// A hold that somebody was told they have.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Its order.
    pub order: OrderId,
    /// Its seats.
    pub seats: Vec<SeatNo>,
    /// When it was asked for: it was not granted before.
    pub asked: Instant,
    /// When the answer came: it was granted by then.
    pub told: Instant,
    /// What they were told since.
    pub fate: Fate,
}

/// Everything that is kept of a run.
#[derive(Debug)]
pub struct Record {
    start: Instant,
    kept: Mutex<Kept>,
}

/// What a record comes to.
#[derive(Debug)]
pub struct Kept {
    /// Times in microseconds.
    pub times: HashMap<Kind, Histogram<u64>>,
    /// Answers by kind, in each [`PIECE`] of the run.
    pub pieces: Vec<HashMap<Kind, u64>>,
    /// Answers by status.
    pub statuses: HashMap<u16, u64>,
    /// What broke, by its words.
    pub broken: HashMap<String, u64>,
    /// Holds, in the order of the answers.
    pub grants: Vec<Grant>,
    /// How often people pressed for seats, and how many have come to an end, whatever it was.
    pub attempts: u64,
    /// When the last answer to an attempt came, after the start.
    pub last_attempt: Duration,
    /// People whose visit is over.
    pub gone: u64,
    /// People who left without seats.
    pub without: u64,
}

impl Record {
    /// Nothing yet.
    pub fn new(start: Instant) -> Self {
        let kept = Kept {
            times: HashMap::new(),
            pieces: Vec::new(),
            statuses: HashMap::new(),
            broken: HashMap::new(),
            grants: Vec::new(),
            attempts: 0,
            last_attempt: Duration::ZERO,
            gone: 0,
            without: 0,
        };
        Self { start, kept: Mutex::new(kept) }
    }

    /// A look at it.
    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it comes to.
    pub fn into_kept(self) -> Kept {
        self.kept.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// An answer of some kind came to what was asked then.
    pub fn answered(&self, kind: Kind, asked: Instant) {
        let (since_start, took) = (self.start.elapsed(), asked.elapsed());
        let mut kept = self.kept();
        let times = kept.times.entry(kind).or_insert_with(times);
        times.saturating_record(u64::try_from(took.as_micros()).unwrap_or(LONGEST_US));
        let piece = usize::try_from(since_start.as_millis() / PIECE.as_millis()).unwrap_or(usize::MAX);
        if kept.pieces.len() <= piece {
            kept.pieces.resize_with(piece + 1, HashMap::new);
        }
        *kept.pieces[piece].entry(kind).or_default() += 1;
        if matches!(kind, Kind::Held | Kind::Lost) {
            kept.last_attempt = since_start;
        }
    }

    /// An answer had this status.
    pub fn status(&self, status: u16) {
        *self.kept().statuses.entry(status).or_default() += 1;
    }

    /// There was no answer.
    pub fn broke(&self, what: &str) {
        *self.kept().broken.entry(what.to_owned()).or_default() += 1;
    }

    /// Somebody presses for seats.
    pub fn attempt(&self) {
        self.kept().attempts += 1;
    }

    /// Somebody was told that seats are theirs; the number to speak of it again.
    pub fn granted(&self, grant: Grant) -> usize {
        let mut kept = self.kept();
        kept.grants.push(grant);
        kept.grants.len() - 1
    }

    /// Somebody was told what became of a grant.
    pub fn told(&self, grant: usize, fate: Fate) {
        if let Some(grant) = self.kept().grants.get_mut(grant) {
            grant.fate = fate;
        }
    }

    /// Somebody's visit is over.
    pub fn gone(&self, with_seats: bool) {
        let mut kept = self.kept();
        kept.gone += 1;
        kept.without += u64::from(!with_seats);
    }
}

/// For times in microseconds with three digits.
pub fn times() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST_US, 3).unwrap_or_else(|error| unreachable!("{error}"))
}
