//! Between the card processor and the cinema: takes its messages and delivers them in another order, late, several times,
//! to any of the servers; or does not take them, so that they come again.

use std::net::SocketAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use chrono::Utc;
use matinee::gateway::signature;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use reqwest::header::CONTENT_TYPE;
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::history::Counts;
use crate::link::Link;
use crate::site::WEBHOOK_SECRET;

/// A message as it is sent: what is signed, and the signature.
#[derive(Clone, Debug)]
struct Message {
    body: String,
    signature: String,
}

pub struct Shuffler {
    pub address: SocketAddr,
    servers: Vec<Arc<Link>>,
    client: reqwest::Client,
    dice: Mutex<StdRng>,
    counts: Arc<Counts>,
    /// Taken, and not yet delivered.
    on_their_way: AtomicUsize,
    /// Every message that was ever taken.
    taken: Mutex<Vec<String>>,
}

/// What becomes of a message.
enum Fate {
    /// The gateway is told that nobody heard it.
    Refused,
    /// The same; and somebody who recorded it sends it, minutes later, or changed.
    Recorded { changed: bool },
    /// Taken; each copy is delivered after so long.
    Delivered(Vec<Duration>),
}

impl Shuffler {
    pub async fn start(servers: Vec<Arc<Link>>, dice: StdRng, counts: Arc<Counts>) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shuffler = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            servers,
            client: reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap(),
            dice: Mutex::new(dice),
            counts,
            on_their_way: AtomicUsize::new(0),
            taken: Mutex::default(),
        });
        let hooks = Router::new().route("/hooks", post(hear)).with_state(Arc::clone(&shuffler));
        tokio::spawn(async move { axum::serve(listener, hooks).await });
        shuffler
    }

    /// Whether all that was taken has been delivered.
    pub fn is_empty(&self) -> bool {
        self.on_their_way.load(SeqCst) == 0
    }

    /// Tells everything once more, in a new order, as a gateway may that has lost its notes.
    pub async fn tells_everything_again(&self) {
        let mut bodies = self.taken.lock().unwrap().clone();
        bodies.shuffle(&mut *self.dice.lock().unwrap());
        for body in bodies {
            let signature = signature::sign(&[WEBHOOK_SECRET], body.as_bytes(), Utc::now().timestamp());
            self.deliver(&Message { body, signature }).await;
            self.counts.repeated.fetch_add(1, Relaxed);
        }
    }

    fn fate(&self) -> Fate {
        let mut dice = self.dice.lock().unwrap();
        // The first ones meet what a short run might never throw.
        match self.counts.heard.load(Relaxed) {
            1 => return Fate::Recorded { changed: true },
            2 => return Fate::Recorded { changed: false },
            3 => return Fate::Refused,
            _ => {}
        }
        match dice.random_range(0..20) {
            0..=2 => Fate::Refused,
            3 => Fate::Recorded { changed: dice.random() },
            _ => {
                let copies = [1, 1, 1, 2, 3][dice.random_range(0..5)];
                Fate::Delivered((0..copies).map(|_| Duration::from_millis(dice.random_range(0..5000))).collect())
            }
        }
    }

    /// Until a server has heard it.
    async fn deliver(&self, message: &Message) {
        loop {
            let server = self.dice.lock().unwrap().random_range(0..self.servers.len());
            match self.send(server, message).await {
                Some(status) if status.is_success() => break,
                // Its time has passed while no server could be reached; the gateway believes it heard. Recovery must do.
                Some(StatusCode::BAD_REQUEST) => {
                    self.counts.disbelieved.fetch_add(1, Relaxed);
                    break;
                }
                _ => sleep(Duration::from_millis(300)).await,
            }
        }
        self.counts.delivered.fetch_add(1, Relaxed);
    }

    async fn send(&self, server: usize, message: &Message) -> Option<StatusCode> {
        let url = format!("http://{}/webhooks/gateway", self.servers[server].address);
        let request = self.client.post(url).header(CONTENT_TYPE, "application/json");
        let request = request.header(signature::HEADER, &message.signature).body(message.body.clone());
        request.send().await.ok().map(|answer| answer.status())
    }

    /// A message that must not be believed.
    async fn tries(&self, message: &Message) {
        let _nth = loop {
            match self.send(0, message).await {
                Some(StatusCode::BAD_REQUEST) => break self.counts.disbelieved.fetch_add(1, Relaxed),
                Some(status) if status.is_success() => break self.counts.believed.fetch_add(1, Relaxed),
                _ => sleep(Duration::from_millis(300)).await,
            }
        };
    }
}

async fn hear(State(shuffler): State<Arc<Shuffler>>, headers: HeaderMap, body: String) -> StatusCode {
    shuffler.counts.heard.fetch_add(1, Relaxed);
    let signature = headers[signature::HEADER].to_str().unwrap().to_owned();
    let message = Message { body, signature };
    match shuffler.fate() {
        Fate::Refused => {}
        Fate::Recorded { changed } => {
            let message = if changed { changed_on_the_way(&message) } else { of_minutes_ago(&message) };
            shuffler.spawn(message, Vec::new());
        }
        Fate::Delivered(copies) => {
            shuffler.counts.repeated.fetch_add(copies.len() - 1, Relaxed);
            shuffler.taken.lock().unwrap().push(message.body.clone());
            shuffler.spawn(message, copies);
            return StatusCode::NO_CONTENT;
        }
    }
    shuffler.counts.refused.fetch_add(1, Relaxed);
    StatusCode::SERVICE_UNAVAILABLE
}

impl Shuffler {
    /// Delivers the copies; without any, tries what must not be believed.
    fn spawn(self: &Arc<Self>, message: Message, copies: Vec<Duration>) {
        self.on_their_way.fetch_add(copies.len().max(1), SeqCst);
        if copies.is_empty() {
            let (shuffler, message) = (Arc::clone(self), message.clone());
            tokio::spawn(async move {
                shuffler.tries(&message).await;
                shuffler.on_their_way.fetch_sub(1, SeqCst);
            });
        }
        for copy in copies {
            let (shuffler, message) = (Arc::clone(self), message.clone());
            tokio::spawn(async move {
                sleep(copy).await;
                shuffler.deliver(&message).await;
                shuffler.on_their_way.fetch_sub(1, SeqCst);
            });
        }
    }
}

/// Signed as it was then, and a second too old now.
fn of_minutes_ago(message: &Message) -> Message {
    let then = Utc::now().timestamp() - signature::TOLERANCE_S.cast_signed() - 1;
    let signature = signature::sign(&[WEBHOOK_SECRET], message.body.as_bytes(), then);
    Message { body: message.body.clone(), signature }
}

/// Somebody would like to have paid.
fn changed_on_the_way(message: &Message) -> Message {
    Message { body: message.body.replacen('{', "{ ", 1), signature: message.signature.clone() }
}
