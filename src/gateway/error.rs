//! How the API says no.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request is not answered as wished.
#[derive(Debug)]
pub(super) enum ApiError {
    /// No key, or one that is none of ours.
    Unauthorized,
    /// A request that cannot be read, and why.
    Invalid(String),
    /// The `Idempotency-Key` is missing or of no right form.
    NoKey,
    /// There is nothing here.
    NotFound,
    /// The key was used for another request.
    KeyReused,
    /// The first request with this key still runs.
    InFlight,
    /// The key was asked about, and charged nothing until then.
    KeyClosed,
    /// The charge took no money that could be given back.
    NotCaptured,
    /// More than is left of the charge.
    TooMuch,
    /// The simulated failure, and the simulated loss of an answer: the two look alike, as they do in life.
    Processor,
    /// A fault of ours.
    Internal(sqlx::Error),
}

impl ApiError {
    fn code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_request"),
            Self::NoKey => (StatusCode::BAD_REQUEST, "idempotency_key_missing"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Self::KeyReused => (StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused"),
            Self::InFlight => (StatusCode::CONFLICT, "in_flight"),
            Self::KeyClosed => (StatusCode::CONFLICT, "key_closed"),
            Self::NotCaptured => (StatusCode::UNPROCESSABLE_ENTITY, "not_captured"),
            Self::TooMuch => (StatusCode::UNPROCESSABLE_ENTITY, "too_much"),
            Self::Processor => (StatusCode::SERVICE_UNAVAILABLE, "processor_error"),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Unauthorized => "a valid key is needed: Authorization: Bearer <key>".to_owned(),
            Self::Invalid(what) => what.clone(),
            Self::NoKey => "an Idempotency-Key of 1 to 255 printable characters is needed".to_owned(),
            Self::NotFound => "there is no such thing".to_owned(),
            Self::KeyReused => "this Idempotency-Key was used for another request".to_owned(),
            Self::InFlight => "the first request with this Idempotency-Key still runs".to_owned(),
            Self::KeyClosed => "this Idempotency-Key was closed before a charge used it".to_owned(),
            Self::NotCaptured => "this charge took no money".to_owned(),
            Self::TooMuch => "less than this is left of the charge".to_owned(),
            Self::Processor => "the bank could not be reached".to_owned(),
            Self::Internal(error) => {
                // The cause is ours to read; the sender gets a name to ask with.
                let reference = uuid::Uuid::new_v4().simple().to_string();
                tracing::error!(reference, %error, "the gateway failed");
                format!("something broke here; it is known as {reference}")
            }
        }
    }
}

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        Self::Internal(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code) = self.code();
        let mut response = (status, Json(json!({"error": code, "message": self.message()}))).into_response();
        if matches!(self, Self::InFlight) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
