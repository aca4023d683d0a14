//! The assembly: which addresses there are, through which layers a request goes, and how the program starts and ends.

pub mod commands;
pub mod config;
mod connections;
mod early;
pub mod embedded;
mod incidents;
mod layers;
pub mod limits;
mod live;
mod opening;
mod openings;
pub mod processor;
mod run;
mod seats;
mod serving;
pub mod telemetry;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::handler::HandlerWithoutStateExt as _;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use leptos::config::LeptosOptions;
use leptos::prelude::provide_context;
use leptos_axum::{
    LeptosRoutes, generate_route_list_with_exclusions_and_ssg_and_context, render_app_async_with_context,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceBuilder;
use tower_http::services::{ServeDir, ServeFile};
use tower_http::set_header::SetResponseHeaderLayer;
use uuid::Uuid;

use crate::box_office::BoxOffice;
use crate::pages::{App, shell};
use crate::request::{SecureCookie, VisitorKey};
use crate::store::pool;
use early::Door;
use limits::{Limits, Shares};
pub use processor::Processor;
pub use run::{Failure, run};
pub use serving::stop_signal;

/// What a site is served with.
#[derive(Clone, Debug)]
pub struct Site {
    /// Names the assets in the pages.
    pub leptos: LeptosOptions,
    /// 64 bytes that sign the visitors' cookie.
    pub cookie_key: Vec<u8>,
    /// Whether the cookie travels over HTTPS only.
    pub secure_cookie: bool,
    /// What one visitor and one address may ask for.
    pub shares: Shares,
    /// Cancelled when the server stops.
    pub closing: CancellationToken,
}

impl Site {
    /// What makes ids for strangers: derived from the cookie's key, which every server on the database shares.
    fn visitor_key(&self) -> VisitorKey {
        VisitorKey(Uuid::new_v5(&Uuid::NAMESPACE_URL, &self.cookie_key))
    }
}

/// What the pages' routes have for a state.
#[derive(Clone)]
struct SharedOptions(Arc<LeptosOptions>);

impl FromRef<SharedOptions> for LeptosOptions {
    fn from_ref(SharedOptions(options): &SharedOptions) -> Self {
        Self::clone(options)
    }
}

/// Every address of the site, behind its layers.
pub fn router(office: Arc<BoxOffice>, site: &Site, processor: &Processor) -> Router {
    let context = {
        let office = Arc::clone(&office);
        let key = site.visitor_key();
        let secure = SecureCookie(site.secure_cookie);
        move || {
            provide_context(Arc::clone(&office));
            provide_context(key);
            provide_context(secure);
        }
    };
    let (pages, _) = generate_route_list_with_exclusions_and_ssg_and_context(App, None, context.clone());
    // Shared: a route is cloned for each request, with all that it knows.
    let options = SharedOptions(Arc::new(site.leptos.clone()));
    let document = {
        let SharedOptions(options) = options.clone();
        move || shell(LeptosOptions::clone(&options))
    };
    let root = site.leptos.site_root.to_string();
    let root = Path::new(&root);

    let visited = Router::new()
        .leptos_routes_with_context(&options, pages, context.clone(), document.clone())
        .fallback(render_app_async_with_context(context, document))
        .with_state(options)
        .merge(Router::new().route("/shows/{show}/mine", get(seats::mine)).with_state(Arc::clone(&office)));

    let streams = live::Streams { office: Arc::clone(&office), closing: site.closing.clone() };
    let data = Router::new()
        .route("/shows/{show}/seats", get(seats::seats))
        .route("/orders/{order}/clock", get(seats::clock))
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .with_state(Arc::clone(&office))
        .merge(Router::new().route("/shows/{show}/live", get(live::live)).with_state(streams));

    let files = Router::new()
        // Their names change with their content, so a browser may keep them for good.
        .nest_service("/pkg", cached("public, max-age=31536000, immutable", ServeDir::new(root.join("pkg"))))
        .nest_service("/posters", cached("public, max-age=86400", ServeDir::new(root.join("posters"))))
        .route_service("/favicon.svg", ServeFile::new(root.join("favicon.svg")))
        // Asked for by every browser that shows an answer which is no page of ours.
        .route("/favicon.ico", get(|| async { Redirect::permanent("/favicon.svg") }));

    // Outside of what is for visitors: no cookie, and a form that comes back from the processor comes from elsewhere.
    let desk = processor::routes(Arc::clone(&office), processor);
    let limits = Limits::new(&site.shares);
    let door = Door { office: Arc::clone(&office), strangers: site.visitor_key() };
    let visited = layers::for_visitors(visited, &door, site, &limits);
    let rendered = visited.merge(data).method_not_allowed_fallback(wrong_method);
    layers::for_all(layers::bounded(layers::compressed(rendered)).merge(files).merge(desk), &limits)
}

/// Files as they lie in the site folder, with their smaller twins for browsers that take them.
fn cached(policy: &'static str, files: ServeDir) -> axum::routing::MethodRouter {
    // Only what is a file: a failure that a browser keeps for a year would outlive its cause.
    let policy = move |answer: &Response<_>| {
        let is_file = answer.status().is_success() || answer.status() == StatusCode::NOT_MODIFIED;
        is_file.then_some(HeaderValue::from_static(policy))
    };
    let keep = SetResponseHeaderLayer::if_not_present(header::CACHE_CONTROL, policy);
    let files = files.precompressed_br().precompressed_gzip().fallback(no_such_file.into_service());
    axum::routing::any_service(ServiceBuilder::new().layer(keep).service(files)).layer(from_fn(of_a_files_length))
}

/// A file system fails on names that are longer than it can have, which is no fault of ours.
async fn of_a_files_length(request: Request, next: Next) -> axum::response::Response {
    const MOST: usize = 255;
    if request.uri().path().len() > MOST { no_such_file().await.into_response() } else { next.run(request).await }
}

/// Said with its own policy: a file that is missing today, while servers are being replaced, may be there tomorrow.
async fn no_such_file() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, [(header::CACHE_CONTROL, "no-store")], "There is no such file.")
}

async fn wrong_method() -> impl IntoResponse {
    (StatusCode::METHOD_NOT_ALLOWED, "There is nothing here for this method.")
}

/// Whether the database is there and migrated: then traffic may come.
async fn ready(State(office): State<Arc<BoxOffice>>) -> impl IntoResponse {
    // Whoever asks wants to know now, not when a connection may come.
    match tokio::time::timeout(Duration::from_secs(1), pool::is_ready(&office.pool)).await {
        Ok(Ok(true)) => (StatusCode::OK, "ready"),
        Ok(Ok(false)) => (StatusCode::SERVICE_UNAVAILABLE, "the database's schema is not this program's"),
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer")
        }
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer in time"),
    }
}
