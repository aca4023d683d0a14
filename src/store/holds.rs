//! Holding and giving back: the two statements that Matinee is about. Their text lies in `sql/`, so that tests can take
//! a guard out of it and see that somebody notices.

use sqlx::postgres::PgPool;

use super::{StoreResult, pool::resilient};
use crate::domain::hold::{MOST_SEATS, Selection};
use crate::domain::ids::{OrderId, ShowId, VisitorId};
use crate::domain::queue::Place;
use crate::domain::seat::SeatNo;

/// What one hold asks for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// In this show.
    pub show: ShowId,
    /// These seats.
    pub seats: Selection,
    /// By this visitor.
    pub visitor: VisitorId,
    /// As this order.
    pub order: OrderId,
    /// From this place in the show's waiting room, verified.
    pub place: Option<Place>,
}

/// What a hold's statement found. Exactly one of these is true of the database at the time of the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All seats are held now, as a new order.
    Held,
    /// The same order was made in this show before.
    Repeated {
        /// With these very seats.
        same: bool,
    },
    /// These wanted seats are sold or held.
    Taken {
        /// Not free by the rule.
        seats: Vec<SeatNo>,
        /// How many seats of this show the visitor holds: some of these may be among them.
        holding: i64,
    },
    /// All looked free, but while this hold waited for a lock somebody else took one: look again.
    Overtaken,
    /// The show has no such seats.
    Unknown {
        /// These.
        seats: Vec<SeatNo>,
    },
    /// It would be more than ten.
    TooMany {
        /// Held already.
        holding: i64,
    },
    /// The visitor has kept some of these seats from others for three windows of the last day, without buying them.
    KeptLong,
    /// No such show.
    NoShow,
    /// Sales are closed.
    Closed,
    /// The sale has not opened.
    NotOpen,
    /// It is not (or no longer) this visitor's turn.
    NotAdmitted,
}

/// Holds all wanted seats or none, in one statement.
///
/// # Errors
/// A violated `orders_one_at_a_time` means that another hold of the same visitor ran at the same time: ask again. A violated
/// `orders_pkey` may mean that too, or that the order was made before in another show.
pub async fn hold(pool: &PgPool, wish: &Wish) -> StoreResult<Verdict> {
    let seats: Vec<i16> = wish.seats.seats().iter().map(|no| no.0).collect();
    resilient(|| async {
        let row = sqlx::query_file!(
            "src/store/sql/hold_seats.sql",
            wish.show.0,
            &seats,
            wish.visitor.0,
            wish.order.0,
            MOST_SEATS as i64,
            wish.place.map(|place| place.0),
        )
        .fetch_optional(pool)
        .await?;
        let Some(row) = row else { return Ok(Verdict::NoShow) };
        let numbers = |seats: Option<Vec<i16>>| {
            let mut numbers: Vec<SeatNo> = seats.unwrap_or_default().into_iter().map(SeatNo).collect();
            numbers.sort_unstable();
            numbers
        };
        let (taken, found) = (numbers(row.taken), numbers(row.found));
        let wanted = wish.seats.count() as i64;
        Ok(if row.held {
            Verdict::Held
        } else if row.repeated {
            Verdict::Repeated { same: row.same }
        } else if !row.open {
            Verdict::Closed
        } else if !row.opened {
            Verdict::NotOpen
        } else if !row.admitted {
            Verdict::NotAdmitted
        } else if (found.len() as i64) < wanted {
            Verdict::Unknown { seats: wish.seats.seats().iter().copied().filter(|no| !found.contains(no)).collect() }
        } else if row.holding + wanted > MOST_SEATS as i64 {
            Verdict::TooMany { holding: row.holding }
        } else if row.kept_long {
            Verdict::KeptLong
        } else if taken.is_empty() {
            Verdict::Overtaken
        } else {
            Verdict::Taken { seats: taken, holding: row.holding }
        })
    })
    .await
}

/// Gives an order's seats back. `false` when the order is not held (any more): then nothing changed.
///
/// # Errors
/// When the database does.
pub async fn release(pool: &PgPool, order: OrderId) -> StoreResult<bool> {
    resilient(|| async {
        let row = sqlx::query_file!("src/store/sql/release_hold.sql", order.0).fetch_one(pool).await?;
        Ok(row.released)
    })
    .await
}
