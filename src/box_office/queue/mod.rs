//! The waiting room of an opening sale: take a place, see how far it is, be let in.

mod draw;
mod pass;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::ids::{ShowId, VisitorId};
use crate::domain::queue::{Opening, Place, Turn};
use crate::store::queues::{self, Queued};
use draw::Draw;
pub use pass::Pass;

/// Where a visitor stands in a show's waiting room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Not in it.
    Outside {
        /// So many came before the opening.
        others: i64,
    },
    /// In it, before the draw.
    BeforeTheDraw {
        /// So many others are.
        others: i64,
    },
    /// In the queue.
    InLine {
        /// Its place.
        place: Place,
        /// So many come before.
        ahead: i64,
        /// When it is this visitor's turn.
        admitted_at: DateTime<Utc>,
    },
    /// It is this visitor's turn, until then.
    Admitted {
        /// What to carry.
        pass: Pass,
        /// The first instant at which it is over.
        until: DateTime<Utc>,
    },
    /// It was.
    Over,
}

/// What a visitor sees of a waiting room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// When and how it lets people in.
    pub opening: Opening,
    /// Where the visitor stands in it.
    pub waiting: Waiting,
    /// The database's clock.
    pub now: DateTime<Utc>,
}

/// Takes a place for the visitor. Again, or from another tab: the same place; a new one, at the end, only when the turn of
/// the old one is over. `false` when the show has no waiting room: then there is nothing to wait for, the map is open.
///
/// # Errors
/// [`Error::UnknownShow`].
pub async fn join(office: &BoxOffice, visitor: VisitorId, show: ShowId) -> Result<bool, Error> {
    let Some(room) = look(office, Some(visitor), show).await? else { return Ok(false) };
    match room.waiting {
        Waiting::Outside { .. } => queues::join(&office.pool, show, visitor, false).await.map_err(fault)?,
        Waiting::Over => queues::join(&office.pool, show, visitor, true).await.map_err(fault)?,
        Waiting::BeforeTheDraw { .. } | Waiting::InLine { .. } | Waiting::Admitted { .. } => {}
    }
    Ok(true)
}

/// The waiting room as the visitor sees it; `None` when the show has none.
///
/// # Errors
/// [`Error::UnknownShow`].
pub async fn look(office: &BoxOffice, visitor: Option<VisitorId>, show: ShowId) -> Result<Option<Room>, Error> {
    // Nobody has the nil id.
    let asked = visitor.unwrap_or(VisitorId(Uuid::nil()));
    let queued = queues::look(&office.pool, show, asked).await.map_err(fault)?.ok_or(Error::UnknownShow)?;
    let Some(opening) = queued.opening.filter(|opening| opening.per_minute.is_some()) else { return Ok(None) };
    let waiting = waiting(office, asked, show, &opening, &queued);
    Ok(Some(Room { opening, waiting, now: queued.now }))
}

fn waiting(office: &BoxOffice, visitor: VisitorId, show: ShowId, opening: &Opening, queued: &Queued) -> Waiting {
    let Some(number) = queued.number else { return Waiting::Outside { others: queued.early } };
    if !opening.is_open(queued.now) {
        return Waiting::BeforeTheDraw { others: queued.early - 1 };
    }
    // How many came early stands still from the opening on, so every server draws the same.
    let place = Draw::new(&office.secret, show, queued.early).map_or(Place(number), |draw| draw.place(number));
    match opening.turn(place, queued.now) {
        Some(Turn::Waits { ahead, admitted_at }) => Waiting::InLine { place, ahead, admitted_at },
        Some(Turn::Admitted { until }) => Waiting::Admitted { pass: Pass::new(show, visitor, place), until },
        Some(Turn::Over) | None => Waiting::Over,
    }
}

/// Sets when a show's sale opens, or that it is open. `false` when there is no such show. Once more changes nothing; whoever
/// moves an opening into the future opens the waiting room again, with everybody who is in it.
///
/// # Errors
/// When the database does.
pub async fn open(pool: &PgPool, show: ShowId, opening: Option<Opening>) -> Result<bool, Error> {
    queues::open(pool, show, opening).await.map_err(fault)
}

/// What the visitor of a pass carries.
pub fn carried(office: &BoxOffice, pass: Pass) -> Option<String> {
    pass.sign(&office.secret)
}

/// The pass that somebody carries, if it was signed here for this visitor and show.
pub fn pass(office: &BoxOffice, show: ShowId, visitor: VisitorId, carried: &str) -> Option<Pass> {
    Pass::read(&office.secret, show, visitor, carried)
}
