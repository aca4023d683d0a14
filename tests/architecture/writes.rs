//! Where SQL stands, and who may write.

use std::collections::BTreeSet;

use crate::layers::layer_of;
use crate::source::{Source, paths};
use crate::{check, files, root};

/// Who may change something in the database.
const WRITERS: &[&str] = &["store", "box_office"];

/// Files and folders with SQL outside of the store, and why.
const SQL_ELSEWHERE: &[(&str, &str)] = &[
    ("src/server/embedded.rs", "makes the database itself, before there is anything to store in"),
    ("src/gateway/books", "another company's books, in a schema of their own"),
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
        "cinemas::create",
        "setup::add_show",
        "setup::add_sold",
        "transaction::run",
    ] {
        assert!(writing.contains(known), "{known} writes, but only these were recognised: {writing:?}");
    }
    for reading in ["maps::seat_map", "orders::get", "payments::of_order", "proof::breaches", "tickets::of_order"] {
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
