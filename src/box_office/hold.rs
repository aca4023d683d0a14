//! Hold seats: all of them or none.

use uuid::Uuid;

use super::queue::Pass;
use super::{BoxOffice, fault, refusal};
use crate::domain::Error;
use crate::domain::hold::Selection;
use crate::domain::ids::{Attempt, OrderId, ShowId, VisitorId};
use crate::domain::seat::SeatNo;
use crate::store::holds::{self, Verdict, Wish};
use crate::store::orders;

/// How often a hold is judged again when others were faster at the very same moment. In each round either the visitor's own
/// other order moved on (ten times at most, since each has a seat and ten is the limit) or somebody else won one of the
/// ten wanted seats, so this ends by itself; the bound is for what we did not think of.
pub const ROUNDS: usize = 32;

/// The order that this visitor's attempt makes. Derived, so that the same attempt is the same order on every server;
/// from the visitor's secret, so that nobody else can guess it. The order's own row is the record of what the attempt was
/// used for: rows of orders stay, so an attempt never comes to mean anything else, not after a day and not after the order's
/// end. There is no other table of keys that could disagree, or lapse.
pub fn order_of(visitor: VisitorId, attempt: Attempt) -> OrderId {
    OrderId(Uuid::new_v5(&visitor.0, attempt.0.as_bytes()))
}

/// Holds the seats for the visitor. The same attempt again answers with the same order and changes nothing.
///
/// # Errors
/// [`Error::SeatTaken`] names those that others have, [`Error::AlreadyYours`] those that the visitor holds by another order;
/// [`Error::AttemptReused`] when the attempt was sent before with other seats; [`Error::NotOpenYet`] and [`Error::NotYourTurn`]
/// at an opening sale, which a pass of the waiting room lets into.
pub async fn hold(
    office: &BoxOffice,
    visitor: VisitorId,
    show: ShowId,
    seats: Selection,
    attempt: Attempt,
    pass: Option<Pass>,
) -> Result<OrderId, Error> {
    let order = order_of(visitor, attempt);
    let place = pass.and_then(|pass| pass.place_for(show, visitor));
    if let Some(refusal) = refusal::from_memory(office, visitor, show, &seats, place).await {
        return Err(refusal);
    }
    let wish = Wish { show, seats, visitor, order, place };
    for _ in 0..ROUNDS {
        match holds::hold(&office.pool, &wish).await {
            Err(error) if error.on_constraint("orders_one_at_a_time") => {}
            // The same form sent twice at once; or sent before for another show.
            Err(error) if error.on_constraint("orders_pkey") => {
                let before = orders::get(&office.pool, order).await.map_err(fault)?;
                if before.is_some_and(|(before, _)| before.show != show) {
                    return Err(Error::AttemptReused);
                }
            }
            Err(error) => return Err(fault(error)),
            Ok(Verdict::Overtaken) => {}
            Ok(verdict) => return answer(office, &wish, verdict).await,
        }
    }
    Err(Error::Unavailable)
}

/// Refuses a hold that [`hold`] would refuse without the database. `None`: ask [`hold`].
pub async fn refuse_early(
    office: &BoxOffice,
    visitor: VisitorId,
    show: ShowId,
    seats: &Selection,
    pass: Option<Pass>,
) -> Option<Error> {
    let place = pass.and_then(|pass| pass.place_for(show, visitor));
    refusal::from_memory(office, visitor, show, seats, place).await
}

async fn answer(office: &BoxOffice, wish: &Wish, verdict: Verdict) -> Result<OrderId, Error> {
    let wanted = wish.seats.seats();
    match verdict {
        Verdict::Held => {
            office.snapshots.taken(wish.show);
            Ok(wish.order)
        }
        Verdict::Repeated { same: true } => Ok(wish.order),
        Verdict::Repeated { same: false } => Err(Error::AttemptReused),
        Verdict::Unknown { seats } => Err(Error::UnknownSeat { seats }),
        Verdict::TooMany { holding } => Err(Error::too_many_seats(wanted, holding)),
        Verdict::KeptLong => Err(Error::KeptTooLong),
        Verdict::NoShow => Err(Error::UnknownShow),
        Verdict::Closed => Err(Error::SalesClosed),
        Verdict::NotOpen | Verdict::NotAdmitted => {
            office.snapshots.lost(wish.show);
            Err(if verdict == Verdict::NotOpen { Error::NotOpenYet } else { Error::NotYourTurn })
        }
        Verdict::Taken { seats, holding } => {
            office.snapshots.lost(wish.show);
            Err(taken(office, wish, seats, holding).await)
        }
        Verdict::Overtaken => Err(Error::Unavailable),
    }
}

/// Who has them? "Taken" would be wrong for what the visitor holds in another tab. Strangers' seats come first: they are
/// what stands in the way. Asked only when the visitor holds something, so that the crowd's refusals cost nothing more.
async fn taken(office: &BoxOffice, wish: &Wish, taken: Vec<SeatNo>, holding: i64) -> Error {
    let mine = match holding {
        0 => Vec::new(),
        _ => match orders::holding(&office.pool, wish.show, wish.visitor).await {
            Ok(mine) => mine,
            Err(error) => return fault(error),
        },
    };
    let is_mine = |no: &SeatNo| mine.iter().any(|order| order.seats.seats().contains(no));
    let kept = wish.seats.seats().iter().copied().filter(|no| !taken.contains(no)).collect();
    let (yours, others): (Vec<SeatNo>, Vec<SeatNo>) = taken.into_iter().partition(is_mine);
    if others.is_empty() {
        Error::AlreadyYours { seats: yours, kept }
    } else {
        Error::SeatTaken { seats: others, kept, nearest: Vec::new() }
    }
}
