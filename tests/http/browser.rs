//! A site on a port, and visitors with a cookie jar.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;

use leptos::config::LeptosOptions;
use matinee::box_office::BoxOffice;
use matinee::domain::ids::{OrderId, ShowId};
use matinee::server::limits::Shares;
use matinee::server::{Processor, Site, router};
use reqwest::header::{ACCEPT, CONTENT_TYPE, COOKIE, LOCATION, REFERER, REFRESH, RETRY_AFTER, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// What the card processor's messages are signed with.
pub const WEBHOOK_SECRET: &str = "secret of the test";

/// What a browser says it takes.
pub const HTML: &str = "text/html,application/xhtml+xml";
/// What a script says it takes.
pub const JSON: &str = "application/json";

/// Nobody is limited.
pub const NO_LIMITS: Shares = Shares { by_visitor: None, by_address: None, trusted: Vec::new() };

/// Serves the office on a port of its own, as long as the test runs.
pub async fn serve(office: &Arc<BoxOffice>) -> SocketAddr {
    serve_in_shares(office, NO_LIMITS).await
}

/// The same, with limits.
pub async fn serve_in_shares(office: &Arc<BoxOffice>, shares: Shares) -> SocketAddr {
    let leptos = LeptosOptions::builder().output_name("matinee").site_root("target/site").site_pkg_dir("pkg").build();
    let site =
        Site { leptos, cookie_key: vec![7; 64], secure_cookie: false, shares, closing: CancellationToken::new() };
    let processor = Processor { own: None, webhook_secrets: vec![WEBHOOK_SECRET.to_owned()] };
    let app = router(Arc::clone(office), &site, &processor).into_make_service_with_connect_info::<SocketAddr>();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let watching = Arc::clone(office);
    tokio::spawn(async move { watching.snapshots.keep_watching().await });
    address
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    /// Where it sends the browser, by redirect or by the header that islands follow.
    pub location: Option<String>,
    pub sets_cookie: bool,
    pub retry_after: Option<String>,
    /// After how many seconds the browser asks again by itself.
    pub refresh: Option<String>,
    pub body: String,
}

impl Answer {
    /// The order that a hold's answer leads to.
    pub fn order(&self) -> OrderId {
        let location = self.location.as_deref().unwrap_or_else(|| panic!("no redirect: {self:?}"));
        location.strip_prefix("/orders/").and_then(|path| path.strip_suffix("/pay")).unwrap().parse().unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }
}

/// Somebody at a browser.
#[derive(Debug)]
pub struct Browser {
    pub site: SocketAddr,
    client: reqwest::Client,
    /// By name.
    cookies: Mutex<BTreeMap<String, String>>,
}

impl Browser {
    pub fn at(site: SocketAddr) -> Self {
        let client = reqwest::Client::builder().redirect(Policy::none()).build().unwrap();
        Self { site, client, cookies: Mutex::default() }
    }

    /// The same browser (the same cookies) at another server.
    pub fn goes_to(&self, site: SocketAddr) -> Self {
        let other = Self::at(site);
        *other.cookies.lock().unwrap() = self.cookies.lock().unwrap().clone();
        other
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.client.get(self.url(path)).header(ACCEPT, HTML)).await
    }

    /// Sends a form as a script does, and is answered in JSON.
    pub async fn post(&self, path: &str, form: &[(&str, String)]) -> Answer {
        self.send(self.form(path, form).header(ACCEPT, JSON)).await
    }

    /// Sends a form as a browser without JavaScript does.
    pub async fn submit(&self, path: &str, from: &str, form: &[(&str, String)]) -> Answer {
        self.send(self.form(path, form).header(ACCEPT, HTML).header(REFERER, self.url(from))).await
    }

    pub async fn hold(&self, show: ShowId, seats: &[i16]) -> Answer {
        self.hold_as(Uuid::new_v4(), show, seats).await
    }

    pub async fn hold_as(&self, attempt: Uuid, show: ShowId, seats: &[i16]) -> Answer {
        self.post("/api/hold_seats", &hold_form(attempt, show, seats)).await
    }

    pub async fn pay(&self, order: OrderId, card: &str) -> Answer {
        let form = [("order", order.to_string()), ("attempt", Uuid::new_v4().to_string()), ("card", card.to_owned())];
        self.post("/api/pay", &form).await
    }

    pub async fn release(&self, order: OrderId) -> Answer {
        self.post("/api/release_hold", &[("order", order.to_string())]).await
    }

    /// Puts a cookie into the jar.
    pub fn carries(&self, name: &str, value: &str) {
        self.cookies.lock().unwrap().insert(name.to_owned(), value.to_owned());
    }

    /// The value of a cookie in the jar.
    pub fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.lock().unwrap().get(name).cloned()
    }

    /// A POST with a body and headers of the test's own.
    pub fn raw_post(&self, path: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        self.client.post(self.url(path)).body(body)
    }

    pub async fn send(&self, request: RequestBuilder) -> Answer {
        let cookies: Vec<String> =
            self.cookies.lock().unwrap().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = if cookies.is_empty() { request } else { request.header(COOKIE, cookies.join("; ")) };
        let response = request.send().await.unwrap();
        let header = |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let (location, retry_after, refresh) = (header(LOCATION), header(RETRY_AFTER), header(REFRESH));
        let mut sets_cookie = false;
        for cookie in response.headers().get_all(SET_COOKIE) {
            let (name, value) = cookie.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.lock().unwrap().insert(name.to_owned(), value.to_owned());
            sets_cookie = true;
        }
        Answer {
            status: response.status(),
            location,
            sets_cookie,
            retry_after,
            refresh,
            body: response.text().await.unwrap(),
        }
    }

    fn form(&self, path: &str, form: &[(&str, String)]) -> RequestBuilder {
        let body = encoded(form);
        self.client.post(self.url(path)).header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.site)
    }
}

/// A form as it is sent.
pub fn encoded(form: &[(&str, String)]) -> String {
    let fields = form.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    fields.collect::<Vec<_>>().join("&")
}

/// The fields of the seat map's form.
pub fn hold_form(attempt: Uuid, show: ShowId, seats: &[i16]) -> Vec<(&'static str, String)> {
    let fixed = [("show", show.to_string()), ("attempt", attempt.to_string())];
    fixed.into_iter().chain(seats.iter().map(|seat| ("seats[]", seat.to_string()))).collect()
}

fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
