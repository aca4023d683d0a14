//! The figures of a run: a table for the terminal, and the sentences that say what came out.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use hdrhistogram::Histogram;

use super::play::Outcome;
use super::record::{Fate, Kind, times};
use crate::rush::figure::{count, number, whole};

/// Columns of the table, with what each says.
pub const COLUMNS: [(&str, &str); 6] = [
    ("what", "what people asked for, and what came of it"),
    ("times", "how often"),
    ("p50 ms", "half of them took at most this, from the press to the last byte of the answer"),
    ("p99 ms", "99 of a hundred"),
    ("p999 ms", "999 of a thousand"),
    ("most ms", "the slowest"),
];

/// Faults shown; their number is told as well.
const EXAMPLES: usize = 20;

impl Outcome {
    /// The rows of the table in the order of [`COLUMNS`].
    pub fn rows(&self) -> Vec<[String; 6]> {
        let mut rows: Vec<[String; 6]> =
            Kind::ALL.iter().filter_map(|kind| Some(row(kind.text(), self.kept.times.get(kind)?))).collect();
        let ages = self.ages();
        if !ages.is_empty() {
            rows.push(row("a held seat is seen by a watcher", &ages));
        }
        rows
    }

    /// From a hold until a watcher heard of it, all watchers together, in microseconds.
    pub fn ages(&self) -> Histogram<u64> {
        let mut all = times();
        for seen in &self.seen {
            // Of the same bounds.
            let _ = all.add(&seen.ages);
        }
        all
    }

    /// How many answers of a kind there were.
    pub fn count(&self, kind: Kind) -> u64 {
        self.kept.times.get(&kind).map_or(0, |times| times.len())
    }

    /// Attempts to hold that were answered, a second, from the start to the last of those answers.
    pub fn attempts_a_second(&self) -> f64 {
        let answered = self.count(Kind::Held) + self.count(Kind::Lost);
        answered as f64 / self.kept.last_attempt.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// What came out, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let (kept, end) = (&self.kept, self.end);
        let thousands = |value: u64| whole(i64::try_from(value).unwrap_or(i64::MAX));
        let fates = |fits: fn(&Fate) -> bool| kept.grants.iter().filter(|grant| fits(&grant.fate)).count() as u64;
        let mut said = vec![
            format!(
                "{} were answered within {:.1} s, {} a second; the last person left after {:.1} s.",
                count(self.count(Kind::Held) + self.count(Kind::Lost), "attempt"),
                kept.last_attempt.as_secs_f64(),
                number(self.attempts_a_second()),
                self.took.as_secs_f64()
            ),
            format!(
                "{} won, {} conflicts; {} told that they bought, {} that their money goes back, {} went back; {} left without \
                 seats.",
                count(self.count(Kind::Held), "hold"),
                thousands(self.count(Kind::Lost)),
                count(fates(|fate| matches!(fate, Fate::Sold { .. })), "order"),
                fates(|fate| matches!(fate, Fate::Refunded)),
                fates(|fate| matches!(fate, Fate::Released { .. })),
                thousands(kept.without),
            ),
            format!(
                "In the end {} of {} seats are sold, {} held, {} free or lapsed.",
                end.sold, self.scenario.show.seats, end.held, end.free
            ),
            format!("Answers by status: {}.", self.statuses()),
        ];
        if !self.seen.is_empty() {
            let sum = |of: fn(&super::watch::Seen) -> u64| self.seen.iter().map(of).sum::<u64>();
            said.push(format!(
                "{} heard {} of the live map; {} gaps, {} told to read it anew, {} streams broke.",
                count(self.seen.len() as u64, "watcher"),
                count(sum(|seen| seen.messages), "message"),
                sum(|seen| seen.gaps),
                sum(|seen| seen.resyncs),
                sum(|seen| seen.breaks),
            ));
        }
        if let Some(most) = self.memory.iter().max() {
            said.push(format!("A server had at most {} MiB of memory in use.", most / (1 << 20)));
        }
        said
    }

    /// Whether the promises were kept, in sentences.
    pub fn verdict(&self) -> Vec<String> {
        if self.faults.is_empty() {
            let (holds, attempts) = (self.kept.grants.len() as u64, self.kept.attempts);
            return vec![format!(
                "Every promise was kept: no seat was held or sold twice, the seats of {} out of {} are as their visitors were \
                 told, every question was answered, no server failed, every watcher has the last map, and matinee prove finds no breach.",
                count(holds, "hold"),
                count(attempts, "attempt"),
            )];
        }
        let mut said = vec![format!("{} broken:", count(self.faults.len() as u64, "promise"))];
        said.extend(self.faults.iter().take(EXAMPLES).map(|fault| format!("{fault}.")));
        if self.faults.len() > EXAMPLES {
            said.push(format!("And {} more.", self.faults.len() - EXAMPLES));
        }
        said
    }

    fn statuses(&self) -> String {
        let mut statuses: Vec<(&u16, &u64)> = self.kept.statuses.iter().collect();
        statuses.sort_unstable();
        let words: Vec<String> = statuses
            .iter()
            .map(|(status, count)| format!("{status} {} times", whole(i64::try_from(**count).unwrap_or(i64::MAX))))
            .collect();
        words.join(", ")
    }

    /// The table for a terminal.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(COLUMNS.map(|(name, _)| name));
        for row in self.rows() {
            table.add_row(row);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.to_string()
    }
}

fn row(what: &str, times: &Histogram<u64>) -> [String; 6] {
    let ms = |microseconds: u64| number(microseconds as f64 / 1000.0);
    [
        what.to_owned(),
        whole(i64::try_from(times.len()).unwrap_or(i64::MAX)),
        ms(times.value_at_quantile(0.5)),
        ms(times.value_at_quantile(0.99)),
        ms(times.value_at_quantile(0.999)),
        ms(times.max()),
    ]
}
