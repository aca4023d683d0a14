//! Fair shares at the door: a flood is refused with the time after which to try again, and everybody else is served.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use matinee::server::limits::Shares;
use reqwest::StatusCode;

use crate::browser::{Browser, JSON, hold_form, serve, serve_in_shares};
use crate::support::{Cinema, all_at_once};

fn shares(by_visitor: u32, by_address: u32) -> Shares {
    let trusted = vec!["127.0.0.1/32".parse().unwrap()];
    Shares { by_visitor: NonZeroU32::new(by_visitor), by_address: NonZeroU32::new(by_address), trusted }
}

/// A stranger at this address asks for a seat.
async fn asks_from(
    browser: &Browser,
    address: &str,
    show: matinee::domain::ids::ShowId,
    seat: i16,
) -> (StatusCode, Option<u64>) {
    let form = hold_form(uuid::Uuid::new_v4(), show, &[seat]);
    let body = form.iter().map(|(name, value)| format!("{}={value}", name.replace("[]", "%5B%5D"))).collect::<Vec<_>>();
    let request = browser.raw_post("/api/hold_seats", body.join("&")).header("X-Forwarded-For", address);
    let request = request.header("Content-Type", "application/x-www-form-urlencoded").header("Accept", JSON);
    let answer = browser.send(request).await;
    (answer.status, answer.retry_after.map(|seconds| seconds.parse().unwrap()))
}

#[tokio::test]
async fn one_address_cannot_have_the_share_of_others() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(60).await;
    let site = serve_in_shares(&cinema.office, shares(0, 2)).await;
    // Ten at once, two a second.
    let mut refused = Vec::new();
    for seat in 1..=30 {
        let (status, retry_after) = asks_from(&Browser::at(site), "198.51.100.1", show, seat).await;
        if status != StatusCode::OK {
            refused.push((status, retry_after));
        }
    }
    assert!(refused.len() >= 10, "{} of 30 were refused", refused.len());
    assert!(refused.iter().all(|refusal| *refusal == (StatusCode::TOO_MANY_REQUESTS, Some(1))), "{refused:?}");
    // Others, and those who only look, are not.
    for (nth, address) in ["198.51.100.2", "203.0.113.7", "[2001:db8::1]:4711"].into_iter().enumerate() {
        let seat = i16::try_from(40 + nth).unwrap();
        assert_eq!(asks_from(&Browser::at(site), address, show, seat).await, (StatusCode::OK, None), "{address}");
    }
    let look = Browser::at(site);
    let page = look.send(
        reqwest::Client::new().get(format!("http://{site}/shows/{show}")).header("X-Forwarded-For", "198.51.100.1"),
    );
    assert_eq!(page.await.status, StatusCode::OK);
    // After a moment the share is there again.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(asks_from(&Browser::at(site), "198.51.100.1", show, 50).await, (StatusCode::OK, None));
    cinema.proves().await;
}

#[tokio::test]
async fn reads_have_a_share_too() {
    let cinema = Cinema::open().await;
    let site = serve_in_shares(&cinema.office, shares(0, 1)).await;
    let client = reqwest::Client::new();
    let mut statuses = Vec::new();
    for _ in 0..80 {
        let answer =
            client.get(format!("http://{site}/healthz")).header("X-Forwarded-For", "198.51.100.1").send().await;
        statuses.push(answer.unwrap().status());
    }
    let refused = statuses.iter().filter(|status| **status == StatusCode::TOO_MANY_REQUESTS).count();
    assert!(refused > 0 && statuses[..50].iter().all(|status| *status == StatusCode::OK), "{refused} of 80");
    cinema.proves().await;
}

/// A visitor has one share, from however many addresses, and other visitors have theirs.
#[tokio::test]
async fn one_visitor_cannot_flood_from_many_addresses() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(60).await;
    let site = serve_in_shares(&cinema.office, shares(1, 100)).await;
    let (ada, bert) = (Browser::at(site), Browser::at(site));
    bert.hold(show, &[60]).await.order();
    let order = ada.hold(show, &[1]).await.order();
    let mut refused = 0;
    for nth in 0..20 {
        let request = ada.raw_post("/api/release_hold", format!("order={order}"));
        let request = request.header("Content-Type", "application/x-www-form-urlencoded").header("Accept", JSON);
        let answer = ada.send(request.header("X-Forwarded-For", format!("198.51.100.{nth}"))).await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            assert_eq!(answer.json()["error"], "too_many_requests");
            assert!(answer.retry_after.is_some());
            refused += 1;
        }
    }
    assert!(refused >= 10, "{refused} of 20");
    bert.hold(show, &[59]).await.order();
    cinema.proves().await;
}

/// An address of this machine is a proxy that nobody named, and speaks for everybody.
#[tokio::test]
async fn a_proxy_that_nobody_named_is_not_limited_for_its_visitors() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(60).await;
    let unnamed = Shares { trusted: Vec::new(), ..shares(0, 1) };
    let site = serve_in_shares(&cinema.office, unnamed).await;
    for seat in 1..=30 {
        assert_eq!(asks_from(&Browser::at(site), "198.51.100.1", show, seat).await.0, StatusCode::OK);
    }
    cinema.proves().await;
}

/// More than the server can take on: each is answered or refused at once, none is left waiting, and afterwards all is well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overloaded_server_refuses_at_once_and_recovers() {
    const CROWD: usize = 5_000;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(6).await;
    let far = cinema.office_far_away(Duration::from_millis(200)).await;
    let site = serve(&far).await;
    let start = std::time::Instant::now();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let asked = (0..CROWD).map(|_| {
        let request = client.get(format!("http://{site}/orders/{}/clock", uuid::Uuid::new_v4()));
        tokio::spawn(async move {
            request.send().await.map(|answer| (answer.status(), answer.headers().contains_key("retry-after")))
        })
    });
    let (mut answered, mut refused, mut cut) = (0, 0, 0);
    for answer in asked.collect::<Vec<_>>() {
        match answer.await.unwrap() {
            Ok((StatusCode::NOT_FOUND, _)) => answered += 1,
            Ok((StatusCode::SERVICE_UNAVAILABLE, retry_after)) => {
                assert!(retry_after);
                refused += 1;
            }
            Ok(other) => panic!("{other:?}"),
            // More connections than this machine lets a program have.
            Err(_) => cut += 1,
        }
    }
    println!("{answered} answered, {refused} refused, {cut} not connected, in {:?}", start.elapsed());
    assert!(answered > 0 && refused > 0);
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!(Browser::at(site).get(&format!("/shows/{show}")).await.status, StatusCode::OK);
    cinema.proves().await;
}

/// Sixty ask from one address at once, and the database is far away: they take turns, and whoever comes from elsewhere in the midst
/// of them is answered as if they were not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_seldom_does_not_wait_behind_a_storm() {
    const STORM: i16 = 60;
    const AWAY: Duration = Duration::from_millis(40);
    let cinema = Cinema::open().await;
    let show = cinema.show_of(100).await;
    let far = cinema.office_far_away(AWAY).await;
    let site = serve_in_shares(&far, shares(0, 100)).await;
    // Others were here before: there are connections to the database, and they know the statements.
    let earlier = (0..24_i16)
        .map(|nth| async move { asks_from(&Browser::at(site), &format!("203.0.113.{nth}"), show, 71 + nth).await.0 });
    assert!(all_at_once(earlier).await.iter().all(|status| *status == StatusCode::OK));
    let done = Arc::new(AtomicUsize::new(0));
    let storm = (1..=STORM).map(|seat| {
        let done = Arc::clone(&done);
        tokio::spawn(async move {
            let answer = asks_from(&Browser::at(site), "198.51.100.1", show, seat).await;
            done.fetch_add(1, Ordering::SeqCst);
            answer
        })
    });
    let storm: Vec<_> = storm.collect();
    tokio::time::sleep(AWAY).await;
    let asked = Instant::now();
    assert_eq!(asks_from(&Browser::at(site), "198.51.100.2", show, 69).await.0, StatusCode::OK);
    let took = asked.elapsed();
    let before = done.load(Ordering::SeqCst);
    assert!(before < 40, "{before} of {STORM} were, in {took:?}, answered before somebody who came from elsewhere");
    let (mut held, mut told_to_wait) = (0, 0);
    for answer in storm {
        match answer.await.unwrap() {
            (StatusCode::OK, None) => held += 1,
            (StatusCode::SERVICE_UNAVAILABLE, Some(_)) => told_to_wait += 1,
            other => panic!("{other:?}"),
        }
    }
    println!("{before} before, after {took:?}; {held} held, {told_to_wait} told to come again");
    assert!(held > 8 && told_to_wait > 0, "{held} held, {told_to_wait} told to come again");
    cinema.proves().await;
}
