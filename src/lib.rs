//! Matinee sells cinema seats: pick seats on a live map, hold them all or none, pay while a countdown runs, get tickets.
//!
//! The rooms, and who may enter which; an arrow is an import, and only leftwards (`tests/architecture/` sees to it):
//!
//! ```text
//! domain <- store <- box_office <- request <- api <- islands <- pages <- server <- main
//!  pure      SQL     use cases     one HTTP    server   WASM      SSR     axum
//!                                  request     fns      grid      HTML    assembly
//! ```
//!
//! Beside them stands `gateway`, the simulated card processor: another company's service, which imports nothing but
//! `domain` (for money) and is imported by `server` and `main` alone, to mount it. Everybody else speaks HTTP to it.
//!
//! At the other end, beyond `server`, lies `rush`: the strategy laboratory. It starts databases of its own and is entered
//! by `main` alone.
//!
//! The browser gets `domain` and `islands`, which send the same forms that a page without JavaScript sends; everything
//! else is the server's. This file is the only one that looks at features.

// A page's type is as deep as its elements are nested.
#![recursion_limit = "256"]

pub mod domain;

#[cfg(feature = "ssr")]
pub mod gateway;

#[cfg(feature = "ssr")]
pub mod store;

#[cfg(feature = "ssr")]
pub mod box_office;

#[cfg(feature = "ssr")]
pub mod request;

#[cfg(feature = "ssr")]
pub mod api;

pub mod islands;

#[cfg(feature = "ssr")]
pub mod pages;

#[cfg(feature = "ssr")]
pub mod server;

#[cfg(feature = "ssr")]
pub mod rush;

/// Called by the browser once the WASM is there: the islands of the page wake up.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    leptos::mount::hydrate_islands();
}
