//! The countdown: seconds left by the server's clock, asked again whenever this page may have lost count.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leptos::prelude::{document, window};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Event, HtmlButtonElement};

use super::back;
use super::browser::{
    after, arrived_ms, elapsed_ms, find, get_json, is_visible, number, on, set_attribute, set_hidden, text,
};
use super::picker::set_text;

/// Below this the clock becomes urgent, in shape and words.
const URGENT_MS: f64 = 120_000.0;

/// How often the server is asked in between; a clock that stood still while a laptop slept is found out by then.
const ASK_EVERY_MS: f64 = 15_000.0;

/// Starts counting.
pub fn start() {
    let Some(clock) = find(".clock") else { return };
    let data = clock.dataset();
    let left_ms = data.get("left").and_then(|left| left.parse::<i64>().ok());
    let (Some(order), Some(show), Some(left_ms)) = (data.get("order"), data.get("show"), left_ms) else { return };
    back::remember(&show, &order);
    let order: Rc<str> = order.into();
    // The page was true when it was sent: what has passed since it arrived is gone.
    let ends_ms = Rc::new(Cell::new(arrived_ms() + left_ms as f64));
    tick(Rc::clone(&ends_ms));
    ask_again(Rc::clone(&order), Rc::clone(&ends_ms));
    let wake = move |_: Event| {
        if is_visible() {
            ask(Rc::clone(&order), Rc::clone(&ends_ms));
        }
    };
    on(&document(), "visibilitychange", wake.clone());
    on(&window(), "focus", wake.clone());
    on(&window(), "pageshow", wake);
    send_once();
}

fn tick(ends_ms: Rc<Cell<f64>>) {
    let left = (ends_ms.get() - elapsed_ms()).max(0.0);
    show(left);
    // Just behind the next full second, so that no second is skipped or shown twice.
    after(f64::from(left as u32 % 1000) + 5.0, move || {
        if left > 0.0 || ends_ms.get() > elapsed_ms() {
            tick(ends_ms);
        } else {
            // Over, unless the server says otherwise later (it does not: nothing renews a hold from here).
            after(1000.0, move || tick(ends_ms));
        }
    });
}

fn show(left_ms: f64) {
    // Rounded up: 0:00 is shown when nothing is left, not a second before.
    let seconds = (left_ms as u64).div_ceil(1000);
    if let Some(countdown) = find("[data-testid=countdown]") {
        set_text(&countdown, &format!("{:02}:{:02}", seconds / 60, seconds % 60));
    }
    if let Some(clock) = find(".clock") {
        let urgent = left_ms <= URGENT_MS;
        set_attribute(&clock, "data-urgent", urgent.then_some(""));
        if let Some(words) = find(".clock .countdown-words") {
            set_text(
                &words,
                if seconds == 0 {
                    "Your hold is over"
                } else if urgent {
                    "Less than two minutes left"
                } else {
                    "Your seats are held for"
                },
            );
        }
    }
    let over = seconds == 0;
    if let Some(button) = pay_button() {
        button.set_disabled(over);
    }
    // What is over cannot be paid for or given back; the notice says how to go on.
    for gone in [".pay-panel", ".clock .soft"] {
        if let Some(gone) = find(gone) {
            set_hidden(&gone, over);
        }
    }
    if let Some(notice) = find("[data-testid=lapsed-notice]") {
        set_hidden(&notice, !over);
    }
}

fn pay_button() -> Option<HtmlButtonElement> {
    find("[data-testid=pay]")?.dyn_into().ok()
}

fn ask_again(order: Rc<str>, ends_ms: Rc<Cell<f64>>) {
    after(ASK_EVERY_MS, move || {
        if is_visible() {
            ask(Rc::clone(&order), Rc::clone(&ends_ms));
        }
        ask_again(order, ends_ms);
    });
}

/// Asks what is left. An order that is not held any more has another page.
fn ask(order: Rc<str>, ends_ms: Rc<Cell<f64>>) {
    spawn_local(async move {
        let asked = elapsed_ms();
        let Some(json) = get_json(&format!("/orders/{order}/clock")).await else { return };
        if let Some(left) = number(&json, "left_ms") {
            // The answer was true somewhere between question and arrival: half the way is the best guess.
            let halfway = (asked + elapsed_ms()) / 2.0;
            ends_ms.set(halfway + left);
        }
        if matches!(text(&json, "standing").as_deref(), Some("sold" | "released" | "refund_owed" | "refunded")) {
            let _ = window().location().replace(&format!("/orders/{order}"));
        }
    });
}

/// One click, one payment: the server would refuse the second, but the visitor should not have to wonder.
fn send_once() {
    let Some(form) = find("form.pay-form") else { return };
    let sent = Rc::new(RefCell::new(false));
    let again = Rc::clone(&sent);
    on(&form, "submit", move |event: Event| {
        if sent.replace(true) {
            event.prevent_default();
        } else if let Some(button) = pay_button() {
            set_attribute(&button, "aria-busy", Some("true"));
            set_text(&button, "Paying…");
            if let Some(release) = find(".release-form") {
                set_hidden(&release, true);
            }
        }
    });
    // Back from the cache: the form may be sent again, and the server judges.
    on(&window(), "pageshow", move |_: Event| {
        again.replace(false);
    });
}
