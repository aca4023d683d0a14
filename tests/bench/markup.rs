//! The seat page against the same bytes written by hand: what rendering, sessions, limits and layers cost.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

use crate::cinema::Cinema;
use crate::http::{Connection, load};
use crate::pages::open_week;
use crate::report::{Goal, Row};
use crate::rounds::{Spread, percentile};
use crate::server::Server;
use crate::{Options, Result};

const CONNECTIONS: usize = 32;
/// Before the number of each seat on the page.
const MARK: &str = "data-testid=\"seat-";

/// Pages a second of both, in turns.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    let (rounds, duration) = options.rounds();
    let show = open_week(cinema).await?.large;
    let server = Server::start(cinema).await?;
    let page = {
        let mut connection = Connection::open(server.address).await?;
        let request = connection.get(&show.path, "");
        String::from_utf8(body(connection.ask(&request).await?.body))?
    };
    let by_hand = ByHand::serve(&page, show.seats).await?;
    let (mut rates, mut hand_rates, mut p99) = (vec![], vec![], vec![]);
    for round in 0..=rounds.min(3) {
        let duration = if round == 0 { duration / 5 } else { duration };
        let mut of = Vec::new();
        for (address, path) in [(server.address, show.path.clone()), (by_hand.address, "/".to_owned())] {
            let length = page.len();
            let request = move |connection: &Connection, _: usize, _: usize| Some(connection.get(&path, ""));
            let is_page =
                move |answer: &crate::http::Answer<'_>| answer.status == 200 && answer.body.len() >= length * 9 / 10;
            of.push(load(address, CONNECTIONS, duration, request, is_page).await?);
        }
        if let ([page, hand], true) = (&mut of[..], round > 0) {
            rates.push(page.rate());
            hand_rates.push(hand.rate());
            p99.push(percentile(&mut page.times, 0.99));
        }
    }
    server.stop(cinema).await?;
    let share = Spread::of(&rates.iter().zip(&hand_rates).map(|(page, hand)| 100.0 * page / hand).collect::<Vec<_>>());
    let p99 = Spread::of(&p99);
    let seats = show.seats;
    Ok(vec![
        Row::spread(format!("Seat page, {seats} seats, {CONNECTIONS} connections, not compressed: p99"), p99, "ms")
            .judged(p99.median, Goal::Below(25.0, 10.0), "ms"),
        Row::new(
            format!("Seat page, {seats} seats / the same bytes written by hand"),
            format!(
                "{}; {} and {}",
                share.show("%"),
                Spread::of(&rates).show("a second"),
                Spread::of(&hand_rates).show("a second")
            ),
        )
        .judged(share.median, Goal::Above(8.0, 20.0), "%"),
    ])
}

/// A page's text without the lengths of its parts.
fn body(sent: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(sent.len());
    let mut rest = sent;
    while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
        let length = std::str::from_utf8(&rest[..line]).ok().and_then(|hex| usize::from_str_radix(hex, 16).ok());
        let Some(length) = length.filter(|length| *length > 0 && line + 2 + length <= rest.len()) else { break };
        plain.extend_from_slice(&rest[line + 2..line + 2 + length]);
        rest = &rest[(line + 4 + length).min(rest.len())..];
    }
    if plain.is_empty() { sent.to_vec() } else { plain }
}

/// A server with one page and nothing around it, on threads of its own as the product has.
struct ByHand {
    address: SocketAddr,
    _runtime: Stopped,
}

struct Stopped(Option<tokio::runtime::Runtime>);

impl Drop for Stopped {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl ByHand {
    async fn serve(page: &str, seats: usize) -> Result<Self> {
        let mut parts = page.split(MARK).map(str::to_owned);
        let head = parts.next().unwrap_or_default();
        // Behind each mark the number of the seat, then what is fixed about it.
        let seats_text: Vec<String> =
            parts.map(|part| part.trim_start_matches(|digit: char| digit.is_ascii_digit()).to_owned()).collect();
        if seats_text.len() != seats {
            return Err(format!("the page shows {} seats of {seats}", seats_text.len()).into());
        }
        let (parts, length) = (Arc::new((head, seats_text)), page.len() + 64);
        let write = move || {
            let parts = Arc::clone(&parts);
            async move {
                let (head, seats) = &*parts;
                let mut page = String::with_capacity(length);
                page.push_str(head);
                for (nth, seat) in seats.iter().enumerate() {
                    // Writing to a string cannot fail.
                    let _ = write!(page, "{MARK}{}{seat}", nth + 1);
                }
                ([(CONTENT_TYPE, "text/html; charset=utf-8")], page)
            }
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            axum::serve(listener, Router::new().route("/", get(write))).await
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(Self { address, _runtime: Stopped(Some(runtime)) })
    }
}
