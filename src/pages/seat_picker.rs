//! The seat picker: a form that works by itself, and the grid island that makes it live.

use std::sync::Arc;

use chrono::{DateTime, Utc};
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
use crate::domain::nearest::Choices;
use crate::domain::order::{Order, OrderState};
use crate::domain::seat::SeatNo;
use crate::domain::show::{SeatMap, Show};
use crate::domain::{Error, seat};
use crate::islands::SeatGrid;
use crate::request;
use crate::store::snapshots::Snapshot;
use crate::store::{StoreResult, orders};

/// The seats of a show.
#[component]
pub fn SeatPicker() -> impl IntoView {
    let show = use_params_map().read_untracked().get("show").and_then(|show| show.parse::<ShowId>().ok());
    Suspend::new(async move {
        let Some(show) = show else { return not_found() };
        let office = request::office();
        match read(&office, show, request::visitor()).await {
            // Whoever holds seats came in before.
            Ok(Some((snapshot, held))) if held.is_empty() && must_wait(&office, &snapshot) => {
                request::redirect_page(&format!("/shows/{show}/queue"));
                ().into_any()
            }
            Ok(Some((snapshot, held))) => picker(&office.cinema, &snapshot, &held).into_any(),
            Ok(None) => not_found(),
            Err(error) => failed(error),
        }
    })
}

/// Whether the show has a waiting room that does not let this visitor in now.
fn must_wait(office: &BoxOffice, snapshot: &Snapshot) -> bool {
    let show = &snapshot.map.show;
    let Some(opening) = show.opening.filter(|opening| opening.per_minute.is_some()) else { return false };
    let visitor = request::visitor();
    let place = visitor.and_then(|visitor| request::pass(office, show.id, visitor)?.place_for(show.id, visitor));
    // In a crowd the snapshot's clock is a moment behind that of the waiting room, which has just let the visitor in: two pages
    // that send a browser to each other would be no map.
    let admitted = |now| opening.admits(place, now);
    !admitted(snapshot.map.now) && !admitted(snapshot.now_at_the_latest())
}

async fn read(
    office: &BoxOffice,
    show: ShowId,
    visitor: Option<VisitorId>,
) -> StoreResult<Option<(Arc<Snapshot>, Vec<Order>)>> {
    let Some(snapshot) = office.snapshots.get(show).await? else { return Ok(None) };
    let held = match visitor {
        Some(visitor) => orders::holding(&office.pool, show, visitor).await?,
        None => Vec::new(),
    };
    Ok(Some((snapshot, held)))
}

fn picker(cinema: &Cinema, snapshot: &Snapshot, held: &[Order]) -> impl IntoView + use<> {
    request::do_not_store();
    let map = &snapshot.map;
    let show = &map.show;
    let refusal = request::form_error("/api/hold_seats");
    let other =
        request::form_error("/api/release_hold").map(|error| notice("bad", "problem-notice", error.to_string()));
    let picked = picked(refusal.as_ref());
    let yours: Vec<SeatNo> = held.iter().flat_map(|order| order.seats.seats().iter().copied()).collect();
    let closed = show.sales_close_at <= map.now;
    let opening = show.opening.filter(|opening| !opening.is_open(map.now));
    let (early, opens) = (
        opening.is_some(),
        opening.map(|opening| format!("The sale for this show opens on {}.", cinema.date_time(opening.at))),
    );
    let clock = WallClock::around(cinema.zone, map.now);
    // Most people hold nothing and have picked nothing yet: their rows are made once a snapshot.
    let rows: Arc<str> = if yours.is_empty() && picked.is_empty() {
        Arc::clone(snapshot.rows.get_or_init(|| rows(map, &[], &[], &clock).into()))
    } else {
        rows(map, &yours, &picked, &clock).into()
    };
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
            {opens.map(|words| notice("warn", "opening-notice", words))}
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
                        data-version=snapshot.version
                    >
                        <legend class="vh">"Seats in "{show.hall.clone()}</legend>
                        <p class="screen"><span>"Screen"</span></p>
                        <div
                            class="rows"
                            role="grid"
                            aria-label="Seat map, front row first"
                            inner_html=rows
                        ></div>
                    </fieldset>
                </div>
                {freshness(cinema, map.now)}
                <div class="picks">
                    <div class="picks-what">
                        <p class="picks-list" role="status">"Pick your seats, then hold them."</p>
                        <p class="limit" aria-live="polite">{limit_words(yours.len())}</p>
                    </div>
                    <p class="total"><span>"Picked"</span>" "<b class="tally"></b></p>
                    <button class="primary" data-testid="hold" disabled=closed || early>"Hold seats"</button>
                </div>
            </form>
            <SeatGrid/>
        </main>
    }
}

/// How old what the map shows may be. Without a script it is as old as the page; with one the map says how it keeps itself
/// true, and when it cannot.
fn freshness(cinema: &Cinema, read_at: DateTime<Utc>) -> impl IntoView + use<> {
    view! {
        <p
            class="fresh"
            role="status"
            data-testid="freshness"
            data-live="Live: what others pick shows within a second."
            data-asks="Up to date: the map asks again every 4 seconds."
            data-lost="No connection: seats may have gone since. Trying again."
        >
            {format!("The seats as of {}.", cinema.to_the_second(read_at))}
        </p>
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
        Some(Error::SeatTaken { seats, kept, nearest }) => {
            let seats: Vec<SeatNo> = seats.into_iter().filter(is_taken).collect();
            (!seats.is_empty()).then_some(Error::SeatTaken { seats, kept, nearest })
        }
        other => other,
    };
    let (text, choice) = match &refusal {
        None => (String::new(), Vec::new()),
        Some(Error::SeatTaken { seats, kept, .. }) => {
            let wanted: Vec<SeatNo> = seats.iter().chain(kept).copied().collect();
            let words = seat::taken_words(&plan.names(seats), seats.len(), true, &plan.names(kept));
            (words, Choices::among(map.spots()).nearest(&wanted))
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
