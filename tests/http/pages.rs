//! Pages and data, as their first bytes are.

use reqwest::StatusCode;
use serde_json::Value;

use crate::browser::{Browser, serve};
use crate::support::{Cinema, GOOD_CARD, QUARTER_HOUR_S, layout_of};

/// B3: a real redirect, in the first response.
#[tokio::test(flavor = "multi_thread")]
async fn the_payment_page_of_a_lapsed_order_redirects_to_its_story() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1]).await.order();
    cinema.expire(order).await;
    let page = visitor.get(&format!("/orders/{order}/pay")).await;
    assert_eq!((page.status, page.location), (StatusCode::FOUND, Some(format!("/orders/{order}"))));
    // Also for whoever takes any kind of answer.
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let any = client.get(format!("http://{}/orders/{order}/pay", visitor.site)).send().await.unwrap();
    assert_eq!(
        (any.status(), any.headers()["location"].to_str().unwrap()),
        (StatusCode::FOUND, &*format!("/orders/{order}"))
    );
    let story = visitor.get(&format!("/orders/{order}")).await;
    assert!(story.body.contains("data-testid=\"lapsed-notice\""));
    cinema.proves().await;
}

/// P1: the seats went to somebody else before the money came; both clock times are told.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_came_too_late_is_refunded_and_told() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let site = serve(&cinema.office).await;
    let (slow, quick) = (Browser::at(site), Browser::at(site));
    let order = slow.hold(show, &[1]).await.order();
    let paying = {
        let slow = slow.goes_to(site);
        // Accepted after five seconds: time for the hold to lapse and for somebody else to buy.
        tokio::spawn(async move { slow.pay(order, "4000000000000341").await })
    };
    crate::support::until("the payment is under way", || async { cinema.payments(order).await.len() == 1 }).await;
    cinema.age(order, chrono::TimeDelta::seconds(i64::from(QUARTER_HOUR_S) + 1)).await;
    let bought = quick.hold(show, &[1]).await.order();
    quick.pay(bought, GOOD_CARD).await;
    paying.await.unwrap();
    let story = slow.get(&format!("/orders/{order}")).await.body;
    for words in
        ["Your payment was refunded", "Hold ended at", "Payment arrived at", "EUR 12.50", "no tickets for this order"]
    {
        assert!(story.contains(words), "{words}: {story}");
    }
    assert_eq!(cinema.ticketed(bought).await, [1]);
    assert_eq!(cinema.ticketed(order).await, Vec::<i16>::new());
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_map_as_data_says_what_the_contract_says() {
    let cinema = Cinema::open().await;
    let layout = "zone s Stalls\nzone p Premium\nmark W p wheelchair\nrow A | ss.s\nrow A'\"<b> | pW";
    let show = cinema.show(layout, &[950, 1250], 37).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    visitor.hold(show, &[5]).await;
    let map = visitor.get(&format!("/shows/{show}/seats")).await.json();
    assert_eq!(map["show"], show.to_string());
    assert_eq!(map["hold_window_s"], 37);
    assert!(map["version"].is_u64());
    assert!(chrono::DateTime::parse_from_rfc3339(map["now"].as_str().unwrap()).is_ok());
    let seats = map["seats"].as_array().unwrap();
    assert_eq!(seats.len(), 5);
    let mut held = seats[4].clone();
    assert!(held["locked_at"].is_string());
    held["locked_at"] = Value::Null;
    let expected = serde_json::json!({"no": 5, "row": "A'\"<b>", "label": "A'\"<b>-2", "zone": "Premium", "kind": "wheelchair",
        "price_minor": 1250, "status": "locked", "locked_at": null});
    assert_eq!(held, expected);
    assert_eq!(seats[0]["status"], "available");
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_map_is_answered_by_its_tag_alone() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let site = serve(&cinema.office).await;
    let visitor = Browser::at(site);
    let url = format!("http://{site}/shows/{show}/seats");
    let client = reqwest::Client::new();
    let first = client.get(&url).send().await.unwrap();
    let tag = first.headers()["etag"].clone();
    let again = client.get(&url).header("if-none-match", tag.clone()).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(again.headers()["etag"], tag);
    visitor.hold(show, &[1]).await;
    let changed = client.get(&url).header("if-none-match", tag).send().await.unwrap();
    assert_eq!(changed.status(), StatusCode::OK);
    cinema.proves().await;
}

/// The map is everybody's; what is one's own is asked for with one's cookie.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_mine_is_told_to_me_alone() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let site = serve(&cinema.office).await;
    let (ada, bert) = (Browser::at(site), Browser::at(site));
    let order = ada.hold(show, &[2, 3]).await.order();
    bert.hold(show, &[5]).await;
    let path = format!("/shows/{show}/mine");
    assert_eq!(ada.get(&path).await.json(), serde_json::json!({"seats": [2, 3]}));
    assert_eq!(bert.get(&path).await.json(), serde_json::json!({"seats": [5]}));
    assert_eq!(Browser::at(site).get(&path).await.json(), serde_json::json!({"seats": []}));
    assert_eq!(ada.get("/shows/nonsense/mine").await.status, StatusCode::NOT_FOUND);
    cinema.expire(order).await;
    assert_eq!(ada.get(&path).await.json(), serde_json::json!({"seats": []}));
    cinema.proves().await;
}

/// B5: the largest hall that the picker is made for, in a build without optimisation.
#[tokio::test(flavor = "multi_thread")]
async fn a_hall_of_three_thousand_seats_is_rendered_whole() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3_000).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let page = visitor.get(&format!("/shows/{show}")).await;
    assert_eq!(page.status, StatusCode::OK);
    assert_eq!(page.body.matches("name=\"seats[]\"").count(), 3_000);
    cinema.proves().await;
}

/// B8: labels are text, whatever they look like.
#[tokio::test(flavor = "multi_thread")]
async fn labels_are_escaped_wherever_they_stand() {
    let cinema = Cinema::open().await;
    let layout = "zone s <i>Stalls</i>\nrow A'\"<b> | ss\nrow <script>alert(1)</script> | ss\nrow 🎬🍿 | ss\nrow Ё | ss\nrow א | ss";
    let show = cinema.show(layout, &[950], QUARTER_HOUR_S).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let held = visitor.hold(show, &[1, 3, 5, 7, 9]).await.order();
    let map = visitor.get(&format!("/shows/{show}")).await.body;
    let pay = visitor.get(&format!("/orders/{held}/pay")).await.body;
    visitor.pay(held, GOOD_CARD).await;
    let tickets = visitor.get(&format!("/orders/{held}")).await.body;
    for page in [&map, &pay, &tickets] {
        assert!(
            !page.contains("<script>alert") && !page.contains("<i>stalls") && !page.contains("<i>Stalls"),
            "{page}"
        );
        assert!(page.contains("🎬🍿") && page.contains('Ё') && page.contains('א'));
    }
    cinema.proves().await;
}

/// The first page counts a day's seats once in two seconds, however many look at it.
#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_on_the_first_page_does_not_count_the_seats_once_a_view() {
    let cinema = Cinema::open().await;
    for _ in 0..3 {
        cinema.show(&layout_of(60), &[950], QUARTER_HOUR_S).await;
    }
    let visitor = Browser::at(serve(&cinema.office).await);
    let tomorrow =
        (chrono::Utc::now() + chrono::TimeDelta::days(1)).with_timezone(&chrono_tz::Europe::Berlin).date_naive();
    let path = format!("/?day={tomorrow}");
    let started = std::time::Instant::now();
    for _ in 0..100 {
        let page = visitor.get(&path).await;
        assert!(page.body.contains("60 seats free"), "{}", page.body);
    }
    let spans = started.elapsed().as_secs() / 2 + 1;
    let mut cinema = cinema;
    cinema.ends(&[]).await;
    let scans: i64 =
        sqlx::query_scalar("select coalesce(idx_scan, 0) + seq_scan from pg_stat_user_tables where relname = 'seats'")
            .fetch_one(&cinema.db)
            .await
            .unwrap();
    // Three shows a count, at most; the setting up counts too.
    let most = 3 * (i64::try_from(spans).unwrap() + 1) + 6;
    assert!(scans <= most, "{scans} scans of seats for 100 views in {spans} spans");
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_headers() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let site = serve(&cinema.office).await;
    let client = reqwest::Client::new();
    for (path, body) in [("/healthz", "ok"), ("/readyz", "ready")] {
        let answer = client.get(format!("http://{site}{path}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.text().await.unwrap(), body);
    }
    let page = client.get(format!("http://{site}/shows/{show}")).send().await.unwrap();
    let header = |name: &str| page.headers()[name].to_str().unwrap();
    assert!(header("content-security-policy").contains("default-src 'none'"));
    assert_eq!(header("referrer-policy"), "same-origin");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("cache-control"), "no-store");
    cinema.proves().await;
}

/// What is not there says so, in words; and is not kept by a browser, since it may be there tomorrow.
#[tokio::test(flavor = "multi_thread")]
async fn missing_files_and_wrong_methods_are_answered_in_words() {
    let cinema = Cinema::open().await;
    let site = serve(&cinema.office).await;
    let client = reqwest::Client::new();
    // Longer than a file system lets a name be, and than it lets a path be.
    let (name, path) = (format!("/pkg/{}", "x".repeat(300)), format!("/posters{}", "/x".repeat(3_000)));
    for path in ["/pkg/matinee.0000000000000000.wasm", "/posters/none.svg", &name, &path] {
        let answer = client.get(format!("http://{site}{path}")).send().await.unwrap();
        assert_eq!(
            (answer.status(), &answer.headers()["cache-control"]),
            (StatusCode::NOT_FOUND, &"no-store".parse().unwrap())
        );
        assert_eq!(answer.text().await.unwrap(), "There is no such file.");
    }
    for path in ["/", "/my", "/healthz"] {
        let answer = client.delete(format!("http://{site}{path}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert_eq!(answer.text().await.unwrap(), "There is nothing here for this method.", "{path}");
    }
    cinema.proves().await;
}
