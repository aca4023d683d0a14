//! Keeping the map true: by the live stream, or else by asking every few seconds; and in between by the shared rule alone.

use std::rc::Rc;
use std::str::FromStr;

use leptos::prelude::{document, window};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use web_sys::Event;

use super::browser::{
    after, array, digits, find, get_json, is_visible, number, on, reopen, seats, set_attribute, text, time_ms,
};
use super::grid::{Grid, instant};
use super::live::{self, Stream};
use super::notice;
use super::picker::{Shared, set_text, show_picks};
use crate::domain::seat::{SeatNo, Status, taken_words};

/// How often a visible map asks while it has no stream. An unchanged map is answered by its ETag alone.
const EVERY_MS: f64 = 4_000.0;

/// After so long a hold that won is answered, too.
const ANSWERED_MS: f64 = 1_000.0;

/// Starts both clocks.
pub fn start(grid: &Shared) {
    watch_lapses(Rc::clone(grid));
    ask_again(Rc::clone(grid), live::start(grid));
    let woken = Rc::clone(grid);
    // A laptop that slept, a tab that lay behind others: ask at once when somebody looks.
    let wake = move |_: Event| {
        if is_visible() {
            now_and_then(&woken);
        }
    };
    on(&document(), "visibilitychange", wake.clone());
    on(&window(), "online", wake);
    // The browser may know before the stream has been silent for long.
    on(&window(), "offline", |_: Event| say_how_fresh("lost"));
}

/// A hold that ends while you look frees its seat at that moment: the rule decides, no request is made.
fn watch_lapses(grid: Shared) {
    // At the next end of a hold, and every second at least, because the server may say something new meanwhile.
    let wait = grid.borrow().next_lapse_ms().unwrap_or(1_000.0).clamp(1.0, 1_000.0);
    after(wait, move || {
        // Time alone only frees seats.
        grid.borrow_mut().redraw();
        watch_lapses(grid);
    });
}

fn ask_again(grid: Shared, stream: Rc<Stream>) {
    after(EVERY_MS, move || {
        spawn_local(async move {
            if is_visible() && !stream.is_alive() {
                say_how_fresh(if now(&grid).await { "asks" } else { "lost" });
                live::open(&grid, &stream);
            }
            ask_again(grid, stream);
        });
    });
}

/// Asks the server and redraws; once, however often this is called while it asks, and once more then.
pub fn now_and_then(grid: &Shared) {
    if grid.borrow_mut().asks.begin() {
        let grid = Rc::clone(grid);
        spawn_local(async move {
            loop {
                now(&grid).await;
                if !grid.borrow_mut().asks.again() {
                    return;
                }
            }
        });
    }
}

/// Says under the map how it is kept true: `live`, `asks`, or that it is not: `lost`. The words are the page's.
pub fn say_how_fresh(how: &str) {
    let Some(line) = find(".fresh") else { return };
    let words = line.get_attribute(&format!("data-{how}"));
    if let Some(words) = words.filter(|_| line.get_attribute("data-now").as_deref() != Some(how)) {
        set_attribute(&line, "data-now", Some(how));
        set_text(&line, &words);
    }
}

/// Asks the server and redraws; `false` when it does not answer.
pub async fn now(shared: &Shared) -> bool {
    let (path, before) = {
        let grid = shared.borrow();
        (format!("/shows/{}/seats", grid.facts.show), grid.version.clone())
    };
    let Some(json) = get_json(&path).await else { return false };
    // The stream may have said something newer meanwhile; if it did not, its next word will show that.
    if shared.borrow().version == before {
        take(shared, &json).await;
    }
    true
}

/// Redraws by what the stream said.
pub fn apply(grid: &Shared, json: JsValue) {
    let grid = Rc::clone(grid);
    spawn_local(async move { take(&grid, &json).await });
}

async fn take(shared: &Shared, json: &JsValue) {
    // One's own hold may be in the answer before its own answer is here, which leads to the payment page.
    if is_sending() {
        return;
    }
    let (wanted, lost, show) = {
        let mut grid = shared.borrow_mut();
        take_in(&mut grid, json);
        let wanted = grid.picked_numbers();
        (wanted, grid.redraw(), grid.facts.show.clone())
    };
    if !lost.is_empty() {
        tell(shared, &show, &wanted, &lost).await;
    }
}

/// Some picks went while one looked. To others, or to oneself: by another tab, or by a hold whose answer never came. What
/// is one's own is never called taken; the page as it is now says that it is held, and how to go on.
async fn tell(shared: &Shared, show: &str, wanted: &[SeatNo], lost: &[SeatNo]) {
    if is_sending() || find_mine(show, wanted, lost).await {
        return;
    }
    {
        let grid = shared.borrow();
        show_picks(&grid);
        notice::tell_taken(&grid, wanted, lost, false);
        // The notice may be out of sight, above a big hall: the bar with the picks is not.
        if let Some(line) = find(".limit") {
            set_text(&line, &taken_words(&grid.names(lost), lost.len(), false, ""));
        }
    }
    // The stream may be quicker than the answer to the other tab's hold, which makes a stranger known: ask once more then.
    let (show, wanted, lost) = (show.to_owned(), wanted.to_vec(), lost.to_vec());
    after(ANSWERED_MS, move || {
        spawn_local(async move {
            find_mine(&show, &wanted, &lost).await;
        });
    });
}

/// If some of the lost picks are the visitor's own by now, the page is loaded as it is now.
async fn find_mine(show: &str, wanted: &[SeatNo], lost: &[SeatNo]) -> bool {
    let mine = get_json(&format!("/shows/{show}/mine")).await.map(|json| seats(&json)).unwrap_or_default();
    let found = lost.iter().any(|no| mine.contains(no));
    if found && !is_sending() {
        reopen(show, wanted.iter().filter(|no| !lost.contains(no)));
    }
    found || is_sending()
}

/// Whether a hold is on its way, or the page it leads to.
fn is_sending() -> bool {
    find("[data-testid=hold][aria-busy]").is_some()
}

fn take_in(grid: &mut Grid, json: &JsValue) {
    if let Some(server_ms) = time_ms(json, "now") {
        grid.set_clock(server_ms);
    }
    if let Some(version) = digits(json, "version") {
        grid.version = version;
    }
    for seat in array(json, "seats").iter() {
        let no = number(&seat, "no").map(|no| SeatNo(no as i16));
        let status = text(&seat, "status").and_then(|status| Status::from_str(&status).ok());
        let locked_at = time_ms(&seat, "locked_at").and_then(instant);
        if let Some((known, status)) = no.and_then(|no| grid.seat_mut(no)).zip(status) {
            known.set(status, locked_at);
        }
    }
}
