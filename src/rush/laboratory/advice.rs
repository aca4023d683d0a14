//! Which to choose when, said from the figures of a run and from nothing else.

use crate::rush::figure::{count, list, number};

use super::strategies::Name;
use super::summary::{Result, Summary};

/// Rates this near to each other are called the same, even when the rounds were steadier.
const SAME: f64 = 0.90;

/// Which to choose when.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The sentence that is read first.
    pub choice: Option<String>,
    /// Why: a paragraph.
    pub reasons: Vec<String>,
    /// What there is to say of single strategies.
    pub remarks: Vec<String>,
}

impl Advice {
    /// From the figures of this run.
    pub fn of(summary: &Summary) -> Self {
        let mut reasons: Vec<String> = Vec::new();
        for contention in summary.contentions() {
            reasons.extend(quickest(summary, contention));
        }
        reasons.extend(tail(summary));
        reasons.extend(summary.steadiness().map(|steadiness| {
            format!(
                "A strategy's slowest round came to {} % of its quickest (the median of all): smaller differences say nothing.",
                number(100.0 * steadiness)
            )
        }));
        let mut remarks = conflicts(summary);
        remarks.extend(limited(summary));
        remarks.extend(caught(summary));
        Self { choice: choice(summary), reasons, remarks }
    }
}

fn same(summary: &Summary) -> f64 {
    summary.steadiness().unwrap_or(SAME).min(SAME)
}

/// Right in this run and meant to be.
fn is_sound(summary: &Summary, name: Name) -> bool {
    name.is_right() && summary.faults().get(&name) == Some(&0)
}

fn candidates<'s>(summary: &'s Summary, contention: &str) -> Vec<&'s Result> {
    let mut found: Vec<&Result> = summary
        .under(contention)
        .filter(|result| result.name.is_candidate() && is_sound(summary, result.name) && !result.is_empty())
        .collect();
    found.sort_by(|a, b| b.trial.rate().total_cmp(&a.trial.rate()));
    found
}

fn caught(summary: &Summary) -> Vec<String> {
    let mut said = Vec::new();
    for (name, faults) in summary.faults().into_iter().filter(|(_, faults)| *faults > 0) {
        let of_kind = |kind: &str| {
            summary.results.iter().filter(|result| result.name == name).map(|r| r.trial.count(kind) as u64).sum::<u64>()
        };
        let kinds = [
            (of_kind("sold twice"), "seat", "sold twice"),
            (of_kind("held twice"), "hold", "of what another held"),
            (of_kind("held in part"), "order", "with a part of its seats"),
        ];
        let words: Vec<String> = kinds
            .iter()
            .filter(|(number, ..)| *number > 0)
            .map(|(number, thing, what)| format!("{} {what}", count(*number, thing)))
            .collect();
        let words = if words.is_empty() { count(faults as u64, "broken promise") } else { list(&words) };
        said.push(format!("{} is out of the question: {words}.", name.text()));
    }
    said
}

fn quickest(summary: &Summary, contention: &str) -> Option<String> {
    let candidates = candidates(summary, contention);
    let (first, rest) = candidates.split_first()?;
    let best = first.trial.rate();
    let ratio = |result: &&Result| result.trial.rate() / best;
    let same = same(summary);
    let near: Vec<String> = rest.iter().filter(|r| ratio(r) >= same).map(|r| r.name.text()).collect();
    let far: Vec<String> = rest
        .iter()
        .filter(|r| ratio(r) < same)
        .map(|r| format!("{} {} %", r.name.text(), number(100.0 * ratio(r))))
        .collect();
    let mut text = format!(
        "Under {contention} contention, of those that keep numbered seats in Postgres for any number of servers, {} answered \
         most attempts ({} a second)",
        first.name.text(),
        number(best)
    );
    if !near.is_empty() {
        text += &format!("; {} as many, as far as this run can tell", list(&near));
    }
    if !far.is_empty() {
        text += &format!("; the others less: {} of it", list(&far));
    }
    Some(text + ".")
}

fn tail(summary: &Summary) -> Option<String> {
    let contention = *summary.contentions().last()?;
    let mut found = candidates(summary, contention);
    let slowness = |result: &Result| result.trial.percentile_ms(0.999);
    found.sort_by(|a, b| slowness(a).total_cmp(&slowness(b)));
    let (first, last) = (found.first()?, found.last()?);
    (found.len() > 1).then(|| {
        format!(
            "Of a thousand visitors under {contention} contention, all but one were answered within {} ms by {}, and within {} ms by {}.",
            number(slowness(first)),
            first.name.text(),
            number(slowness(last)),
            last.name.text()
        )
    })
}

fn conflicts(summary: &Summary) -> Vec<String> {
    let mut said = Vec::new();
    let with = |value: &dyn Fn(&Result) -> Option<String>| -> Vec<String> {
        let busiest = summary.contentions().last().copied().unwrap_or_default();
        summary.under(busiest).filter(|r| is_sound(summary, r.name)).filter_map(value).collect()
    };
    let retried = with(&|r| {
        let each = 100.0 * r.trial.retries as f64 / r.trial.attempts.max(1) as f64;
        (each >= 1.0).then(|| format!("{} {}", r.name.text(), number(each)))
    });
    if !retried.is_empty() {
        said.push(format!("Tries repeated, for a hundred attempts: {}.", list(&retried)));
    }
    let deadlocked = with(&|r| (r.trial.deadlocks > 0).then(|| format!("{} {}", r.name.text(), r.trial.deadlocks)));
    if !deadlocked.is_empty() {
        said.push(format!("Deadlocks, each of which costs a second: {}.", list(&deadlocked)));
    }
    let failed = with(&|r| (r.trial.failed > 0).then(|| format!("{} {}", r.name.text(), r.trial.failed)));
    if !failed.is_empty() {
        said.push(format!("Visitors who got an error instead of an answer: {}.", list(&failed)));
    }
    said
}

/// Those that cannot simply take the product's place, measured against the best that can.
fn limited(summary: &Summary) -> Vec<String> {
    let mut said = Vec::new();
    for name in Name::ALL.into_iter().filter(|name| is_sound(summary, *name)) {
        let Some(limit) = name.limit() else { continue };
        let ratios: Vec<(&str, f64)> = summary
            .contentions()
            .into_iter()
            .filter_map(|contention| {
                let best = candidates(summary, contention).first()?.trial.rate();
                Some((contention, summary.trial(name, contention)?.rate() / best))
            })
            .collect();
        let mut text = format!("{} {limit}", name.text());
        let times =
            ratios.iter().map(|(name, ratio)| format!("{} times as many under {name} contention", number(*ratio)));
        let times: Vec<String> = times.collect();
        if !times.is_empty() {
            text += &format!("; beside the best of the above it answered {}", list(&times));
        }
        // Places without numbers are another thing to sell, not another way to sell seats.
        if name != Name::Counter && !ratios.is_empty() {
            let gains: Vec<String> = ratios
                .iter()
                .filter(|(_, ratio)| *ratio * same(summary) > 1.0)
                .map(|(name, _)| (*name).to_owned())
                .collect();
            text += &match gains.is_empty() {
                true => ": nothing is won by it".to_owned(),
                false => format!(": where that will do, it wins something under {} contention", list(&gains)),
            };
        }
        said.push(text + ".");
    }
    said
}

/// The best in both, by the geometric mean of its rate against the best in each.
fn choice(summary: &Summary) -> Option<String> {
    let contentions = summary.contentions();
    let mut scores: Vec<(f64, Name)> = Vec::new();
    for name in Name::ALL.into_iter().filter(|name| name.is_candidate()) {
        let ratios: Vec<f64> = contentions
            .iter()
            .filter_map(|contention| {
                let all = candidates(summary, contention);
                let own = all.iter().find(|result| result.name == name)?;
                Some(own.trial.rate() / all.first()?.trial.rate())
            })
            .collect();
        if ratios.len() == contentions.len() && !ratios.is_empty() {
            scores.push((ratios.iter().product::<f64>().powf(1.0 / ratios.len() as f64), name));
        }
    }
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (best, name) = *scores.first()?;
    let near: Vec<String> =
        scores[1..].iter().filter(|(score, _)| *score >= same(summary) * best).map(|(_, name)| name.text()).collect();
    let next = scores.get(1).map(|(score, next)| (number(100.0 * score / best), next.text()));
    let mut text = format!("For numbered seats on any number of servers: {}", name.text());
    if !near.is_empty() {
        text += &format!(", or as well {}", list(&near));
    } else if let Some((percent, next)) = next {
        text += &format!("; the next, {next}, comes to {percent} % of it over all contentions together");
    }
    Some(text + ".")
}
