//! The seats of the picker as elements, and their legend.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use crate::domain::local_time::WallClock;
use crate::domain::plan::{Kind, Place};
use crate::domain::seat::{Look, SeatNo};
use crate::domain::show::{Seat, SeatMap, Show};

/// What the shapes and marks mean, with the prices.
pub fn legend(show: &Show) -> impl IntoView + use<> {
    let zones = show.plan.zones().iter().enumerate().map(|(zone, name)| {
        let mark = (zone > 0).then_some(zone);
        view! { <li><i class="seat" aria-hidden="true" data-n="7" data-z=mark></i>{name.clone()}", "{show.price(zone).to_string()}</li> }
    });
    let has = |kind: Kind| show.plan.places().iter().any(|place| place.kind == kind);
    let state = |code: &'static str, words: &'static str| view! { <li><i class="seat" aria-hidden="true" data-n="" data-s=code></i>{words}</li> };
    let kind = |code: &'static str, words: &'static str| view! { <li><i class="seat" aria-hidden="true" data-n="" data-k=code></i>{words}</li> };
    view! {
        <ul class="legend" aria-label="Prices by zone">{zones.collect_view()}</ul>
        <ul class="legend" aria-label="What the marks mean">
            {state("p", "Picked")}
            {state("m", "Yours")}
            {state("l", "Held by someone")}
            {state("b", "Sold")}
            {has(Kind::Wheelchair).then(|| kind("w", "Wheelchair place"))}
            {has(Kind::Companion).then(|| kind("c", "Companion place"))}
        </ul>
    }
}

/// The rows of the map, a checkbox a seat: the smallest markup that a style sheet can draw every state from.
pub fn rows(map: &SeatMap, yours: &[SeatNo], picked: &[SeatNo], clock: &WallClock) -> impl IntoView + use<> {
    let plan = &map.show.plan;
    let mut rows = Vec::with_capacity(plan.rows().len());
    let mut rest = plan.places();
    for (row, label) in plan.rows().iter().enumerate() {
        let (places, behind) = rest.split_at(rest.iter().take_while(|place| place.row == row).count());
        rest = behind;
        let zone = places.first().map_or(0, |place| place.zone);
        let mut column = 0;
        let seats = places.iter().map(|place| {
            let gap = place.column - column - 1;
            column = place.column;
            let yours = yours.contains(&place.no);
            let seat = usize::try_from(place.no.0 - 1).ok().and_then(|index| map.seats.get(index));
            seat.map(|seat| cell(&map.show, place, seat, gap, yours, picked.contains(&place.no), clock, map.now))
        });
        let seats = seats.collect_view();
        rows.push(view! {
            <div class="row" role="row" aria-label=format!("Row {label}") data-name=plan.name_of_row(row, zone)>
                <span class="row-label" role="rowheader">{label.clone()}</span>
                {seats}
                <span class="row-label" aria-hidden="true">{label.clone()}</span>
            </div>
        });
    }
    rows.collect_view()
}

#[expect(
    clippy::too_many_arguments,
    reason = "a cell is drawn from all of this, and a struct would only name it twice"
)]
fn cell(
    show: &Show,
    place: &Place,
    seat: &Seat,
    gap: u16,
    yours: bool,
    picked: bool,
    clock: &WallClock,
    now: DateTime<Utc>,
) -> impl IntoView + use<> {
    let look = Look::of(show.hold_window, seat.status, seat.locked_at, now, yours);
    let until = seat.locked_at.and_then(|locked_at| match look {
        Look::Held => Some(clock.hour_minute(show.hold_window.ends_at_the_latest(locked_at))),
        Look::Yours => Some(clock.hour_minute(show.hold_window.ends_at(locked_at))),
        Look::Available | Look::Sold => None,
    });
    let free = look == Look::Available;
    let state = look.words(until.as_deref());
    let kind = match place.kind {
        Kind::Standard => None,
        Kind::Wheelchair => Some("w"),
        Kind::Companion => Some("c"),
    };
    let label = format!("{}, {state}", show.seat_words(place.no));
    view! {
        <span role="gridcell">
            <input
                type="checkbox"
                name="seats[]"
                value=place.no.0
                data-testid=format!("seat-{}", place.no)
                data-n=place.number
                data-z=(place.zone > 0).then_some(place.zone)
                data-k=kind
                data-s=(!free).then_some(look.code())
                data-l=seat.locked_at.map(|at| at.timestamp_micros())
                style=(gap > 0).then(|| format!("--g:{gap}"))
                aria-label=label
                title=(!free).then_some(state)
                disabled=!free
                checked=picked && free
            />
        </span>
    }
}
