//! Zooming: big halls on small screens.

use std::cell::Cell;
use std::rc::Rc;

use leptos::prelude::document;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, MouseEvent, ScrollIntoViewOptions, ScrollLogicalPosition};

use super::browser::{all, find, on, set_attribute, set_hidden};
use super::picker::Shared;

/// The sizes, in hundredths of the one that fits the seats to the page. Whole numbers: writing fractions as text would
/// be a tenth of the WASM.
const SIZES: [u32; 8] = [50, 64, 80, 100, 125, 156, 195, 244];

/// Where it begins: at 100.
const MIDDLE: usize = 3;

/// Shows the tools and listens to them.
pub fn start(grid: &Shared) {
    let (Some(tools), Some(viewport)) = (find(".map-tools"), find(".map-viewport")) else { return };
    let map = grid.borrow().map.clone();
    let [larger, smaller, whole] = &all::<HtmlElement>(&tools, "button")[..] else { return };
    set_attribute(&tools, "data-on", Some(""));
    if viewport.scroll_left() == 0 {
        viewport.set_scroll_left((viewport.scroll_width() - viewport.client_width()) / 2);
    }

    // What lies to the sides may end exactly between two seats, and then nothing else tells that there is more.
    if let Some(more) = find(".more") {
        set_hidden(&more, viewport.scroll_width() <= viewport.client_width());
    }

    let zoom = Rc::new(Cell::new(MIDDLE));
    for (button, step) in [(larger, 1_isize), (smaller, -1)] {
        let (zoom, map, viewport, whole) = (Rc::clone(&zoom), map.clone(), viewport.clone(), whole.clone());
        on(button, "click", move |_: MouseEvent| {
            set_whole(&map, &whole, false);
            zoom.set(zoom.get().saturating_add_signed(step).min(SIZES.len() - 1));
            let size = SIZES[zoom.get()];
            let before = middle(&viewport);
            let _ = map.style().set_property("--zoom", &format!("{}.{:02}", size / 100, size % 100));
            set_middle(&viewport, before);
        });
    }
    let (overview, button) = (map.clone(), whole.clone());
    on(whole, "click", move |_: MouseEvent| set_whole(&overview, &button, !overview.has_attribute("data-fit")));

    // In the overview seats are too small to pick: a tap leads to that part of the hall.
    let (grid, button) = (Rc::clone(grid), whole.clone());
    on(&map, "click", move |event: MouseEvent| {
        let grid = grid.borrow();
        if !grid.map.has_attribute("data-fit") {
            return;
        }
        let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
        let distance = |element: &HtmlElement| {
            let at = element.get_bounding_client_rect();
            let (aside, above) = (at.x() + at.width() / 2.0 - x, at.y() + at.height() / 2.0 - y);
            aside * aside + above * above
        };
        let nearest = grid.seats.iter().min_by(|a, b| distance(&a.element).total_cmp(&distance(&b.element)));
        set_whole(&grid.map, &button, false);
        if let Some(seat) = nearest {
            let options = ScrollIntoViewOptions::new();
            options.set_block(ScrollLogicalPosition::Center);
            options.set_inline(ScrollLogicalPosition::Center);
            seat.element.scroll_into_view_with_scroll_into_view_options(&options);
        }
    });
}

fn set_whole(map: &HtmlElement, button: &HtmlElement, whole: bool) {
    set_attribute(map, "data-fit", whole.then_some(""));
    set_attribute(button, "aria-pressed", Some(if whole { "true" } else { "false" }));
    if !whole
        && let Some(active) = document().active_element().and_then(|element| element.dyn_into::<HtmlElement>().ok())
    {
        // A focused seat stays in sight when the map grows back.
        if map.contains(Some(&active)) {
            active.scroll_into_view();
        }
    }
}

/// The middle of what is seen, as shares of the whole.
fn middle(viewport: &HtmlElement) -> (f64, f64) {
    let share =
        |start: i32, seen: i32, whole: i32| (f64::from(start) + f64::from(seen) / 2.0) / f64::from(whole.max(1));
    (
        share(viewport.scroll_left(), viewport.client_width(), viewport.scroll_width()),
        share(viewport.scroll_top(), viewport.client_height(), viewport.scroll_height()),
    )
}

fn set_middle(viewport: &HtmlElement, (x, y): (f64, f64)) {
    let start = |share: f64, seen: i32, whole: i32| (share * f64::from(whole) - f64::from(seen) / 2.0) as i32;
    viewport.set_scroll_left(start(x, viewport.client_width(), viewport.scroll_width()));
    viewport.set_scroll_top(start(y, viewport.client_height(), viewport.scroll_height()));
}
