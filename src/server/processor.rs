//! The card processor's side of the program: the simulated one, run beside the site unless another is named, and what it
//! says to us: its signed messages, and visitors who come back from its pages.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, post};
use chrono::Utc;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use super::config::reachable;
use crate::box_office::gateway::http::{ChargeJson, HttpGateway, RefundJson};
use crate::box_office::{self, BoxOffice};
use crate::domain::ids::OrderId;
use crate::domain::incident::Evidence;
use crate::gateway::{self, Settings, signature};

/// What a server needs to know of its card processor.
#[derive(Clone, Debug)]
pub struct Processor {
    /// The simulated one, when it runs in this program.
    pub own: Option<Settings>,
    /// Secrets that its messages may be signed with; two while one is being replaced.
    pub webhook_secrets: Vec<String>,
}

/// A secret of this cinema, the same on every server of its database.
fn derived(cookie_key: &[u8], purpose: &str) -> String {
    hex::encode(Sha256::new().chain_update(cookie_key).chain_update(purpose).finalize())
}

/// Starts the simulated card processor on a port of this machine alone, and says how to speak to it. Its pages are to be
/// found below `site`; its messages go to `webhooks`, if anybody listens there.
///
/// # Errors
/// One line.
pub async fn start(
    database_url: &str,
    cookie_key: &[u8],
    merchant: &str,
    site: &str,
    webhooks: Option<SocketAddr>,
) -> Result<(HttpGateway, Processor), String> {
    let secrets = vec![derived(cookie_key, "webhooks")];
    let settings = Settings {
        pool: gateway::connect(database_url).map_err(|error| error.to_string())?,
        api_keys: vec![derived(cookie_key, "gateway")],
        webhook_secrets: secrets.clone(),
        webhook_url: webhooks.map(|address| format!("http://{}/webhooks/gateway", reachable(address))),
        public_url: format!("{site}/gateway"),
        merchant: merchant.to_owned(),
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let client = HttpGateway::new(&format!("http://{address}"), &settings.api_keys[0], site)?;
    let service = gateway::router(settings.clone());
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, service).await {
            tracing::error!(%error, "the card processor has ended");
        }
    });
    Ok((client, Processor { own: Some(settings), webhook_secrets: secrets }))
}

#[derive(Clone)]
struct Desk {
    office: Arc<BoxOffice>,
    secrets: Arc<Vec<String>>,
}

/// Where the processor's messages arrive, where visitors come back, and the processor's own pages when it runs here. None of
/// it asks for a cookie: messages are signed, and an order is found by its unguessable id.
pub fn routes(office: Arc<BoxOffice>, processor: &Processor) -> Router {
    let desk = Desk { office, secrets: Arc::new(processor.webhook_secrets.clone()) };
    let ours = Router::new()
        .route("/webhooks/gateway", post(message))
        .route("/orders/{order}/return", any(back))
        .with_state(desk);
    match &processor.own {
        Some(settings) => ours.nest("/gateway", gateway::router(settings.clone())),
        None => ours,
    }
}

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    data: serde_json::Value,
}

/// A message of the processor. Acknowledged when it is dealt with, or is of a kind that says nothing to us; else it comes
/// again. Whatever it says may be old or said before: the box office judges.
async fn message(State(desk): State<Desk>, headers: HeaderMap, body: Bytes) -> Response {
    let signed = headers.get(signature::HEADER).and_then(|value| value.to_str().ok());
    let now = Utc::now().timestamp();
    if let Err(error) = signature::verify(&desk.secrets, signed, &body, now, signature::TOLERANCE_S) {
        tracing::warn!(%error, "a message that the card processor did not sign");
        return (StatusCode::BAD_REQUEST, format!("{error}")).into_response();
    }
    let text = str::from_utf8(&body).ok();
    let Some((text, message)) = text.and_then(|text| Some((text, serde_json::from_str::<Message>(text).ok()?))) else {
        return (StatusCode::BAD_REQUEST, "not a message").into_response();
    };
    let dealt_with = match message.kind.as_str() {
        "charge.captured" | "charge.declined" => match serde_json::from_value::<ChargeJson>(message.data) {
            Ok(charge) => match (charge.payment(), charge.decision(Evidence::message(text.to_owned()))) {
                (Some(payment), Some(decision)) => box_office::learn(&desk.office, payment, decision).await,
                (None, Some(decision)) => box_office::nobodys(&desk.office, decision).await,
                (_, None) => Ok(()),
            },
            Err(error) => return (StatusCode::BAD_REQUEST, format!("not a charge: {error}")).into_response(),
        },
        "refund.succeeded" => match serde_json::from_value::<RefundJson>(message.data) {
            Ok(refund) => {
                box_office::recover::refund_made(&desk.office, refund.charge.as_str(), refund.id.as_str()).await
            }
            Err(error) => return (StatusCode::BAD_REQUEST, format!("not a refund: {error}")).into_response(),
        },
        _ => Ok(()),
    };
    match dealt_with {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

/// A visitor comes back from the processor's page, by a link or by its form, with a cookie or without: what was decided
/// there is learnt at once, and the order's page tells it.
async fn back(State(desk): State<Desk>, Path(order): Path<String>) -> Response {
    let Ok(order) = order.parse::<OrderId>() else {
        return (StatusCode::NOT_FOUND, "There is no such order.").into_response();
    };
    if let Err(error) = box_office::returned(&desk.office, order).await {
        tracing::warn!(%order, %error, "a visitor came back, and what was decided could not be learnt");
    }
    Redirect::to(&format!("/orders/{order}")).into_response()
}
