//! The notice above the map: which seats were taken, and the nearest equal choice.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlElement, ScrollIntoViewOptions, ScrollLogicalPosition};

use super::browser::{find, on, set_attribute, set_hidden};
use super::grid::Grid;
use super::picker::{Shared, set_text, show_picks};
use crate::domain::nearest::Choices;
use crate::domain::seat::{SeatNo, taken_words};

fn parts() -> Option<(HtmlElement, HtmlElement, HtmlElement)> {
    let notice = find("[data-testid=taken-notice]")?;
    let words = notice.query_selector("p").ok().flatten()?.dyn_into().ok()?;
    let offer = notice.query_selector("a").ok().flatten()?.dyn_into().ok()?;
    Some((notice, words, offer))
}

/// Takes up the offer without loading the page again.
pub fn start(grid: &Shared) {
    let Some((notice, _, offer)) = parts() else { return };
    let grid = Rc::clone(grid);
    on(&offer.clone(), "click", move |event: Event| {
        event.prevent_default();
        let offered = offer.get_attribute("data-seats").unwrap_or_default();
        let offered: Vec<SeatNo> = offered.split(',').filter_map(|no| no.parse().ok()).collect();
        for seat in &grid.borrow().seats {
            seat.element.set_checked(seat.is_free() && offered.contains(&seat.spot.no));
        }
        show_picks(&grid.borrow());
        set_hidden(&notice, true);
        if let Some(button) = find("[data-testid=hold]") {
            let _ = button.focus();
        }
    });
}

/// Brings the notice before the visitor's eyes: who pressed a button at the foot of a big hall does not see its head.
pub fn show() {
    if let Some((notice, ..)) = parts() {
        let options = ScrollIntoViewOptions::new();
        options.set_block(ScrollLogicalPosition::Center);
        notice.scroll_into_view_with_scroll_into_view_options(&options);
    }
}

/// Says something, without an offer.
pub fn tell(text: &str) {
    if let Some((notice, words, offer)) = parts() {
        set_hidden(&offer, true);
        set_hidden(&notice, false);
        set_text(&words, text);
    }
}

/// Names the taken seats, what is still picked, and the nearest equal choice; `refused` when a hold was.
pub fn tell_taken(grid: &Grid, wanted: &[SeatNo], taken: &[SeatNo], refused: bool) {
    let Some((notice, words, offer)) = parts() else { return };
    let choice = Choices::among(grid.spots()).nearest(wanted);
    set_hidden(&offer, choice.is_empty());
    if !choice.is_empty() {
        let numbers = choice.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        set_attribute(&offer, "data-seats", Some(&numbers));
        set_attribute(&offer, "href", Some(&format!("?pick={numbers}")));
        set_text(&offer, &format!("Pick {}", grid.names(&choice)));
    }
    set_hidden(&notice, false);
    let kept = grid.names(&grid.picked_numbers());
    set_text(&words, &taken_words(&grid.names(taken), taken.len(), refused, &kept));
}

/// Nothing to say.
pub fn clear() {
    if let Some((notice, ..)) = parts() {
        set_hidden(&notice, true);
    }
}
