//! What every request passes on its way in and out. Order matters, so each layer says why it stands where it does.

use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::error_handling::HandleErrorLayer;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use time::Duration as CookieAge;
use tower::ServiceBuilder;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate, SizeAbove};
use tower_http::compression::{CompressionLayer, CompressionLevel};
use tower_http::csrf::{CsrfLayer, ProtectionError};
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;
use tower_sessions::cookie::{Key, SameSite};
use tower_sessions::{Expiry, SessionManagerLayer};

use super::Site;
use super::early::{self, Door};
use super::limits::{self, Limits};
use crate::domain::Error;
use crate::store::visitors::Visitors;

/// Six hundred seat numbers are 7 KB; nobody needs more to be told that ten are the limit.
const MOST_BODY: usize = 64 * 1024;

/// A body up to here is read to its end before it is refused, and thrown away: whoever is still sending would otherwise meet
/// a closed connection instead of the answer.
const MOST_DISCARDED: u64 = 8 * 1024 * 1024;

/// Longer than the slowest card may take, so that a payment is answered; it goes on even if this cuts the answer.
const LONGEST_ANSWER: Duration = Duration::from_secs(45);

/// A body up to here travels in one packet whether it is compressed or not. In a rush most answers are such refusals, and brotli
/// took a seventh of the time of each.
const ONE_PACKET: u64 = 1_000;

/// How long a browser is remembered after its last hold.
const REMEMBERED: CookieAge = CookieAge::days(30);

/// For pages and commands: who is asking, and whether this site asked.
pub fn for_visitors(routes: Router, door: &Door, site: &Site, limits: &Arc<Limits>) -> Router {
    let sessions = SessionManagerLayer::new(Visitors::new(door.office.pool.clone()))
        .with_name("matinee")
        .with_http_only(true)
        .with_secure(site.secure_cookie)
        // Lax, not Strict: a ticket link in a mail must open as its visitor.
        .with_same_site(SameSite::Lax)
        .with_expiry(Expiry::OnInactivity(REMEMBERED))
        // A made-up id is a stranger, without asking the database.
        .with_signed(Key::from(&site.cookie_key));
    // Innermost, inside of the session, which says who it is: the shares, and inside of them the early no, which costs less than a
    // yes and still something.
    let routes = routes
        .layer(axum::middleware::from_fn_with_state(door.clone(), early::refuse))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(limits), limits::by_visitor));
    routes.layer(
        ServiceBuilder::new()
            // First, so that a body that is too large is not read by anybody who would keep it.
            .layer(axum::middleware::from_fn(refuse_large))
            // For bodies that do not say how large they are.
            .layer(RequestBodyLimitLayer::new(MOST_BODY))
            // Before the session: what another site sends must not even create one.
            .layer(CsrfLayer::new().with_rejection_response(from_elsewhere))
            .layer(sessions),
    )
}

/// For what is rendered at each request; files lie compressed beside themselves already.
pub fn compressed(routes: Router) -> Router {
    // Level 4 of brotli took two thirds of a seat page's time; the fastest leaves a page of 1,200 seats at 26 KB instead of
    // 16, which a phone waits for.
    let worth_it = DefaultPredicate::new().and(SizeAbove::new(ONE_PACKET));
    routes.layer(CompressionLayer::new().quality(CompressionLevel::Precise(2)).compress_when(worth_it))
}

/// For what asks the database: no more at once than can be answered soon. The others are told so, and not kept waiting.
pub fn bounded(routes: Router) -> Router {
    routes.layer(
        ServiceBuilder::new()
            .layer(HandleErrorLayer::new(async |_: tower::BoxError| limits::overloaded()))
            .load_shed()
            // One count for all routes.
            .layer(GlobalConcurrencyLimitLayer::new(limits::MOST_AT_ONCE)),
    )
}

/// For everything.
pub fn for_all(routes: Router, limits: &Arc<Limits>) -> Router {
    let header = |name: HeaderName, value: &'static str| {
        SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value))
    };
    routes.layer(
        ServiceBuilder::new()
            // Outermost, so that it sees what the others did.
            .layer(TraceLayer::new_for_http())
            .layer(header(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
            // Not no-referrer: a refused form without JavaScript finds its way back by the referrer.
            .layer(header(header::REFERRER_POLICY, "same-origin"))
            .layer(axum::middleware::map_response(say_when_to_come_again))
            // Before anything that costs more than to look an address up.
            .layer(axum::middleware::from_fn_with_state(Arc::clone(limits), limits::by_address))
            // Before anything that puts an address together from it.
            .layer(axum::middleware::from_fn(refuse_bad_host))
            // Inside the headers, outside everything that may panic.
            .layer(CatchPanicLayer::custom(panicked))
            .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, LONGEST_ANSWER)),
    )
}

/// Whatever could not be answered now: a browser, a proxy and a program all know what to do with this header.
async fn say_when_to_come_again(mut response: Response) -> Response {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().entry(header::RETRY_AFTER).or_insert(HeaderValue::from_static("2"));
    }
    response
}

/// A host that is none would make the router panic on an address that cannot be.
async fn refuse_bad_host(request: Request, next: Next) -> Response {
    let hosts = request.headers().get_all(header::HOST);
    if hosts.iter().all(|host| host.to_str().is_ok_and(is_host)) {
        return next.run(request).await;
    }
    (StatusCode::BAD_REQUEST, "The Host header of this request is not a host.").into_response()
}

/// A name or an address, with or without a port.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (text, None),
    };
    let named =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let numbered = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .is_some_and(|name| name.parse::<Ipv6Addr>().is_ok());
    (named || numbered) && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

async fn refuse_large(request: Request, next: Next) -> Response {
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let Some(length) = length.filter(|length| *length > MOST_BODY as u64) else { return next.run(request).await };
    if length <= MOST_DISCARDED {
        let mut body = request.into_body().into_data_stream();
        while let Some(Ok(_)) = body.next().await {}
    }
    let words = format!("This form is too large: {length} bytes, and {MOST_BODY} are the most.");
    (StatusCode::PAYLOAD_TOO_LARGE, words).into_response()
}

fn from_elsewhere(_: ProtectionError) -> Response {
    (
        StatusCode::FORBIDDEN,
        "This form was sent by another site, so nothing was done. Please use the cinema's own pages.",
    )
        .into_response()
}

fn panicked(panic: Box<dyn std::any::Any + Send>) -> Response {
    let reference = uuid::Uuid::new_v4().simple().to_string()[..12].to_owned();
    let what = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(reference, panic = what, "a request panicked");
    let error = Error::Internal { reference };
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn hosts_and_what_is_none() {
        for host in ["cinema.example", "127.0.0.1:3000", "[::1]:3000", "[::1]", "localhost", "box_office"] {
            assert!(is_host(host), "{host}");
        }
        for other in ["", " ", "a b", "a:b", "[::1", "::1", "%00", "a/b", "a@b", "a:99999", ":80"] {
            assert!(!is_host(other), "{other}");
        }
    }
}
