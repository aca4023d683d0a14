//! The map under the keyboard: one tab stop, arrows move as the eye does, Page Up and Page Down in
//! steps of some rows, Home and End run to the row's ends.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, KeyboardEvent, MouseEvent};

use super::browser::{find, on};
use super::grid::Grid;
use super::picker::{Shared, set_text};

/// How many rows Page Up and Page Down step over.
const PAGE: i32 = 5;

/// Makes the grid one tab stop and listens.
pub fn start(grid: &Shared) {
    {
        let grid = grid.borrow();
        for seat in &grid.seats {
            seat.element.set_tab_index(-1);
        }
        let first =
            grid.picked().next().or_else(|| grid.seats.iter().find(|seat| seat.is_free())).or(grid.seats.first());
        if let Some(seat) = first {
            seat.element.set_tab_index(0);
        }
    }
    let map = grid.borrow().map.clone();
    let keys = Rc::clone(grid);
    on(&map, "keydown", move |event: KeyboardEvent| press(&keys.borrow(), &event));
    // The tab stop follows the focus, wherever it came from.
    let focused = Rc::clone(grid);
    on(&map, "focusin", move |event: Event| {
        if let Some(seat) = input(&event) {
            for other in &focused.borrow().seats {
                if other.element.tab_index() == 0 && other.element != seat {
                    other.element.set_tab_index(-1);
                }
            }
            seat.set_tab_index(0);
        }
    });
    // A seat that cannot be picked takes the focus, to be read, but not the click: that tells what it is and until when.
    let clicked = Rc::clone(grid);
    on(&map, "click", move |event: MouseEvent| {
        let grid = clicked.borrow();
        let seat = input(&event).and_then(|seat| grid.seats.iter().find(|known| known.element == seat));
        if let (Some(seat), Some(line)) = (seat.filter(|seat| !seat.is_free()), find(".limit")) {
            event.prevent_default();
            set_text(&line, &seat.element.get_attribute("aria-label").unwrap_or_default());
        }
    });
}

fn input(event: &Event) -> Option<HtmlInputElement> {
    event.target()?.dyn_into().ok()
}

fn press(grid: &Grid, event: &KeyboardEvent) {
    let Some(here) = input(event).and_then(|seat| grid.seats.iter().position(|known| known.element == seat)) else {
        return;
    };
    let to = match event.key().as_str() {
        // Physical, not by reading direction: the hall is drawn as it stands, and right is right.
        "ArrowRight" => beside(grid, here, 1),
        "ArrowLeft" => beside(grid, here, -1),
        "ArrowDown" => across(grid, here, 1),
        "ArrowUp" => across(grid, here, -1),
        "PageDown" => across(grid, here, PAGE),
        "PageUp" => across(grid, here, -PAGE),
        "Home" if event.ctrl_key() => Some(0),
        "End" if event.ctrl_key() => grid.seats.len().checked_sub(1),
        "Home" => row(grid, grid.seats[here].spot.row).next(),
        "End" => row(grid, grid.seats[here].spot.row).last(),
        // Enter would send the form; in a grid it acts on the cell.
        "Enter" => {
            grid.seats[here].element.click();
            Some(here)
        }
        _ => return,
    };
    event.prevent_default();
    if let Some(seat) = to.and_then(|to| grid.seats.get(to)) {
        let _ = seat.element.focus();
    }
}

fn row(grid: &Grid, row: i32) -> impl Iterator<Item = usize> + '_ {
    grid.seats.iter().enumerate().filter(move |(_, seat)| seat.spot.row == row).map(|(index, _)| index)
}

fn beside(grid: &Grid, here: usize, step: isize) -> Option<usize> {
    let next = here.checked_add_signed(step)?;
    (grid.seats.get(next)?.spot.row == grid.seats[here].spot.row).then_some(next)
}

/// The nearest seat so many rows away, as the eye would find it; the first or last row stops a longer step.
fn across(grid: &Grid, here: usize, step: i32) -> Option<usize> {
    let spot = grid.seats[here].spot;
    let to = (spot.row + step).clamp(0, grid.seats.last().map_or(0, |seat| seat.spot.row));
    row(grid, to).min_by_key(|index| (grid.seats[*index].spot.column - spot.column).abs())
}
