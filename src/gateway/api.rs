//! The API that a merchant's server speaks, in JSON.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Service;
use super::books::{Claim, Refunding};
use super::cards::{self, Behaviour};
use super::charge::{NewCharge, State as Standing};
use super::error::ApiError;

type Answer = Result<Json<Value>, ApiError>;
type Shared = State<Arc<Service>>;

/// The addresses of the API, for those with a key.
pub(super) fn routes(service: &Arc<Service>) -> Router<Arc<Service>> {
    Router::new()
        .route("/v1/charges", post(charge).get(list))
        .route("/v1/charges/{id}", get(find))
        .route("/v1/charges/{id}/refunds", post(refund))
        .route("/v1/keys/{key}/close", post(close))
        .route("/v1/refunds/{id}", get(find_refund))
        .route_layer(from_fn_with_state(Arc::clone(service), for_merchants))
}

/// Runs a request in a task of its own, which goes on when the client is gone.
pub(super) async fn to_its_end(request: Request, next: Next) -> Response {
    match tokio::spawn(next.run(request)).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%error, "a request of the gateway panicked");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Lets those with a key in.
async fn for_merchants(State(service): Shared, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|text| text.strip_prefix("Bearer ")).unwrap_or_default();
    // Digests are compared, so that the time it takes tells nothing about the key.
    let given = Sha256::digest(given);
    let is_known = service.settings.api_keys.iter().any(|key| !key.is_empty() && Sha256::digest(key) == given);
    if is_known { next.run(request).await } else { ApiError::Unauthorized.into_response() }
}

/// `POST /v1/charges`
async fn charge(State(service): Shared, headers: HeaderMap, body: Bytes) -> Answer {
    let key = key_of(&headers)?;
    let asked = NewCharge::parse(&body).map_err(ApiError::Invalid)?;
    let behaviour = cards::behaviour_of(&asked.card);
    if behaviour == Behaviour::AsksOnThePage && asked.return_url.is_none() {
        return Err(ApiError::Invalid("this card needs a return_url: it must be confirmed on a page".to_owned()));
    }
    let made = match service.books.charge(key, &asked).await? {
        Claim::Made(made, thinks) if matches!(made.state, Standing::Processing { .. }) => {
            // The bank thinks. Nothing waits with it but this task: no transaction, no lock, no connection.
            tokio::time::sleep(thinks).await;
            service.books.settle(&made.id).await?
        }
        Claim::Made(made, _) => made,
        Claim::Known(known) => return Ok(Json(known.json(&service.pay()))),
        Claim::Running => return Err(ApiError::InFlight),
        Claim::OtherRequest => return Err(ApiError::KeyReused),
        Claim::Closed => return Err(ApiError::KeyClosed),
        Claim::Failed => return Err(ApiError::Processor),
    };
    match behaviour {
        Behaviour::LosesTheAnswer => return Err(ApiError::Processor),
        Behaviour::TellsFirst => service.hold_back(&made.id).await?,
        _ => {}
    }
    Ok(Json(made.json(&service.pay())))
}

/// `GET /v1/charges/{id}`
async fn find(State(service): Shared, id: Result<Path<String>, PathRejection>) -> Answer {
    let charge = service.books.find(&name(id)?).await?.ok_or(ApiError::NotFound)?;
    Ok(Json(charge.json(&service.pay())))
}

#[derive(Deserialize)]
struct Page {
    limit: Option<i64>,
    after: Option<String>,
}

/// `GET /v1/charges?limit=..&after=..`
async fn list(State(service): Shared, page: Result<Query<Page>, QueryRejection>) -> Answer {
    const MOST: i64 = 1000;
    let Query(page) = page.map_err(|error| ApiError::Invalid(error.body_text()))?;
    let limit = page.limit.unwrap_or(100);
    if !(1..=MOST).contains(&limit) {
        return Err(ApiError::Invalid(format!("limit is not 1 to {MOST}")));
    }
    let after = page.after.map(checked).transpose()?;
    // One more than asked for says whether there are more.
    let charges = service.books.list(after.as_deref(), limit + 1).await?.ok_or(ApiError::NotFound)?;
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = charges.len() > wanted;
    let data: Vec<Value> = charges.iter().take(wanted).map(|charge| charge.json(&service.pay())).collect();
    Ok(Json(json!({"data": data, "has_more": has_more})))
}

#[derive(Deserialize)]
struct Closing {
    #[serde(default)]
    cancel: bool,
}

/// `POST /v1/keys/{key}/close?cancel=..`
async fn close(
    State(service): Shared,
    key: Result<Path<String>, PathRejection>,
    closing: Result<Query<Closing>, QueryRejection>,
) -> Answer {
    let Path(key) = key.map_err(|_| ApiError::NoKey)?;
    let key = checked_key(&key)?;
    let Query(closing) = closing.map_err(|error| ApiError::Invalid(error.body_text()))?;
    let charge = service.books.close(key, closing.cancel).await?;
    Ok(Json(json!({"charge": charge.map(|charge| charge.json(&service.pay()))})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRefund {
    amount_minor: i64,
}

/// `POST /v1/charges/{id}/refunds`
async fn refund(
    State(service): Shared,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let (charge, key) = (name(id)?, key_of(&headers)?);
    let asked: NewRefund = serde_json::from_slice(&body).map_err(|error| ApiError::Invalid(error.to_string()))?;
    if asked.amount_minor < 0 {
        return Err(ApiError::Invalid("amount_minor is negative".to_owned()));
    }
    match service.books.refund(key, &charge, asked.amount_minor).await? {
        Refunding::Done(refund) => Ok(Json(refund.json())),
        Refunding::NoCharge => Err(ApiError::NotFound),
        Refunding::NotCaptured => Err(ApiError::NotCaptured),
        Refunding::TooMuch => Err(ApiError::TooMuch),
        Refunding::OtherRequest => Err(ApiError::KeyReused),
        Refunding::Failed => Err(ApiError::Processor),
    }
}

/// `GET /v1/refunds/{id}`
async fn find_refund(State(service): Shared, id: Result<Path<String>, PathRejection>) -> Answer {
    Ok(Json(service.books.find_refund(&name(id)?).await?.ok_or(ApiError::NotFound)?.json()))
}

impl Service {
    /// Where the hosted pages lie.
    fn pay(&self) -> String {
        format!("{}/pay", self.settings.public_url.trim_end_matches('/'))
    }

    /// Keeps an answer until the merchant has heard the event, and a second longer. A merchant who hears nothing gets the
    /// answer all the same.
    async fn hold_back(&self, charge: &str) -> Result<(), ApiError> {
        if self.settings.webhook_url.is_some() {
            for _ in 0..100 {
                if self.books.all_heard(charge).await? {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(())
    }
}

fn key_of(headers: &HeaderMap) -> Result<&str, ApiError> {
    let mut keys = headers.get_all("Idempotency-Key").iter();
    let key = keys.next().and_then(|key| key.to_str().ok()).ok_or(ApiError::NoKey)?;
    // Two keys would be two opinions on what is the same request.
    if keys.next().is_some() { Err(ApiError::NoKey) } else { checked_key(key) }
}

/// What a header may carry; so each key that was used can also be closed.
fn checked_key(key: &str) -> Result<&str, ApiError> {
    let is_one = (1..=255).contains(&key.len()) && key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if is_one { Ok(key) } else { Err(ApiError::NoKey) }
}

/// A name from a path: anything that no charge or refund is called is not found, without asking the database.
fn name(id: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    checked(id.map_err(|_| ApiError::NotFound)?.0)
}

pub(super) fn checked(name: String) -> Result<String, ApiError> {
    let is_one = name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_one { Ok(name) } else { Err(ApiError::NotFound) }
}
