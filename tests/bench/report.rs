//! The table: progress on standard error, Markdown on standard output, in `target/bench.md` and between the README's markers.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::Result;
use crate::rounds::{Spread, number};

const START: &str = "<!-- figures -->";
const END: &str = "<!-- /figures -->";

/// One figure.
#[derive(Debug, Clone)]
pub struct Row {
    figure: String,
    measured: String,
    floor: String,
    target: String,
    verdict: &'static str,
}

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// At most this.
    AtMost(f64),
    /// At most the second, at worst the first.
    Below(f64, f64),
    /// At least the second, at worst the first.
    Above(f64, f64),
}

impl Row {
    /// A figure without a goal.
    pub fn new(figure: impl Into<String>, measured: impl Into<String>) -> Self {
        let (floor, target) = (String::new(), String::new());
        Self { figure: figure.into(), measured: measured.into(), floor, target, verdict: "" }
    }

    /// A figure of several rounds.
    pub fn spread(figure: impl Into<String>, spread: Spread, unit: &str) -> Self {
        Self::new(figure, spread.show(unit))
    }

    /// Judges the figure by this value.
    pub fn judged(self, value: f64, goal: Goal, unit: &str) -> Self {
        let words = |sign: &str, bound: f64| format!("{sign} {} {unit}", number(bound)).trim_end().to_owned();
        let (floor, target, floor_met, target_met) = match goal {
            Goal::AtMost(target) => (String::new(), words("≤", target), false, value <= target),
            Goal::Below(floor, target) => (words("≤", floor), words("≤", target), value <= floor, value <= target),
            Goal::Above(floor, target) => (words("≥", floor), words("≥", target), value >= floor, value >= target),
        };
        let verdict = if target_met {
            "target met"
        } else if floor_met {
            "floor met"
        } else {
            "missed"
        };
        Self { floor, target, verdict, ..self }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.figure, self.measured)?;
        if !self.verdict.is_empty() {
            write!(f, "; target {}: {}", self.target, self.verdict)?;
        }
        Ok(())
    }
}

/// Everything that was measured.
#[derive(Debug)]
pub struct Report {
    machine: String,
    quick: bool,
    rows: Vec<Row>,
    missing: Vec<String>,
    took: Duration,
}

impl Report {
    /// An empty one about this machine.
    pub fn new(machine: String, quick: bool) -> Self {
        Self { machine, quick, rows: Vec::new(), missing: Vec::new(), took: Duration::ZERO }
    }

    /// A part's rows, or why there are none.
    pub fn add(&mut self, part: &str, rows: Result<Vec<Row>>) {
        match rows {
            Ok(rows) => self.rows.extend(rows),
            Err(error) => self.missing.push(format!("Not measured: {part}: {error}")),
        }
    }

    /// How long the run took.
    pub const fn add_duration(&mut self, took: Duration) {
        self.took = took;
    }

    /// Whether every part could be measured.
    pub const fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// Prints the table and writes it down; into the README only when the run was a whole one.
    pub fn publish(&self, whole: bool) -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = self.to_string();
        println!("{text}");
        std::fs::create_dir_all(root.join("target"))?;
        std::fs::write(root.join("target/bench.md"), &text)?;
        let readme = root.join("README.md");
        if whole && self.is_complete() && readme.is_file() {
            let old = std::fs::read_to_string(&readme)?;
            if let Some(new) = between_markers(&old, &text) {
                std::fs::write(&readme, new)?;
                eprintln!("The figures in README.md are new.");
            }
        }
        Ok(())
    }
}

fn between_markers(old: &str, figures: &str) -> Option<String> {
    let (before, rest) = old.split_once(START)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{START}\n{figures}\n{END}{after}"))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.quick { " A quick run: a rough look only." } else { "" };
        writeln!(f, "{} The run took {} s.{mode}\n", self.machine, self.took.as_secs())?;
        writeln!(f, "| figure | measured (median of rounds, least..most) | floor | target | verdict |")?;
        writeln!(f, "|---|---|---|---|---|")?;
        for Row { figure, measured, floor, target, verdict } in &self.rows {
            writeln!(f, "| {figure} | {measured} | {floor} | {target} | {verdict} |")?;
        }
        for missing in &self.missing {
            writeln!(f, "\n{missing}")?;
        }
        write!(f, "\n{}", include_str!("how.md").trim_end())
    }
}
