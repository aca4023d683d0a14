//! The fast no: in a crowd of losers, a hold that cannot win is refused without the database.
//!
//! Only what every answer of the database would say too, as of a moment ago, is said here: that some wanted seats are sold or
//! held. Whatever may have another answer (an attempt sent before, a visitor who has seats of this show, a show that is
//! closed, a seat that does not exist) is the database's to answer, and so is every "yes".

use chrono::{DateTime, Utc};

use super::BoxOffice;
use crate::domain::Error;
use crate::domain::hold::Selection;
use crate::domain::ids::{ShowId, VisitorId};
use crate::domain::nearest::Choices;
use crate::domain::queue::{Place, Turn};
use crate::domain::seat::SeatNo;
use crate::domain::show::SeatMap;

/// Refuses a hold when the show has a crowd of losers and its seats, as they were at most
/// [`MAY_BE_OLD`](crate::store::snapshots::MAY_BE_OLD) ago, are not to be had. `None`: ask the database.
pub(super) async fn from_memory(
    office: &BoxOffice,
    visitor: VisitorId,
    show: ShowId,
    seats: &Selection,
    place: Option<Place>,
) -> Option<Error> {
    let snapshot = office.snapshots.for_losers(show).await?;
    // The latest that the time can be: a hold that has lapsed by the database's clock is never taken for one that has not.
    let refusal = refusal(&snapshot.map, snapshot.now_at_the_latest(), seats, place)?;
    // An attempt that won before has seats too, as long as nobody else has them.
    if office.snapshots.has_seats(&snapshot, visitor).await? {
        return None;
    }
    office.snapshots.lost(show);
    Some(refusal)
}

fn refusal(map: &SeatMap, now: DateTime<Utc>, wanted: &Selection, place: Option<Place>) -> Option<Error> {
    if map.show.sales_close_at <= now {
        return None;
    }
    // As with a lapse, at the latest that the time can be: nobody is refused who comes after the opening, or in turn.
    if let Some(opening) = map.show.opening {
        if !opening.is_open(now) {
            return Some(Error::NotOpenYet);
        }
        let turn = place.and_then(|place| opening.turn(place, now));
        if opening.per_minute.is_some() && matches!(turn, None | Some(Turn::Waits { .. })) {
            return Some(Error::NotYourTurn);
        }
    }
    let (mut seats, mut kept) = (Vec::new(), Vec::new());
    for no in wanted.seats() {
        let seat = map.seat(*no)?;
        let free = map.show.hold_window.is_available(seat.status, seat.locked_at, now);
        if free { &mut kept } else { &mut seats }.push(*no);
    }
    (!seats.is_empty()).then_some(Error::SeatTaken { seats, kept, nearest: Vec::new() })
}

/// A conflict, with the nearest equal choice that is free now: for programs, which see no map.
pub async fn with_choice(office: &BoxOffice, show: ShowId, error: Error) -> Error {
    let Error::SeatTaken { seats, kept, .. } = error else { return error };
    let wanted: Vec<SeatNo> = seats.iter().chain(&kept).copied().collect();
    // Without a choice the conflict is as true as with one.
    let snapshot = office.snapshots.get(show).await.ok().flatten();
    let nearest = snapshot.map_or_else(Vec::new, |snapshot| {
        snapshot.choices.get_or_init(|| Choices::among(snapshot.map.spots())).nearest(&wanted)
    });
    Error::SeatTaken { seats, kept, nearest }
}
