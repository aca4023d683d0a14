//! The page on which a card's holder decides.

use serde_json::{Value, json};

use crate::merchant::{Answer, Merchant, ON_PAGE, RETURN_URL, send, wish};

async fn asked(merchant: &Merchant, metadata: Value) -> (String, String) {
    let mut wish = wish(ON_PAGE);
    wish["metadata"] = metadata;
    let charge = merchant.charge_with("k1", &wish).await.ok();
    assert_eq!(charge["status"], "requires_action");
    (charge["id"].as_str().unwrap().to_owned(), charge["action_url"].as_str().unwrap().to_owned())
}

async fn open(merchant: &Merchant, page: &str) -> Answer {
    send(merchant.browser().get(page)).await
}

async fn decide(merchant: &Merchant, page: &str, decision: &str) -> Answer {
    send(merchant.browser().post(page).form(&[("decision", decision)])).await
}

#[tokio::test]
async fn the_page_shows_what_is_decided_and_changes_nothing() {
    let merchant = Merchant::open().await;
    let (id, page) = asked(&merchant, json!({})).await;
    for _ in 0..2 {
        let shown = open(&merchant, &page).await;
        assert_eq!(shown.status, 200);
        for part in ["EUR 25.00", "The Meridian &lt;Cinema&gt;", "3220", ">Confirm</button>", ">Refuse</button>"] {
            assert!(shown.text.contains(part), "{part}: {}", shown.text);
        }
        assert!(!shown.text.contains("<script") && !shown.text.contains("<Cinema>"), "{}", shown.text);
        assert_eq!(shown.header("cache-control"), "no-store");
        assert_eq!(shown.header("referrer-policy"), "same-origin");
        assert!(shown.header("content-security-policy").starts_with("default-src 'none'; style-src 'nonce-"));
    }
    assert_eq!(merchant.find(&id).await["status"], "requires_action");
    assert_eq!(merchant.count("events").await, 0);
}

#[tokio::test]
async fn confirming_captures_once_and_leads_back() {
    let merchant = Merchant::open().await;
    let (id, page) = asked(&merchant, json!({})).await;
    for decision in ["confirm", "confirm", "refuse"] {
        let back = decide(&merchant, &page, decision).await;
        assert_eq!((back.status.as_u16(), back.header("location")), (303, RETURN_URL), "{decision}");
    }
    let charge = merchant.find(&id).await;
    assert_eq!((charge["status"].as_str(), charge["action_url"].is_null()), (Some("captured"), true));
    assert_eq!(merchant.count("events where type = 'charge.captured'").await, 1);
    assert_eq!(merchant.count("events").await, 1);
    assert_eq!(
        merchant
            .charge_with("k1", &{
                let mut wish = wish(ON_PAGE);
                wish["metadata"] = json!({});
                wish
            })
            .await
            .ok(),
        charge
    );
    let shown = open(&merchant, &page).await;
    assert!(shown.text.contains("is confirmed") && !shown.text.contains("<button"), "{}", shown.text);
    assert!(shown.text.contains(r#"href="https://cinema.example/orders/7?a=1&amp;b=2""#), "{}", shown.text);
}

#[tokio::test]
async fn refusing_declines_once_and_leads_back() {
    let merchant = Merchant::open().await;
    let (id, page) = asked(&merchant, json!({})).await;
    for decision in ["refuse", "confirm"] {
        let back = decide(&merchant, &page, decision).await;
        assert_eq!((back.status.as_u16(), back.header("location")), (303, RETURN_URL));
    }
    let charge = merchant.find(&id).await;
    assert_eq!((charge["status"].as_str(), charge["captured_at"].is_null()), (Some("declined"), true));
    assert_eq!(charge["decline_reason"], "the card's holder refused");
    assert_eq!(merchant.count("events where type = 'charge.declined'").await, 1);
    assert!(open(&merchant, &page).await.text.contains("was refused"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deciding_both_at_once_decides_one() {
    let merchant = Merchant::open().await;
    let (id, page) = asked(&merchant, json!({})).await;
    let clicks = (0..20).map(|nth| {
        let decision = if nth % 2 == 0 { "confirm" } else { "refuse" };
        send(merchant.browser().post(&page).form(&[("decision", decision)]))
    });
    let answers = crate::support::all_at_once(clicks.collect::<Vec<_>>()).await;
    assert!(answers.iter().all(|answer| answer.status == 303));
    assert_ne!(merchant.find(&id).await["status"], "requires_action");
    assert_eq!(merchant.count("events").await, 1);
}

#[tokio::test]
async fn who_wants_a_form_gets_one_that_works_without_javascript() {
    let merchant = Merchant::open().await;
    let (id, page) = asked(&merchant, json!({"return_by": "post"})).await;
    for _ in 0..2 {
        let back = decide(&merchant, &page, "confirm").await;
        assert_eq!(back.status, 200);
        assert!(
            back.text.contains(r#"method="post" action="https://cinema.example/orders/7?a=1&amp;b=2""#),
            "{}",
            back.text
        );
        assert!(back.text.contains(&format!(r#"name="charge" value="{id}""#)), "{}", back.text);
        assert!(back.text.contains("<button") && back.text.contains(".submit()"), "{}", back.text);
        let policy = back.header("content-security-policy");
        let nonce = policy.split("script-src 'nonce-").nth(1).unwrap().split('\'').next().unwrap();
        assert!(back.text.contains(&format!(r#"<script nonce="{nonce}">"#)), "{}", back.text);
    }
    // Looked at again, it sends nobody anywhere.
    let shown = open(&merchant, &page).await;
    assert!(shown.text.contains("<button") && !shown.text.contains("<script"), "{}", shown.text);
    assert_eq!(merchant.count("events").await, 1);
}

#[tokio::test]
async fn pages_that_are_none_are_not_found_and_decide_nothing() {
    let merchant = Merchant::open().await;
    let (id, page) = asked(&merchant, json!({})).await;
    for token in ["pay_guessed", "%00", "%3Cscript%3E", &id] {
        let url = merchant.url(&format!("/pay/{token}"));
        assert_eq!(open(&merchant, &url).await.status, 404, "{token}");
        assert_eq!(decide(&merchant, &url, "confirm").await.status, 404, "{token}");
    }
    for wrong in ["", "Confirm", "x"] {
        assert_eq!(decide(&merchant, &page, wrong).await.status, 422, "{wrong}");
    }
    assert_eq!(send(merchant.browser().post(&page)).await.status, 422);
    assert_eq!(merchant.find(&id).await["status"], "requires_action");
}
