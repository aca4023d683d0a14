//! The frame of every page: head, header, footer, and the table of addresses.

use http::{StatusCode, header};
use leptos::config::LeptosOptions;
use leptos::nonce::use_nonce;
use leptos::prelude::*;
use leptos_meta::{HashedStylesheet, MetaTags, provide_meta_context};
use leptos_router::components::{FlatRoutes, Route, Router};
use leptos_router::hooks::use_location;
use leptos_router::{ParamSegment, SsrMode, StaticSegment};

use super::my_orders::MyOrders;
use super::order::OrderPage;
use super::payment::Payment;
use super::problem::NotFound;
use super::queue::Queue;
use super::seat_picker::SeatPicker;
use super::whats_on::WhatsOn;
use crate::request;

/// The document around the pages.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    secure();
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="theme-color" content="#f2f4ef" media="(prefers-color-scheme: light)"/>
                <meta name="theme-color" content="#0a1110" media="(prefers-color-scheme: dark)"/>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
                <HashedStylesheet options=options.clone() id="style"/>
                {has_islands().then(|| view! { <HydrationScripts options islands=true/> })}
                <MetaTags/>
            </head>
            <body>
                <App/>
            </body>
        </html>
    }
}

/// Only the seat map and the payment page move; the others are sent without a script.
fn has_islands() -> bool {
    let path = use_context::<http::request::Parts>().map(|parts| parts.uri.path().to_owned()).unwrap_or_default();
    (path.starts_with("/shows/") && !path.ends_with("/queue")) || path.ends_with("/pay")
}

/// A page runs its own script and nothing else, is framed by nobody, and posts to nobody else.
fn secure() {
    let nonce = use_nonce().map(|nonce| format!("'nonce-{nonce}' ")).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; script-src 'self' {nonce}'wasm-unsafe-eval'; style-src 'self'; \
         style-src-attr 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
         frame-ancestors 'none'; base-uri 'none'"
    );
    request::set_header(header::CONTENT_SECURITY_POLICY, &policy);
}

/// All pages.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    let office = request::office();
    let name = office.cinema.name.clone();
    view! {
        <Router>
            <a class="skip" href="#main">"Skip to content"</a>
            <Top name=name.clone()/>
            <FlatRoutes fallback=NotFound>
                <Route path=StaticSegment("") view=WhatsOn ssr=SsrMode::Async/>
                <Route path=(StaticSegment("shows"), ParamSegment("show")) view=SeatPicker ssr=SsrMode::Async/>
                <Route path=(StaticSegment("shows"), ParamSegment("show"), StaticSegment("queue")) view=Queue ssr=SsrMode::Async/>
                <Route path=(StaticSegment("orders"), ParamSegment("order"), StaticSegment("pay")) view=Payment ssr=SsrMode::Async/>
                <Route path=(StaticSegment("orders"), ParamSegment("order")) view=OrderPage ssr=SsrMode::Async/>
                <Route path=StaticSegment("my") view=MyOrders ssr=SsrMode::Async/>
            </FlatRoutes>
            <footer class="foot">
                <p>{name}" shows films that do not exist, and takes money that is not real."</p>
            </footer>
        </Router>
    }
}

#[component]
fn Top(name: String) -> impl IntoView {
    let path = use_location().pathname.get_untracked();
    let current = |here: bool| here.then_some("page");
    view! {
        <header class="top">
            <a class="brand" href="/">{name}</a>
            <nav aria-label="Main">
                <a href="/" aria-current=current(path == "/")>"What’s on"</a>
                <a href="/my" aria-current=current(path == "/my")>"My tickets"</a>
            </nav>
        </header>
    }
}

/// The page answers with this status.
pub fn status(status: StatusCode) {
    request::set_status(status);
}
