//! Making charges: the contract of `POST /v1/charges` and its idempotency key.

use std::time::Duration;

use serde_json::json;

use crate::merchant::{Answer, GOOD, Merchant, SLOW, refused, send, wish};
use crate::support::{all_at_once, until};

#[tokio::test]
async fn a_charge_is_answered_as_the_contract_says() {
    let merchant = Merchant::open().await;
    let mut charge = merchant.charge("k1", GOOD).await.ok();
    assert!(charge["id"].as_str().unwrap().starts_with("ch_"));
    assert_eq!(merchant.find(charge["id"].as_str().unwrap()).await, charge);
    let captured_at = charge["captured_at"].take();
    assert!(chrono::DateTime::parse_from_rfc3339(captured_at.as_str().unwrap()).is_ok(), "{captured_at}");
    let id = charge["id"].take();
    assert_eq!(
        charge,
        json!({
            "id": null, "status": "captured", "amount_minor": 2500, "currency": "EUR", "decline_reason": null,
            "action_url": null, "captured_at": null, "refunded_minor": 0, "metadata": {"order": "7"},
        }),
        "{id}"
    );
}

#[tokio::test]
async fn the_same_key_is_the_same_charge_as_it_is_now() {
    let merchant = Merchant::open().await;
    let id = merchant.captured("k1").await;
    merchant.refund("r1", &id, 100).await.ok();
    let again = merchant.charge("k1", GOOD).await.ok();
    assert_eq!((again["id"].as_str().unwrap(), again["refunded_minor"].as_i64()), (id.as_str(), Some(100)));
    assert_ne!(merchant.captured("k2").await, id);
    assert_eq!(merchant.count("charges").await, 2);
    assert_eq!(merchant.count("events where type = 'charge.captured'").await, 2);
}

#[tokio::test]
async fn the_same_key_with_another_request_is_refused() {
    let merchant = Merchant::open().await;
    merchant.captured("k1").await;
    for (field, other) in [
        ("amount_minor", json!(2501)),
        ("currency", json!("USD")),
        ("card", json!("4000000000000002")),
        ("metadata", json!({"order": "8"})),
        ("return_url", json!(null)),
    ] {
        let mut wish = wish(GOOD);
        wish[field] = other;
        let answer = merchant.charge_with("k1", &wish).await;
        assert_eq!(answer.refusal(), refused(422, "idempotency_key_reused"), "{field}");
    }
    assert_eq!(merchant.count("charges").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_double_click_charges_once() {
    let merchant = Merchant::open().await;
    let requests: Vec<_> = (0..20).map(|_| send(merchant.charge_request("k1", &wish(GOOD)))).collect();
    let answers: Vec<Answer> = all_at_once(requests).await;
    let first = answers[0].ok();
    assert!(answers.iter().all(|answer| answer.ok() == first));
    assert_eq!(merchant.count("charges").await, 1);
    assert_eq!(merchant.count("events").await, 1);
}

#[tokio::test]
async fn while_the_first_request_runs_the_second_is_told_to_come_again() {
    let merchant = Merchant::open().await;
    let first = merchant.charge_meanwhile("k1", SLOW);
    merchant.until_thinking(1).await;
    let second = merchant.charge("k1", SLOW).await;
    assert_eq!(second.refusal(), refused(409, "in_flight"));
    assert_eq!(second.header("retry-after"), "1");
    assert_eq!(merchant.charge("k1", GOOD).await.refusal(), refused(422, "idempotency_key_reused"));
    let first = first.await.unwrap().ok();
    assert_eq!(first["status"], "captured");
    assert_eq!(merchant.charge("k1", SLOW).await.ok(), first);
}

#[tokio::test]
async fn a_client_that_hangs_up_does_not_stop_its_charge() {
    let merchant = Merchant::open().await;
    let request = merchant.charge_request("k1", &wish(SLOW)).timeout(Duration::from_millis(300));
    assert!(request.send().await.unwrap_err().is_timeout());
    until("it is captured", async || merchant.count("charges where status = 'captured'").await == 1).await;
    assert_eq!(merchant.charge("k1", SLOW).await.ok()["status"], "captured");
}

/// The gateway that waited for the bank died; the next one that is asked decides.
#[tokio::test]
async fn a_charge_that_nobody_waits_for_any_more_is_decided_by_whoever_asks() {
    let merchant = Merchant::open().await;
    let waiting = merchant.charge_meanwhile("k1", "4000000000000259");
    merchant.until_thinking(1).await;
    let thinks: f64 =
        sqlx::query_scalar("select extract(epoch from decides_at - created_at)::float8 from gateway.charges")
            .fetch_one(&merchant.db)
            .await
            .unwrap();
    assert!((19.9..20.1).contains(&thinks), "accepted after 20 seconds: {thinks}");
    assert_eq!(merchant.charge("k1", "4000000000000259").await.refusal(), refused(409, "in_flight"));
    merchant.sql("update gateway.charges set decides_at = clock_timestamp()").await;
    assert_eq!(merchant.charge("k1", "4000000000000259").await.ok()["status"], "captured");
    assert_eq!(merchant.count("events").await, 1);
    waiting.abort();
}

#[tokio::test]
async fn nothing_is_kept_while_the_bank_thinks() {
    let merchant = Merchant::open().await;
    // Far more than there are connections.
    let slow: Vec<_> = (0..50).map(|nth| merchant.charge_meanwhile(&format!("slow-{nth}"), SLOW)).collect();
    merchant.until_thinking(50).await;
    until("their transactions have ended", async || {
        let open: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where application_name = 'matinee gateway' and state <> 'idle'",
        )
        .fetch_one(&merchant.db)
        .await
        .unwrap();
        open == 0
    })
    .await;
    merchant.captured("quick").await;
    assert_eq!(merchant.count("charges where status = 'processing'").await, 50, "they still think");
    for answer in slow {
        assert_eq!(answer.await.unwrap().ok()["status"], "captured");
    }
}

#[tokio::test]
async fn a_key_lapses_after_a_day_and_not_before() {
    let merchant = Merchant::open().await;
    let first = merchant.captured("k1").await;
    merchant.sql("update gateway.keys set used_at = used_at - interval '23:59:50'").await;
    assert_eq!(merchant.captured("k1").await, first);
    assert_eq!(merchant.charge("k1", "4000000000000002").await.refusal(), refused(422, "idempotency_key_reused"));
    merchant.sql("update gateway.keys set used_at = used_at - interval '10 seconds'").await;
    let other = merchant.charge("k1", "4000000000000002").await.ok();
    assert_eq!(other["status"], "declined", "as if the key were new");
    assert_eq!(
        merchant.charge("k1", GOOD).await.refusal(),
        refused(422, "idempotency_key_reused"),
        "and it counts anew"
    );
    assert_eq!(merchant.count("charges").await, 2);
}

#[tokio::test]
async fn only_the_last_four_digits_are_stored() {
    let merchant = Merchant::open().await;
    merchant.captured("k1").await;
    merchant.charge("k2", "4000000000003220").await.ok();
    for table in ["charges", "keys", "refunds", "events"] {
        for digits in ["242424242", "00000000322"] {
            assert_eq!(merchant.count(&format!("{table} t where t::text like '%{digits}%'")).await, 0, "{table}");
        }
    }
    assert_eq!(merchant.count("charges where last4 in ('4242', '3220')").await, 2);
}

/// Every test in this folder runs like this; here it is seen that it does.
#[tokio::test]
async fn the_gateway_gets_along_without_a_right_to_anything_but_its_books() {
    let merchant = Merchant::open().await;
    let refused = sqlx::query("select * from payments").execute(&merchant.settings.pool).await;
    assert!(refused.unwrap_err().to_string().contains("permission denied"));
    merchant.captured("k1").await;
}

#[tokio::test]
async fn without_a_key_of_the_merchant_nothing_is_answered() {
    let merchant = Merchant::open().await;
    let id = merchant.captured("k1").await;
    for path in [format!("/v1/charges/{id}"), "/v1/charges".to_owned(), "/v1/refunds/re_1".to_owned()] {
        for bearer in [None, Some(""), Some("sk_of_somebody_else"), Some("sk_of_the_merchan")] {
            let request = merchant.browser().get(merchant.url(&path));
            let request = bearer.into_iter().fold(request, |request, key| request.bearer_auth(key));
            assert_eq!(send(request).await.refusal(), refused(401, "unauthorized"), "{path} {bearer:?}");
        }
    }
    let request =
        merchant.browser().post(merchant.url("/v1/charges")).header("Idempotency-Key", "k9").json(&wish(GOOD));
    assert_eq!(send(request).await.refusal(), refused(401, "unauthorized"));
    let request = merchant.browser().post(merchant.url("/v1/keys/k9/close"));
    assert_eq!(send(request).await.refusal(), refused(401, "unauthorized"));
    assert_eq!(merchant.count("charges").await, 1);
    assert_eq!(merchant.count("keys").await, 1);
}

#[tokio::test]
async fn keys_are_1_to_255_characters() {
    let merchant = Merchant::open().await;
    merchant.captured(&"k".repeat(255)).await;
    for key in [String::new(), "k".repeat(256), "schlüssel".to_owned()] {
        assert_eq!(merchant.charge(&key, GOOD).await.refusal(), refused(400, "idempotency_key_missing"), "{key}");
    }
    let none = merchant.post("/v1/charges").json(&wish(GOOD));
    assert_eq!(send(none).await.refusal(), refused(400, "idempotency_key_missing"));
    let two = merchant.charge_request("k1", &wish(GOOD)).header("Idempotency-Key", "k2");
    assert_eq!(send(two).await.refusal(), refused(400, "idempotency_key_missing"));
    assert_eq!(merchant.count("charges").await, 1);
}

#[tokio::test]
async fn nonsense_is_refused_and_never_a_fault_of_ours() {
    let merchant = Merchant::open().await;
    for body in ["", "{", "[]", "null", "{\"amount_minor\": 1e3}", "\u{0}"] {
        let request = merchant.post("/v1/charges").header("Idempotency-Key", "k1").body(body);
        assert_eq!(send(request).await.refusal(), refused(422, "invalid_request"), "{body:?}");
    }
    let mut wish = wish(GOOD);
    wish["card"] = json!("4242 4242 4242 4242");
    assert_eq!(merchant.charge_with("k1", &wish).await.refusal(), refused(422, "invalid_request"));
    for id in ["ch_1", "%00", "ch_%00", "a%2Fb", "%ff", "'; drop", &"x".repeat(2000)] {
        for path in [format!("/v1/charges/{id}"), format!("/v1/refunds/{id}")] {
            assert_eq!(send(merchant.get(&path)).await.refusal(), refused(404, "not_found"), "{path}");
        }
        assert_eq!(merchant.refund("k", id, 1).await.refusal(), refused(404, "not_found"), "{id}");
    }
    assert_eq!(send(merchant.post("/v1/keys/%00/close")).await.refusal(), refused(400, "idempotency_key_missing"));
    let odd = send(merchant.post("/v1/keys/k/close?cancel=perhaps")).await;
    assert_eq!(odd.refusal(), refused(422, "invalid_request"));
    assert_eq!(merchant.count("charges").await, 0);
}
