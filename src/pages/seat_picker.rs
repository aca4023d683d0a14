//! The seat picker: a form that works by itself, and the grid island that makes it live.

use chrono::{DateTime, Utc};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::parts::{notice, poster, title, when};
use super::problem::{failed, not_found};
use crate::box_office::BoxOffice;
use crate::domain::cinema::Cinema;
use crate::domain::hold::MOST_SEATS;
use crate::domain::ids::{ShowId, VisitorId};
use crate::domain::local_time::WallClock;
use crate::domain::nearest::{Spot, nearest};
use crate::domain::order::Order;
use crate::domain::plan::{Kind, Place};
use crate::domain::seat::{Look, SeatNo};
use crate::domain::show::{Seat, SeatMap, Show};
use crate::domain::{Error, seat};
use crate::islands::SeatGrid;
use crate::request;
use crate::store::{StoreResult, maps, orders};

/// The seats of a show.
#[component]
pub fn SeatPicker() -> impl IntoView {
    let show = use_params_map().read_untracked().get("show").and_then(|show| show.parse::<ShowId>().ok());
    Suspend::new(async move {
        let Some(show) = show else { return not_found() };
        let office = request::office();
        match read(&office, show, request::visitor()).await {
            Ok(Some((map, held))) => picker(&office.cinema, &map, &held).into_any(),
            Ok(None) => not_found(),
            Err(error) => failed(error),
        }
    })
}

async fn read(
    office: &BoxOffice,
    show: ShowId,
    visitor: Option<VisitorId>,
) -> StoreResult<Option<(SeatMap, Vec<Order>)>> {
    let Some(map) = maps::seat_map(&office.pool, &office.plans, show).await? else { return Ok(None) };
    let held = match visitor {
        Some(visitor) => orders::holding(&office.pool, show, visitor).await?,
        None => Vec::new(),
    };
    Ok(Some((map, held)))
}

fn picker(cinema: &Cinema, map: &SeatMap, held: &[Order]) -> impl IntoView + use<> {
    request::do_not_store();
    let show = &map.show;
    let refusal = request::form_error("/api/hold_seats");
    let other =
        request::form_error("/api/release_hold").map(|error| notice("bad", "problem-notice", error.to_string()));
    let picked = picked(refusal.as_ref());
    let yours: Vec<SeatNo> = held.iter().flat_map(|order| order.seats.seats().iter().copied()).collect();
    let closed = show.sales_close_at <= map.now;
    let clock = WallClock::around(cinema.zone, map.now);
    let prices = show.zone_prices.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    view! {
        {title(&show.film.title, cinema)}
        <main id="main" class="wide">
            <header class="show-head">
                {poster(&show.film, false)}
                <div>
                    <h1>{show.film.title.clone()}</h1>
                    <p class="facts-line">
                        {when(cinema, show.starts_at)}
                        <span>{show.hall.clone()}</span>
                        <span class="age">{show.film.rating.clone()}</span>
                    </p>
                </div>
            </header>
            {other}
            {taken_notice(map, refusal)}
            {held.iter().map(|order| held_notice(cinema, show, order)).collect_view()}
            {closed.then(|| notice("warn", "closed-notice", Error::SalesClosed.to_string()))}
            <form class="picker" method="post" action="/api/hold_seats" autocomplete="off">
                <input type="hidden" name="show" value=show.id.to_string()/>
                <input type="hidden" name="attempt" value=request::new_attempt().to_string()/>
                <div class="map-head">
                    <div>{legend(show)}</div>
                    <div class="map-tools">
                        <button type="button">"Zoom in"</button>
                        <button type="button">"Zoom out"</button>
                        <button type="button" aria-pressed="false">"Whole hall"</button>
                    </div>
                </div>
                <div class="map-viewport">
                    <fieldset
                        class="map"
                        style=format!("--cols:{}", show.plan.columns())
                        data-show=show.id.to_string()
                        data-window=show.hold_window.seconds()
                        data-clock=clock.to_string()
                        data-now=map.now.timestamp_millis()
                        data-prices=prices
                        data-currency=show.currency.to_string()
                        data-holding=yours.len()
                    >
                        <legend class="vh">"Seats in "{show.hall.clone()}</legend>
                        <p class="screen"><span>"Screen"</span></p>
                        <div class="rows" role="grid" aria-label="Seat map, front row first">
                            {rows(map, &yours, &picked, &clock)}
                        </div>
                    </fieldset>
                </div>
                <div class="picks">
                    <div class="picks-what">
                        <p class="picks-list" role="status">"Pick your seats, then hold them."</p>
                        <p class="limit" aria-live="polite">{limit_words(yours.len())}</p>
                    </div>
                    <p class="total"><span>"Picked"</span>" "<b class="tally"></b></p>
                    <button class="primary" data-testid="hold" disabled=closed>"Hold seats"</button>
                </div>
            </form>
            <SeatGrid/>
        </main>
    }
}

fn limit_words(holding: usize) -> String {
    match holding {
        0 => format!("Up to {MOST_SEATS} seats, held for you all or none."),
        _ => format!("Up to {} more: you hold {holding} already.", MOST_SEATS.saturating_sub(holding)),
    }
}

/// What is ticked when the page opens: what a refused form had left, or what the offered link asks for.
fn picked(refusal: Option<&Error>) -> Vec<SeatNo> {
    match refusal {
        Some(Error::SeatTaken { kept, .. } | Error::TooManySeats { kept, .. }) => kept.clone(),
        _ => request::query("pick")
            .map(|pick| pick.split(',').filter_map(|no| no.parse().ok()).take(MOST_SEATS).collect())
            .unwrap_or_default(),
    }
}

/// Which seats were taken and the nearest equal choice; hidden until there is something to say.
fn taken_notice(map: &SeatMap, refusal: Option<Error>) -> impl IntoView + use<> {
    let plan = &map.show.plan;
    let (text, choice) = match &refusal {
        None => (String::new(), Vec::new()),
        Some(Error::SeatTaken { seats, kept }) => {
            let wanted: Vec<SeatNo> = seats.iter().chain(kept).copied().collect();
            let words = seat::taken_words(&plan.names(seats), seats.len(), &plan.names(kept));
            (words, nearest(&wanted, &spots(map)))
        }
        Some(other) => (other.to_string(), Vec::new()),
    };
    let numbers = choice.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    view! {
        <section class="notice" data-o="warn" data-testid="taken-notice" role="alert" hidden=refusal.is_none()>
            <div><p>{text}</p></div>
            <div class="actions">
                <a class="button" href=format!("?pick={numbers}") data-seats=numbers.clone() hidden=choice.is_empty()>
                    "Pick "{plan.names(&choice)}
                </a>
            </div>
        </section>
    }
}

fn spots(map: &SeatMap) -> Vec<Spot> {
    let window = map.show.hold_window;
    map.show
        .plan
        .places()
        .iter()
        .zip(&map.seats)
        .map(|(place, seat)| Spot {
            no: place.no,
            row: i32::try_from(place.row).unwrap_or(i32::MAX),
            column: place.column.into(),
            zone: i32::try_from(place.zone).unwrap_or(i32::MAX),
            free: place.kind == Kind::Standard && window.is_available(seat.status, seat.locked_at, map.now),
        })
        .collect()
}

/// "You hold C7, C8": a fresh visit releases nothing, it offers both ways on.
fn held_notice(cinema: &Cinema, show: &Show, order: &Order) -> impl IntoView + use<> {
    let until = cinema.hour_minute(order.ends_at());
    view! {
        <section class="notice" data-o="held" data-testid="held-notice">
            <div><p><b>"You hold "{show.plan.names(order.seats.seats())}</b>" until "{until}"."</p></div>
            <form class="actions" method="post" action="/api/release_hold">
                <input type="hidden" name="order" value=order.id.to_string()/>
                <a class="button primary" href=format!("/orders/{}/pay", order.id)>"Continue to payment"</a>
                <button data-testid="release">"Release them"</button>
            </form>
        </section>
    }
}

fn legend(show: &Show) -> impl IntoView + use<> {
    let zones = show.plan.zones().iter().enumerate().map(|(zone, name)| {
        let mark = (zone > 0).then_some(zone);
        view! { <li><i class="seat" data-n="7" data-z=mark></i>{name.clone()}", "{show.price(zone).to_string()}</li> }
    });
    let has = |kind: Kind| show.plan.places().iter().any(|place| place.kind == kind);
    let state =
        |code: &'static str, words: &'static str| view! { <li><i class="seat" data-n="" data-s=code></i>{words}</li> };
    let kind =
        |code: &'static str, words: &'static str| view! { <li><i class="seat" data-n="" data-k=code></i>{words}</li> };
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

fn rows(map: &SeatMap, yours: &[SeatNo], picked: &[SeatNo], clock: &WallClock) -> impl IntoView + use<> {
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
            <div class="row" role="row" data-name=plan.name_of_row(row, zone)>
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
