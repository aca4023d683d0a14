//! The seat picker: a form that works by itself, and the grid island that makes it live.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::parts::{notice, poster, title, when};
use super::problem::{failed, not_found};
use super::seat_rows::{legend, rows};
use crate::box_office::BoxOffice;
use crate::domain::cinema::Cinema;
use crate::domain::hold::MOST_SEATS;
use crate::domain::ids::{ShowId, VisitorId};
use crate::domain::local_time::WallClock;
use crate::domain::nearest::{Spot, nearest};
use crate::domain::order::{Order, OrderState};
use crate::domain::plan::Kind;
use crate::domain::seat::SeatNo;
use crate::domain::show::{SeatMap, Show};
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
                {legend(show)}
                <div class="map-tools">
                    <button type="button">"Zoom in"</button>
                    <button type="button">"Zoom out"</button>
                    <button type="button" aria-pressed="false">"Whole hall"</button>
                </div>
                <p class="more soft" hidden>"The hall goes on to both sides: move it."</p>
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
                        <div
                            class="rows"
                            role="grid"
                            aria-label="Seat map, front row first"
                            inner_html=rows(map, &yours, &picked, &clock)
                        ></div>
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
        Some(Error::SeatTaken { kept, .. } | Error::AlreadyYours { kept, .. } | Error::TooManySeats { kept, .. }) => {
            kept.clone()
        }
        _ => request::query("pick")
            .map(|pick| pick.split(',').filter_map(|no| no.parse().ok()).take(MOST_SEATS).collect())
            .unwrap_or_default(),
    }
}

/// Which seats were taken and the nearest equal choice; hidden until there is something to say.
fn taken_notice(map: &SeatMap, refusal: Option<Error>) -> impl IntoView + use<> {
    let plan = &map.show.plan;
    // An old address may name seats that are free again: those are no news.
    let is_taken = |no: &SeatNo| {
        map.seats
            .iter()
            .any(|seat| seat.no == *no && !map.show.hold_window.is_available(seat.status, seat.locked_at, map.now))
    };
    let refusal = match refusal {
        Some(Error::SeatTaken { seats, kept }) => {
            let seats: Vec<SeatNo> = seats.into_iter().filter(is_taken).collect();
            (!seats.is_empty()).then_some(Error::SeatTaken { seats, kept })
        }
        other => other,
    };
    let (text, choice) = match &refusal {
        None => (String::new(), Vec::new()),
        Some(Error::SeatTaken { seats, kept }) => {
            let wanted: Vec<SeatNo> = seats.iter().chain(kept).copied().collect();
            let words = seat::taken_words(&plan.names(seats), seats.len(), true, &plan.names(kept));
            (words, nearest(&wanted, &spots(map)))
        }
        Some(Error::AlreadyYours { seats, .. }) => {
            (format!("You hold {} already, so none was held anew.", plan.names(seats)), Vec::new())
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
    let seats = show.plan.names(order.seats.seats());
    if order.state == OrderState::Paying {
        return view! {
            <section class="notice" data-o="held" data-testid="paying-notice">
                <div><p><b>"Your payment for "{seats}" is on its way."</b></p></div>
                <div class="actions"><a class="button primary" href=format!("/orders/{}", order.id)>"See what became of it"</a></div>
            </section>
        }
        .into_any();
    }
    view! {
        <section class="notice" data-o="held" data-testid="held-notice">
            <div><p><b>"You hold "{seats}</b>" until "{until}"."</p></div>
            <form class="actions" method="post" action="/api/release_hold">
                <input type="hidden" name="order" value=order.id.to_string()/>
                <a class="button primary" href=format!("/orders/{}/pay", order.id)>"Continue to payment"</a>
                <button data-testid="release">"Release them"</button>
            </form>
        </section>
    }
    .into_any()
}
