//! A verdict that notices nothing proves nothing: here somebody breaks the cinema while the crowd is in it.

use std::path::Path;
use std::time::Duration;

use indicatif::ProgressBar;
use matinee::rush::crowd::verdict::Fault;
use matinee::rush::crowd::{Outcome, Scenario, play};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgPool;

use crate::SMALL_SALE;
use crate::support::server::Server;

/// Plays the small sale, with long holds, while this is done to the database again and again.
async fn played_while(sabotage: &'static str) -> Outcome {
    let server = Server::start(&[]).await;
    let url = server.url_of(&server.another_database().await);
    let db = PgPool::connect(&url).await.unwrap();
    sqlx::raw_sql("drop schema public cascade; drop schema gateway cascade; create schema public")
        .execute(&db)
        .await
        .unwrap();
    let saboteur = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            // Until there are tables it fails.
            let _ = sqlx::raw_sql(AssertSqlSafe(sabotage)).execute(&db).await;
        }
    });
    let text =
        SMALL_SALE.replace("hold_window_s = 2", "hold_window_s = 30").replace("patience_s = 60", "patience_s = 4");
    let scenario = Scenario::parse(&text).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_matinee"));
    let outcome = play(scenario, program, &url, &ProgressBar::hidden()).await.unwrap();
    saboteur.abort();
    outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_that_are_given_away_while_they_are_held() {
    let outcome = played_while(
        "update seats set status = 'available', locked_at = null, order_id = null where status = 'locked'",
    )
    .await;
    let twice = outcome.faults.iter().filter(|fault| matches!(fault, Fault::HeldTwice { .. })).count();
    assert!(twice > 0, "{:?}", outcome.faults);
    assert!(outcome.verdict()[0].contains("broken"), "{:?}", outcome.verdict());
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_that_are_changed_behind_everybody_s_back() {
    let outcome = played_while(
        "update orders set seat_nos = '{1}', prices = '{1250}' where state = 'held' and seat_nos <> '{1}'",
    )
    .await;
    let lost = outcome.faults.iter().filter(|fault| matches!(fault, Fault::HoldLost { .. })).count();
    assert!(lost > 0, "{:?}", outcome.faults);
    assert!(
        outcome.faults.iter().any(|fault| matches!(fault, Fault::Proof(_))),
        "prove sees it too: {:?}",
        outcome.faults
    );
}
