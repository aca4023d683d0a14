//! The laboratory's report.

use leptos::prelude::AnyView;

use crate::rush::chart::{Group, Range, Ranges, bars, ranges};
use crate::rush::report::{self, Figures, items, page, paragraph, section, table};

use super::advice::Advice;
use super::strategies::Name;
use super::summary::{COLUMNS, Summary};
use super::trial::Trial;

/// Faults shown of each strategy; the table has their number.
const EXAMPLES: usize = 3;

/// The HTML file. `lead` says where and with what crowd the figures were taken.
pub fn html(summary: &Summary, lead: String) -> String {
    let Advice { choice, reasons, remarks } = Advice::of(summary);
    let mut advice: Vec<AnyView> = choice.map(report::choice).into_iter().collect();
    advice.extend([paragraph(&reasons), items(remarks), verdict(summary)]);
    let mut content = vec![section("Which to choose when", advice)];
    content.push(section("How quick", charts(summary)));
    for contention in summary.contentions() {
        content.push(section(format!("Figures under {contention} contention"), vec![figures(summary, contention)]));
    }
    content.push(section("What was found", vec![items(findings(summary))]));
    content.push(section("The strategies", vec![items(names(summary).into_iter().map(about).collect())]));
    let columns = COLUMNS.iter().skip(1).map(|(name, about)| format!("{name}: {about}."));
    content.push(section("The columns", vec![items(columns.collect())]));
    page("The strategy laboratory", lead, content)
}

fn names(summary: &Summary) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    for result in &summary.results {
        if !names.contains(&result.name) {
            names.push(result.name);
        }
    }
    names
}

fn about(name: Name) -> String {
    let limit = name.limit().map(|limit| format!("; it {limit}")).unwrap_or_default();
    format!("{}: {}{limit}.", name.text(), name.about())
}

/// Whether everything came out as it should.
fn verdict(summary: &Summary) -> AnyView {
    let surprises = summary.surprises();
    if surprises.is_empty() {
        let right = names(summary).into_iter().filter(|name| name.is_right()).count();
        let wrong = names(summary).len() - right;
        return paragraph(&[format!(
            "{right} strategies that are meant to be right kept every promise; {wrong} that are meant to fail were caught."
        )]);
    }
    items(surprises.into_iter().map(|surprise| format!("Not as it should be: {surprise}.")).collect())
}

fn charts(summary: &Summary) -> Vec<AnyView> {
    let contentions = summary.contentions();
    let series: Vec<String> = contentions.iter().map(|contention| format!("{contention} contention")).collect();
    let mut names = names(summary);
    let last = contentions.last().copied().unwrap_or_default();
    let rate = |name: &Name| summary.trial(*name, last).map_or(0.0, Trial::rate);
    names.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let of_each = |name: Name| contentions.iter().map(move |contention| summary.trial(name, contention));
    let group = |name: &Name| Group {
        label: name.text(),
        wrong: !name.is_right(),
        values: of_each(*name).map(|trial| trial.map(Trial::rate)).collect(),
    };
    let range = |trial: &Trial| Range {
        low: trial.percentile_ms(0.5),
        middle: trial.percentile_ms(0.99),
        high: trial.percentile_ms(0.999),
    };
    let spread = |name: &Name| Ranges {
        label: name.text(),
        wrong: !name.is_right(),
        values: of_each(*name).map(|trial| trial.map(range)).collect(),
    };
    vec![
        bars("Attempts a second", &series, &names.iter().map(group).collect::<Vec<_>>()),
        ranges(
            "Time of a hold in ms: dot p50, bar p99, end p999",
            &series,
            &names.iter().map(spread).collect::<Vec<_>>(),
        ),
        paragraph(&["In red: meant to fail.".to_owned()]),
    ]
}

fn figures(summary: &Summary, contention: &str) -> AnyView {
    let columns = COLUMNS.iter().map(|(name, about)| ((*name).to_owned(), (*about).to_owned())).collect();
    let rows = summary.under(contention).map(|result| (result.cells().to_vec(), !result.trial.faults.is_empty()));
    table(Figures { columns, rows: rows.collect() })
}

fn findings(summary: &Summary) -> Vec<String> {
    let mut found = Vec::new();
    for result in &summary.results {
        let (name, trial) = (result.name.text(), &result.trial);
        let mut kinds: Vec<&str> = trial.faults.iter().map(super::checker::Fault::kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            let of_kind: Vec<String> =
                trial.faults.iter().filter(|fault| fault.kind() == kind).map(ToString::to_string).collect();
            let examples = of_kind[..of_kind.len().min(EXAMPLES)].join("; ");
            let more = if of_kind.len() > EXAMPLES { ", and so on" } else { "" };
            found.push(format!(
                "{name}, {} contention: {} {kind}. {examples}{more}.",
                result.contention,
                of_kind.len()
            ));
        }
        if let (Some(error), failed @ 1..) = (&trial.first_error, trial.failed) {
            found.push(format!("{name}, {} contention: {failed} errors; the first: {error}.", result.contention));
        }
    }
    found.extend(summary.skipped.iter().map(|(name, why)| format!("{}: skipped, {why}.", name.text())));
    if found.is_empty() {
        found.push("No fault.".to_owned());
    }
    found
}
