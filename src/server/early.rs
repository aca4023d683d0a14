//! The fast no, said at the door: in a crowd of losers most holds cannot win, and for those the server function with all that
//! surrounds it is more work than the answer. What is said here is what it would say, in its own form: to a script as JSON, to a form
//! without one as the way back to the page with the refusal in its address. Whatever is not a sure no passes on untouched.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use server_fn::codec::{FromReq, PostUrl};
use server_fn::error::{FromServerFnError, ServerFnUrlError};
use server_fn::response::Res;
use server_fn::{ContentType, ServerFn};

use crate::api::HoldSeats;
use crate::box_office::{self, BoxOffice};
use crate::domain::Error;
use crate::domain::hold::Selection;
use crate::domain::ids::{Attempt, ShowId};
use crate::request::{self, VisitorKey};

/// A hold of ten seats has a third of this. Larger ones are the server function's to refuse.
const MOST_FORM: usize = 2 * 1024;

/// What the door knows.
#[derive(Clone, Debug)]
pub struct Door {
    /// Has the snapshots.
    pub office: Arc<BoxOffice>,
    /// Makes visitors out of strangers.
    pub strangers: VisitorKey,
}

/// For holds, inside of the session: refuses those that cannot win.
pub async fn refuse(State(door): State<Door>, request: Request, next: Next) -> Response {
    if !is_a_hold(&request) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(form) = to_bytes(body, MOST_FORM).await else {
        return (StatusCode::BAD_REQUEST, "This form ended before it was complete.").into_response();
    };
    // Cheap: the bytes are shared. What cannot be read is the server function's to name.
    let asked: Result<_, Error> =
        <HoldSeats as FromReq<PostUrl, _, _>>::from_req(Request::new(Body::from(form.clone()))).await;
    if let Ok(asked) = asked
        && let Some(refusal) = refusal(&door, &parts, asked).await
    {
        return said(&parts, refusal);
    }
    next.run(Request::from_parts(parts, Body::from(form))).await
}

/// Small and complete.
fn is_a_hold(request: &Request) -> bool {
    let said = |name: header::HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    request.method() == Method::POST
        && request.uri().path() == HoldSeats::PATH
        && said(header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with(PostUrl::CONTENT_TYPE))
        && said(header::CONTENT_LENGTH)
            .and_then(|length| length.parse().ok())
            .is_some_and(|length: usize| length <= MOST_FORM)
}

async fn refusal(door: &Door, parts: &Parts, asked: HoldSeats) -> Option<Error> {
    let HoldSeats { show, seats, attempt } = asked;
    let (show, seats) = (ShowId(show), Selection::new(seats).ok()?);
    let visitor = request::visitor_of(parts).unwrap_or_else(|| door.strangers.stranger(Attempt(attempt)));
    let pass = request::pass_of(parts, &door.office, show, visitor);
    let refusal = box_office::refuse_early(&door.office, visitor, show, &seats, pass).await?;
    // A page shows the choice on its map.
    let choice = !request::takes_page(&parts.headers);
    Some(if choice { box_office::with_choice(&door.office, show, refusal).await } else { refusal })
}

/// As a server function says it.
fn said(parts: &Parts, refusal: Error) -> Response {
    let mut answer = Response::<Body>::error_response(HoldSeats::PATH, refusal.ser());
    if request::takes_page(&parts.headers) {
        let from = parts.headers.get(header::REFERER).and_then(|from| from.to_str().ok()).unwrap_or("/");
        let back = ServerFnUrlError::new(HoldSeats::PATH, refusal).to_url(from);
        answer.redirect(back.as_ref().map_or(from, |url| url.as_str()));
    }
    answer
}
