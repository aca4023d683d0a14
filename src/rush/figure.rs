//! How figures are written, in tables and in sentences.

/// Three digits that count, and commas between the thousands.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || size >= 99.95 => whole(value.round() as i64),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A whole number with commas between the thousands.
pub fn whole(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    format!("{}{}", if value < 0 { "-" } else { "" }, groups.join(","))
}

/// A count with its thing: `1 seat`, `2 seats`.
pub fn count(number: u64, one: &str) -> String {
    format!("{} {one}{}", whole(i64::try_from(number).unwrap_or(i64::MAX)), if number == 1 { "" } else { "s" })
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        let written: Vec<String> = [0.0, 0.1234, 1.0, 12.345, 99.96, 1234.5, 1_234_567.0].map(number).to_vec();
        assert_eq!(written, ["0", "0.123", "1.00", "12.3", "100", "1,235", "1,234,567"]);
        assert_eq!([whole(-1000), count(1, "seat"), count(1200, "seat")], ["-1,000", "1 seat", "1,200 seats"]);
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
