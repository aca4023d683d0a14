//! One thing has one word.

use std::collections::BTreeSet;

use crate::layers::layer_of;
use crate::source::{self, Source};
use crate::{files, none};

/// What has a word already: hall, plan, show, seat, hold, order, payment, ticket, gateway, visitor, operator, release.
const SYNONYMS: &[&str] = &[
    "screening",
    "showtime",
    "movie",
    "auditorium",
    "theater",
    "theatre",
    "booking",
    "reservation",
    "basket",
    "cart",
    "purchase",
    "customer",
    "user",
    "guest",
    "patron",
    "buyer",
    "admin",
];

/// Where such a word means something else.
const OTHER_MEANINGS: &[(&str, &str, &str)] = &[("src/server/embedded", "user", "an account of the operating system")];

/// Synonyms of our words in identifiers: of Rust code, and of SQL wherever it stands.
fn wrong_words(path: &str, identifiers: &str) -> Vec<String> {
    let split = |identifier: &str| {
        let mut words = vec![String::new()];
        let mut small = false;
        for letter in identifier.chars() {
            if letter == '_' || (letter.is_uppercase() && small) {
                words.push(String::new());
            }
            small = letter.is_lowercase();
            if letter != '_'
                && let Some(word) = words.last_mut()
            {
                word.extend(letter.to_lowercase());
            }
        }
        words
    };
    let words: BTreeSet<String> = identifiers
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .flat_map(split)
        .map(|word| word.strip_suffix('s').map_or(word.clone(), str::to_owned))
        .collect();
    let means_something_else =
        |word: &str| OTHER_MEANINGS.iter().any(|(place, other, _)| path.starts_with(place) && *other == word);
    SYNONYMS
        .iter()
        .filter(|word| words.contains(**word) && !means_something_else(word))
        .map(|word| format!("{path} says {word}"))
        .collect()
}

#[test]
fn one_thing_has_one_word() {
    let rust = files("src", "rs").into_iter().flat_map(|(path, text)| {
        let source = Source::of(&text);
        // In the store, in the gateway's books and in the laboratory, strings are SQL.
        let has_sql =
            layer_of(&path) == "store" || ["src/gateway/books", "src/rush"].iter().any(|room| path.starts_with(room));
        let strings = if has_sql { source.strings.join(" ") } else { String::new() };
        wrong_words(&path, &format!("{} {strings}", source.code))
    });
    let sql = ["migrations", "src"].into_iter().flat_map(|folder| files(folder, "sql"));
    let sql = sql.flat_map(|(path, text)| wrong_words(&path, &source::without_sql_comments(&text)));
    none(rust.chain(sql));
    let found = |text: &str| wrong_words("src/a.rs", text).len();
    for faulty in
        ["fn cancel_booking()", "struct ShoppingCart;", "let users = 1;", "USER_ID", "create table reservations ()"]
    {
        assert_eq!(found(faulty), 1, "{faulty}");
    }
    assert_eq!(found("status = 'booked'; let reserve = cartoon; struct Visitor; fn is_abuser()"), 0);
    assert_eq!(wrong_words("src/server/embedded/owner.rs", "ServerUser").len(), 0);
}
