//! Hold seats: all of them or none.

use uuid::Uuid;

use super::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::hold::Selection;
use crate::domain::ids::{Attempt, OrderId, ShowId, VisitorId};
use crate::store::holds::{self, Verdict, Wish};

/// How often a hold is judged again when others were faster at the very same moment. Each round somebody else won a seat
/// or the visitor's own other hold went through, so this ends by itself; the bound is for what we did not think of.
const ROUNDS: usize = 12;

/// The order that this visitor's attempt makes. Derived, so that the same attempt is the same order on every server;
/// from the visitor's secret, so that nobody else can guess it.
pub fn order_of(visitor: VisitorId, attempt: Attempt) -> OrderId {
    OrderId(Uuid::new_v5(&visitor.0, attempt.0.as_bytes()))
}

/// Holds the seats for the visitor. The same attempt again answers with the same order and changes nothing.
///
/// # Errors
/// [`Error::SeatTaken`] names the taken ones; [`Error::AttemptReused`] when the attempt was sent before with other seats.
pub async fn hold(
    office: &BoxOffice,
    visitor: VisitorId,
    show: ShowId,
    seats: Selection,
    attempt: Attempt,
) -> Result<OrderId, Error> {
    let order = order_of(visitor, attempt);
    let wish = Wish { show, seats, visitor, order };
    for _ in 0..ROUNDS {
        match holds::hold(&office.pool, &wish).await {
            Err(error) if error.on_constraint("orders_one_at_a_time") || error.on_constraint("orders_pkey") => {}
            Err(error) => return Err(fault(error)),
            Ok(Verdict::Overtaken) => {}
            Ok(verdict) => return answer(&wish, verdict),
        }
    }
    Err(Error::Unavailable)
}

fn answer(wish: &Wish, verdict: Verdict) -> Result<OrderId, Error> {
    let wanted = wish.seats.seats();
    match verdict {
        Verdict::Held => Ok(wish.order),
        Verdict::Repeated { show, seats } if show == wish.show && seats == wanted => Ok(wish.order),
        Verdict::Repeated { .. } => Err(Error::AttemptReused),
        Verdict::Taken { seats } => {
            let kept = wanted.iter().copied().filter(|no| !seats.contains(no)).collect();
            Err(Error::SeatTaken { seats, kept })
        }
        Verdict::Unknown { seats } => Err(Error::UnknownSeat { seats }),
        Verdict::TooMany { holding } => Err(Error::too_many_seats(wanted, holding)),
        Verdict::NoShow => Err(Error::UnknownShow),
        Verdict::Closed => Err(Error::SalesClosed),
        Verdict::Overtaken => Err(Error::Unavailable),
    }
}
