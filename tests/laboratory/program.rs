//! `matinee rush` at its command line.

use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::support::Cinema;
use crate::support::rush::{rush, said};
use crate::support::server::Server;

#[test]
fn a_run_prints_its_figures_and_writes_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("laboratory.html");
    let short = ["--contention", "high", "--seconds", "1", "--rounds", "1", "--seats", "8", "--check"];
    let output =
        rush(&[&["--strategy", "conditional,naive", "--report", report.to_str().unwrap()], &short[..]].concat());
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    for words in [
        "| conditional ",
        "| naive ",
        "naive is out of the question: ",
        "numbered seats on any number of servers: conditional",
    ] {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
    let html = std::fs::read_to_string(report).unwrap();
    assert_eq!(html.matches("<svg").count(), 2, "two charts");
    assert!(html.contains("naive is out of the question: ") && html.contains("held twice at one instant"), "{html}");
}

#[test]
fn a_check_fails_when_what_is_meant_to_fail_was_not_caught() {
    // Alone, nobody takes anything from anybody.
    let alone = ["--strategy", "naive", "--contention", "high", "--seconds", "1", "--rounds", "1", "--clients", "1"];
    let output = rush(&[&alone[..], &["--check"]].concat());
    assert!(!output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("naive is meant to fail and was not caught"), "{}", said(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cinema_s_database_is_left_alone() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(10).await;
    let visitor = cinema.visitor();
    visitor.hold(show, &[1, 2]).await.unwrap();
    let output = rush(&["--strategy", "conditional", "--database-url", &cinema.url()]);
    assert!(!output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("this database is not empty"), "{}", said(&output));
    let schemas: i64 = sqlx::query_scalar("select count(*) from pg_namespace where nspname = 'laboratory'")
        .fetch_one(&cinema.db)
        .await
        .unwrap();
    assert_eq!(schemas, 0);
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_database_is_used_and_left_empty() {
    let server = Server::start(&[]).await;
    let url = server.url_of(&server.another_database().await);
    let mut connection = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("drop schema public cascade; drop schema gateway cascade").execute(&mut connection).await.unwrap();
    let short = ["--contention", "high", "--seconds", "1", "--rounds", "1", "--check"];
    let output = rush(&[&["--strategy", "conditional", "--database-url", &url], &short[..]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let left: Vec<String> = sqlx::query_scalar("select nspname::text from pg_namespace where nspname !~ '^pg_'")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert_eq!(left, ["information_schema"]);
}

#[test]
fn a_strategy_that_is_not_known() {
    let output = rush(&["--strategy", "luck"]);
    assert!(!output.status.success());
    assert!(said(&output).contains("look-alike-count"), "it lists those that are: {}", said(&output));
}
