//! P9: any number of servers on one database.

use std::net::SocketAddr;
use std::process::Stdio;

use reqwest::StatusCode;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::browser::Browser;
use crate::support::{Cinema, GOOD_CARD};

/// A process of the program, on this database; ends with the test.
async fn start(url: &str) -> (Child, SocketAddr) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_matinee"))
        .args(["serve", "--listen", "127.0.0.1:0", "--database-url", url])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    let address = line.split("http://").nth(1).unwrap().trim().parse().unwrap();
    (process, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_share_sessions_holds_and_tickets() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let ((_first, here), (_second, there)) = (start(&cinema.url()).await, start(&cinema.url()).await);

    let visitor = Browser::at(here);
    let order = visitor.hold(show, &[1, 2]).await.order();
    let elsewhere = visitor.goes_to(there);
    let map = elsewhere.get(&format!("/shows/{show}")).await.body;
    assert!(map.contains("data-testid=\"held-notice\""), "the other server knows the visitor");
    let rival = Browser::at(there).hold(show, &[2, 3]).await;
    assert_eq!((rival.status, &rival.json()["seats"]), (StatusCode::CONFLICT, &serde_json::json!([2])));
    assert_eq!(elsewhere.pay(order, GOOD_CARD).await.location, Some(format!("/orders/{order}")));
    let tickets = visitor.get(&format!("/orders/{order}")).await.body;
    assert_eq!(tickets.matches("data-testid=\"ticket\"").count(), 2, "the first server shows what the second one sold");
    let mine = visitor.get("/my").await.body;
    assert!(mine.contains("1-1, 1-2"), "{mine}");
    cinema.proves().await;
}

/// The same visitor's last seats, asked for at both servers at once: never eleven.
#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_ten_holds_across_servers() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(40).await;
    let ((_first, here), (_second, there)) = (start(&cinema.url()).await, start(&cinema.url()).await);
    let visitor = Browser::at(here);
    visitor.hold(show, &[1, 2, 3, 4]).await;
    let elsewhere = visitor.goes_to(there);
    let (a, b) =
        tokio::join!(visitor.hold(show, &[11, 12, 13, 14, 15, 16]), elsewhere.hold(show, &[21, 22, 23, 24, 25, 26]));
    let mut statuses = [a.status.as_u16(), b.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 422]);
    cinema.proves().await;
}
