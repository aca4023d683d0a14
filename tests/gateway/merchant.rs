//! A merchant with a gateway of its own below a path prefix, and a server that hears its webhooks.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use chrono::Utc;
use matinee::gateway::{self, Settings, signature};
use reqwest::redirect::Policy;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use sqlx::postgres::PgPool;
use tokio::net::TcpListener;

use crate::support::{Cinema, until};

pub const API_KEY: &str = "sk_of_the_merchant";
pub const SECRET: &str = "whsec_of_the_merchant";
pub const GOOD: &str = "4242424242424242";
pub const SLOW: &str = "4000000000000341";
pub const ON_PAGE: &str = "4000000000003220";
pub const RETURN_URL: &str = "https://cinema.example/orders/7?a=1&b=2";

/// What the merchant's server hears.
#[derive(Debug, Default)]
pub struct Ears {
    pub heard: Mutex<Vec<Value>>,
    /// How many of the next calls fail.
    pub deaf_for: AtomicUsize,
    /// All calls, failed ones too.
    pub calls: AtomicUsize,
}

/// A merchant, and the gateway that serves it.
#[derive(Debug)]
pub struct Merchant {
    pub settings: Settings,
    pub db: PgPool,
    pub ears: Arc<Ears>,
    gateway: SocketAddr,
    client: reqwest::Client,
    cinema: Cinema,
}

/// An answer of the gateway.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The body of a success.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{self:?}");
        self.json()
    }

    /// Status and code of a refusal, which also has words.
    #[track_caller]
    pub fn refusal(&self) -> (u16, String) {
        let body = self.json();
        assert!(!body["message"].as_str().unwrap().is_empty(), "{self:?}");
        (self.status.as_u16(), body["error"].as_str().unwrap().to_owned())
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

pub fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// A request for EUR 25.00 from this card.
pub fn wish(card: &str) -> Value {
    json!({"amount_minor": 2500, "currency": "EUR", "card": card, "metadata": {"order": "7"}, "return_url": RETURN_URL})
}

impl Merchant {
    pub async fn open() -> Self {
        let cinema = Cinema::open().await;
        // Charges here belong to no order, so there is nothing to prove at the end.
        cinema.is_broken_on_purpose();
        // Somebody who may do nothing outside of the gateway's own schema.
        cinema
            .sql(
                "create role processor; grant usage on schema gateway to processor;
                 grant select, insert, update on all tables in schema gateway to processor",
            )
            .await;
        let books = format!("{}&options[role]=processor", cinema.url());
        let ears = Arc::new(Ears::default());
        let hears = Router::new().route("/hooks", post(hear)).with_state(Arc::clone(&ears));
        let hooks = serve(hears).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gateway = listener.local_addr().unwrap();
        let settings = Settings {
            pool: gateway::connect(&books).unwrap(),
            api_keys: vec![API_KEY.to_owned()],
            webhook_secrets: vec![SECRET.to_owned()],
            webhook_url: Some(format!("http://{hooks}/hooks")),
            public_url: format!("http://{gateway}/gateway"),
            merchant: "The Meridian <Cinema>".to_owned(),
        };
        let app = Router::new().nest("/gateway", gateway::router(settings.clone()));
        tokio::spawn(async move { axum::serve(listener, app).await });
        let client = reqwest::Client::builder().redirect(Policy::none()).build().unwrap();
        Self { settings, db: cinema.db.clone(), ears, gateway, client, cinema }
    }

    /// Starts one more worker that delivers webhooks.
    pub fn delivers(&self) {
        tokio::spawn(gateway::deliver(self.settings.clone()));
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/gateway{path}", self.gateway)
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(self.url(path)).bearer_auth(API_KEY)
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(self.url(path)).bearer_auth(API_KEY)
    }

    /// A browser, which has no key.
    pub const fn browser(&self) -> &reqwest::Client {
        &self.client
    }

    pub fn charge_request(&self, key: &str, wish: &Value) -> RequestBuilder {
        self.post("/v1/charges").header("Idempotency-Key", key).json(wish)
    }

    pub async fn charge_with(&self, key: &str, wish: &Value) -> Answer {
        send(self.charge_request(key, wish)).await
    }

    pub async fn charge(&self, key: &str, card: &str) -> Answer {
        self.charge_with(key, &wish(card)).await
    }

    /// Sends the request and leaves its answer to a task.
    pub fn charge_meanwhile(&self, key: &str, card: &str) -> tokio::task::JoinHandle<Answer> {
        tokio::spawn(send(self.charge_request(key, &wish(card))))
    }

    /// A captured charge.
    pub async fn captured(&self, key: &str) -> String {
        let charge = self.charge(key, GOOD).await.ok();
        assert_eq!(charge["status"], "captured");
        charge["id"].as_str().unwrap().to_owned()
    }

    pub async fn find(&self, id: &str) -> Value {
        send(self.get(&format!("/v1/charges/{id}"))).await.ok()
    }

    pub async fn close(&self, key: &str) -> Value {
        send(self.post(&format!("/v1/keys/{key}/close"))).await.ok()["charge"].clone()
    }

    pub async fn refund(&self, key: &str, charge: &str, amount: i64) -> Answer {
        let request = self.post(&format!("/v1/charges/{charge}/refunds")).header("Idempotency-Key", key);
        send(request.json(&json!({"amount_minor": amount}))).await
    }

    pub async fn sql(&self, text: &str) {
        sqlx::raw_sql(sqlx::AssertSqlSafe(text.to_owned())).execute(&self.db).await.unwrap();
    }

    pub async fn count(&self, what: &str) -> i64 {
        let text = format!("select count(*) from gateway.{what}");
        sqlx::query_scalar(sqlx::AssertSqlSafe(text)).fetch_one(&self.db).await.unwrap()
    }

    /// Waits until so many charges are under way.
    pub async fn until_thinking(&self, charges: i64) {
        until("the bank thinks", async || self.count("charges where status = 'processing'").await == charges).await;
    }

    /// What the merchant heard so far: the types of the events.
    pub fn heard(&self) -> Vec<String> {
        let heard = self.ears.heard.lock().unwrap();
        heard.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    pub async fn until_heard(&self, events: usize) -> Vec<String> {
        until("the events are heard", async || self.heard().len() >= events).await;
        self.heard()
    }

    pub fn url_of(&self, database: &str) -> String {
        self.cinema.url_of(database)
    }
}

pub async fn send(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    Answer { status, headers, text: response.text().await.unwrap() }
}

pub async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

async fn hear(State(ears): State<Arc<Ears>>, headers: HeaderMap, body: String) -> StatusCode {
    ears.calls.fetch_add(1, Ordering::SeqCst);
    let signature = headers.get(signature::HEADER).map(|value| value.to_str().unwrap());
    let now = Utc::now().timestamp();
    signature::verify(&[SECRET], signature, body.as_bytes(), now, signature::TOLERANCE_S).unwrap();
    let is_deaf = |left: usize| left.checked_sub(1);
    if ears.deaf_for.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_deaf).is_ok() {
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    // Long enough for another gateway to come with the same event, if it would.
    tokio::time::sleep(Duration::from_millis(20)).await;
    ears.heard.lock().unwrap().push(serde_json::from_str(&body).unwrap());
    StatusCode::NO_CONTENT
}
