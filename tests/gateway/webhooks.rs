//! Events: recorded with what they tell, heard at least once, late, often or out of order where a card says so.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::merchant::{GOOD, Merchant, ON_PAGE, SLOW, send};
use crate::support::until;

/// Nothing more comes: a while in which it would.
async fn a_while() {
    tokio::time::sleep(Duration::from_millis(600)).await;
}

#[tokio::test]
async fn an_event_tells_the_charge_or_the_refund() {
    let merchant = Merchant::open().await;
    merchant.delivers();
    let charge = merchant.charge("k1", GOOD).await.ok();
    merchant.until_heard(1).await;
    let refund = merchant.refund("r1", charge["id"].as_str().unwrap(), 300).await.ok();
    merchant.until_heard(2).await;
    let heard = merchant.ears.heard.lock().unwrap().clone();
    for (event, kind, data) in [(&heard[0], "charge.captured", charge), (&heard[1], "refund.succeeded", refund)] {
        assert!(event["id"].as_str().unwrap().starts_with("evt_"));
        assert!(chrono::DateTime::parse_from_rfc3339(event["created_at"].as_str().unwrap()).is_ok(), "{event}");
        assert_eq!((event["type"].as_str().unwrap(), &event["data"]), (kind, &data));
        assert_eq!(event.as_object().unwrap().len(), 4, "{event}");
    }
}

#[tokio::test]
async fn each_end_of_a_charge_is_told_once() {
    let merchant = Merchant::open().await;
    merchant.delivers();
    merchant.charge("k1", "4000000000000002").await.ok();
    assert_eq!(merchant.until_heard(1).await, ["charge.declined"]);
    merchant.charge("k2", ON_PAGE).await.ok();
    send(merchant.post("/v1/keys/k2/close?cancel=true")).await.ok();
    assert_eq!(merchant.until_heard(2).await, ["charge.declined", "charge.canceled"]);
    merchant.charge("k3", SLOW).await.ok();
    assert_eq!(merchant.until_heard(3).await[2], "charge.captured");
    assert_eq!(merchant.charge("k4", "4000000000000119").await.status, 503);
    a_while().await;
    assert_eq!(merchant.heard().len(), 3, "and a failure is nothing to tell");
}

#[tokio::test]
async fn a_receiver_that_fails_three_times_is_told_again_later_and_later() {
    let merchant = Merchant::open().await;
    merchant.ears.deaf_for.store(3, Ordering::SeqCst);
    let start = Instant::now();
    merchant.delivers();
    merchant.captured("k1").await;
    assert_eq!(merchant.until_heard(1).await, ["charge.captured"]);
    let took = start.elapsed();
    // 1 + 2 + 4 seconds.
    assert!((7..10).contains(&took.as_secs()), "{took:?}");
    a_while().await;
    assert_eq!(merchant.ears.calls.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn the_pauses_grow_to_an_hour_and_end_after_three_days() {
    let merchant = Merchant::open().await;
    merchant.ears.deaf_for.store(usize::MAX, Ordering::SeqCst);
    merchant.captured("k1").await;
    merchant.sql("update gateway.events set tries = 40").await;
    merchant.delivers();
    until("it was told in vain", async || merchant.count("events where tries = 41").await == 1).await;
    let pause: f64 =
        sqlx::query_scalar("select extract(epoch from next_try_at - clock_timestamp())::float8 from gateway.events")
            .fetch_one(&merchant.db)
            .await
            .unwrap();
    assert!((3590.0..=3600.0).contains(&pause), "{pause}");
    merchant.ears.deaf_for.store(0, Ordering::SeqCst);
    let due = "update gateway.events set next_try_at = clock_timestamp(), created_at = clock_timestamp() - interval";
    merchant.sql(&format!("{due} '72 hours'")).await;
    a_while().await;
    assert!(merchant.heard().is_empty(), "given up");
    merchant.sql(&format!("{due} '71:59:00'")).await;
    merchant.until_heard(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_gateways_tell_each_event_once_between_them() {
    const EVENTS: usize = 100;
    let merchant = Merchant::open().await;
    for nth in 0..EVENTS {
        merchant.captured(&format!("k{nth}")).await;
    }
    merchant.delivers();
    merchant.delivers();
    merchant.until_heard(EVENTS).await;
    a_while().await;
    let heard = merchant.ears.heard.lock().unwrap().clone();
    let different: std::collections::BTreeSet<_> = heard.iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!((different.len(), heard.len()), (EVENTS, EVENTS));
    assert_eq!(merchant.count("events where delivered_at is null or deliveries_left > 0").await, 0);
}

#[tokio::test]
async fn an_event_whose_teller_died_is_told_after_its_lease() {
    let merchant = Merchant::open().await;
    merchant.captured("k1").await;
    // Taken by a gateway that is no more.
    merchant.sql("update gateway.events set next_try_at = clock_timestamp() + interval '15 seconds'").await;
    merchant.delivers();
    a_while().await;
    assert!(merchant.heard().is_empty());
    merchant.sql("update gateway.events set next_try_at = next_try_at - interval '15 seconds'").await;
    merchant.until_heard(1).await;
}

#[tokio::test]
async fn no_transaction_is_open_while_the_receiver_thinks() {
    let merchant = Merchant::open().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = merchant.settings.clone();
    settings.webhook_url = Some(format!("http://{}/", silent.local_addr().unwrap()));
    merchant.captured("k1").await;
    tokio::spawn(matinee::gateway::deliver(settings));
    let (_call, _) = silent.accept().await.unwrap();
    let open: i64 = sqlx::query_scalar(
        "select count(*) from pg_stat_activity where application_name = 'matinee gateway' and xact_start is not null",
    )
    .fetch_one(&merchant.db)
    .await
    .unwrap();
    assert_eq!(open, 0);
    assert_eq!(
        merchant.count("events where next_try_at > clock_timestamp() + interval '10 seconds'").await,
        1,
        "leased"
    );
}

#[tokio::test]
async fn a_webhook_before_the_answer() {
    let merchant = Merchant::open().await;
    merchant.delivers();
    let answer = merchant.charge_meanwhile("k1", "4000000000000143");
    merchant.until_heard(1).await;
    let heard_at = Instant::now();
    assert!(!answer.is_finished());
    assert_eq!(answer.await.unwrap().ok()["status"], "captured");
    assert!(heard_at.elapsed() > Duration::from_millis(900), "the answer waits a second longer");
}

#[tokio::test]
async fn a_late_webhook() {
    let merchant = Merchant::open().await;
    merchant.delivers();
    merchant.charge("late", "4000000000000150").await.ok();
    merchant.captured("k2").await;
    merchant.until_heard(1).await;
    a_while().await;
    assert_eq!(merchant.heard().len(), 1, "not yet");
    merchant
        .sql("update gateway.events set next_try_at = next_try_at - interval '14 seconds' where delivered_at is null")
        .await;
    merchant.until_heard(2).await;
}

#[tokio::test]
async fn a_webhook_five_times() {
    let merchant = Merchant::open().await;
    merchant.delivers();
    let charge = merchant.charge("k1", "4000000000000168").await.ok();
    assert_eq!(merchant.until_heard(5).await, ["charge.captured"; 5]);
    a_while().await;
    let heard = merchant.ears.heard.lock().unwrap().clone();
    assert_eq!(heard.len(), 5);
    assert!(heard.iter().all(|event| *event == heard[0] && event["data"] == charge));
}

#[tokio::test]
async fn webhooks_in_the_wrong_order() {
    let merchant = Merchant::open().await;
    // The stale one comes last even if the other one has to wait.
    merchant.ears.deaf_for.store(1, Ordering::SeqCst);
    merchant.delivers();
    let charge = merchant.charge("k1", "4000000000000176").await.ok();
    assert_eq!(merchant.until_heard(2).await, ["charge.captured", "charge.declined"]);
    let heard = merchant.ears.heard.lock().unwrap().clone();
    let time = |nth: usize| chrono::DateTime::parse_from_rfc3339(heard[nth]["created_at"].as_str().unwrap()).unwrap();
    assert!(time(1) < time(0), "it says itself that it is stale");
    assert_eq!((&heard[1]["data"]["id"], heard[1]["data"]["status"].as_str()), (&charge["id"], Some("declined")));
    assert_eq!(merchant.find(charge["id"].as_str().unwrap()).await["status"], "captured");
}
