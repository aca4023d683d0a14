//! Keeping the map true: the server's word every few seconds, and in between the shared rule alone.

use std::rc::Rc;
use std::str::FromStr;

use js_sys::{Array, Reflect};
use leptos::prelude::{document, window};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use web_sys::Event;

use super::browser::{after, find, get_json, is_visible, number, on, text, time_ms};
use super::grid::{Grid, instant};
use super::notice;
use super::picker::{Shared, set_text, show_picks};
use crate::domain::seat::{SeatNo, Status, taken_words};

/// How often a visible map asks. An unchanged map is answered by its ETag alone.
const EVERY_MS: f64 = 4_000.0;

/// Starts both clocks.
pub fn start(grid: &Shared) {
    watch_lapses(Rc::clone(grid));
    ask_again(Rc::clone(grid));
    let woken = Rc::clone(grid);
    // A laptop that slept, a tab that lay behind others: ask at once when somebody looks.
    let wake = move |_: Event| {
        if is_visible() {
            let grid = Rc::clone(&woken);
            spawn_local(async move { now(&grid).await });
        }
    };
    on(&document(), "visibilitychange", wake.clone());
    on(&window(), "online", wake);
}

/// A hold that ends while you look frees its seat at that moment: the rule decides, no request is made.
fn watch_lapses(grid: Shared) {
    // At the next end of a hold, and every second at least, because the server may say something new meanwhile.
    let wait = grid.borrow().next_lapse_ms().unwrap_or(1_000.0).clamp(1.0, 1_000.0);
    after(wait, move || {
        redraw(&mut grid.borrow_mut());
        watch_lapses(grid);
    });
}

fn ask_again(grid: Shared) {
    after(EVERY_MS, move || {
        spawn_local(async move {
            if is_visible() {
                now(&grid).await;
            }
            ask_again(grid);
        });
    });
}

/// Asks the server and redraws.
pub async fn now(grid: &Shared) {
    let path = format!("/shows/{}/seats", grid.borrow().facts.show);
    if let Some(json) = get_json(&path).await {
        let mut grid = grid.borrow_mut();
        take_in(&mut grid, &json);
        redraw(&mut grid);
    }
}

fn take_in(grid: &mut Grid, json: &JsValue) {
    if let Some(server_ms) = time_ms(json, "now") {
        grid.set_clock(server_ms);
    }
    let seats = Reflect::get(json, &"seats".into()).map(|seats| Array::from(&seats)).unwrap_or_default();
    for seat in seats.iter() {
        let no = number(&seat, "no").map(|no| SeatNo(no as i16));
        let status = text(&seat, "status").and_then(|status| Status::from_str(&status).ok());
        let locked_at = time_ms(&seat, "locked_at").and_then(instant);
        if let Some((known, status)) = no.and_then(|no| grid.seat_mut(no)).zip(status) {
            known.set(status, locked_at);
        }
    }
}

fn redraw(grid: &mut Grid) {
    let before = grid.picked_numbers();
    let lost = grid.redraw();
    if !lost.is_empty() {
        show_picks(grid);
        notice::tell_taken(grid, &before, &lost, false);
        // The notice may be out of sight, above a big hall: the bar with the picks is not.
        if let Some(line) = find(".limit") {
            set_text(&line, &taken_words(&grid.names(&lost), lost.len(), false, ""));
        }
    }
}
