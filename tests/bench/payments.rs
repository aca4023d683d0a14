//! Payments a second over HTTP, from the form to the tickets: through the real server, the simulated card processor within
//! it, and the database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::cinema::{Cinema, SEATS};
use crate::holds::{CLIENTS, become_visitors, form, is_held};
use crate::http::{Answer, Connection, load};
use crate::report::Row;
use crate::rounds::{Spread, percentile};
use crate::sale::all_sold;
use crate::server::{Server, TIRELESS};
use crate::{Options, Result};

/// How long the processor may take to tell what it has to tell.
const HEARING: Duration = Duration::from_secs(60);

/// Payments of four seats that were held before.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    let (rounds, duration) = options.rounds();
    // Each visitor holds once in each show, and pays all that while the time lasts.
    let shows = if options.quick { 60 } else { 200 };
    let (mut rates, mut p50, mut p99, mut heard) = (vec![], vec![], vec![], vec![]);
    for round in 0..=rounds {
        cinema.fill(shows, SEATS).await?;
        let server = Server::start_with(cinema, TIRELESS).await?;
        let cookies = Arc::new(become_visitors(&server).await?);
        let orders = Arc::new(hold_everywhere(&server, &cookies, shows).await?);
        let request = move |connection: &Connection, client: usize, nth: usize| {
            let (order, attempt) = (orders[client].get(nth)?, Uuid::new_v4());
            let form = format!("order={order}&attempt={attempt}&card=4242424242424242");
            Some(connection.post("/api/pay", &cookies[client], &form))
        };
        // The first round warms everything up and counts for nothing.
        let duration = if round == 0 { Duration::from_secs(1) } else { duration };
        let mut load = load(server.address, CLIENTS, duration, request, is_told).await?;
        let heard_s = all_is_heard(cinema).await?;
        server.stop(cinema).await?;
        all_sold(cinema, i64::try_from(load.times.len())?).await?;
        if round > 0 {
            rates.push(load.rate());
            p50.push(percentile(&mut load.times, 0.5));
            p99.push(percentile(&mut load.times, 0.99));
            heard.push(heard_s);
        }
    }
    let (p50, p99) = (Spread::of(&p50).show("ms"), Spread::of(&p99).show("ms"));
    Ok(vec![
        Row::spread("Payments of 4 seats over HTTP, 32 visitors, to the tickets", Spread::of(&rates), "a second"),
        Row::new("Time of such a payment over HTTP", format!("p50 {p50}, p99 {p99}")),
        Row::spread(
            "The card processor’s last message about them was heard, after the last payment",
            Spread::of(&heard),
            "s",
        ),
    ])
}

/// The orders of each visitor, one in each show.
async fn hold_everywhere(server: &Server, cookies: &Arc<Vec<String>>, shows: usize) -> Result<Vec<Vec<String>>> {
    let visitors: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (address, cookies) = (server.address, Arc::clone(cookies));
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await?;
                let mut orders = Vec::with_capacity(shows);
                for show in 0..shows {
                    // Behind the seats by which they became visitors.
                    let request =
                        connection.post("/api/hold_seats", &cookies[client], &form(show, (client + 1) * 4 + 1));
                    let answer = connection.ask(&request).await?;
                    let page = answer.header("location").filter(|_| is_held(&answer));
                    let order = page.and_then(|page| page.split('/').nth_back(1));
                    orders.push(order.ok_or_else(|| format!("a hold lost: {}", answer.status))?.to_owned());
                }
                Result::Ok(orders)
            })
        })
        .collect();
    let mut orders = Vec::with_capacity(CLIENTS);
    for visitor in visitors {
        orders.push(visitor.await??);
    }
    Ok(orders)
}

/// Redirected to the order's own page.
fn is_told(answer: &Answer<'_>) -> bool {
    answer.status < 400
        && answer.header("location").is_some_and(|page| page.contains("/orders/") && !page.ends_with("/pay"))
}

/// Waits until the processor has told all; how long that took, in seconds.
async fn all_is_heard(cinema: &Cinema) -> Result<f64> {
    let since = Instant::now();
    while cinema.number("select count(*) from gateway.events where delivered_at is null").await? > 0 {
        if since.elapsed() > HEARING {
            return Err(format!("the processor is not done after {HEARING:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(since.elapsed().as_secs_f64())
}
