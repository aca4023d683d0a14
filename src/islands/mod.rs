//! What moves in the browser. Compiled to WASM, and natively for the server's first render.
//!
//! The islands here render nothing of their own: the server sends a whole page that works without them, and they take hold
//! of the elements that are there, by attributes and text. So a first render cannot differ between server and browser,
//! twelve hundred seats need no hydration, and a page whose WASM has not arrived (or never will) is a plain form.

#![expect(missing_docs, reason = "the island macro makes a struct without a doc line for each island")]

mod back;
mod browser;
mod countdown;
mod grid;
mod keyboard;
mod notice;
mod picker;
mod refresh;
mod zoom;

use leptos::prelude::*;
use uuid::Uuid;

use crate::domain::local_time::WallClock;
use crate::domain::money::Currency;
use crate::domain::seat::HoldWindow;

/// Makes the seat map live: seats that lapse become free before your eyes, picks are added up, conflicts redrawn.
#[island]
pub fn SeatGrid(
    /// The show.
    show: Uuid,
    /// Its window; the rule needs nothing else.
    window: HoldWindow,
    /// The cinema's wall clock.
    clock: WallClock,
    /// The database's clock when the page was rendered, in milliseconds since 1970.
    rendered_ms: i64,
    /// What a seat of each zone costs, in minor units.
    zone_prices: Vec<i64>,
    /// Of the prices.
    currency: Currency,
    /// How many seats the visitor holds in this show already.
    holding: usize,
) -> impl IntoView {
    Effect::new(move || {
        let facts =
            grid::Facts { show, window, clock: clock.clone(), zone_prices: zone_prices.clone(), currency, holding };
        browser::follow_redirects();
        picker::start(facts, rendered_ms);
        back::release_if_returned(show);
    });
}

/// Counts a hold down by the server's clock, and lets the form be sent once.
#[island]
pub fn Countdown(
    /// The order.
    order: Uuid,
    /// Its show.
    show: Uuid,
    /// Milliseconds left when the page was rendered.
    left_ms: i64,
) -> impl IntoView {
    Effect::new(move || {
        back::remember(show, order);
        countdown::start(order, left_ms);
    });
}
