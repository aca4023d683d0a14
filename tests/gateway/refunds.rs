//! Giving money back: once a key, and never more than was taken.

use serde_json::json;

use crate::merchant::{GOOD, Merchant, refused, send};
use crate::support::all_at_once;

#[tokio::test]
async fn a_refund_is_answered_as_the_contract_says() {
    let merchant = Merchant::open().await;
    let charge = merchant.captured("k1").await;
    let mut refund = merchant.refund("r1", &charge, 1000).await.ok();
    let id = refund["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("re_"));
    assert_eq!(send(merchant.get(&format!("/v1/refunds/{id}"))).await.ok(), refund);
    assert!(chrono::DateTime::parse_from_rfc3339(refund["created_at"].take().as_str().unwrap()).is_ok());
    refund["id"].take();
    let wanted = json!({"id": null, "status": "succeeded", "amount_minor": 1000, "charge": charge, "created_at": null});
    assert_eq!(refund, wanted);
    assert_eq!(merchant.find(&charge).await["refunded_minor"], 1000);
    assert_eq!(merchant.count("events where type = 'refund.succeeded'").await, 1);
}

#[tokio::test]
async fn the_same_key_is_the_same_refund_and_another_request_is_refused() {
    let merchant = Merchant::open().await;
    let (one, other) = (merchant.captured("k1").await, merchant.captured("k2").await);
    let refund = merchant.refund("r1", &one, 1000).await.ok();
    assert_eq!(merchant.refund("r1", &one, 1000).await.ok(), refund);
    assert_eq!(merchant.refund("r1", &one, 1001).await.refusal(), refused(422, "idempotency_key_reused"));
    assert_eq!(merchant.refund("r1", &other, 1000).await.refusal(), refused(422, "idempotency_key_reused"));
    assert_eq!(merchant.count("refunds").await, 1);
    // A charge's key is another kind of key.
    merchant.refund("k1", &one, 1).await.ok();
}

#[tokio::test]
async fn no_more_is_given_back_than_was_taken() {
    let merchant = Merchant::open().await;
    let charge = merchant.captured("k1").await;
    assert_eq!(merchant.refund("r0", &charge, 2501).await.refusal(), refused(422, "too_much"));
    assert_eq!(merchant.refund("r0", &charge, i64::MAX).await.refusal(), refused(422, "too_much"));
    assert_eq!(merchant.refund("r0", &charge, -1).await.refusal(), refused(422, "invalid_request"));
    merchant.refund("r1", &charge, 2000).await.ok();
    assert_eq!(merchant.refund("r2", &charge, 501).await.refusal(), refused(422, "too_much"));
    merchant.refund("r2", &charge, 500).await.ok();
    assert_eq!(merchant.refund("r3", &charge, 1).await.refusal(), refused(422, "too_much"));
    let past_us = sqlx::raw_sql("update gateway.charges set refunded_minor = 2501").execute(&merchant.db).await;
    assert!(past_us.unwrap_err().to_string().contains("charges_refunds_fit"), "the database itself refuses");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_refunds_at_once_give_back_what_was_taken_and_no_cent_more() {
    let merchant = Merchant::open().await;
    let charge = merchant.captured("k1").await;
    let path = format!("/v1/charges/{charge}/refunds");
    let requests: Vec<_> = (0..20)
        .map(|nth| {
            let request = merchant.post(&path).header("Idempotency-Key", format!("r{nth}"));
            send(request.json(&json!({"amount_minor": 400})))
        })
        .collect();
    let answers = all_at_once(requests).await;
    // 2500 is six times 400.
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 6);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(answer.refusal(), refused(422, "too_much"));
    }
    assert_eq!(merchant.find(&charge).await["refunded_minor"], 2400);
    assert_eq!(merchant.count("refunds").await, 6);
    assert_eq!(merchant.count("events where type = 'refund.succeeded'").await, 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_times_the_same_refund_at_once_is_one() {
    let merchant = Merchant::open().await;
    let charge = merchant.captured("k1").await;
    let path = format!("/v1/charges/{charge}/refunds");
    let requests: Vec<_> = (0..20)
        .map(|_| send(merchant.post(&path).header("Idempotency-Key", "r1").json(&json!({"amount_minor": 2500}))))
        .collect();
    let answers = all_at_once(requests).await;
    let first = answers[0].ok();
    assert!(answers.iter().all(|answer| answer.ok() == first));
    assert_eq!(merchant.count("refunds").await, 1);
}

/// Each charge has a lock of its own; the key is what they have in common.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_for_two_charges_at_once_gives_back_one_of_them() {
    let merchant = Merchant::open().await;
    for round in 0..20 {
        let charges = [merchant.captured(&format!("a{round}")).await, merchant.captured(&format!("b{round}")).await];
        let requests = charges.map(|charge| {
            let request = merchant.post(&format!("/v1/charges/{charge}/refunds"));
            send(request.header("Idempotency-Key", format!("r{round}")).json(&json!({"amount_minor": 2500})))
        });
        let answers = all_at_once(requests).await;
        let (done, not): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!((done.len(), not[0].refusal()), (1, refused(422, "idempotency_key_reused")));
    }
    assert_eq!(merchant.count("refunds").await, 20);
    assert_eq!(merchant.count("charges where refunded_minor > 0").await, 20);
}

#[tokio::test]
async fn what_took_no_money_gives_none_back() {
    let merchant = Merchant::open().await;
    let declined = merchant.charge("k1", "4000000000000002").await.ok();
    let answer = merchant.refund("r1", declined["id"].as_str().unwrap(), 1).await;
    assert_eq!(answer.refusal(), refused(422, "not_captured"));
    assert_eq!(merchant.refund("r1", "ch_unknown", 1).await.refusal(), refused(404, "not_found"));
    let charge = merchant.charge("k2", GOOD).await.ok();
    let without_key = merchant.post(&format!("/v1/charges/{}/refunds", charge["id"].as_str().unwrap()));
    let answer = send(without_key.json(&json!({"amount_minor": 1}))).await;
    assert_eq!(answer.refusal(), refused(400, "idempotency_key_missing"));
}
