//! The whole run: every strategy under every contention, and whether it came out as it should.

use std::collections::BTreeMap;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use crate::rush::figure::{number, whole};

use super::strategies::Name;
use super::trial::Trial;

/// Columns of the table, with what each says.
pub const COLUMNS: [(&str, &str); 14] = [
    ("strategy", "how seats are kept from being sold twice"),
    ("attempts/s", "holds asked for and answered, a second"),
    ("held", "attempts that were told yes, of a hundred"),
    ("p50 ms", "half of the holds were answered within this"),
    ("p99 ms", "99 of a hundred holds"),
    ("p999 ms", "999 of a thousand holds"),
    ("sold", "seats whose holders were told that they bought them"),
    ("sold twice", "seats with more tickets than places"),
    ("held twice", "times that two were told yes and had a seat at one instant"),
    ("in part", "orders that have fewer seats than they wanted, or some after a no"),
    ("other", "holds stolen, sales lost or not told, seats kept after a release"),
    ("retries", "tries beyond the first"),
    ("deadlocks", "counted by Postgres"),
    ("conns", "most Postgres connections that were busy at once, and those to Redis"),
];

/// One strategy under one contention.
#[derive(Clone, Debug)]
pub struct Result {
    /// Which.
    pub name: Name,
    /// `low` or `high`.
    pub contention: &'static str,
    /// What came of it.
    pub trial: Trial,
}

/// Everything that was run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// In the order of the runs.
    pub results: Vec<Result>,
    /// What was not run, and why.
    pub skipped: Vec<(Name, String)>,
}

impl Result {
    /// The cells of its row in the order of [`COLUMNS`].
    pub fn cells(&self) -> [String; 14] {
        let trial = &self.trial;
        let part = |part: f64| number(trial.percentile_ms(part));
        let counted = |kinds: &[&str]| {
            let all: usize = kinds.iter().map(|kind| trial.count(kind)).sum();
            whole(i64::try_from(all).unwrap_or(i64::MAX))
        };
        [
            self.name.text(),
            number(trial.rate()),
            format!("{} %", number(100.0 * trial.won as f64 / trial.attempts.max(1) as f64)),
            part(0.5),
            part(0.99),
            part(0.999),
            whole(i64::try_from(trial.sold).unwrap_or(i64::MAX)),
            counted(&["sold twice"]),
            counted(&["held twice"]),
            counted(&["held in part"]),
            counted(&["stolen", "sale lost", "untold sale", "kept after release"]),
            whole(i64::try_from(trial.retries).unwrap_or(i64::MAX)),
            whole(trial.deadlocks),
            match trial.redis_connections {
                0 => trial.connections.to_string(),
                redis => format!("{} + {redis}", trial.connections),
            },
        ]
    }

    /// Whether it answered nobody, so that its figures say nothing.
    pub const fn is_empty(&self) -> bool {
        self.trial.won == 0
    }
}

impl Summary {
    /// A round's trial.
    pub fn add(&mut self, name: Name, contention: &'static str, trial: Trial) {
        let same = |result: &&mut Result| result.name == name && result.contention == contention;
        match self.results.iter_mut().find(same) {
            Some(result) => result.trial.add(trial),
            None => self.results.push(Result { name, contention, trial }),
        }
    }

    /// The contentions that were run, in order.
    pub fn contentions(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        for result in &self.results {
            if !names.contains(&result.contention) {
                names.push(result.contention);
            }
        }
        names
    }

    /// The results under one contention, in the order of the runs.
    pub fn under(&self, contention: &str) -> impl Iterator<Item = &Result> {
        self.results.iter().filter(move |result| result.contention == contention)
    }

    /// A strategy's trial under a contention.
    pub fn trial(&self, name: Name, contention: &str) -> Option<&Trial> {
        self.under(contention).find(|result| result.name == name).map(|result| &result.trial)
    }

    /// How much a strategy's slowest round came to of its quickest, in the middle of all strategies: what is nearer than
    /// this to each other is the same. `None` after a single round.
    pub fn steadiness(&self) -> Option<f64> {
        let of = |result: &Result| {
            let rates = &result.trial.rates;
            let (least, most) = (rates.iter().copied().reduce(f64::min)?, rates.iter().copied().reduce(f64::max)?);
            (rates.len() > 1 && most > 0.0).then_some(least / most)
        };
        let mut ratios: Vec<f64> = self.results.iter().filter_map(of).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied()
    }

    /// Faults of each strategy over all its trials.
    pub fn faults(&self) -> BTreeMap<Name, usize> {
        let mut faults = BTreeMap::new();
        for result in &self.results {
            *faults.entry(result.name).or_default() += result.trial.faults.len();
        }
        faults
    }

    /// What did not come out as it should, in words: a right strategy with faults, a wrong one without, or nobody served.
    pub fn surprises(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (name, faults) in self.faults() {
            match (name.is_right(), faults) {
                (true, 0) | (false, 1..) => {}
                (true, faults) => {
                    found.push(format!("{} is meant to be right and broke its word {faults} times", name.text()))
                }
                (false, 0) => found.push(format!("{} is meant to fail and was not caught", name.text())),
            }
        }
        let empty = self.results.iter().filter(|result| result.is_empty());
        found.extend(
            empty.map(|result| format!("{} held nothing under {} contention", result.name.text(), result.contention)),
        );
        found
    }

    /// The tables for a terminal.
    pub fn tables(&self) -> String {
        let mut text = String::new();
        for contention in self.contentions() {
            let mut table = Table::new();
            table.load_style(ASCII_MARKDOWN).set_header(COLUMNS.map(|(name, _)| name));
            for result in self.under(contention) {
                table.add_row(result.cells());
            }
            for column in table.column_iter_mut().skip(1) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            text += &format!("\n{contention} contention\n{table}\n");
        }
        for (name, why) in &self.skipped {
            text += &format!("{}: skipped, {why}\n", name.text());
        }
        text
    }
}
