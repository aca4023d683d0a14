//! A browser whose answers may be lost. It sends again what can be sent again, at any of the servers.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use matinee::box_office::hold::order_of;
use matinee::domain::ids::{Attempt, ShowId, VisitorId};
use rand::Rng;
use rand::rngs::StdRng;
use reqwest::header::{ACCEPT, COOKIE, LOCATION, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;
use tokio::time::sleep;
use uuid::Uuid;

use crate::site::Site;

/// Longer than the servers let anybody wait.
const PATIENCE: Duration = Duration::from_secs(50);
/// How often something is sent before somebody gives up.
const TRIES: usize = 20;

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub location: Option<String>,
    cookie: Option<String>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The word for what is wrong.
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }
}

pub struct Client {
    site: Arc<Site>,
    http: reqwest::Client,
    cookie: Option<String>,
    visitor: Option<VisitorId>,
    /// The only server that it knows; else any.
    only: Option<usize>,
}

impl Client {
    pub fn at_only(site: &Arc<Site>, server: usize) -> Self {
        Self { only: Some(server), ..Self::at(site) }
    }

    pub fn at(site: &Arc<Site>) -> Self {
        let http = reqwest::Client::builder().no_proxy().redirect(Policy::none()).timeout(PATIENCE).build().unwrap();
        Self { site: Arc::clone(site), http, cookie: None, visitor: None, only: None }
    }

    /// The order that this attempt makes, whether or not an answer comes: a stranger becomes the visitor that its first
    /// answered attempt makes of it.
    pub fn order(&self, attempt: Uuid) -> Uuid {
        let visitor = self.visitor.unwrap_or_else(|| visitor_of(attempt));
        order_of(visitor, Attempt(attempt)).0
    }

    pub async fn get(&self, dice: &mut StdRng, path: &str) -> Option<Answer> {
        self.persist(dice, |server| self.http.get(format!("{server}{path}")).header(ACCEPT, "text/html")).await
    }

    /// A form, sent as a script does, until it is answered.
    pub async fn post(&self, dice: &mut StdRng, path: &str, form: &[(&str, String)]) -> Option<Answer> {
        let request = |server: &str| self.http.post(format!("{server}{path}")).header(ACCEPT, "application/json");
        self.persist(dice, |server| request(server).form(form)).await
    }

    /// A hold; its answer may make a visitor of a stranger.
    pub async fn hold(&mut self, dice: &mut StdRng, show: ShowId, attempt: Uuid, seats: &[i64]) -> Option<Answer> {
        let fixed = [("show", show.to_string()), ("attempt", attempt.to_string())];
        let form: Vec<_> = fixed.into_iter().chain(seats.iter().map(|seat| ("seats[]", seat.to_string()))).collect();
        let answer = self.post(dice, "/api/hold_seats", &form).await?;
        if let (Some(cookie), None) = (&answer.cookie, self.visitor) {
            (self.cookie, self.visitor) = (Some(cookie.clone()), Some(visitor_of(attempt)));
        }
        Some(answer)
    }

    /// A page of the card processor.
    pub async fn decide(&self, dice: &mut StdRng, url: &str, decision: &str) -> Option<Answer> {
        self.persist(dice, |_| self.http.post(url).form(&[("decision", decision)])).await
    }

    /// The way back from there.
    pub async fn follow(&self, dice: &mut StdRng, url: &str) -> Option<Answer> {
        self.persist(dice, |_| self.http.get(url).header(ACCEPT, "text/html")).await
    }

    fn any_server(&self, dice: &mut StdRng) -> String {
        let server = self.only.unwrap_or_else(|| dice.random_range(0..self.site.servers.len()));
        format!("http://{}", self.site.servers[server].door.address)
    }

    /// At another server, perhaps, each time. `None` when nobody answered however often it was sent.
    async fn persist(&self, dice: &mut StdRng, request: impl Fn(&str) -> RequestBuilder) -> Option<Answer> {
        for nth in 0..TRIES {
            if nth > 0 {
                self.site.counts.retries.fetch_add(1, Relaxed);
                sleep(Duration::from_millis(dice.random_range(100..1000))).await;
            }
            match self.send(request(&self.any_server(dice))).await {
                Err(_) => self.site.counts.lost.fetch_add(1, Relaxed),
                Ok(answer) if answer.status == StatusCode::SERVICE_UNAVAILABLE => {
                    self.site.counts.unavailable.fetch_add(1, Relaxed)
                }
                Ok(answer) if answer.status.is_server_error() => {
                    self.site.history.is_odd(format!("{} {}", answer.status, answer.body));
                    0
                }
                Ok(answer) => return Some(answer),
            };
        }
        None
    }

    async fn send(&self, request: RequestBuilder) -> reqwest::Result<Answer> {
        let request = self.cookie.iter().fold(request, |request, cookie| request.header(COOKIE, cookie));
        let response = request.send().await?;
        let status = response.status();
        let header = |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let cookie = header(SET_COOKIE).and_then(|cookie| cookie.split(';').next().map(str::to_owned));
        let location = header(LOCATION);
        Ok(Answer { status, location, cookie, body: response.text().await? })
    }
}

/// As the servers make it, of the cookie key that test cinemas have.
fn visitor_of(attempt: Uuid) -> VisitorId {
    let key = Uuid::new_v5(&Uuid::NAMESPACE_URL, &[7; 64]);
    VisitorId(Uuid::new_v5(&key, attempt.as_bytes()))
}
