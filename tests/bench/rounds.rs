//! Figures out of many values: a percentile of a round, then the median of the rounds with its spread.

/// The median of rounds, between the least and the most of them.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// The middle round.
    pub median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Of at least one round.
    pub fn of(rounds: &[f64]) -> Self {
        let mut sorted = rounds.to_vec();
        let median = percentile(&mut sorted, 0.5);
        let end = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
        Self { median, least: end(sorted.first()), most: end(sorted.last()) }
    }

    /// `0.31 (0.30..0.35)` with three significant digits, then the unit.
    pub fn show(self, unit: &str) -> String {
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        format!("{}{unit} ({}..{})", number(self.median), number(self.least), number(self.most))
    }
}

/// The value that so large a share of the others do not exceed; sorts them.
pub fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    // The middle of an even number of values is between two of them.
    let place = share * last as f64;
    let at = |place: f64| values.get(place as usize).copied().unwrap_or(f64::NAN);
    let (below, above) = (at(place.floor()), at(place.ceil()));
    below + (above - below) * place.fract()
}

/// Three significant digits, and thousands in groups.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        let whole = format!("{value:.0}");
        let mut grouped = String::new();
        for (index, digit) in whole.chars().enumerate() {
            if index > 0 && (whole.len() - index) % 3 == 0 && digit.is_ascii_digit() {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        return grouped;
    }
    let decimals = if size >= 100.0 {
        0
    } else if size >= 10.0 {
        1
    } else if size >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.decimals$}")
}
