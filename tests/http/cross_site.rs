//! B4: what another site sends in a visitor's name is refused.

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, CONTENT_TYPE, ORIGIN};
use uuid::Uuid;

use crate::browser::{Browser, HTML, hold_form, serve};
use crate::support::Cinema;

#[tokio::test(flavor = "multi_thread")]
async fn forms_and_scripts_of_other_sites_are_refused() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1]).await.order();
    let hold: Vec<String> =
        hold_form(Uuid::new_v4(), show, &[2]).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    let commands = [
        ("/api/hold_seats", hold.join("&")),
        ("/api/release_hold", format!("order={order}")),
        ("/api/pay", format!("order={order}&attempt={}&card=4242424242424242", Uuid::new_v4())),
    ];
    let senders: [&[(&str, &str)]; 4] = [
        &[("sec-fetch-site", "cross-site"), (ORIGIN.as_str(), "https://elsewhere.example")],
        &[("sec-fetch-site", "same-site"), (ORIGIN.as_str(), "https://sister.example")],
        &[(ORIGIN.as_str(), "https://elsewhere.example")],
        &[(ORIGIN.as_str(), "null")],
    ];
    for (path, body) in &commands {
        for sender in senders {
            for kind in ["application/x-www-form-urlencoded", "text/plain"] {
                let request = visitor.raw_post(path, body.clone()).header(CONTENT_TYPE, kind).header(ACCEPT, HTML);
                let request = sender.iter().fold(request, |request, (name, value)| request.header(*name, *value));
                let answer = visitor.send(request).await;
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {sender:?} {kind}");
            }
        }
    }
    assert_eq!(cinema.free(show).await, [2, 3, 4, 5, 6, 7, 8], "nothing was held, nothing given back");
    assert!(cinema.payments(order).await.is_empty());
    cinema.proves().await;
}
