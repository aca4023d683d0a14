//! Picking: the running total, the limit of ten, and sending the hold.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Event, HtmlButtonElement, HtmlElement, HtmlInputElement};

use super::browser::{Refusal, fields, find, go, on, post, reopen, set_attribute};
use super::grid::Grid;
use super::{back, keyboard, notice, refresh, zoom};
use crate::domain::error::NO_SEATS;
use crate::domain::hold::MOST_SEATS;
use crate::domain::seat::SeatNo;

/// The grid, shared by everything that listens on the page.
pub type Shared = Rc<RefCell<Grid>>;

/// Takes hold of the page; says of which show it is.
pub fn start() -> Option<String> {
    let grid = Grid::read()?;
    let show = grid.facts.show.clone();
    let map = grid.map.clone();
    let grid: Shared = Rc::new(RefCell::new(grid));

    let picked = Rc::clone(&grid);
    on(&map, "change", move |event: Event| {
        if let Some(seat) = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) {
            refuse_what_cannot_be_picked(&picked.borrow(), &seat);
            show_picks(&picked.borrow());
        }
    });
    if let Some(form) = find("form.picker") {
        let held = Rc::clone(&grid);
        on(&form.clone(), "submit", move |event: Event| {
            event.prevent_default();
            send(&held, &form);
        });
    }
    keyboard::start(&grid);
    zoom::start(&grid);
    notice::start(&grid);
    refresh::start(&grid);
    show_picks(&grid.borrow());
    // Tests and style sheets may wait for this; nothing else depends on it.
    set_attribute(&map, "data-live", Some(""));
    Some(show)
}

/// A seat that is not free, or an eleventh one, is unticked again: the server would refuse it too.
fn refuse_what_cannot_be_picked(grid: &Grid, seat: &HtmlInputElement) {
    if !seat.checked() {
        return;
    }
    let free = grid.seats.iter().any(|known| known.is_free() && known.element == *seat);
    if !free || grid.picked().count() + grid.facts.holding > MOST_SEATS {
        seat.set_checked(false);
    }
}

/// Says what is picked, what it costs, and how many more there may be.
pub fn show_picks(grid: &Grid) {
    let numbers = grid.picked_numbers();
    let count = numbers.len();
    if let Some(list) = find(".picks-list") {
        let text = if count == 0 { "Pick your seats, then hold them.".to_owned() } else { grid.names(&numbers) };
        set_text(&list, &text);
    }
    // Without a script the style sheet counts the ticks here; with one, the sum stands in their place.
    if let (Some(what), Some(total), Some(sum)) = (find(".total span"), find(".total b"), grid.total()) {
        set_attribute(&total, "class", None);
        set_text(&what, "Total");
        set_text(&total, &sum.to_string());
    }
    let left = MOST_SEATS.saturating_sub(count + grid.facts.holding);
    let words = match (left, grid.facts.holding) {
        (0, 0) => "That is ten seats, the most one visitor can hold in a show.".to_owned(),
        (0, holding) => {
            format!("That is ten seats with the {holding} you hold, the most one visitor can hold in a show.")
        }
        (1..=3, _) => format!("{left} more {} possible.", if left == 1 { "is" } else { "are" }),
        (_, 0) => format!("Up to {MOST_SEATS} seats, held for you all or none."),
        (_, holding) => format!("Up to {} more: you hold {holding} already.", MOST_SEATS - holding),
    };
    if let Some(limit) = find(".limit") {
        set_text(&limit, &words);
    }
    if let Some(picks) = find(".picks") {
        set_attribute(&picks, "data-full", (left == 0).then_some(""));
    }
}

/// Changes a text only when it differs: a screen reader would read it again.
pub fn set_text(element: &HtmlElement, text: &str) {
    if element.text_content().as_deref() != Some(text) {
        element.set_text_content(Some(text));
    }
}

fn send(grid: &Shared, form: &HtmlElement) {
    let button = find("[data-testid=hold]").and_then(|button| button.dyn_into::<HtmlButtonElement>().ok());
    let (Some(button), Some(fields)) = (button, fields(form)) else { return };
    if button.get_attribute("aria-busy").is_some() {
        return;
    }
    let (show, seats) = (grid.borrow().facts.show.clone(), grid.borrow().picked_numbers());
    if seats.is_empty() {
        notice::tell(NO_SEATS);
        notice::show();
        return;
    }
    set_attribute(&button, "aria-busy", Some("true"));
    let grid = Rc::clone(grid);
    spawn_local(async move {
        match post("/api/hold_seats", &fields).await {
            // The next page is on its way; the button stays busy until it is there.
            Ok(page) => {
                notice::clear();
                back::remember_held(&show, &page);
                go(&page);
            }
            Err(refusal) => {
                set_attribute(&button, "aria-busy", None);
                refuse(&grid, &seats, &refusal).await;
                // Whatever the map learned meanwhile was left alone, and it may be one's own hold whose answer was lost.
                refresh::now_and_then(&grid);
            }
        }
    });
}

/// Tells why nothing was held; a conflict is redrawn first, so that the map, the picks and the words agree.
async fn refuse(grid: &Shared, wanted: &[SeatNo], refusal: &Refusal) {
    match refusal.error.as_str() {
        "seat_taken" => {
            refresh::now(grid).await;
            for no in &refusal.seats {
                if let Some(seat) = grid.borrow_mut().seat_mut(*no) {
                    seat.element.set_checked(false);
                }
            }
            show_picks(&grid.borrow());
            notice::tell_taken(&grid.borrow(), wanted, &refusal.seats, true);
        }
        // What this page shows was overtaken by another tab, or by the clock: the page as it is now says what is held
        // already, or that sales are over. What can still be had stays picked.
        // And so when a hold whose answer was lost went through after all, and then other seats were picked.
        "already_yours" | "sales_closed" | "attempt_reused" | "not_open_yet" | "not_your_turn" => {
            let show = grid.borrow().facts.show.clone();
            reopen(&show, wanted.iter().filter(|no| !refusal.seats.contains(no)));
            return;
        }
        _ => notice::tell(&refusal.message),
    }
    notice::show();
}
