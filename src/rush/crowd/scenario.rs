//! What kind of crowd comes, and what it wants: a TOML file, or one of those that come with the program.

use std::path::Path;

use serde::Deserialize;

use crate::domain::hold::MOST_SEATS;
use crate::domain::plan::MOST_PLACES;
use crate::domain::seat::HoldWindow;
use crate::rush::figure::{count, number, whole};

/// Those that come with the program, by name.
pub const SHIPPED: [(&str, &str); 3] = [
    ("opening-sale", include_str!("scenarios/opening-sale.toml")),
    ("one-seat", include_str!("scenarios/one-seat.toml")),
    ("last-seat", include_str!("scenarios/last-seat.toml")),
];

/// People of one scenario at most: each is a task, and each has an address of its own in 10.0.0.0/8.
const MOST_PEOPLE: u32 = 1_000_000;
/// Connections and watchers together at most: each is an open file, here and in the server.
const MOST_OPEN: u32 = 20_000;
/// Longest time of any kind, in seconds.
const LONGEST_S: f64 = 3_600.0;

/// A scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What everything random is drawn from: the same seed, the same people with the same wishes.
    pub seed: u64,
    /// What is sold.
    pub show: Show,
    /// Who comes.
    pub people: People,
    /// What those do who hold seats.
    #[serde(default)]
    pub holders: Holders,
    /// Where it happens.
    #[serde(default)]
    pub stage: Stage,
    /// What must come out, besides the promises.
    #[serde(default)]
    pub expect: Expect,
}

/// What is sold.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// How many seats.
    pub seats: u16,
    /// How long a hold lasts, in seconds.
    pub hold_window_s: i32,
}

/// Who comes, and how.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct People {
    /// How many.
    pub number: u32,
    /// Within how many seconds they arrive; 0: all at the same instant.
    pub arrive_s: f64,
    /// How their arrival is spread over that time.
    #[serde(default)]
    pub curve: Curve,
    /// Which share loads the whole page.
    #[serde(default)]
    pub opens_page: f64,
    /// Which share looks at the map before picking; the others press for the seats they came for.
    #[serde(default)]
    pub opens_map: f64,
    /// How long they look before they press, from and to, in seconds.
    #[serde(default)]
    pub pick_s: (f64, f64),
    /// Which seats they like.
    #[serde(default)]
    pub taste: Taste,
    /// How often parties of 1, 2, 3, ... come, as weights.
    #[serde(default = "parties")]
    pub parties: Vec<u32>,
    /// How often each tries to hold seats before giving up.
    #[serde(default = "once")]
    pub tries: u32,
    /// After how many seconds without seats they leave.
    pub patience_s: f64,
    /// Whether they press for the seats they came for even though their map shows nothing free.
    #[serde(default)]
    pub insists: bool,
}

/// How arrivals are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Curve {
    /// As many each second.
    #[default]
    Evenly,
    /// Half of them within the first fifth of the time.
    Rush,
}

/// Which seats are liked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Taste {
    /// Those in the middle, somewhat behind the centre, far more than others.
    #[default]
    Popular,
    /// All alike.
    Evenly,
}

/// What those do who hold seats. Whoever does none of this pays.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holders {
    /// How long they take on the payment page, from and to, in seconds.
    #[serde(default)]
    pub think_s: (f64, f64),
    /// Which share closes the tab.
    #[serde(default)]
    pub never_pay: f64,
    /// Which share goes back and gives the seats free.
    #[serde(default)]
    pub goes_back: f64,
    /// Which share pays with a card that is declined first, then with another.
    #[serde(default)]
    pub declined_once: f64,
}

/// Where it happens.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stage {
    /// Servers on the one database; people go to them in turns.
    pub servers: u16,
    /// Connections to all servers together, as a proxy in front would have them. A person waits for a free one, and that is
    /// part of the person's time.
    pub connections: u32,
    /// Browsers that only watch the live map.
    pub watchers: u32,
}

impl Default for Stage {
    fn default() -> Self {
        Self { servers: 1, connections: 128, watchers: 20 }
    }
}

/// What must come out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Every seat is sold at the end.
    pub all_sold: bool,
}

fn parties() -> Vec<u32> {
    vec![1, 1]
}

const fn once() -> u32 {
    1
}

impl Scenario {
    /// A shipped one by its name, or a file.
    ///
    /// # Errors
    /// One line that says what is wrong, and where.
    pub fn find(name: &str) -> Result<Self, String> {
        Self::parse(&Self::text(name)?).map_err(|error| format!("{name}: {error}"))
    }

    /// Its text, as it is shipped or written.
    ///
    /// # Errors
    /// That there is no such file, and which scenarios there are without one.
    pub fn text(name: &str) -> Result<String, String> {
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Ok((*text).to_owned());
        }
        std::fs::read_to_string(Path::new(name)).map_err(|error| {
            let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
            format!(
                "the scenario {name} cannot be read ({error}); those that come with the program: {}",
                names.join(", ")
            )
        })
    }

    /// Reads and checks it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        scenario.check()?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), String> {
        let Self { show, people, holders, stage, .. } = self;
        let within = |name: &str, value: f64, least: f64, most: f64| {
            // Written so that what is not a number is wrong as well.
            if value >= least && value <= most {
                Ok(())
            } else {
                Err(format!("{name} is {value}; it must be from {} to {}", number(least), number(most)))
            }
        };
        within("show.seats", show.seats.into(), 1.0, MOST_PLACES as f64)?;
        if HoldWindow::from_seconds(show.hold_window_s).is_none() {
            return Err(format!("show.hold_window_s is {}: no hold can last so long", show.hold_window_s));
        }
        within("people.number", people.number.into(), 1.0, MOST_PEOPLE.into())?;
        within("people.tries", people.tries.into(), 1.0, 10_000.0)?;
        for (name, seconds) in [("people.arrive_s", people.arrive_s), ("people.patience_s", people.patience_s)] {
            within(name, seconds, 0.0, LONGEST_S)?;
        }
        for (name, (from, to)) in [("people.pick_s", people.pick_s), ("holders.think_s", holders.think_s)] {
            within(name, from, 0.0, LONGEST_S)?;
            within(name, to, from, LONGEST_S)?;
        }
        for (name, share) in [
            ("people.opens_page", people.opens_page),
            ("people.opens_map", people.opens_map),
            ("holders.never_pay", holders.never_pay),
            ("holders.goes_back", holders.goes_back),
            ("holders.declined_once", holders.declined_once),
            ("the sum of the shares of holders", holders.never_pay + holders.goes_back + holders.declined_once),
        ] {
            within(name, share, 0.0, 1.0)?;
        }
        let sizes = people.parties.len();
        let weight: u64 = people.parties.iter().map(|weight| u64::from(*weight)).sum();
        if weight == 0 || sizes > MOST_SEATS || sizes > usize::from(show.seats) {
            return Err(format!(
                "people.parties has weights of parties from 1 to {} seats at most, not all of them 0",
                MOST_SEATS.min(usize::from(show.seats))
            ));
        }
        within("stage.servers", stage.servers.into(), 1.0, 4.0)?;
        within("stage.connections", stage.connections.into(), stage.servers.into(), MOST_OPEN.into())?;
        within("stage.watchers", stage.watchers.into(), 0.0, (MOST_OPEN - stage.connections).into())
    }

    /// In a sentence or two.
    pub fn describe(&self) -> String {
        let Self { show, people, holders, stage, .. } = self;
        let when = match (people.arrive_s, people.curve) {
            (0.0, _) => "at the same instant".to_owned(),
            (seconds, Curve::Evenly) => format!("within {seconds} s"),
            (seconds, Curve::Rush) => format!("within {seconds} s, half of them in its first fifth"),
        };
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        format!(
            "People who want {}: {} {when}, each with at most {}; {} of them look at the map first. Of those who hold seats {} \
             never pay, {} go back, {} need a second card. Holds last {} s. {}, {}, {}, seed {}.",
            count(show.seats.into(), "seat"),
            whole(people.number.into()),
            count(people.tries.into(), "attempt"),
            percent(people.opens_map),
            percent(holders.never_pay),
            percent(holders.goes_back),
            percent(holders.declined_once),
            show.hold_window_s,
            count(stage.servers.into(), "server"),
            count(stage.connections.into(), "connection"),
            count(stage.watchers.into(), "watcher"),
            self.seed,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_shipped_can_be_read() {
        for (name, _) in SHIPPED {
            Scenario::find(name).unwrap();
        }
        let opening = Scenario::find("opening-sale").unwrap();
        assert_eq!((opening.people.number, opening.show.seats, opening.people.tries), (200_000, 1_000, 1));
        assert_eq!((opening.people.arrive_s, opening.holders.never_pay), (60.0, 0.3));
    }

    #[test]
    fn what_is_wrong_is_said_and_where() {
        let base = SHIPPED[0].1;
        for (from, to, words) in [
            ("seats = 1_000", "seats = 0", "show.seats is 0"),
            ("seats = 1_000", "seats = 5_001", "show.seats is 5001; it must be from 1.00 to 5,000"),
            ("seats = 1_000", "seats = -1", "line 7"),
            ("number = 200_000", "nummer = 200_000", "unknown field `nummer`"),
            ("never_pay = 0.30", "never_pay = 0.99", "sum of the shares"),
            ("never_pay = 0.30", "never_pay = nan", "holders.never_pay is NaN"),
            ("pick_s = [0.2, 2.0]", "pick_s = [2.0, 0.2]", "people.pick_s is 0.2"),
            ("parties = [4, 4, 1, 1]", "parties = [0, 0]", "people.parties"),
            ("hold_window_s = 15", "hold_window_s = 0", "show.hold_window_s is 0"),
            ("curve = \"rush\"", "curve = \"panic\"", "panic"),
            ("connections = 256", "connections = 0", "stage.connections is 0"),
        ] {
            assert!(base.contains(from), "{from}");
            let error = Scenario::parse(&base.replace(from, to)).unwrap_err();
            assert!(error.contains(words), "{to}: {error}");
        }
        let error = Scenario::find("no-such-file.toml").unwrap_err();
        assert!(error.contains("no-such-file.toml") && error.contains("opening-sale"), "{error}");
    }
}
