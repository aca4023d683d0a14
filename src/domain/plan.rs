//! The plan of a hall: rows, places, zones. Written as text that a technician can read and draw in any editor.
//!
//! ```text
//! zone s Stalls
//! zone p Premium
//! mark W s wheelchair
//! mark C s companion
//! numbers right-to-left
//! row A | ss.ssss.ss
//! row B | WC.pppp.CW
//! ```
//!
//! - `zone LETTER NAME`: a letter in a row is a place of this zone. The order of the zones is the order of a show's prices.
//! - `mark LETTER ZONE-LETTER wheelchair|companion`: a letter for a place of that kind in that zone.
//! - `numbers left-to-right|right-to-left`: how the places of the rows below are numbered; left to right at first.
//! - `row LABEL | PLACES`: the label may be any text; it ends at the last `|`. A `.` or a space is a gap (an aisle).
//! - Empty lines, and lines that begin with `#`, say nothing.
//!
//! Places are numbered through the plan in reading order: this [`SeatNo`] is the identity. Labels never are.

use std::collections::HashMap;

use super::seat::SeatNo;

/// What a place is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A chair.
    Standard,
    /// Room for a wheelchair.
    Wheelchair,
    /// A chair beside a wheelchair place.
    Companion,
}

impl Kind {
    /// The word used in JSON and plan texts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Wheelchair => "wheelchair",
            Self::Companion => "companion",
        }
    }
}

/// One place of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its identity.
    pub no: SeatNo,
    /// Index of its row in [`Plan::rows`].
    pub row: usize,
    /// Column, from 1 at the left as the audience sees the screen.
    pub column: u16,
    /// Its number within the row, as on the chair.
    pub number: u16,
    /// Index of its zone in [`Plan::zones`].
    pub zone: usize,
    /// What it is for.
    pub kind: Kind,
}

/// A parsed plan. Immutable: a hall that changes gets a new plan, and shows keep the plan they were sold with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    zones: Vec<String>,
    rows: Vec<String>,
    places: Vec<Place>,
    columns: u16,
    ambiguous: Vec<bool>,
}

/// Why a text is not a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plan, line {line}: {what}")]
pub struct PlanError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, in words for the person who drew it.
    pub what: String,
}

/// The most places of a plan: the picker is tested up to here.
pub const MOST_PLACES: usize = 5_000;
const MOST_ZONES: usize = 8;
const LONGEST_LABEL: usize = 40;
const MOST_COLUMNS: usize = 200;

struct Drawing {
    plan: Plan,
    letters: HashMap<char, (usize, Kind)>,
    right_to_left: bool,
}

impl Plan {
    /// Reads a plan from its text.
    ///
    /// # Errors
    /// The first line that cannot be understood, with its number.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let mut drawing = Drawing {
            plan: Self { zones: vec![], rows: vec![], places: vec![], columns: 0, ambiguous: vec![] },
            letters: HashMap::new(),
            right_to_left: false,
        };
        for (index, line) in text.lines().enumerate() {
            drawing.line(line.trim()).map_err(|what| PlanError { line: index + 1, what })?;
        }
        let mut plan = drawing.plan;
        if plan.places.is_empty() {
            return Err(PlanError {
                line: text.lines().count().max(1),
                what: "a plan needs at least one place".into(),
            });
        }
        plan.ambiguous =
            plan.rows.iter().map(|label| plan.rows.iter().filter(|other| *other == label).count() > 1).collect();
        Ok(plan)
    }

    /// Names of the zones, in the order of a show's prices.
    pub fn zones(&self) -> &[String] {
        &self.zones
    }

    /// Labels of the rows, from the screen backwards.
    pub fn rows(&self) -> &[String] {
        &self.rows
    }

    /// The places, by ascending seat number.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// How many columns the widest row has.
    pub const fn columns(&self) -> u16 {
        self.columns
    }

    /// The place of a seat number; `None` when the plan has no such place.
    pub fn place(&self, no: SeatNo) -> Option<&Place> {
        usize::try_from(no.0).ok().and_then(|no| no.checked_sub(1)).and_then(|index| self.places.get(index))
    }

    /// A short name for people, such as `C7`, or `Balcony C7` when two rows share a label.
    pub fn name(&self, no: SeatNo) -> String {
        self.place(no).map_or_else(
            || format!("seat {no}"),
            |place| format!("{}{}", self.name_of_row(place.row, place.zone), place.number),
        )
    }

    /// What stands before the number in the short names of a row's seats in a zone: `C`, `Balcony C`, `Box left-`, `10-`.
    pub fn name_of_row(&self, row: usize, zone: usize) -> String {
        let label = &self.rows[row];
        // "C7" reads well; "Box left7" and "107" (row 10, seat 7) do not, and a comma would be lost in a list.
        let short = label.chars().count() <= 2 && label.chars().all(char::is_alphabetic);
        let joined = if short { label.clone() } else { format!("{label}-") };
        if self.ambiguous[row] { format!("{} {joined}", self.zones[zone]) } else { joined }
    }

    /// Several short names, joined for a sentence.
    pub fn names(&self, seats: &[SeatNo]) -> String {
        seats.iter().map(|no| self.name(*no)).collect::<Vec<_>>().join(", ")
    }
}

impl Drawing {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word {
            "zone" => self.zone(rest.trim()),
            "mark" => self.mark(rest.trim()),
            "numbers" => self.numbers(rest.trim()),
            "row" => self.row(rest),
            _ => Err(format!("`{}` is none of zone, mark, numbers, row", shortened(word))),
        }
    }

    fn zone(&mut self, rest: &str) -> Result<(), String> {
        let (letter, name) = rest.split_once(char::is_whitespace).ok_or("a zone is `zone LETTER NAME`")?;
        let name = label(name.trim(), "zone's name")?;
        if self.plan.zones.len() == MOST_ZONES {
            return Err(format!("a plan has at most {MOST_ZONES} zones"));
        }
        self.letter(letter, self.plan.zones.len(), Kind::Standard)?;
        self.plan.zones.push(name);
        Ok(())
    }

    fn mark(&mut self, rest: &str) -> Result<(), String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [letter, zone, kind] = words[..] else {
            return Err("a mark is `mark LETTER ZONE-LETTER wheelchair|companion`".into());
        };
        let kind = match kind {
            "wheelchair" => Kind::Wheelchair,
            "companion" => Kind::Companion,
            _ => return Err(format!("`{}` is neither wheelchair nor companion", shortened(kind))),
        };
        let zone =
            single(zone).and_then(|zone| self.letters.get(&zone)).ok_or("a mark's zone must be drawn above it")?;
        self.letter(letter, zone.0, kind)
    }

    fn letter(&mut self, letter: &str, zone: usize, kind: Kind) -> Result<(), String> {
        let letter = single(letter)
            .filter(|letter| !matches!(letter, '.' | '|' | '#') && !letter.is_whitespace())
            .ok_or_else(|| format!("`{}` is not one letter", shortened(letter)))?;
        match self.letters.insert(letter, (zone, kind)) {
            None => Ok(()),
            Some(_) => Err(format!("the letter `{letter}` is drawn twice")),
        }
    }

    fn numbers(&mut self, rest: &str) -> Result<(), String> {
        self.right_to_left = match rest {
            "left-to-right" => false,
            "right-to-left" => true,
            _ => return Err("numbers run left-to-right or right-to-left".into()),
        };
        Ok(())
    }

    fn row(&mut self, rest: &str) -> Result<(), String> {
        let (name, cells) = rest.rsplit_once('|').ok_or("a row is `row LABEL | PLACES`")?;
        let name = label(name.trim(), "row's label")?;
        let cells = cells.strip_prefix(' ').unwrap_or(cells).trim_end();
        let row = self.plan.rows.len();
        let before = self.plan.places.len();
        for (index, cell) in cells.chars().enumerate() {
            if index >= MOST_COLUMNS {
                return Err(format!("a row has at most {MOST_COLUMNS} columns"));
            }
            if cell == '.' || cell == ' ' {
                continue;
            }
            let (zone, kind) =
                *self.letters.get(&cell).ok_or_else(|| format!("the letter `{cell}` is not drawn above"))?;
            let no = self.plan.places.len() + 1;
            if no > MOST_PLACES {
                return Err(format!("a plan has at most {MOST_PLACES} places"));
            }
            let column = u16::try_from(index + 1).unwrap_or(u16::MAX);
            let number = u16::try_from(no - before).unwrap_or(u16::MAX);
            let no = SeatNo(i16::try_from(no).unwrap_or(i16::MAX));
            self.plan.places.push(Place { no, row, column, number, zone, kind });
            self.plan.columns = self.plan.columns.max(column);
        }
        let placed = &mut self.plan.places[before..];
        if placed.is_empty() {
            return Err("a row needs at least one place".into());
        }
        if self.right_to_left {
            let count = u16::try_from(placed.len()).unwrap_or(u16::MAX);
            for place in placed {
                place.number = count + 1 - place.number;
            }
        }
        self.plan.rows.push(name);
        Ok(())
    }
}

fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn shortened(text: &str) -> String {
    text.chars().take(20).collect()
}

fn label(text: &str, what: &str) -> Result<String, String> {
    match text.chars().count() {
        0 => Err(format!("the {what} is missing")),
        1..=LONGEST_LABEL if text.chars().any(char::is_control) => Err(format!("the {what} has a control character")),
        1..=LONGEST_LABEL => Ok(text.to_owned()),
        _ => Err(format!("the {what} is longer than {LONGEST_LABEL} characters")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMALL: &str = "zone s Stalls\nzone p Premium\nmark W s wheelchair\nrow A | ss.sW\n# aisle\nrow B | .pp\n";

    fn failure(text: &str) -> PlanError {
        Plan::parse(text).unwrap_err()
    }

    #[test]
    fn places_are_numbered_in_reading_order_and_keep_their_columns() {
        let plan = Plan::parse(SMALL).unwrap();
        let places: Vec<_> = plan.places().iter().map(|p| (p.no.0, p.row, p.column, p.number, p.zone)).collect();
        assert_eq!(
            places,
            [(1, 0, 1, 1, 0), (2, 0, 2, 2, 0), (3, 0, 4, 3, 0), (4, 0, 5, 4, 0), (5, 1, 2, 1, 1), (6, 1, 3, 2, 1)]
        );
        assert_eq!(plan.place(SeatNo(4)).unwrap().kind, Kind::Wheelchair);
        assert_eq!(plan.names(&[SeatNo(1), SeatNo(6)]), "A1, B2");
        assert_eq!(plan.place(SeatNo(0)), None);
        assert_eq!(plan.place(SeatNo(-1)), None);
        assert_eq!(plan.place(SeatNo(7)), None);
    }

    #[test]
    fn right_to_left_numbers_change_the_number_but_not_the_identity() {
        let plan = Plan::parse("zone s S\nnumbers right-to-left\nrow A | sss").unwrap();
        let numbers: Vec<_> = plan.places().iter().map(|p| (p.no.0, p.number)).collect();
        assert_eq!(numbers, [(1, 3), (2, 2), (3, 1)]);
    }

    #[test]
    fn rows_that_share_a_label_are_told_apart_by_their_zone() {
        let plan = Plan::parse("zone s Stalls\nzone b Balcony\nrow A | ss\nrow A | bb").unwrap();
        assert_eq!(plan.names(&[SeatNo(1), SeatNo(3)]), "Stalls A1, Balcony A1");
    }

    #[test]
    fn faults_name_their_line() {
        assert_eq!(failure("zone s Stalls\nrow A | sx").line, 2);
        assert_eq!(failure("").what, "a plan needs at least one place");
        assert_eq!(failure("zone s Stalls\nzone s Again").what, "the letter `s` is drawn twice");
        assert_eq!(failure("seats 12").what, "`seats` is none of zone, mark, numbers, row");
        assert!(failure(&format!("zone s S\nrow {} | s", "x".repeat(41))).what.contains("longer than 40"));
        assert!(
            failure(&format!("zone s S\n{}", "row A | ssssssssssssssssssssssssssssss\n".repeat(200)))
                .what
                .contains("5000")
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,400}") {
            let _ = Plan::parse(&text);
        }

        #[test]
        fn any_drawn_plan_keeps_every_place_and_any_label(
            rows in prop::collection::vec(("[^\\p{C}\\s|][^\\p{C}|]{0,20}[^\\p{C}\\s|]", "s[s.]{0,30}s"), 1..20)
        ) {
            let text = rows.iter().fold("zone s Stalls\n".to_owned(), |text, (label, cells)| format!("{text}row {label} | {cells}\n"));
            let plan = Plan::parse(&text).unwrap();
            let drawn: usize = rows.iter().map(|(_, cells)| cells.matches('s').count()).sum();
            prop_assert_eq!(plan.places().len(), drawn);
            for (index, place) in plan.places().iter().enumerate() {
                prop_assert_eq!(plan.place(place.no).unwrap(), place);
                prop_assert_eq!(usize::try_from(place.no.0).unwrap(), index + 1);
            }
            let labels: Vec<&str> = rows.iter().map(|(label, _)| label.as_str()).collect();
            prop_assert_eq!(plan.rows(), labels);
        }
    }
}
