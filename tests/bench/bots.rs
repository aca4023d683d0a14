//! An honest visitor's time while ten times as many bots storm another show, which is sold out.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::bare::House;
use crate::cinema::{Cinema, show_id};
use crate::holds::is_held;
use crate::http::Connection;
use crate::report::{Goal, Row};
use crate::rounds::{Spread, percentile};
use crate::server::Server;
use crate::{Options, Result};

/// Who wants to buy.
const HONEST: usize = 32;
/// Who storms.
const BOTS: usize = 10 * HONEST;
/// Between two visits of an honest one.
const PAUSE: Duration = Duration::from_millis(200);
/// How often each comes in a measurement, at most.
const VISITS: usize = 18;
/// The show that people want, large enough for a round, and the one that is sold out.
const HOUSE: House = House { shows: 2, seats: 1_200 };
const WANTED: usize = 0;
const SOLD_OUT: usize = 1;

/// The times of one round.
struct Times {
    maps: Vec<f64>,
    holds: Vec<f64>,
}

/// p99 of map and hold, idle and stormed, in turns.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    let (rounds, duration) = options.rounds();
    let (mut idle, mut stormed, mut answers) = ([vec![], vec![]], [vec![], vec![]], vec![]);
    for round in 0..=rounds.min(3) {
        HOUSE.open(cinema).await?;
        cinema
            .run(&format!(
                "update seats set status = 'booked', order_id = gen_random_uuid() where show_id = '{}'",
                show_id(SOLD_OUT)
            ))
            .await?;
        // Each comes from an address of its own, as a proxy would say it.
        let server = Server::start_with(cinema, &["--trusted-proxy", "127.0.0.1/32"]).await?;
        let alone = honest(&server, duration, round * 2).await?;
        let storm = Storm::begin(&server).await?;
        let among = honest(&server, duration, round * 2 + 1).await;
        let rate = storm.end().await?;
        server.stop(cinema).await?;
        if round > 0 {
            answers.push(rate);
            for (to, mut times) in [(&mut idle, alone), (&mut stormed, among?)] {
                to[0].push(percentile(&mut times.maps, 0.99));
                to[1].push(percentile(&mut times.holds, 0.99));
            }
        }
    }
    let mut rows = Vec::new();
    for (nth, what) in ["map", "hold"].into_iter().enumerate() {
        let ratios: Vec<f64> = stormed[nth].iter().zip(&idle[nth]).map(|(stormed, idle)| stormed / idle).collect();
        let ratio = Spread::of(&ratios);
        rows.push(
            Row::new(
                format!("An honest visitor’s {what}, p99, while {BOTS} bots storm a sold-out show / idle"),
                format!(
                    "{}; {} stormed, {} idle",
                    ratio.show("times"),
                    Spread::of(&stormed[nth]).show("ms"),
                    Spread::of(&idle[nth]).show("ms")
                ),
            )
            .judged(ratio.median, Goal::Below(5.0, 2.0), "times"),
        );
    }
    rows.push(Row::spread("The bots were answered meanwhile", Spread::of(&answers), "times a second"));
    Ok(rows)
}

/// Honest visitors look at the map and hold a seat that is free, again and again with pauses, each at seats of their own.
async fn honest(server: &Server, duration: Duration, turn: usize) -> Result<Times> {
    let start = Instant::now();
    let visitors: Vec<_> = (0..HONEST)
        .map(|nth| {
            let address = server.address;
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await?;
                let mut times = Times { maps: Vec::new(), holds: Vec::new() };
                // Not all at the same moment.
                tokio::time::sleep(PAUSE.mul_f64(nth as f64 / HONEST as f64)).await;
                for visit in 0.. {
                    if start.elapsed() > duration || visit == VISITS {
                        break;
                    }
                    // Somebody new each time: ten seats are one visitor's limit.
                    let from = from(10, (turn * 1000 + visit) * HONEST + nth);
                    let more = format!("accept-encoding: br\r\n{from}");
                    let asked = Instant::now();
                    let request = connection.get(&format!("/shows/{}/seats", show_id(WANTED)), &more);
                    let answer = connection.ask(&request).await?;
                    if answer.status != 200 {
                        return Err(format!("a map was answered with {}", answer.status).into());
                    }
                    times.maps.push(asked.elapsed().as_secs_f64() * 1000.0);
                    let seat = ((turn % 2 * VISITS + visit) * HONEST + nth) % HOUSE.seats + 1;
                    let form = format!("show={}&seats%5B%5D={seat}&attempt={}", show_id(WANTED), Uuid::new_v4());
                    let asked = Instant::now();
                    let request = connection.post("/api/hold_seats", &from, &form);
                    let answer = connection.ask(&request).await?;
                    if !is_held(&answer) {
                        return Err(format!("an honest hold was answered with {}", answer.status).into());
                    }
                    times.holds.push(asked.elapsed().as_secs_f64() * 1000.0);
                    tokio::time::sleep(PAUSE).await;
                }
                Result::Ok(times)
            })
        })
        .collect();
    let mut all = Times { maps: Vec::new(), holds: Vec::new() };
    for visitor in visitors {
        let times = visitor.await??;
        all.maps.extend(times.maps);
        all.holds.extend(times.holds);
    }
    Ok(all)
}

/// Bots at work.
struct Storm {
    over: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
    begun: Instant,
    bots: Vec<tokio::task::JoinHandle<Result<()>>>,
}

impl Storm {
    /// Each asks again as soon as it is answered, whatever the answer.
    async fn begin(server: &Server) -> Result<Self> {
        let (over, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut bots = Vec::with_capacity(BOTS);
        for nth in 0..BOTS {
            let mut connection = Connection::open(server.address).await?;
            let (over, answers) = (Arc::clone(&over), Arc::clone(&answers));
            bots.push(tokio::spawn(async move {
                let from = from(11, nth);
                while !over.load(Ordering::Relaxed) {
                    let form = format!("show={}&seats%5B%5D={}&attempt={}", show_id(SOLD_OUT), nth + 1, Uuid::new_v4());
                    let request = connection.post("/api/hold_seats", &from, &form);
                    if is_held(&connection.ask(&request).await?) {
                        return Err("a bot holds a seat that is sold".into());
                    }
                    answers.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }));
        }
        // Until they are at it.
        tokio::time::sleep(Duration::from_millis(500)).await;
        Ok(Self { over, answers, begun: Instant::now(), bots })
    }

    /// How many answers a second they had.
    async fn end(self) -> Result<f64> {
        let rate = self.answers.load(Ordering::Relaxed) as f64 / self.begun.elapsed().as_secs_f64();
        self.over.store(true, Ordering::Relaxed);
        for bot in self.bots {
            bot.await??;
        }
        Ok(rate)
    }
}

/// The header line of a proxy for the nth address of a network.
fn from(network: u8, nth: usize) -> String {
    let nth = u32::try_from(nth).unwrap_or_default() & 0x00ff_ffff;
    format!("x-forwarded-for: {}\r\n", Ipv4Addr::from_bits(u32::from(network) << 24 | nth))
}
