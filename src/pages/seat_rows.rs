//! The seats of the picker as elements, and their legend.

use std::fmt::{Display, Write};

use html_escape::{encode_double_quoted_attribute_to_string, encode_text_to_string};
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
        <ul class="legend prices" aria-label="Prices by zone">{zones.collect_view()}</ul>
        <ul class="legend marks" aria-label="What the marks mean">
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
///
/// As one text: twelve hundred seats with a dozen attributes each took most of a page's time as elements of a view. So
/// whatever comes from people (labels, zone names) is escaped here.
pub fn rows(map: &SeatMap, yours: &[SeatNo], picked: &[SeatNo], clock: &WallClock) -> String {
    let plan = &map.show.plan;
    let mut html = String::with_capacity(map.seats.len() * 256);
    let mut rest = plan.places();
    for (row, label) in plan.rows().iter().enumerate() {
        let (places, behind) = rest.split_at(rest.iter().take_while(|place| place.row == row).count());
        rest = behind;
        let zone = places.first().map_or(0, |place| place.zone);
        html.push_str("<div class=\"row\" role=\"row\"");
        attribute(&mut html, "aria-label", &format!("Row {label}"));
        attribute(&mut html, "data-name", &plan.name_of_row(row, zone));
        html.push_str("><span class=\"row-label\" role=\"rowheader\">");
        encode_text_to_string(label, &mut html);
        html.push_str("</span>");
        let mut column = 0;
        for place in places {
            let gap = place.column - column - 1;
            column = place.column;
            if let Some(seat) = usize::try_from(place.no.0 - 1).ok().and_then(|index| map.seats.get(index)) {
                let (yours, picked) = (yours.contains(&place.no), picked.contains(&place.no));
                cell(&mut html, map, place, seat, gap, yours, picked, clock);
            }
        }
        html.push_str("<span class=\"row-label\" aria-hidden=\"true\">");
        encode_text_to_string(label, &mut html);
        html.push_str("</span></div>");
    }
    html
}

fn attribute(html: &mut String, name: &str, value: &str) {
    html.push(' ');
    html.push_str(name);
    html.push_str("=\"");
    encode_double_quoted_attribute_to_string(value, html);
    html.push('"');
}

/// An attribute of a number, which needs no escaping.
fn number(html: &mut String, name: &str, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = write!(html, " {name}=\"{value}\"");
}

#[expect(
    clippy::too_many_arguments,
    reason = "a cell is drawn from all of this, and a struct would only name it twice"
)]
fn cell(
    html: &mut String,
    map: &SeatMap,
    place: &Place,
    seat: &Seat,
    gap: u16,
    yours: bool,
    picked: bool,
    clock: &WallClock,
) {
    let window = map.show.hold_window;
    let look = Look::of(window, seat.status, seat.locked_at, map.now, yours);
    let until = seat.locked_at.and_then(|locked_at| match look {
        Look::Held => Some(clock.hour_minute(window.ends_at_the_latest(locked_at))),
        Look::Yours => Some(clock.hour_minute(window.ends_at(locked_at))),
        Look::Available | Look::Sold => None,
    });
    let state = look.words(until.as_deref());
    html.push_str("<span role=\"gridcell\"><input type=\"checkbox\" name=\"seats[]\"");
    number(html, "value", place.no);
    number(html, "data-testid", format_args!("seat-{}", place.no));
    number(html, "data-n", place.number);
    if place.zone > 0 {
        number(html, "data-z", place.zone);
    }
    match place.kind {
        Kind::Standard => {}
        Kind::Wheelchair => attribute(html, "data-k", "w"),
        Kind::Companion => attribute(html, "data-k", "c"),
    }
    if let Some(locked_at) = seat.locked_at {
        number(html, "data-l", locked_at.timestamp_micros());
    }
    if gap > 0 {
        number(html, "style", format_args!("--g:{gap}"));
    }
    attribute(html, "aria-label", &format!("{}, {state}", map.show.seat_words(place.no)));
    if look != Look::Available {
        attribute(html, "data-s", look.code());
        attribute(html, "title", &state);
        html.push_str(" disabled");
    } else if picked {
        html.push_str(" checked");
    }
    html.push_str("></span>");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chrono::DateTime;

    use super::*;
    use crate::domain::ids::ShowId;
    use crate::domain::plan::Plan;
    use crate::domain::seat::{HoldWindow, Status};
    use crate::domain::show::Film;

    #[test]
    fn whatever_comes_from_people_is_escaped() {
        let plan = Plan::parse("zone a <b>\"Gold\"&'\nrow A'\"<b>&\u{1F39F} | a").unwrap();
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let film = Film {
            title: String::new(),
            poster: String::new(),
            runtime_min: 90,
            genre: String::new(),
            rating: String::new(),
            blurb: String::new(),
        };
        let show = Show {
            id: ShowId(uuid::Uuid::nil()),
            film,
            hall: String::new(),
            plan: Arc::new(plan),
            starts_at: now,
            sales_close_at: now,
            opening: None,
            hold_window: HoldWindow::from_seconds(900).unwrap(),
            currency: "EUR".parse().unwrap(),
            zone_prices: vec![1250],
        };
        let seats = vec![Seat { no: SeatNo(1), status: Status::Available, locked_at: None }];
        let map = SeatMap { show: Arc::new(show), now, seats };
        let html = rows(&map, &[], &[SeatNo(1)], &WallClock::around(chrono_tz::UTC, now));
        // The elements are ours, four of them, and no text ended an attribute early.
        assert_eq!(html.matches('<').count(), 2 * 4 + 1, "{html}");
        assert_eq!(html.matches('"').count() % 2, 0, "{html}");
        let label = "aria-label=\"Row A'&quot;&lt;b&gt;&amp;\u{1F39F}, seat 1, &lt;b&gt;&quot;gold&quot;&amp;', EUR 12.50, available\"";
        assert!(html.contains(label), "{html}");
        assert!(html.contains("\u{1F39F}"), "{html}");
        assert!(html.ends_with(" checked></span><span class=\"row-label\" aria-hidden=\"true\">A'\"&lt;b&gt;&amp;\u{1F39F}</span></div>"), "{html}");
    }
}
