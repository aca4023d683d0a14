//! The cinema: its name and the zone its clocks show.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

use super::local_time::zone_abbreviation;

/// The cinema that this database belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cinema {
    /// Its name, as on the door.
    pub name: String,
    /// Where its clocks hang.
    pub zone: Tz,
}

impl Cinema {
    /// `Tue 1 December 2026, 19:42 CET`: complete, so that a ticket means one instant only.
    pub fn date_time(&self, instant: DateTime<Utc>) -> String {
        format!("{} {}", instant.with_timezone(&self.zone).format("%a %-d %B %Y, %H:%M"), self.abbreviation(instant))
    }

    /// `19:42`.
    pub fn hour_minute(&self, instant: DateTime<Utc>) -> String {
        instant.with_timezone(&self.zone).format("%H:%M").to_string()
    }

    /// `19:42:07 CET`: to the second, for "when did what happen".
    pub fn to_the_second(&self, instant: DateTime<Utc>) -> String {
        format!("{} {}", instant.with_timezone(&self.zone).format("%H:%M:%S"), self.abbreviation(instant))
    }

    /// `CET` or `CEST`, whichever applies at that instant.
    pub fn abbreviation(&self, instant: DateTime<Utc>) -> String {
        zone_abbreviation(self.zone, instant)
    }

    /// The date on the cinema's calendar.
    pub fn date(&self, instant: DateTime<Utc>) -> NaiveDate {
        instant.with_timezone(&self.zone).date_naive()
    }

    /// What the cinema's clock shows, as an instant: the first one where it shows that twice, none where it never does.
    pub fn instant(&self, local: NaiveDateTime) -> Option<DateTime<Utc>> {
        self.zone.from_local_datetime(&local).earliest().map(|instant| instant.with_timezone(&Utc))
    }

    /// When a day begins in the cinema's zone: its first instant, also where clocks jump over midnight.
    pub fn start_of(&self, day: NaiveDate) -> DateTime<Utc> {
        let midnight = day.and_time(chrono::NaiveTime::MIN);
        (0..=4)
            .find_map(|half_hours| {
                self.zone.from_local_datetime(&(midnight + TimeDelta::minutes(30 * half_hours))).earliest()
            })
            .map_or_else(|| Utc.from_utc_datetime(&midnight), |local| local.with_timezone(&Utc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cinema(zone: Tz) -> Cinema {
        Cinema { name: "Test".into(), zone }
    }

    #[test]
    fn a_ticket_names_one_instant_on_the_night_that_has_half_past_two_twice() {
        let berlin = cinema(chrono_tz::Europe::Berlin);
        let first = "2026-10-25T00:30:00Z".parse().unwrap();
        let second = "2026-10-25T01:30:00Z".parse().unwrap();
        assert_eq!(berlin.date_time(first), "Sun 25 October 2026, 02:30 CEST");
        assert_eq!(berlin.date_time(second), "Sun 25 October 2026, 02:30 CET");
    }

    #[test]
    fn days_begin_at_local_midnight_or_right_after_the_gap_that_swallows_it() {
        let day = NaiveDate::from_ymd_opt(2026, 12, 1).unwrap();
        assert_eq!(cinema(chrono_tz::Europe::Berlin).start_of(day).to_rfc3339(), "2026-11-30T23:00:00+00:00");
        // Santiago's clocks jump from midnight to one o'clock on 6 September 2026.
        let gap = NaiveDate::from_ymd_opt(2026, 9, 6).unwrap();
        let santiago = cinema(chrono_tz::America::Santiago);
        assert_eq!(santiago.hour_minute(santiago.start_of(gap)), "01:00");
    }
}
