//! `matinee rush` with a crowd, at its command line.

use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::SMALL_SALE;
use crate::support::rush::{rush, said};
use crate::support::server::Server;

#[test]
fn a_sale_is_played_until_every_seat_is_sold() {
    let folder = tempfile::tempdir().unwrap();
    let (scenario, report) = (folder.path().join("sale.toml"), folder.path().join("sale.html"));
    std::fs::write(&scenario, SMALL_SALE).unwrap();
    let output = rush(&[scenario.to_str().unwrap(), "--check", "--report", report.to_str().unwrap()]);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    for words in [
        "| hold that won ",
        "| hold that lost ",
        "| payment ",
        "| release ",
        "| page opened ",
        "| a held seat is seen by a watcher ",
        "In the end 20 of 20 seats are sold, 0 held, 0 free or lapsed.",
        "Every promise was kept",
    ] {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
    let html = std::fs::read_to_string(report).unwrap();
    assert_eq!(html.matches("<svg").count(), 3, "three charts");
    assert!(html.contains("Every promise was kept") && html.contains("<polyline"), "{html}");
}

#[test]
fn a_check_fails_when_not_all_is_sold_that_should_be() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("sale.toml");
    let nobody_pays = SMALL_SALE
        .replace("never_pay = 0.3", "never_pay = 0.8")
        .replace("hold_window_s = 2", "hold_window_s = 900")
        .replace("patience_s = 60", "patience_s = 3");
    std::fs::write(&scenario, nobody_pays).unwrap();
    let output = rush(&[scenario.to_str().unwrap(), "--check"]);
    let said = said(&output);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("seats were not sold"), "{said}");
    assert!(!said.contains("Every promise was kept"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_database_is_used_and_left_empty() {
    let server = Server::start(&[]).await;
    let url = server.url_of(&server.another_database().await);
    let mut connection = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("drop schema public cascade; drop schema gateway cascade; create schema public")
        .execute(&mut connection)
        .await
        .unwrap();
    let output = rush(&["one-seat", "--check", "--database-url", &url]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("1 hold won, 999 conflicts"), "{}", said(&output));
    let left: i64 = sqlx::query_scalar(
        "select count(*) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    assert_eq!(left, 0);
}

#[test]
fn a_scenario_with_a_mistake_is_refused_with_a_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("sale.toml");
    std::fs::write(&scenario, SMALL_SALE.replace("patience_s = 60", "patience_s = -1")).unwrap();
    for (name, words) in [
        (scenario.to_str().unwrap(), "people.patience_s is -1"),
        ("nowhere.toml", "those that come with the program: opening-sale, one-seat, last-seat"),
    ] {
        let output = rush(&[name]);
        assert!(!output.status.success(), "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
    }
}

#[test]
fn a_shipped_scenario_can_be_printed_changed_and_played() {
    let output = rush(&["one-seat", "--print"]);
    assert!(output.status.success(), "{}", said(&output));
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("mine.toml");
    std::fs::write(&scenario, said(&output).replace("1_000", "50")).unwrap();
    let output = rush(&[scenario.to_str().unwrap(), "--check", "--seed", "12"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("1 hold won, 49 conflicts"), "{}", said(&output));
    assert!(said(&output).contains("seed 12"), "{}", said(&output));
}
