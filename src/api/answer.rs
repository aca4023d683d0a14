//! How a domain error travels over HTTP: as JSON with its message, under its own status.

use server_fn::error::{FromServerFnError, ServerFnErrorErr};
use server_fn::{Bytes, ContentType, Decodes, Encodes, Format, FormatType};

use crate::domain::Error;

/// `{"error": "seat_taken", "seats": [..], "message": ".."}`.
pub struct ErrorJson;

impl ContentType for ErrorJson {
    const CONTENT_TYPE: &'static str = "application/json";
}

impl FormatType for ErrorJson {
    const FORMAT_TYPE: Format = Format::Text;
}

impl Encodes<Error> for ErrorJson {
    type Error = serde_json::Error;

    fn encode(error: &Error) -> Result<Bytes, serde_json::Error> {
        let mut json = serde_json::to_value(error)?;
        json["message"] = error.to_string().into();
        serde_json::to_vec(&json).map(Bytes::from)
    }
}

impl Decodes<Error> for ErrorJson {
    type Error = serde_json::Error;

    fn decode(bytes: Bytes) -> Result<Error, serde_json::Error> {
        serde_json::from_slice(&bytes)
    }
}

impl FromServerFnError for Error {
    type Encoder = ErrorJson;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Args(what) | ServerFnErrorErr::MissingArg(what) => Self::BadInput { what: short(&what) },
            ServerFnErrorErr::Request(_) | ServerFnErrorErr::Response(_) => Self::Unreachable,
            ServerFnErrorErr::Deserialization(what) => Self::BadInput { what: short(&what) },
            other => Self::BadInput { what: short(&other.to_string()) },
        }
    }

    fn status_code(&self) -> http::StatusCode {
        http::StatusCode::from_u16(self.status()).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// A parser's words, without what was sent: an answer is not a mirror for other people's input.
fn short(what: &str) -> String {
    let line = what.lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(120).collect()
}
