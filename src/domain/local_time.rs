//! The cinema's wall clock for the browser: a few offsets instead of a time zone database.
//!
//! The browser must show the cinema's time, not the visitor's, and must not ship a zone database to do so. The server
//! sends the offsets that apply around now; both sides format with this code, so a first render is identical.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::{OffsetComponents, OffsetName, Tz};

/// The offsets of one zone from UTC over a few days. Travels to the browser as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WallClock {
    /// From which instant (seconds since 1970), by how many seconds east of UTC; ascending, at least one.
    offsets: Vec<(i64, i32)>,
}

impl WallClock {
    /// The offsets of `zone` from a day before `now` until two days after: longer than any hold can last.
    pub fn around(zone: Tz, now: DateTime<Utc>) -> Self {
        let mut offsets: Vec<(i64, i32)> = Vec::new();
        let start = now - TimeDelta::days(1);
        // Offsets change on full quarter hours; 72 hours have 288 of them, and this runs once a page.
        for quarter in 0..=288 {
            let instant = start + TimeDelta::minutes(15 * quarter);
            let instant = DateTime::from_timestamp(instant.timestamp().div_euclid(900) * 900, 0).unwrap_or(instant);
            let offset = offset_seconds(zone, instant);
            if offsets.last().is_none_or(|last| last.1 != offset) {
                offsets.push((instant.timestamp(), offset));
            }
        }
        Self { offsets }
    }

    /// `19:42` on the cinema's wall.
    pub fn hour_minute(&self, instant: DateTime<Utc>) -> String {
        let seconds = instant.timestamp();
        let offset = self.offsets.iter().rev().find(|(from, _)| *from <= seconds).or(self.offsets.first());
        let local = seconds + offset.map_or(0, |(_, offset)| i64::from(*offset));
        let minute = local.rem_euclid(86_400) / 60;
        format!("{:02}:{:02}", minute / 60, minute % 60)
    }
}

impl fmt::Display for WallClock {
    /// `from:offset`, comma separated.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (from, offset)) in self.offsets.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{from}:{offset}")?;
        }
        Ok(())
    }
}

impl FromStr for WallClock {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let offsets = text.split(',').map(|part| {
            let (from, offset) = part.split_once(':')?;
            Some((from.parse().ok()?, offset.parse().ok()?))
        });
        offsets.collect::<Option<_>>().map(|offsets| Self { offsets }).ok_or(())
    }
}

fn offset_seconds(zone: Tz, instant: DateTime<Utc>) -> i32 {
    let local = instant.with_timezone(&zone);
    let offset = local.offset();
    i32::try_from((offset.base_utc_offset() + offset.dst_offset()).num_seconds()).unwrap_or(0)
}

/// The zone's own abbreviation at an instant, such as `CET`, or its offset where it has none.
pub fn zone_abbreviation(zone: Tz, instant: DateTime<Utc>) -> String {
    let local = instant.with_timezone(&zone);
    match local.offset().abbreviation() {
        Some(name) if name.starts_with(char::is_alphabetic) => name.to_owned(),
        _ => format!("UTC{}", local.format("%:z")),
    }
}

#[cfg(test)]
mod tests {
    use chrono_tz::{Australia::Lord_Howe, Europe::Berlin};

    use super::*;

    fn utc(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    /// The hour that happens twice: 02:30 CEST, then 02:30 CET an hour later.
    #[test]
    fn both_half_past_twos_of_the_autumn_night_read_half_past_two() {
        let clock = WallClock::around(Berlin, utc("2026-10-24T22:00:00Z"));
        assert_eq!(clock.hour_minute(utc("2026-10-25T00:30:00Z")), "02:30");
        assert_eq!(clock.hour_minute(utc("2026-10-25T01:30:00Z")), "02:30");
        assert_eq!(zone_abbreviation(Berlin, utc("2026-10-25T00:30:00Z")), "CEST");
        assert_eq!(zone_abbreviation(Berlin, utc("2026-10-25T01:30:00Z")), "CET");
    }

    /// The hour that does not happen.
    #[test]
    fn the_spring_night_jumps_from_two_to_three() {
        let clock = WallClock::around(Berlin, utc("2027-03-27T20:00:00Z"));
        assert_eq!(clock.hour_minute(utc("2027-03-28T00:59:59Z")), "01:59");
        assert_eq!(clock.hour_minute(utc("2027-03-28T01:00:00Z")), "03:00");
    }

    #[test]
    fn the_text_that_travels_reads_back() {
        let clock = WallClock::around(Berlin, utc("2026-10-24T22:00:00Z"));
        assert_eq!(clock.offsets.len(), 2);
        assert_eq!(clock.to_string().parse(), Ok(clock));
        assert_eq!("".parse::<WallClock>(), Err(()));
        assert_eq!("1:2,x".parse::<WallClock>(), Err(()));
    }

    #[test]
    fn agrees_with_the_zone_database_every_minute_of_a_change_of_half_an_hour() {
        let start = utc("2027-04-03T00:00:00Z");
        let clock = WallClock::around(Lord_Howe, start);
        for minute in 0..(2 * 24 * 60) {
            let instant = start + TimeDelta::minutes(minute);
            assert_eq!(clock.hour_minute(instant), instant.with_timezone(&Lord_Howe).format("%H:%M").to_string());
        }
    }
}
