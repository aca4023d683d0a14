//! Where SQL stands, and who may write.

use std::collections::BTreeSet;

use crate::layers::layer_of;
use crate::source::{Source, paths, without_sql_comments};
use crate::{check, files, none, root};

/// Who may change something in the database.
const WRITERS: &[&str] = &["store", "box_office"];

/// Files and folders with SQL outside of the store, and why.
const SQL_ELSEWHERE: &[(&str, &str)] = &[
    ("src/server/embedded.rs", "makes the database itself, before there is anything to store in"),
    ("src/gateway/books", "another company's books, in a schema of their own"),
    ("src/rush/place.rs", "looks whether a database is empty, before anything is stored in it"),
    ("src/rush/laboratory", "strategies that the product does not use, in a schema of their own"),
];

/// SQL outside of the store.
fn wrong_sql(path: &str, source: &Source) -> Vec<String> {
    let excepted = SQL_ELSEWHERE.iter().any(|(place, _)| path.starts_with(place));
    if layer_of(path) == "store" || excepted {
        return vec![];
    }
    let is_query = |segments: &Vec<String>| {
        segments.iter().any(|segment| segment == "sqlx") && segments.last().is_some_and(|last| last.contains("query"))
            || segments
                .last()
                .is_some_and(|last| last.starts_with("query") && source.code.contains(&format!("{last}!")))
    };
    paths(&source.code)
        .iter()
        .filter(|path| is_query(path))
        .map(|query| format!("{path} has SQL: {}", query.join("::")))
        .collect()
}

/// Functions of the store that write, as `module::function`.
fn writing_functions(path: &str, source: &Source, sql_file: &dyn Fn(&str) -> String) -> Vec<String> {
    let module = path.trim_start_matches("src/store/").trim_end_matches(".rs");
    if module == "transaction" {
        return vec!["transaction::run".to_owned()];
    }
    // What only migrates or only runs a statement again is for everybody who starts a server.
    source
        .functions()
        .into_iter()
        .filter(|(_, strings)| {
            strings.iter().any(|text| {
                let text = if text.ends_with(".sql") { sql_file(text) } else { text.clone() };
                let words: Vec<&str> = text.split_whitespace().collect();
                words.windows(2).any(|pair| {
                    matches!(pair, ["insert", "into"] | ["delete", "from"]) || (pair[1] == "update" && pair[0] != "for")
                }) || words.first() == Some(&"update")
            })
        })
        .map(|(name, _)| format!("{module}::{name}"))
        .collect()
}

/// Writes past the box office.
fn wrong_writes(path: &str, source: &Source, writing: &BTreeSet<String>) -> Vec<String> {
    if WRITERS.contains(&layer_of(path)) {
        return vec![];
    }
    let calls = |segments: &Vec<String>| match &segments[..] {
        [.., module, function] => Some(format!("{module}::{function}")).filter(|call| writing.contains(call)),
        _ => None,
    };
    paths(&source.code).iter().filter_map(calls).map(|call| format!("{path} writes: {call}")).collect()
}

/// Another company's books, named in SQL of ours: `text` is a string or a file of SQL.
fn wrong_books(path: &str, text: &str) -> Vec<String> {
    // Its own room, and the migrations, which make the tables in this database while it lies in it.
    if layer_of(path) == "gateway" || path.starts_with("migrations/") {
        return vec![];
    }
    let text = without_sql_comments(text).to_lowercase();
    let words = text.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '.'));
    words
        .filter(|word| word.strip_prefix("gateway.").is_some_and(|table| !table.is_empty()))
        .map(|word| format!("{path} has {word}"))
        .collect()
}

#[test]
fn only_the_gateway_opens_its_books() {
    let rust = files("src", "rs").into_iter().flat_map(|(path, text)| {
        let found: Vec<String> = Source::of(&text).strings.iter().flat_map(|text| wrong_books(&path, text)).collect();
        found
    });
    let sql = ["src", "migrations"].into_iter().flat_map(|folder| files(folder, "sql"));
    none(rust.chain(sql.flat_map(|(path, text)| wrong_books(&path, &text))));
    for faulty in ["select 1 from gateway.charges c", "insert into Gateway.keys (key) values ($1)", "(gateway.events)"]
    {
        assert_eq!(wrong_books("src/store/setup.rs", faulty).len(), 1, "{faulty}");
        assert_eq!(wrong_books("src/gateway/books/past.rs", faulty).len(), 0, "{faulty}");
    }
    assert_eq!(
        wrong_books("src/store/proof.rs", "the gateway. select gateway_reference -- of gateway.charges").len(),
        0
    );
}

#[test]
fn only_the_store_has_sql() {
    check(wrong_sql);
    let found = |path: &str, text: &str| wrong_sql(path, &Source::of(text)).len();
    for faulty in [
        "fn f() { sqlx::query(\"select 1\"); }",
        "fn f() { sqlx::query_as!(Row, \"select 1\"); }",
        "use sqlx::query_scalar;",
        "use sqlx::{PgPool, raw_sql, query};",
        "use sqlx::query_file_as;",
        "fn f() { query!(\"select 1\") }",
    ] {
        assert_eq!((found("src/pages/order.rs", faulty), found("src/store/orders.rs", faulty)), (1, 0), "{faulty}");
    }
    assert_eq!(
        found("src/pages/order.rs", "use sqlx::postgres::PgPool; fn query_string() {} let query = 1; // sqlx::query"),
        0
    );
    for (file, _) in SQL_ELSEWHERE {
        assert!(root().join(file).exists(), "{file} is gone: so is its exception");
    }
}

#[test]
fn only_the_box_office_writes() {
    let sql_file = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let writing: BTreeSet<String> = files("src/store", "rs")
        .iter()
        .flat_map(|(path, text)| writing_functions(path, &Source::of(text), &sql_file))
        .collect();
    for known in [
        "holds::hold",
        "holds::release",
        "payments::start",
        "payments::confirm",
        "payments::give_up",
        "payments::take_open",
        "refunds::made",
        "incidents::record",
        "incidents::settle",
        "cinemas::create",
        "setup::add_show",
        "setup::add_sold",
        "transaction::run",
    ] {
        assert!(writing.contains(known), "{known} writes, but only these were recognised: {writing:?}");
    }
    for reading in [
        "maps::seat_map",
        "orders::get",
        "payments::of_order",
        "incidents::list",
        "proof::breaches",
        "tickets::of_order",
    ] {
        assert!(!writing.contains(reading), "{reading} only reads");
    }
    check(|path, source| wrong_writes(path, source, &writing));
    let found = |path: &str, text: &str| wrong_writes(path, &Source::of(text), &writing).len();
    for faulty in [
        "use crate::store::holds; fn f() { holds::hold(pool, wish) }",
        "use crate::store::payments::{Refund, give_up};",
        "fn f() { crate::store::setup::add_plan() }",
    ] {
        assert_eq!((found("src/pages/order.rs", faulty), found("src/box_office/hold.rs", faulty)), (1, 0), "{faulty}");
    }
    assert_eq!(
        found("src/pages/order.rs", "fn f() { payments::of_order(); box_office::hold::hold() } // holds::hold()"),
        0
    );
}
