//! An opening sale and its waiting room: who may hold, and when. Lazy like a hold: nobody is let in by a worker, whoever
//! asks compares the clock with a place.
//!
//! Whoever comes before the opening gets a number; at the opening, places are drawn among them at random. Whoever comes
//! later stands behind, in the order of coming. `admitted = rate x time since the opening`, and place `n` is admitted while
//! `n <= admitted`, for [`ADMITTED_FOR`] from then on. The same arithmetic is the SQL function `is_admitted` (migration 13),
//! which the hold itself asks; a test evaluates both at every boundary.

use chrono::{DateTime, TimeDelta, Utc};

/// How long a visitor whose turn has come may hold seats. After that the place is used up, and a new one is at the end.
pub const ADMITTED_FOR: TimeDelta = TimeDelta::minutes(15);

/// A place in the queue, 1 for the first to be let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub i64);

/// When a show's sale opens, and how its waiting room lets people in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Nobody can hold before.
    pub at: DateTime<Utc>,
    /// How many are let in a minute from then on; `None`: everybody, there is no waiting room.
    pub per_minute: Option<i32>,
}

/// Where a place stands at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Not yet; so many are before it.
    Waits {
        /// Places that will be admitted before this one and are not yet.
        ahead: i64,
        /// When it will be admitted.
        admitted_at: DateTime<Utc>,
    },
    /// Now.
    Admitted {
        /// The first instant at which it no longer is.
        until: DateTime<Utc>,
    },
    /// It was, and did not hold in time.
    Over,
}

impl Opening {
    /// Whether the sale has begun.
    pub fn is_open(&self, now: DateTime<Utc>) -> bool {
        now >= self.at
    }

    /// When a place's turn comes: by that time, as many have been let in. `None` when there is no waiting room, or the place
    /// is so far back that the calendar ends before.
    pub fn admitted_at(&self, place: Place) -> Option<DateTime<Utc>> {
        let per_minute = i128::from(self.per_minute?);
        let microseconds = (i128::from(place.0) * 60_000_000 + per_minute - 1).div_euclid(per_minute);
        self.at.checked_add_signed(TimeDelta::microseconds(i64::try_from(microseconds).ok()?))
    }

    /// Where a place stands.
    pub fn turn(&self, place: Place, now: DateTime<Utc>) -> Option<Turn> {
        let admitted_at = self.admitted_at(place)?;
        let until = admitted_at + ADMITTED_FOR;
        Some(if now < admitted_at {
            let passed = i128::from((now - self.at).num_microseconds().unwrap_or(0).max(0));
            let admitted = passed * i128::from(self.per_minute?) / 60_000_000;
            let ahead = i128::from(place.0) - 1 - admitted;
            Turn::Waits { ahead: i64::try_from(ahead).unwrap_or(i64::MAX).max(0), admitted_at }
        } else if now < until {
            Turn::Admitted { until }
        } else {
            Turn::Over
        })
    }

    /// Whether somebody with this place, or with none, may hold now.
    pub fn admits(&self, place: Option<Place>, now: DateTime<Utc>) -> bool {
        self.is_open(now)
            && (self.per_minute.is_none()
                || place.is_some_and(|place| matches!(self.turn(place, now), Some(Turn::Admitted { .. }))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(microseconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(1_800_000_000_000_000 + microseconds).unwrap()
    }

    const OPENING: Opening = Opening { at: DateTime::from_timestamp(1_800_000_000, 0).unwrap(), per_minute: Some(600) };

    #[test]
    fn a_place_is_admitted_when_its_share_of_time_has_passed_and_for_a_while() {
        assert_eq!(OPENING.admitted_at(Place(1)), Some(at(100_000)));
        assert_eq!(OPENING.turn(Place(1), at(99_999)), Some(Turn::Waits { ahead: 0, admitted_at: at(100_000) }));
        let until = at(100_000) + ADMITTED_FOR;
        assert_eq!(OPENING.turn(Place(1), at(100_000)), Some(Turn::Admitted { until }));
        assert_eq!(OPENING.turn(Place(1), until - TimeDelta::microseconds(1)), Some(Turn::Admitted { until }));
        assert_eq!(OPENING.turn(Place(1), until), Some(Turn::Over));
    }

    #[test]
    fn those_ahead_are_counted_down_by_the_clock() {
        let ahead = |place, microseconds| match OPENING.turn(Place(place), at(microseconds)) {
            Some(Turn::Waits { ahead, .. }) => ahead,
            other => panic!("{other:?}"),
        };
        assert_eq!((ahead(812, -5_000_000), ahead(812, 0), ahead(812, 50_000_000)), (811, 811, 311));
    }

    #[test]
    fn without_a_waiting_room_everybody_comes_in_at_the_opening() {
        let opening = Opening { per_minute: None, ..OPENING };
        assert_eq!((opening.admits(None, at(-1)), opening.admits(None, at(0))), (false, true));
        assert_eq!((OPENING.admits(None, at(0)), OPENING.admits(Some(Place(1)), at(100_000))), (false, true));
    }
}
