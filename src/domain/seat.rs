//! The one rule: when is a seat available?
//!
//! Everything that asks this question asks it here, or asks the SQL function of the same name (migration 1). A test
//! evaluates both over every status and boundary instant.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// Number of a seat within its show: 1 for the first seat of the plan in reading order. Never shown to people; they
/// read row and number from the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeatNo(pub i16);

impl fmt::Display for SeatNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SeatNo {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// The three statuses of a seat. There is no fourth: a lapsed hold is still `Locked`, and the rule sees through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nobody has it.
    Available,
    /// An order holds it since `locked_at`.
    Locked,
    /// It is sold.
    Booked,
}

impl Status {
    /// Every status, for tests and legends.
    pub const ALL: [Self; 3] = [Self::Available, Self::Locked, Self::Booked];

    /// The word used in SQL, JSON and attributes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Locked => "locked",
            Self::Booked => "booked",
        }
    }
}

impl FromStr for Status {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or(())
    }
}

/// How long a hold keeps others away. Data of the show, never a constant of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HoldWindow {
    seconds: i32,
}

impl HoldWindow {
    /// From whole seconds; `None` outside 1 second to 24 hours, the range the database enforces too.
    pub const fn from_seconds(seconds: i32) -> Option<Self> {
        if seconds >= 1 && seconds <= 24 * 60 * 60 { Some(Self { seconds }) } else { None }
    }

    /// The window in seconds.
    pub const fn seconds(self) -> i32 {
        self.seconds
    }

    fn delta(self) -> TimeDelta {
        TimeDelta::seconds(self.seconds.into())
    }

    /// **The rule.** A seat is available when its status says so, or when it is locked by a hold that began more than
    /// the window ago. A locked seat without a time would be a broken row; it is never offered.
    pub fn is_available(self, status: Status, locked_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
        match (status, locked_at) {
            (Status::Available, _) => true,
            (Status::Locked, Some(locked_at)) => now.signed_duration_since(locked_at) > self.delta(),
            (Status::Locked, None) | (Status::Booked, _) => false,
        }
    }

    /// The last instant at which a hold from `locked_at` still keeps others away.
    pub fn ends_at(self, locked_at: DateTime<Utc>) -> DateTime<Utc> {
        locked_at + self.delta()
    }

    /// The latest instant at which a hold seen as locked since `locked_at` can end: starting to pay may renew it once,
    /// at the last moment of its window.
    pub fn ends_at_the_latest(self, locked_at: DateTime<Utc>) -> DateTime<Utc> {
        locked_at + self.delta() + self.delta()
    }
}

/// What a map shows of one seat. `yours` is a second predicate beside the rule, never a stretch of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It can be picked.
    Available,
    /// Somebody holds it.
    Held,
    /// You hold it.
    Yours,
    /// It is sold.
    Sold,
}

impl Look {
    /// Decides by the rule first, then by whose hold it is.
    pub fn of(
        window: HoldWindow,
        status: Status,
        locked_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
        yours: bool,
    ) -> Self {
        if window.is_available(status, locked_at, now) {
            Self::Available
        } else if status == Status::Booked {
            Self::Sold
        } else if yours {
            Self::Yours
        } else {
            Self::Held
        }
    }

    /// The value of the seat's `data-s` attribute, which the style sheet draws.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Available => "a",
            Self::Held => "l",
            Self::Sold => "b",
            Self::Yours => "m",
        }
    }

    /// The words a screen reader says. `until` is the cinema's wall time at which a hold ends at the latest.
    pub fn words(self, until: Option<&str>) -> String {
        match (self, until) {
            (Self::Available, _) => "available".to_owned(),
            (Self::Sold, _) => "sold".to_owned(),
            (Self::Yours, Some(until)) => format!("held by you until {until}"),
            (Self::Yours, None) => "held by you".to_owned(),
            (Self::Held, Some(until)) => format!("held, free again by {until} unless bought"),
            (Self::Held, None) => "held".to_owned(),
        }
    }
}

/// The news about seats by name, and what is still picked. `refused` when it is the answer to a hold, and not only seen
/// while looking. Page and island say the same.
pub fn taken_words(taken: &str, count: usize, refused: bool, kept: &str) -> String {
    let was = if count == 1 { "was" } else { "were" };
    let so = if refused { ", so none was held" } else { "" };
    let picked = if kept.is_empty() { String::new() } else { format!(" Still picked: {kept}.") };
    format!("{taken} {was} just taken{so}.{picked}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(seconds: i32) -> HoldWindow {
        HoldWindow::from_seconds(seconds).unwrap()
    }

    #[test]
    fn a_hold_keeps_others_away_up_to_and_including_its_last_instant() {
        let locked_at = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let last = window(900).ends_at(locked_at);
        let microsecond = TimeDelta::microseconds(1);
        let rule = |now| window(900).is_available(Status::Locked, Some(locked_at), now);
        assert!(!rule(locked_at));
        assert!(!rule(last - microsecond));
        assert!(!rule(last));
        assert!(rule(last + microsecond));
    }

    #[test]
    fn a_lock_from_the_future_keeps_others_away() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        assert!(!window(1).is_available(Status::Locked, Some(now + TimeDelta::hours(1)), now));
    }

    #[test]
    fn sold_is_sold_at_any_age() {
        let long_ago = DateTime::from_timestamp(0, 0).unwrap();
        let now = DateTime::from_timestamp(4_000_000_000, 0).unwrap();
        assert!(!window(1).is_available(Status::Booked, Some(long_ago), now));
    }

    #[test]
    fn windows_outside_a_second_to_a_day_are_refused() {
        assert_eq!(HoldWindow::from_seconds(0), None);
        assert_eq!(HoldWindow::from_seconds(-1), None);
        assert_eq!(HoldWindow::from_seconds(86_401), None);
        assert_eq!(window(86_400).seconds(), 86_400);
    }
}
