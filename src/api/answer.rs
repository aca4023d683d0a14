//! How a domain error travels over HTTP: as JSON with its message, under its own status.

use serde::{Deserialize, Serialize};
use server_fn::error::{FromServerFnError, ServerFnErrorErr};
use server_fn::{Bytes, ContentType, Decodes, Encodes, Format, FormatType};

use crate::domain::Error;
use crate::domain::seat::SeatNo;

/// `{"error": "seat_taken", "seats": [..], "message": ".."}`.
pub struct ErrorJson;

/// The JSON, flat: what the browser reads from it is `error`, `seats` and `message`.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Wire {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seats: Option<Vec<SeatNo>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<Vec<SeatNo>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nearest: Vec<SeatNo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holding: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    what: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    message: String,
}

impl From<&Error> for Wire {
    fn from(error: &Error) -> Self {
        let mut wire = Self { error: error.code().to_owned(), message: error.to_string(), ..Self::default() };
        match error.clone() {
            Error::SeatTaken { seats, kept, nearest } => {
                (wire.seats, wire.kept, wire.nearest) = (Some(seats), Some(kept), nearest);
            }
            Error::AlreadyYours { seats, kept } => (wire.seats, wire.kept) = (Some(seats), Some(kept)),
            Error::UnknownSeat { seats } => wire.seats = Some(seats),
            Error::TooManySeats { asked, holding, kept } => {
                (wire.asked, wire.holding, wire.kept) = (Some(asked), Some(holding), Some(kept));
            }
            Error::BadInput { what } => wire.what = Some(what),
            Error::Internal { reference } => wire.reference = Some(reference),
            _ => {}
        }
        wire
    }
}

impl From<Wire> for Error {
    fn from(wire: Wire) -> Self {
        let seats = wire.seats.unwrap_or_default();
        match wire.error.as_str() {
            "seat_taken" => Self::SeatTaken { seats, kept: wire.kept.unwrap_or_default(), nearest: wire.nearest },
            "already_yours" => Self::AlreadyYours { seats, kept: wire.kept.unwrap_or_default() },
            "unknown_seat" => Self::UnknownSeat { seats },
            "too_many_seats" => Self::TooManySeats {
                asked: wire.asked.unwrap_or_default(),
                holding: wire.holding.unwrap_or_default(),
                kept: wire.kept.unwrap_or_default(),
            },
            "bad_input" => Self::BadInput { what: wire.what.unwrap_or_default() },
            "internal" => Self::Internal { reference: wire.reference.unwrap_or_default() },
            code => Self::PLAIN.into_iter().find(|error| error.code() == code).unwrap_or(Self::Unreachable),
        }
    }
}

impl ContentType for ErrorJson {
    const CONTENT_TYPE: &'static str = "application/json";
}

impl FormatType for ErrorJson {
    const FORMAT_TYPE: Format = Format::Text;
}

impl Encodes<Error> for ErrorJson {
    type Error = serde_json::Error;

    fn encode(error: &Error) -> Result<Bytes, serde_json::Error> {
        serde_json::to_vec(&Wire::from(error)).map(Bytes::from)
    }
}

impl Decodes<Error> for ErrorJson {
    type Error = serde_json::Error;

    /// What is not ours (the page of a proxy in between) says that the cinema was not reached.
    fn decode(bytes: Bytes) -> Result<Error, serde_json::Error> {
        Ok(serde_json::from_slice::<Wire>(&bytes).map_or(Error::Unreachable, Error::from))
    }
}

impl FromServerFnError for Error {
    type Encoder = ErrorJson;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Args(what) | ServerFnErrorErr::MissingArg(what) => Self::BadInput { what: short(&what) },
            other => Self::BadInput { what: short(&other.to_string()) },
        }
    }

    fn status_code(&self) -> http::StatusCode {
        http::StatusCode::from_u16(self.status()).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// What a parser or a library says is for us, and may mirror what was sent; only the name of a field that is missing is told.
fn short(what: &str) -> String {
    let missing = what.split("missing field `").nth(1).and_then(|rest| rest.split('`').next());
    match missing.filter(|name| name.len() <= 20 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
    {
        Some(name) => format!("the field `{name}` is missing"),
        None => "a field is missing, or not of its kind".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_survives_the_journey() {
        let seats = vec![SeatNo(7), SeatNo(8)];
        let rich = [
            Error::SeatTaken { seats: seats.clone(), kept: vec![SeatNo(9)], nearest: vec![SeatNo(2), SeatNo(3)] },
            Error::AlreadyYours { seats: seats.clone(), kept: vec![] },
            Error::UnknownSeat { seats },
            Error::TooManySeats { asked: 11, holding: 2, kept: vec![SeatNo(1)] },
            Error::BadInput { what: "missing field `show`".into() },
            Error::Internal { reference: "b7e142c9".into() },
        ];
        for error in rich.into_iter().chain(Error::PLAIN) {
            assert_eq!(ErrorJson::decode(ErrorJson::encode(&error).unwrap()).unwrap(), error);
        }
    }

    #[test]
    fn a_conflict_reads_as_the_contract_says() {
        let error = Error::SeatTaken { seats: vec![SeatNo(7)], kept: vec![], nearest: vec![] };
        let json: serde_json::Value = serde_json::from_slice(&ErrorJson::encode(&error).unwrap()).unwrap();
        assert_eq!(json["error"], "seat_taken");
        assert_eq!(json["seats"], serde_json::json!([7]));
        assert!(json["message"].as_str().unwrap().contains("taken"));
    }
}
