//! The crowd's report.

use std::time::Duration;

use super::play::Outcome;
use super::record::{Kind, PIECE};
use super::stage::Standing;
use super::summary::COLUMNS;
use crate::rush::chart::{Line, Range, Ranges, lines, ranges};
use crate::rush::report::{Figures, choice, items, page, paragraph, section, table};

/// The HTML file. `lead` says where and with what crowd the figures were taken.
pub fn html(outcome: &Outcome, lead: String) -> String {
    let mut verdict = outcome.verdict();
    let first = if verdict.is_empty() { String::new() } else { verdict.remove(0) };
    let columns = COLUMNS.iter().skip(1).map(|(name, about)| format!("{name}: {about}."));
    let head = |(name, about): &(&str, &str)| ((*name).to_owned(), (*about).to_owned());
    let figures = Figures {
        columns: COLUMNS.iter().map(head).collect(),
        rows: outcome.rows().into_iter().map(|row| (row.to_vec(), false)).collect(),
    };
    page(
        "The rush",
        lead,
        vec![
            section("Whether the promises were kept", vec![choice(first), items(verdict)]),
            section("What came out", vec![items(outcome.sentences())]),
            section("Over time", vec![throughput(outcome), seats(outcome)]),
            section(
                "How long it took",
                vec![spans(outcome), table(figures), items(columns.collect())],
            ),
            section(
                "How it was taken",
                vec![paragraph(&[
                    outcome.scenario.describe(),
                    "A person's time is from the press to the last byte of the answer, with the wait for a connection. What a \
                     watcher sees is as old as the time from the hold's own clock, which is before its commit, to the arrival \
                     of the message. The crowd, the servers and Postgres share the cores."
                        .to_owned(),
                ])],
            ),
        ],
    )
}

fn throughput(outcome: &Outcome) -> leptos::prelude::AnyView {
    let kinds = [Kind::Lost, Kind::Map, Kind::Held];
    let line = |kind: &Kind| {
        let point = |(nth, piece): (usize, &std::collections::HashMap<Kind, u64>)| {
            let middle = PIECE.as_secs_f64() * (nth as f64 + 0.5);
            (middle, piece.get(kind).copied().unwrap_or_default() as f64 / PIECE.as_secs_f64())
        };
        Line {
            name: match kind {
                Kind::Lost => "holds that lost",
                Kind::Map => "maps read",
                _ => "holds that won",
            }
            .to_owned(),
            points: outcome.kept.pieces.iter().enumerate().map(point).collect(),
        }
    };
    lines("Answers a second", "seconds after the start", &kinds.iter().map(line).collect::<Vec<_>>())
}

fn seats(outcome: &Outcome) -> leptos::prelude::AnyView {
    let line = |name: &str, of: fn(&Standing) -> usize| {
        let point = |(at, standing): &(Duration, Standing)| (at.as_secs_f64(), of(standing) as f64);
        Line { name: name.to_owned(), points: outcome.standings.iter().map(point).collect() }
    };
    let all = [line("sold", |seats| seats.sold), line("held", |seats| seats.held), line("free", |seats| seats.free)];
    lines("Seats", "seconds after the start", &all)
}

fn spans(outcome: &Outcome) -> leptos::prelude::AnyView {
    let ages = outcome.ages();
    let named = Kind::ALL.iter().filter_map(|kind| Some((kind.text(), outcome.kept.times.get(kind)?)));
    let seen = (!ages.is_empty()).then_some(("a held seat is seen", &ages));
    let ms = |microseconds: u64| microseconds as f64 / 1000.0;
    let groups: Vec<Ranges> = named
        .chain(seen)
        .map(|(name, times)| Ranges {
            label: name.to_owned(),
            wrong: false,
            values: vec![Some(Range {
                low: ms(times.value_at_quantile(0.5)),
                middle: ms(times.value_at_quantile(0.99)),
                high: ms(times.value_at_quantile(0.999)),
            })],
        })
        .collect();
    ranges("In ms: dot p50, bar p99, end p999", &["all people".to_owned()], &groups)
}
