//! Bad input gets a clear error and loses nothing.

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use uuid::Uuid;

use crate::browser::{Browser, HTML, JSON, hold_form, serve};
use crate::support::{Cinema, GOOD_CARD};

/// Everything that a command could change, as one text.
async fn everything(cinema: &Cinema) -> String {
    sqlx::query_scalar(
        "select md5(string_agg(line, '|' order by line)) from (
             select seats::text as line from seats union all select orders::text from orders
             union all select payments::text from payments union all select tickets::text from tickets
             union all select sessions::text from sessions) lines",
    )
    .fetch_one(&cinema.db)
    .await
    .unwrap()
}

/// Field values that are not what they should be.
fn nonsense() -> Vec<String> {
    let mut values: Vec<String> =
        ["", " ", "null", "-1", "1e9", "0x10", "99999999999999999999", "'; drop table seats; --", "<script>"]
            .map(str::to_owned)
            .to_vec();
    values.extend(["\0".into(), "a\0b".into(), "\u{202e}\u{feff}".into(), "é".repeat(2_000), "9".repeat(10_000)]);
    values.push(Uuid::nil().to_string());
    values
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_of_every_form_refuses_nonsense() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1]).await.order();
    let before = everything(&cinema).await;

    let forms = [
        ("/api/hold_seats", hold_form(Uuid::new_v4(), show, &[2]), vec!["show", "attempt", "seats[]"]),
        ("/api/release_hold", vec![("order", order.to_string())], vec!["order"]),
        (
            "/api/pay",
            vec![("order", order.to_string()), ("attempt", Uuid::new_v4().to_string()), ("card", GOOD_CARD.to_owned())],
            vec!["order", "attempt", "card"],
        ),
    ];
    for (path, form, fields) in forms {
        for field in fields {
            for value in nonsense() {
                // The nil UUID is a fine name for a try.
                if field == "attempt" && value == Uuid::nil().to_string() {
                    continue;
                }
                let bad: Vec<_> = form
                    .iter()
                    .map(|(name, good)| (*name, if *name == field { value.clone() } else { good.clone() }))
                    .collect();
                let answer = visitor.post(path, &bad).await;
                let shown: String = value.chars().take(30).collect();
                assert!(answer.status.is_client_error(), "{path} {field}={shown:?}: {answer:?}");
                assert!(!answer.json()["message"].as_str().unwrap().is_empty());
                let page = visitor.submit(path, "/", &bad).await;
                assert_eq!(page.status, StatusCode::FOUND, "{path} {field}={shown:?} without JavaScript");
            }
            let without: Vec<_> = form.iter().filter(|(name, _)| *name != field).cloned().collect();
            let answer = visitor.post(path, &without).await;
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{path} without {field}: {answer:?}");
        }
    }
    assert_eq!(everything(&cinema).await, before);
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_forms_are_refused() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let before = everything(&cinema).await;
    let huge = format!("show={show}&attempt={}&{}", Uuid::new_v4(), "seats[]=1&".repeat(100_000));
    let json = format!(r#"{{"show":"{show}","seats":[1],"attempt":"{}"}}"#, Uuid::new_v4());
    let bodies: [(&str, Vec<u8>); 5] = [
        ("application/x-www-form-urlencoded", huge.into_bytes()),
        ("application/x-www-form-urlencoded", vec![0xff, 0xfe, 0x00]),
        ("application/x-www-form-urlencoded", b"seats[][][][][][][]=1&seats=2&%=%".to_vec()),
        ("application/json", json.into_bytes()),
        ("multipart/form-data", b"--x".to_vec()),
    ];
    for path in ["/api/hold_seats", "/api/release_hold", "/api/pay"] {
        for (kind, body) in &bodies {
            let request = visitor.raw_post(path, body.clone()).header(CONTENT_TYPE, *kind).header(ACCEPT, JSON);
            let answer = visitor.send(request).await;
            assert!(answer.status.is_client_error(), "{path} {kind}: {answer:?}");
        }
    }
    assert_eq!(everything(&cinema).await, before);
    cinema.proves().await;
}

/// H4 at the door.
#[tokio::test(flavor = "multi_thread")]
async fn selections_that_cannot_be_held_say_why() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(40).await;
    let other = cinema.show_of(80).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let many: Vec<i16> = (1..=600).collect();
    let cases: [(&[i16], u16, &str); 7] = [
        (&[], 422, "no_seats"),
        (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 422, "too_many_seats"),
        (&many[..12], 422, "too_many_seats"),
        (&many, 422, "too_many_seats"),
        (&[41], 422, "unknown_seat"),
        (&[1, 80], 422, "unknown_seat"),
        (&[0, -5], 422, "unknown_seat"),
    ];
    for (seats, status, error) in cases {
        let answer = visitor.hold(show, seats).await;
        assert_eq!((answer.status.as_u16(), answer.json()["error"].as_str().unwrap()), (status, error));
    }
    assert_eq!(visitor.hold(show, &[7; 11]).await.status, StatusCode::OK, "duplicates are folded");
    let nine: Vec<i16> = (11..=19).collect();
    assert_eq!(visitor.hold(show, &nine).await.status, StatusCode::OK);
    assert_eq!(visitor.hold(show, &[20]).await.json()["error"], "too_many_seats", "ten are held already");
    assert_eq!(visitor.hold(other, &[80]).await.status, StatusCode::OK, "another show counts for itself");
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_lead_nowhere_are_404_and_never_500() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let nobody = Uuid::new_v4();
    let long = "x".repeat(5_000);
    for path in [
        "/nothing",
        "/shows",
        "/shows/",
        "/orders",
        "/api",
        "/api/nothing",
        "/shows/x",
        "/shows/%00",
        "/shows/%ff",
        "/orders/%00",
        "/orders/x/pay",
        "/orders/x/clock",
        "/shows/x/seats",
        "/shows/%00/seats",
        "/pkg/../../Cargo.toml",
        "/pkg/%2e%2e/hash.txt",
    ] {
        let answer = visitor.get(path).await;
        assert!(answer.status.is_client_error(), "{path}: {}", answer.status);
    }
    for path in [
        format!("/shows/{nobody}"),
        format!("/orders/{nobody}"),
        format!("/orders/{nobody}/pay"),
        format!("/shows/{nobody}/seats"),
        format!("/orders/{nobody}/clock"),
        format!("/shows/{long}"),
    ] {
        let answer = visitor.get(&path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
    for query in [
        "/?day=yesterday",
        "/?day=9999-99-99",
        "/?day=%00",
        "/?day=-262143-01-01",
        "/?day=262142-12-31",
        "/?__path=/api/hold_seats&__err=%00",
    ] {
        assert_eq!(visitor.get(query).await.status, StatusCode::OK, "{query}");
    }
    for query in ["pick=1,2,%00,999999", "pick=", "__path=/api/hold_seats&__err=bm9uc2Vuc2U=", "__path=x&__err=x"] {
        assert_eq!(visitor.get(&format!("/shows/{show}?{query}")).await.status, StatusCode::OK, "{query}");
    }
    cinema.proves().await;
}

/// A host that is none is the sender's fault, not ours.
#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_host_is_refused() {
    let cinema = Cinema::open().await;
    let visitor = Browser::at(serve(&cinema.office).await);
    for host in ["a b", "a:b", "[::1", "%00", "evil.example/"] {
        let request = visitor.raw_post("/api/hold_seats", "").header("host", host);
        assert_eq!(visitor.send(request).await.status, StatusCode::BAD_REQUEST, "{host}");
    }
    cinema.proves().await;
}

/// Whoever has an order's link sees it; only its visitor's browser may act on it.
#[tokio::test(flavor = "multi_thread")]
async fn another_visitors_order_can_be_neither_released_nor_paid() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let site = serve(&cinema.office).await;
    let owner = Browser::at(site);
    let order = owner.hold(show, &[1]).await.order();
    let other = Browser::at(site);
    other.hold(show, &[2]).await;
    for somebody in [Browser::at(site), other] {
        let before = everything(&cinema).await;
        assert_eq!(somebody.release(order).await.json()["error"], "unknown_order");
        assert_eq!(somebody.pay(order, GOOD_CARD).await.status, StatusCode::NOT_FOUND);
        assert_eq!(everything(&cinema).await, before);
        let page = somebody.get(&format!("/orders/{order}/pay")).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(!page.body.contains("name=\"card\""), "no form for somebody else");
    }
    cinema.proves().await;
}

/// A made-up cookie is a stranger's.
#[tokio::test(flavor = "multi_thread")]
async fn forged_cookies_are_strangers() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    visitor.hold(show, &[1]).await;
    for cookie in
        ["matinee=", "matinee=AAAAAAAAAAAAAAAAAAAAAA", "matinee=%00", "matinee=\u{7f}", "other=1; matinee=x; matinee=y"]
    {
        let forger = Browser::at(visitor.site);
        let request = forger.raw_post("/api/release_hold", format!("order={}", Uuid::new_v4()));
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").header(ACCEPT, JSON);
        let Ok(value) = reqwest::header::HeaderValue::from_str(cookie) else { continue };
        let answer = forger.send(request.header("cookie", value)).await;
        assert_eq!(answer.json()["error"], "unknown_order", "{cookie}");
    }
    let page = visitor.send(visitor.raw_post("/api/pay", "").header(ACCEPT, HTML)).await;
    assert!(page.status.is_client_error() || page.status.is_redirection());
    cinema.proves().await;
}
