//! The no that is said at the door, in a crowd of losers: in nothing different from the one that the server function says.

use std::sync::Arc;

use matinee::box_office::BoxOffice;
use matinee::domain::ids::ShowId;
use matinee::store::pool;
use reqwest::StatusCode;
use uuid::Uuid;

use crate::browser::{Browser, HTML, JSON, encoded, hold_form, serve};
use crate::support::trips::Trips;
use crate::support::{Cinema, all_at_once};

/// Everything of an answer that a client can see, but the time.
async fn seen(site: std::net::SocketAddr, form: &[(&str, String)], accept: &str) -> (StatusCode, Vec<String>, String) {
    let request = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let request = request.post(format!("http://{site}/api/hold_seats")).body(encoded(form)).header("accept", accept);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let answer = request.header("referer", format!("http://{site}/shows/1")).send().await.unwrap();
    let headers = answer.headers().iter().filter(|(name, _)| *name != "date");
    let mut headers: Vec<String> =
        headers.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    headers.sort();
    (answer.status(), headers, answer.text().await.unwrap())
}

async fn a_crowd_loses(site: std::net::SocketAddr, show: ShowId) {
    all_at_once((0..24).map(|_| async move {
        let lost = Browser::at(site).hold(show, &[3]).await;
        assert_eq!(lost.status, StatusCode::CONFLICT);
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_crowd_the_answers_are_the_same() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let trips = Trips::to(&cinema.url()).await.unwrap();
    let counted = pool::connect(&trips.url).unwrap();
    let office = Arc::new(BoxOffice::new(counted, cinema.office.cinema.clone(), Arc::new(cinema.gateway.clone())));
    let site = serve(&office).await;
    let ada = Browser::at(site);
    let attempt = Uuid::new_v4();
    let order = ada.hold_as(attempt, show, &[3, 4]).await.order();

    let form = hold_form(Uuid::new_v4(), show, &[2, 3]);
    trips.since();
    let alone = seen(site, &form, JSON).await;
    assert!(trips.since() >= 1, "alone, the database refuses");
    assert_eq!(alone.0, StatusCode::CONFLICT);
    assert!(alone.1.iter().any(|header| header == "content-type: application/json"), "{:?}", alone.1);
    assert!(alone.2.contains("\"seats\":[3]") && alone.2.contains("\"nearest\":[1,2]"), "{}", alone.2);
    let page_alone = seen(site, &form, HTML).await;
    assert_eq!(page_alone.0, StatusCode::FOUND);

    // A machine that does other things may keep a crowd apart for so long that it is none; not always.
    let mut asked = Vec::new();
    while asked.last() != Some(&0) {
        assert!(asked.len() < 300, "the database was always asked: {asked:?}");
        a_crowd_loses(site, show).await;
        trips.since();
        let among = seen(site, &form, JSON).await;
        asked.push(trips.since());
        assert_eq!(among, alone);
    }
    a_crowd_loses(site, show).await;
    assert_eq!(seen(site, &form, HTML).await, page_alone);

    // Whoever has another answer gets it.
    a_crowd_loses(site, show).await;
    assert_eq!(ada.hold_as(attempt, show, &[3, 4]).await.order(), order, "the same form again");
    a_crowd_loses(site, show).await;
    assert_eq!(ada.hold(show, &[3]).await.json()["error"], "already_yours");
    for (form, status, error) in [
        (hold_form(Uuid::new_v4(), show, &[3, 99]), StatusCode::UNPROCESSABLE_ENTITY, "unknown_seat"),
        (hold_form(Uuid::new_v4(), show, &[]), StatusCode::UNPROCESSABLE_ENTITY, "no_seats"),
        (vec![("show", show.to_string()), ("seats[]", "3".to_owned())], StatusCode::UNPROCESSABLE_ENTITY, "bad_input"),
    ] {
        a_crowd_loses(site, show).await;
        let answer = Browser::at(site).post("/api/hold_seats", &form).await;
        assert_eq!((answer.status, answer.json()["error"].as_str()), (status, Some(error)), "{}", answer.body);
    }
    a_crowd_loses(site, show).await;
    Browser::at(site).hold(show, &[1, 2]).await.order();
    cinema.proves().await;
}
