//! Back on the seat map releases. Decided on arrival: leaving a page is no event one can rely on.

use leptos::prelude::window;
use leptos::task::spawn_local;
use uuid::Uuid;
use web_sys::PageTransitionEvent;

use super::browser::{on, tab, was_returned_to};
use crate::api;

fn key(show: Uuid) -> String {
    format!("matinee.order.{show}")
}

/// The payment page notes in its own tab which order it shows: Back in another tab must not release this one.
pub fn remember(show: Uuid, order: Uuid) {
    if let Some(tab) = tab() {
        let _ = tab.set_item(&key(show), &order.to_string());
    }
}

/// On the seat map: reached by Back or Forward, or brought back from the back/forward cache, gives back what this tab
/// held. A fresh visit gives back nothing.
pub fn release_if_returned(show: Uuid) {
    if was_returned_to() {
        release(show);
    }
    on(&window(), "pageshow", move |event: PageTransitionEvent| {
        if event.persisted() {
            release(show);
            // What the cache brought back is old in any case.
            let _ = window().location().reload();
        }
    });
}

fn release(show: Uuid) {
    let Some(tab) = tab() else { return };
    let order = tab.get_item(&key(show)).ok().flatten().and_then(|order| order.parse::<Uuid>().ok());
    let _ = tab.remove_item(&key(show));
    if let Some(order) = order {
        // Success redirects to this very page, which then shows the seats free. An order that is sold, lapsed or being
        // paid is refused, and nothing happens.
        spawn_local(async move {
            let _ = api::release_hold(order).await;
        });
    }
}
