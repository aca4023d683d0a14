//! H9: clients that hang up at a random moment. In sqlx a dropped `begin()` leaves a pooled connection in a transaction
//! and loses what later statements acknowledge; Matinee's writes are single statements, or run where nothing is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use matinee::box_office::BoxOffice;
use matinee::domain::ids::{OrderId, ShowId};
use matinee::domain::order::Standing;
use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::browser::{Browser, serve};
use crate::support::{Cinema, all_at_once, until};

const CLIENTS: u64 = 48;
/// A third of the clients wait for the answer; the others leave within this time.
const LONGEST_STAY: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_clients_that_hang_up_loses_nothing_that_was_answered() {
    let cinema = Cinema::open().await;
    let office = Arc::clone(&cinema.office);
    storm(cinema, &office, 20_000, 1_000).await;
}

/// The same when the database is further away, so that clients also leave while a statement is on its way there or back.
#[tokio::test(flavor = "multi_thread")]
async fn a_storm_before_a_slow_database_loses_nothing_either() {
    let cinema = Cinema::open().await;
    let office = cinema.office_far_away(Duration::from_millis(3)).await;
    storm(cinema, &office, 10_000, 500).await;
}

/// So many requests; that many of them at least must have been answered with a hold, or the storm was none.
async fn storm(cinema: Cinema, office: &Arc<BoxOffice>, requests: usize, least: usize) {
    let mut shows = Vec::new();
    for _ in 0..8 {
        shows.push(cinema.show_of(1_000).await);
    }
    let shows = Arc::new(shows);
    let site = serve(office).await;
    let sent = Arc::new(AtomicUsize::new(0));
    let acknowledged = Arc::new(Mutex::new(Vec::<OrderId>::new()));

    let clients = (0..CLIENTS).map(|seed| {
        let (shows, sent, acknowledged) = (Arc::clone(&shows), Arc::clone(&sent), Arc::clone(&acknowledged));
        async move {
            let mut dice = StdRng::seed_from_u64(seed);
            while sent.fetch_add(1, Ordering::Relaxed) < requests {
                let show = shows[dice.random_range(0..shows.len())];
                let stay = (!dice.random_ratio(1, 3)).then(|| LONGEST_STAY.mul_f64(dice.random()));
                let request = request(&mut dice, show);
                if let Some(order) = ask(site, &request, stay).await {
                    acknowledged.lock().await.push(order);
                }
            }
        }
    });
    all_at_once(clients).await;

    until("no connection is in a transaction", || async {
        let open: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where state like 'idle in transaction%' and application_name = 'matinee'",
        )
        .fetch_one(&cinema.db)
        .await
        .unwrap();
        open == 0
    })
    .await;
    let acknowledged = acknowledged.lock().await;
    assert!(acknowledged.len() > least, "the storm left {} holds that were answered", acknowledged.len());
    for order in acknowledged.iter() {
        assert!(matches!(cinema.standing(*order).await, Standing::Held { .. }), "{order} was answered and is not held");
    }
    // The pool is well: sixteen at once are served.
    let well = (0..16).map(|_| async move { Browser::at(site).get("/readyz").await.body });
    assert_eq!(all_at_once(well).await, vec!["ready"; 16]);
    cinema.proves().await;
}

/// A hold of one to three seats, by a stranger; or a look at the map.
fn request(dice: &mut StdRng, show: ShowId) -> String {
    if dice.random_ratio(1, 8) {
        return format!("GET /shows/{show}/seats HTTP/1.1\r\nhost: matinee\r\nconnection: close\r\n\r\n");
    }
    let first = dice.random_range(1..=998_i16);
    let seats: String = (first..=first + dice.random_range(0..=2)).map(|seat| format!("&seats%5B%5D={seat}")).collect();
    let body = format!("show={show}&attempt={}{seats}", Uuid::from_u128(dice.random()));
    format!(
        "POST /api/hold_seats HTTP/1.1\r\nhost: matinee\r\nconnection: close\r\naccept: application/json\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends it and hangs up after a while, or waits; the order if the answer said that it is held.
async fn ask(site: std::net::SocketAddr, request: &str, stay: Option<Duration>) -> Option<OrderId> {
    let mut stream = TcpStream::connect(site).await.ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    match stay {
        Some(stay) => {
            let _ = tokio::time::timeout(stay, stream.read_to_end(&mut answer)).await;
        }
        None => {
            stream.read_to_end(&mut answer).await.ok()?;
        }
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(!answer.starts_with("HTTP/1.1 5"), "{answer}");
    let path = answer.split("location: /orders/").nth(1)?;
    path.split("/pay").next()?.parse().ok()
}
