//! What the card processor says to us, and visitors who come back from its pages.

use chrono::Utc;
use matinee::domain::ids::{OrderId, PaymentId};
use matinee::domain::payment::PaymentState;
use matinee::gateway::signature;
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::browser::{Browser, WEBHOOK_SECRET, serve};
use crate::support::{Books, Cinema, GOOD_CARD, PRICE, all_at_once, until};

/// Must be confirmed on the processor's page.
const CONFIRMED_CARD: &str = "4000000000003220";

async fn tell(site: &Browser, message: &Value, secrets: &[&str], at: i64) -> StatusCode {
    let body = message.to_string();
    let signed = signature::sign(secrets, body.as_bytes(), at);
    let request = site.raw_post("/webhooks/gateway", body).header(CONTENT_TYPE, "application/json");
    site.send(request.header(signature::HEADER, signed)).await.status
}

fn charge(kind: &str, payment: PaymentId, reference: &str, amount_minor: i64) -> Value {
    let (status, reason) = if kind == "charge.captured" { ("captured", None) } else { ("declined", Some("late news")) };
    json!({ "id": "evt_1", "type": kind, "created_at": "2026-12-01T19:00:00Z", "data": {
        "id": reference, "status": status, "amount_minor": amount_minor, "currency": "EUR", "decline_reason": reason,
        "action_url": null, "captured_at": null, "refunded_minor": 0, "metadata": { "payment": payment.0 } } })
}

/// A payment whose money was taken while nobody here heard of it; the payment, and the charge's reference.
async fn unheard(cinema: &Cinema, order: OrderId) -> (PaymentId, String) {
    let payment = PaymentId(Uuid::new_v4());
    let amount = cinema.starts(order, payment).await.unwrap();
    let card = matinee::domain::payment::Card::parse(GOOD_CARD).unwrap();
    cinema.office.gateway.charge(payment, order, amount, &card).await.unwrap();
    let reference = sqlx::query_scalar("select id from gateway.charges where idempotency_key = $1")
        .bind(payment.0.to_string())
        .fetch_one(&cinema.db)
        .await
        .unwrap();
    (payment, reference)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_message_sells_once_however_often_it_comes() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1, 2]).await.order();
    let (payment, reference) = unheard(&cinema, order).await;
    let captured = charge("charge.captured", payment, &reference, 2 * PRICE);
    let now = Utc::now().timestamp();

    // Not signed, by another, an hour old, changed on the way: nothing happens.
    assert_eq!(
        visitor.send(visitor.raw_post("/webhooks/gateway", captured.to_string())).await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(tell(&visitor, &captured, &["another secret"], now).await, StatusCode::BAD_REQUEST);
    assert_eq!(tell(&visitor, &captured, &[WEBHOOK_SECRET], now - 3600).await, StatusCode::BAD_REQUEST);
    let signed = signature::sign(&[WEBHOOK_SECRET], captured.to_string().as_bytes(), now);
    let changed = visitor.raw_post("/webhooks/gateway", captured.to_string().replace("EUR", "JPY"));
    assert_eq!(visitor.send(changed.header(signature::HEADER, signed)).await.status, StatusCode::BAD_REQUEST);
    assert!(!cinema.is_sold(order).await);

    // Five times at once, with the visitor's page looking on; with an old secret beside the new one, too.
    let site = visitor.site;
    let told = all_at_once((0..5).map(|nth| {
        let captured = captured.clone();
        async move {
            let secrets: &[&str] = if nth == 0 { &["the old one", WEBHOOK_SECRET] } else { &[WEBHOOK_SECRET] };
            let browser = Browser::at(site);
            browser.get(&format!("/orders/{order}")).await;
            tell(&browser, &captured, secrets, now).await
        }
    }))
    .await;
    assert_eq!(told, vec![StatusCode::NO_CONTENT; 5]);
    assert_eq!(cinema.ticketed(order).await, [1, 2]);
    // And the stale news of an earlier try, last.
    assert_eq!(
        tell(&visitor, &charge("charge.declined", payment, &reference, 0), &[WEBHOOK_SECRET], now).await,
        StatusCode::NO_CONTENT
    );
    assert_eq!(cinema.ticketed(order).await, [1, 2]);
    assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
    cinema.proves().await;
}

/// Messages change places on their way: the news of an earlier, declined try comes first, while the answer to the charge is
/// lost. Whoever believed it would tell the visitor that nothing was charged.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_decline_that_comes_first_is_not_believed() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1, 2]).await.order();
    let (payment, reference) = unheard(&cinema, order).await;
    let now = Utc::now().timestamp();
    let stale = charge("charge.declined", payment, &reference, 2 * PRICE);
    assert_eq!(tell(&visitor, &stale, &[WEBHOOK_SECRET], now).await, StatusCode::NO_CONTENT);
    assert_eq!(cinema.ticketed(order).await, [1, 2]);
    let page = visitor.get(&format!("/orders/{order}")).await;
    assert!(page.body.contains("data-testid=\"ticket\"") && !page.body.contains("late news"), "{}", page.body);
    let captured = charge("charge.captured", payment, &reference, 2 * PRICE);
    assert_eq!(tell(&visitor, &captured, &[WEBHOOK_SECRET], now).await, StatusCode::NO_CONTENT);
    assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_about_nothing_of_ours_are_heard_and_change_nothing() {
    let cinema = Cinema::open().await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let now = Utc::now().timestamp();
    for (message, status) in [
        (json!({ "id": "evt_1", "type": "charge.canceled", "data": {} }), StatusCode::NO_CONTENT),
        (json!({ "id": "evt_1", "type": "weather.changed", "data": [1, 2] }), StatusCode::NO_CONTENT),
        (charge("charge.declined", PaymentId(Uuid::new_v4()), "ch_1", 0), StatusCode::NO_CONTENT),
        (
            json!({ "id": "evt_1", "type": "refund.succeeded", "data": { "id": "re_1", "charge": "ch_1" } }),
            StatusCode::NO_CONTENT,
        ),
        (json!({ "id": "evt_1", "type": "charge.captured", "data": {} }), StatusCode::BAD_REQUEST),
        (json!({ "id": "evt_1", "type": "refund.succeeded", "data": 7 }), StatusCode::BAD_REQUEST),
        (json!([]), StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(tell(&visitor, &message, &[WEBHOOK_SECRET], now).await, status, "{message}");
    }
    let rows: i64 = sqlx::query_scalar("select (select count(*) from payments) + (select count(*) from incidents)")
        .fetch_one(&cinema.db)
        .await
        .unwrap();
    assert_eq!(rows, 0);
    cinema.proves().await;
}

/// The processor's page, as its holder sees it: the charge that waits there, decided.
async fn decide(cinema: &Cinema, url: &str, confirm: bool) {
    let token = url.rsplit('/').next().unwrap();
    let (status, at) = if confirm { ("captured", "now()") } else { ("declined", "null") };
    let reason = if confirm { "null" } else { "'refused by its holder'" };
    let decided = format!(
        "update gateway.charges set status = '{status}', captured_at = {at}, decline_reason = {reason} where action_token = '{token}'"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(decided)).execute(&cinema.db).await.unwrap();
}

/// By GET and by POST, with the visitor's cookie and without any: the order is found by its own address.
#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_must_be_confirmed_leads_to_the_processors_page_and_back() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let site = serve(&cinema.office).await;
    for (seat, confirm, by_post, with_cookie) in
        [(1, true, false, true), (2, true, true, false), (3, false, false, false), (4, false, true, true)]
    {
        let visitor = Browser::at(site);
        let order = visitor.hold(show, &[seat]).await.order();
        let asked = visitor.pay(order, CONFIRMED_CARD).await;
        let url = asked.location.unwrap();
        assert!(url.starts_with("http://gateway.example/pay/"), "{url}");
        let page = visitor.get(&format!("/orders/{order}")).await.body;
        assert!(page.contains("Your card must be confirmed") && page.contains(&url), "{page}");
        // Nobody else is led there.
        assert!(!Browser::at(site).get(&format!("/orders/{order}")).await.body.contains(&url));
        decide(&cinema, &url, confirm).await;
        let who = if with_cookie { visitor.goes_to(site) } else { Browser::at(site) };
        let address = format!("/orders/{order}/return");
        let back = if by_post {
            // As a form of another site comes, without an origin.
            let form =
                who.raw_post(&address, "charge=ch_1").header("origin", "null").header("sec-fetch-site", "cross-site");
            who.send(form.header(CONTENT_TYPE, "application/x-www-form-urlencoded")).await
        } else {
            who.get(&address).await
        };
        assert_eq!((back.status, back.location), (StatusCode::SEE_OTHER, Some(format!("/orders/{order}"))));
        assert_eq!(cinema.is_sold(order).await, confirm);
        if !confirm {
            assert!(matches!(cinema.payments(order).await[0].state, PaymentState::Declined { .. }));
            // The hold goes on, and another card buys.
            visitor.pay(order, GOOD_CARD).await;
            assert!(cinema.is_sold(order).await);
        }
    }
    assert_eq!(Browser::at(site).get("/orders/nonsense/return").await.status, StatusCode::NOT_FOUND);
    cinema.proves().await;
}

/// A browser lets no form lead to another site, not even by a redirect (`form-action` of the page's policy): a person goes by
/// way of the order's page, which leads on once and not whenever it is looked at.
#[tokio::test(flavor = "multi_thread")]
async fn a_persons_form_leads_to_the_processors_page_by_way_of_the_orders() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1]).await.order();
    let form =
        [("order", order.to_string()), ("attempt", Uuid::new_v4().to_string()), ("card", CONFIRMED_CARD.to_owned())];
    let sent = visitor.submit("/api/pay", &format!("/orders/{order}/pay"), &form).await;
    assert_eq!((sent.status, sent.location), (StatusCode::FOUND, Some(format!("/orders/{order}?confirm"))));
    let page = visitor.get(&format!("/orders/{order}?confirm")).await;
    let refresh = page.refresh.unwrap();
    let url = refresh.strip_prefix("0;url=").unwrap();
    assert!(url.starts_with("http://gateway.example/pay/") && page.body.contains(url), "{refresh}");
    assert_eq!(visitor.get(&format!("/orders/{order}")).await.refresh, None);
    decide(&cinema, url, true).await;
    assert_eq!(visitor.get(&format!("/orders/{order}/return")).await.status, StatusCode::SEE_OTHER);
    assert!(cinema.is_sold(order).await);
    assert_eq!(visitor.get(&format!("/orders/{order}?confirm")).await.refresh, None);
    cinema.proves().await;
}

/// Never confirmed: as long as the hold lasts it may still be; afterwards it is stopped, and can take no money any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_is_never_confirmed_is_stopped_when_the_hold_has_lapsed() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1]).await.order();
    visitor.pay(order, CONFIRMED_CARD).await;
    cinema.age_payments(order).await;
    matinee::box_office::reconcile(&cinema.office).await.unwrap();
    assert!(matches!(cinema.payments(order).await[0].state, PaymentState::Started));
    cinema.age_payments(order).await;
    cinema.expire(order).await;
    matinee::box_office::reconcile(&cinema.office).await.unwrap();
    assert!(matches!(cinema.payments(order).await[0].state, PaymentState::Failed { .. }));
    let status: String =
        sqlx::query_scalar("select status::text from gateway.charges").fetch_one(&cinema.db).await.unwrap();
    assert_eq!(status, "canceled");
    until("the page says lapsed", || async {
        visitor.get(&format!("/orders/{order}")).await.body.contains("lapsed-notice")
    })
    .await;
    cinema.proves().await;
}
