//! The truth about a key after an answer was lost.

use crate::merchant::{GOOD, Merchant, ON_PAGE, SLOW, refused, send};

#[tokio::test]
async fn a_closed_key_takes_no_money_ever() {
    let merchant = Merchant::open().await;
    assert!(merchant.close("k1").await.is_null());
    assert!(merchant.close("k1").await.is_null(), "asked twice, answered twice");
    for _ in 0..2 {
        assert_eq!(merchant.charge("k1", GOOD).await.refusal(), refused(409, "key_closed"));
        // Somebody relies on it: this does not lapse.
        merchant.sql("update gateway.keys set used_at = used_at - interval '25 hours'").await;
    }
    assert_eq!(merchant.count("charges").await, 0);
    assert!(merchant.close("k1").await.is_null());
}

#[tokio::test]
async fn closing_a_used_key_tells_the_charge_and_changes_nothing() {
    let merchant = Merchant::open().await;
    let captured = merchant.charge("k1", GOOD).await.ok();
    let declined = merchant.charge("k2", "4000000000000002").await.ok();
    for _ in 0..2 {
        assert_eq!(merchant.close("k1").await, captured);
        assert_eq!(merchant.close("k2").await, declined);
    }
    assert_eq!(merchant.charge("k1", GOOD).await.ok(), captured);
    assert_eq!(merchant.count("events").await, 2);
}

#[tokio::test]
async fn closing_a_failed_key_is_the_end_of_it() {
    let merchant = Merchant::open().await;
    let fails_once = "4000000000000135";
    assert_eq!(merchant.charge("k1", fails_once).await.status, 503);
    assert!(merchant.close("k1").await.is_null());
    assert_eq!(merchant.charge("k1", fails_once).await.refusal(), refused(409, "key_closed"));
}

#[tokio::test]
async fn a_lapsed_key_still_knows_its_last_charge_and_is_closed_for_good() {
    let merchant = Merchant::open().await;
    let id = merchant.captured("k1").await;
    merchant.sql("update gateway.keys set used_at = used_at - interval '24 hours'").await;
    assert_eq!(merchant.close("k1").await["id"], id.as_str());
    assert_eq!(merchant.charge("k1", GOOD).await.refusal(), refused(409, "key_closed"));
}

#[tokio::test]
async fn a_charge_that_still_runs_is_canceled_and_can_never_capture() {
    let merchant = Merchant::open().await;
    let slow = merchant.charge_meanwhile("k1", SLOW);
    merchant.until_thinking(1).await;
    let closed = merchant.close("k1").await;
    assert_eq!(closed["status"], "canceled");
    assert_eq!(merchant.charge("k1", SLOW).await.ok(), closed);
    // The bank answers, too late.
    assert_eq!(slow.await.unwrap().ok(), closed);
    assert_eq!(merchant.find(closed["id"].as_str().unwrap()).await, closed);
    assert_eq!(merchant.count("events where type = 'charge.canceled'").await, 1);
    assert_eq!(merchant.count("events").await, 1);
    assert_eq!(merchant.refund("r1", closed["id"].as_str().unwrap(), 1).await.refusal(), refused(422, "not_captured"));
}

#[tokio::test]
async fn a_charge_that_waits_for_its_page_is_canceled_only_on_demand() {
    let merchant = Merchant::open().await;
    let asked = merchant.charge("k1", ON_PAGE).await.ok();
    assert_eq!(merchant.close("k1").await, asked);
    assert_eq!(send(merchant.post("/v1/keys/k1/close?cancel=false")).await.ok()["charge"], asked);
    let canceled = send(merchant.post("/v1/keys/k1/close?cancel=true")).await.ok()["charge"].clone();
    assert_eq!((canceled["status"].as_str(), canceled["action_url"].is_null()), (Some("canceled"), true));
    let page = asked["action_url"].as_str().unwrap();
    let decided = send(merchant.browser().post(page).form(&[("decision", "confirm")])).await;
    assert_eq!(decided.status, 303, "leads back, and has decided nothing");
    assert_eq!(merchant.find(asked["id"].as_str().unwrap()).await, canceled);
    assert_eq!(merchant.count("events").await, 1);
}

/// Whoever was told "nothing" can rely on it, and whoever was told of a charge was told the truth.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_that_meets_its_charge_agrees_with_it() {
    const ROUNDS: usize = 100;
    let merchant = Merchant::open().await;
    let mut captured = 0;
    for round in 0..ROUNDS {
        let key = format!("k{round}");
        let charging = merchant.charge_meanwhile(&key, GOOD);
        let closed = merchant.close(&key).await;
        let charged = charging.await.unwrap();
        if closed.is_null() {
            assert_eq!(charged.refusal(), refused(409, "key_closed"));
        } else {
            assert_eq!(charged.ok(), closed);
            captured += 1;
        }
    }
    println!("{captured} of {ROUNDS} charges came first");
    assert_eq!(merchant.count("charges").await, captured);
    assert_eq!(merchant.count("events").await, captured);
}
