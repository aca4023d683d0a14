//! What a server function or a page may ask of the HTTP request it answers, and set on its response.

use std::fmt;
use std::sync::Arc;

use axum::extract::Query;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use leptos::prelude::{expect_context, use_context};
use leptos_axum::ResponseOptions;
use server_fn::error::ServerFnUrlError;
use tower_sessions::Session;
use tower_sessions::cookie::{Cookie, SameSite};
use uuid::Uuid;

use crate::box_office::BoxOffice;
use crate::box_office::queue::{self, Pass};
use crate::domain::Error;
use crate::domain::ids::{Attempt, ShowId, VisitorId};
use crate::domain::queue::ADMITTED_FOR;
use crate::store::visitors;

/// The box office; the server puts it into every request's context.
pub fn office() -> Arc<BoxOffice> {
    expect_context()
}

/// Who is asking; `None` for a stranger.
pub fn visitor() -> Option<VisitorId> {
    visitor_of(&use_context::<Parts>()?)
}

/// Who sent a request; `None` for a stranger. The cookie is signed, so its id is believed without asking the database.
pub fn visitor_of(parts: &Parts) -> Option<VisitorId> {
    parts.extensions.get::<Session>()?.id().map(|id| VisitorId(visitors::uuid(id)))
}

/// Makes visitors out of strangers; every server on a database has the same one.
#[derive(Clone, Copy)]
pub struct VisitorKey(pub Uuid);

// It is a secret.
impl fmt::Debug for VisitorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VisitorKey(..)")
    }
}

impl VisitorKey {
    /// A stranger gets the id that the attempt makes. So the same attempt sent twice by somebody without a cookie (a double click
    /// on the very first hold) is one visitor and one order, not two who take each other's seats. The attempt stands only in that
    /// stranger's own form, and the key is the server's secret.
    pub fn stranger(self, attempt: Attempt) -> VisitorId {
        VisitorId(Uuid::new_v5(&self.0, attempt.0.as_bytes()))
    }
}

/// Who is asking, strangers too.
pub fn visitor_or_stranger(attempt: Attempt) -> VisitorId {
    visitor().unwrap_or_else(|| expect_context::<VisitorKey>().stranger(attempt))
}

/// The pass that the visitor carries for a show's waiting room, if it is the visitor's own.
pub fn pass(office: &BoxOffice, show: ShowId, visitor: VisitorId) -> Option<Pass> {
    pass_of(&use_context::<Parts>()?, office, show, visitor)
}

/// The pass that a request carries.
pub fn pass_of(parts: &Parts, office: &BoxOffice, show: ShowId, visitor: VisitorId) -> Option<Pass> {
    let carried = parts.headers.get_all(header::COOKIE).into_iter().filter_map(|cookies| cookies.to_str().ok());
    let name = pass_name(show);
    carried
        .flat_map(Cookie::split_parse)
        .filter_map(Result::ok)
        .find(|cookie| cookie.name() == name)
        .and_then(|cookie| queue::pass(office, show, visitor, cookie.value()))
}

/// Gives the visitor a pass to carry for as long as a turn lasts.
pub fn carry(office: &BoxOffice, show: ShowId, pass: Pass) {
    let (Some(options), Some(value)) = (use_context::<ResponseOptions>(), queue::carried(office, pass)) else { return };
    let secure = use_context::<SecureCookie>().is_some_and(|SecureCookie(secure)| secure);
    let cookie = Cookie::build((pass_name(show), value))
        .path("/")
        .http_only(true)
        .secure(secure)
        .same_site(SameSite::Lax)
        .max_age(tower_sessions::cookie::time::Duration::seconds(ADMITTED_FOR.num_seconds()));
    if let Ok(cookie) = HeaderValue::from_str(&cookie.build().to_string()) {
        // Beside the session's own cookie.
        options.append_header(header::SET_COOKIE, cookie);
    }
}

fn pass_name(show: ShowId) -> String {
    format!("matinee-pass-{show}")
}

/// Whether cookies travel over HTTPS only; the server puts it into every request's context.
#[derive(Clone, Copy)]
pub struct SecureCookie(pub bool);

/// There is something to keep now: a stranger gets a session under this id, and its cookie.
///
/// # Errors
/// [`Error::Unavailable`] when there is no session layer.
pub async fn remember(VisitorId(id): VisitorId) -> Result<(), Error> {
    let session = session().ok_or(Error::Unavailable)?;
    if session.id().is_none() {
        // The session layer stores what was changed when the answer leaves, and sends the cookie.
        session.insert(visitors::ID, id).await.map_err(|error| {
            tracing::warn!(%error, "a session could not be made");
            Error::Unavailable
        })?;
    }
    Ok(())
}

fn session() -> Option<Session> {
    use_context::<Parts>()?.extensions.get::<Session>().cloned()
}

/// The value of a parameter of the address, decoded; `None` when it is absent. The last one, when there are several: a
/// form that is refused twice comes back with both refusals in its address, the newer one behind the older.
pub fn query(name: &str) -> Option<String> {
    let parts = use_context::<Parts>()?;
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok()?;
    pairs.into_iter().rfind(|(key, _)| key == name).map(|(_, value)| value)
}

/// The error that a form without JavaScript came back with, if it was sent to this endpoint. Anybody can make such an
/// address, so nothing of it is shown but our own words and the seats' own names.
pub fn form_error(endpoint: &str) -> Option<Error> {
    let path = query("__path")?;
    let error = (path == endpoint).then(|| query("__err")).flatten()?;
    match ServerFnUrlError::<Error>::decode_err(&error) {
        Error::BadInput { .. } => Some(Error::BadInput { what: "a field is missing, or not of its kind".to_owned() }),
        // What an address cannot say: it was made up.
        Error::Unreachable => None,
        Error::Internal { reference } if !reference.bytes().all(|byte| byte.is_ascii_hexdigit()) => None,
        error => Some(error),
    }
}

/// Sets the status of the page.
pub fn set_status(status: StatusCode) {
    if let Some(options) = use_context::<ResponseOptions>() {
        options.set_status(status);
    }
}

/// Sets a header of the response.
pub fn set_header(name: HeaderName, value: &str) {
    if let (Some(options), Ok(value)) = (use_context::<ResponseOptions>(), HeaderValue::from_str(value)) {
        options.insert_header(name, value);
    }
}

/// The page is this visitor's alone and true only now: no cache keeps it, and Back asks again.
pub fn do_not_store() {
    set_header(header::CACHE_CONTROL, "no-store");
}

/// Whether a person's browser asked, who wants a page for an answer.
pub fn wants_page() -> bool {
    use_context::<Parts>().is_some_and(|parts| takes_page(&parts.headers))
}

/// Whether an answer may be a page.
pub fn takes_page(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

/// Says after how many seconds it is worth asking again.
pub fn retry_after(seconds: u32) {
    set_header(header::RETRY_AFTER, &seconds.to_string());
}

/// Has the browser load the page again by itself after so many seconds, also without a script.
pub fn ask_again(seconds: i64) {
    set_header(header::REFRESH, &seconds.to_string());
}

/// Has the browser go on to another site's page at once, also without a script; the page it is on says where, too.
pub fn go_on_to(url: &str) {
    set_header(header::REFRESH, &format!("0;url={url}"));
}

/// Answers a page's address with another page's: a redirect for whoever asks, also for those who take any kind of answer.
pub fn redirect_page(path: &str) {
    set_status(StatusCode::FOUND);
    set_header(header::LOCATION, path);
}

/// Sends the browser elsewhere after a command; a script is told where by a header.
pub fn redirect(path: &str) {
    leptos_axum::redirect(path, false);
}

/// A new name for one try of a command, for a form's hidden field.
pub fn new_attempt() -> Uuid {
    Uuid::new_v4()
}
