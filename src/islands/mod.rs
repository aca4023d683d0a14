//! What moves in the browser. Compiled to WASM, and natively for the server's first render.
//!
//! The islands here render nothing of their own: the server sends a whole page that works without them, and they take hold
//! of the elements that are there, by attributes and text. So a first render cannot differ between server and browser,
//! twelve hundred seats need no hydration, and a page whose WASM has not arrived (or never will) is a plain form. They
//! have no props either, for these would be JSON, and its reader a tenth of the download: facts stand in `data-` attributes.
//! A command is sent as the form that it is, and what was refused is told in the server's own words.

mod back;
mod browser;
mod countdown;
mod grid;
mod keyboard;
mod live;
mod notice;
mod picker;
mod refresh;
mod zoom;

use leptos::prelude::*;

/// Makes the seat map live: seats that lapse become free before your eyes, picks are added up, conflicts redrawn.
#[island]
pub fn SeatGrid() -> impl IntoView {
    if is_browser()
        && let Some(show) = picker::start()
    {
        back::release_if_returned(show);
    }
}

/// Counts a hold down by the server's clock, and lets the form be sent once.
#[island]
pub fn Countdown() -> impl IntoView {
    if is_browser() {
        countdown::start();
    }
}
