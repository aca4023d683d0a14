//! Back on the seat map releases. Decided on arrival: leaving a page is no event one can rely on.

use leptos::prelude::window;
use wasm_bindgen_futures::spawn_local;
use web_sys::{PageTransitionEvent, UrlSearchParams};

use super::browser::{get_json, go, on, post, tab, text, was_returned_to};
use super::notice;

/// The tab's note that the page it is about to load should say what happened.
const GAVE_BACK: &str = "matinee.gave-back";

fn key(show: &str) -> String {
    format!("matinee.order.{show}")
}

/// The tab notes which order it made or shows: Back in another tab must not release this one.
pub fn remember(show: &str, order: &str) {
    if let Some(tab) = tab() {
        let _ = tab.set_item(&key(show), order);
    }
}

/// Notes the order of a hold whose answer leads to its payment page: now, and not when that page has come alive, because
/// Back may be quicker.
pub fn remember_held(show: &str, path: &str) {
    let order = path.strip_prefix("/orders/").and_then(|path| path.strip_suffix("/pay"));
    if let Some(order) = order {
        remember(show, order);
    }
}

/// On the seat map: reached by Back or Forward, or brought back from the back/forward cache, gives back what this tab
/// held. A fresh visit gives back nothing.
pub fn release_if_returned(show: String) {
    if was_returned_to() {
        let show = show.clone();
        spawn_local(async move { release(&show).await });
    } else if let Some(tab) = tab() {
        // A fresh visit has said what is held: to come back to it later is no coming back from paying.
        let _ = tab.remove_item(&key(&show));
        if tab.get_item(GAVE_BACK).ok().flatten().is_some() {
            let _ = tab.remove_item(GAVE_BACK);
            notice::tell("You came back to the seat map, so the seats you held were given back. Nothing was charged.");
        }
    }
    on(&window(), "pageshow", move |event: PageTransitionEvent| {
        if event.persisted() {
            let show = show.clone();
            spawn_local(async move {
                release(&show).await;
                // What the cache brought back is old in any case.
                let _ = window().location().reload();
            });
        }
    });
}

/// Success redirects to this very page, which then shows the seats free.
async fn release(show: &str) {
    let Some(tab) = tab() else { return };
    let Some(order) = tab.get_item(&key(show)).ok().flatten() else { return };
    let Some(clock) = get_json(&format!("/orders/{order}/clock")).await else { return };
    // An order that is sold, lapsed, or being paid has nothing to give back. One that could not be asked for is kept in
    // mind, for the next time.
    let held = text(&clock, "standing").is_some_and(|standing| standing == "held");
    if held {
        let Ok(form) = UrlSearchParams::new() else { return };
        form.append("order", &order);
        let Ok(page) = post("/api/release_hold", &form).await else { return };
        let _ = tab.remove_item(&key(show));
        let _ = tab.set_item(GAVE_BACK, "");
        go(&page);
    } else {
        let _ = tab.remove_item(&key(show));
    }
}
