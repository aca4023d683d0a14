//! Each test card does what its words say. (The slow ones are also in `charges.rs`, the ones of webhooks in `webhooks.rs`.)

use std::time::{Duration, Instant};

use matinee::gateway::TEST_CARDS;

use crate::merchant::{GOOD, Merchant, SLOW, refused, send, wish};

#[tokio::test]
async fn what_each_card_is_answered() {
    let merchant = Merchant::open().await;
    let no_answer = (503, "");
    for (card, wanted, reason) in [
        (GOOD, (200, "captured"), None),
        ("4000000000000002", (200, "declined"), Some("the bank declined the card")),
        ("4000000000009995", (200, "declined"), Some("the card has insufficient funds")),
        (SLOW, (200, "captured"), None),
        ("4000000000003220", (200, "requires_action"), None),
        ("4000000000000119", no_answer, None),
        ("4000000000000127", no_answer, None),
        ("4000000000000135", no_answer, None),
        ("4000000000000150", (200, "captured"), None),
        ("4000000000000168", (200, "captured"), None),
        ("4000000000000176", (200, "captured"), None),
        ("4000000000000184", (200, "captured"), None),
        ("5555555555554444", (200, "declined"), Some("the card is not one of the test cards")),
    ] {
        let start = Instant::now();
        let answer = merchant.charge(card, card).await;
        let body = answer.json();
        let status = body["status"].as_str().unwrap_or_default();
        assert_eq!((answer.status.as_u16(), status), wanted, "{card}: {answer:?}");
        assert_eq!(body["decline_reason"].as_str(), reason, "{card}");
        assert_eq!(body["action_url"].is_string(), status == "requires_action", "{card}");
        assert_eq!(body["captured_at"].is_string(), status == "captured", "{card}");
        let took = start.elapsed();
        assert_eq!(took >= Duration::from_secs(5), card == SLOW, "{card} took {took:?}");
    }
    assert_eq!(TEST_CARDS.len(), 14, "a card that is not in this file is not tried");
}

#[tokio::test]
async fn a_processor_error_charges_nothing_however_often() {
    let merchant = Merchant::open().await;
    for _ in 0..3 {
        let answer = merchant.charge("k1", "4000000000000119").await;
        assert_eq!(answer.refusal(), refused(503, "processor_error"));
    }
    assert_eq!(merchant.count("charges").await, 0);
    assert!(merchant.close("k1").await.is_null());
}

#[tokio::test]
async fn a_lost_answer_is_found_by_the_same_key() {
    let merchant = Merchant::open().await;
    let card = "4000000000000127";
    assert_eq!(merchant.charge("k1", card).await.refusal(), refused(503, "processor_error"));
    let closed = merchant.close("k1").await;
    assert_eq!(closed["status"], "captured");
    assert_eq!(merchant.charge("k1", card).await.ok(), closed);
    assert_eq!(merchant.count("charges").await, 1);
}

#[tokio::test]
async fn a_card_that_fails_once_succeeds_when_asked_again() {
    let merchant = Merchant::open().await;
    let card = "4000000000000135";
    assert_eq!(merchant.charge("k1", card).await.refusal(), refused(503, "processor_error"));
    assert_eq!(merchant.count("charges").await, 0);
    assert_eq!(merchant.charge("k1", GOOD).await.refusal(), refused(422, "idempotency_key_reused"));
    let charge = merchant.charge("k1", card).await.ok();
    assert_eq!(charge["status"], "captured");
    assert_eq!(merchant.charge("k1", card).await.ok(), charge);
    assert_eq!(merchant.charge("k2", card).await.refusal(), refused(503, "processor_error"), "once a key");
}

#[tokio::test]
async fn a_card_that_must_be_confirmed_needs_a_way_back() {
    let merchant = Merchant::open().await;
    let mut without = wish("4000000000003220");
    without["return_url"] = serde_json::Value::Null;
    assert_eq!(merchant.charge_with("k1", &without).await.refusal(), refused(422, "invalid_request"));
    let charge = merchant.charge("k1", "4000000000003220").await.ok();
    let page = send(merchant.browser().get(charge["action_url"].as_str().unwrap())).await;
    assert_eq!(page.status, 200);
    assert_eq!(merchant.count("events").await, 0, "nothing is decided yet");
}

#[tokio::test]
async fn a_refund_that_fails_twice_succeeds_then() {
    let merchant = Merchant::open().await;
    let charge = merchant.charge("k1", "4000000000000184").await.ok();
    let id = charge["id"].as_str().unwrap();
    for _ in 0..2 {
        assert_eq!(merchant.refund("r1", id, 2500).await.refusal(), refused(503, "processor_error"));
        assert_eq!(merchant.find(id).await["refunded_minor"], 0);
    }
    let refund = merchant.refund("r1", id, 2500).await.ok();
    assert_eq!(merchant.refund("r1", id, 2500).await.ok(), refund);
    assert_eq!(merchant.find(id).await["refunded_minor"], 2500);
}
