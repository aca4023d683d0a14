//! What's on: a day's films, their shows, and how full each is.

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use leptos::prelude::*;

use super::parts::{notice, poster, title};
use super::problem::failed;
use crate::domain::cinema::Cinema;
use crate::domain::show::Film;
use crate::request;
use crate::store::programme::{Day, Listing};

/// The days that have a link: the arc above the films has room for seven.
const DAYS: usize = 7;

/// The programme of a day, today's unless `?day=2026-12-01` asks for another.
#[component]
pub fn WhatsOn() -> impl IntoView {
    // Dates that only an astronomer needs are no days of a programme, and the database knows fewer of them.
    let asked = request::query("day")
        .and_then(|day| day.parse().ok())
        .filter(|day: &NaiveDate| (1970..=9999).contains(&day.year()));
    Suspend::new(async move {
        let office = request::office();
        match office.programme.day(&office.pool, &office.cinema, asked).await {
            Ok(day) => programme(&office.cinema, &day).into_any(),
            Err(error) => failed(error),
        }
    })
}

fn programme(cinema: &Cinema, day: &Day) -> impl IntoView + use<> {
    let noon = cinema.start_of(day.date) + chrono::TimeDelta::hours(12);
    let today = cinema.date(day.now);
    // A date of another year says so; on most days the year is no news.
    let date = day.date.format(if day.date.year() == today.year() { "%A %-d %B" } else { "%A %-d %B %Y" }).to_string();
    let heading = format!("What’s on, {date}");
    let days = day.days.iter().take(DAYS).map(|date| day_link(*date, today, day.date));
    let zone = cinema.abbreviation(noon);
    let films =
        films(&day.listings).into_iter().map(|(film, shows)| film_article(cinema, film, &shows, day.now, &zone));
    let none = day.listings.is_empty().then(|| {
        view! {
            <section class="empty">
                <h2>"No films on this day"</h2>
                <p>"The screens are dark on "{date}". Choose another day above."</p>
            </section>
        }
    });
    // A refused form of a browser that does not say where it came from ends here.
    let refused = ["/api/hold_seats", "/api/release_hold", "/api/pay"]
        .into_iter()
        .find_map(request::form_error)
        .map(|error| notice("bad", "problem-notice", error.to_string()));
    let next = day.days.iter().find(|date| **date > day.date).copied();
    let over = (!day.listings.is_empty() && day.listings.iter().all(|show| show.sales_close_at <= day.now))
        .then(|| next.map(over));
    view! {
        {title("What’s on", cinema)}
        <main id="main">
            {refused}
            <h1>{heading}</h1>
            <p class="soft">"Times in "{cinema.zone.name()}" ("{zone.clone()}")"</p>
            <nav class="days" aria-label="Days">{days.collect_view()}</nav>
            {over}
            {films.collect_view()}
            {none}
        </main>
    }
}

/// Late in the evening everything of the day is closed.
fn over(next: NaiveDate) -> impl IntoView {
    view! {
        <section class="notice" data-o="held" data-testid="over-notice">
            <div><p>"Sales for this day are over."</p></div>
            <div class="actions"><a class="button primary" href=format!("/?day={next}")>{next.format("%A %-d %B").to_string()}</a></div>
        </section>
    }
}

fn day_link(date: NaiveDate, today: NaiveDate, shown: NaiveDate) -> impl IntoView {
    let name = if date == today { "Today".to_owned() } else { date.format("%a").to_string() };
    view! {
        <a href=format!("/?day={date}") aria-current=(date == shown).then_some("page")>
            <span>{name}</span>
            <b>{date.format("%-d").to_string()}</b>
            <span>{date.format("%b").to_string()}</span>
        </a>
    }
}

/// The films of the day in the order of their first shows.
fn films(listings: &[Listing]) -> Vec<(&Film, Vec<&Listing>)> {
    let mut films: Vec<(&Film, Vec<&Listing>)> = Vec::new();
    for listing in listings {
        match films.iter_mut().find(|(film, _)| *film == &listing.film) {
            Some((_, shows)) => shows.push(listing),
            None => films.push((&listing.film, vec![listing])),
        }
    }
    films
}

fn film_article(
    cinema: &Cinema,
    film: &Film,
    shows: &[&Listing],
    now: DateTime<Utc>,
    zone: &str,
) -> impl IntoView + use<> {
    let shows = shows.iter().map(|show| show_item(cinema, show, now, zone)).collect_view();
    view! {
        <article class="film">
            {poster(film, true)}
            <div>
                <h2>{film.title.clone()}</h2>
                <p class="facts-line">
                    <span>{film.genre.clone()}</span>
                    <span>{film.runtime_min}" min"</span>
                    <span class="age">{film.rating.clone()}</span>
                </p>
                <p class="blurb">{film.blurb.clone()}</p>
            </div>
            <ul class="shows">{shows}</ul>
        </article>
    }
}

fn show_item(cinema: &Cinema, listing: &Listing, now: DateTime<Utc>, zone: &str) -> impl IntoView + use<> {
    // On the night when half past two comes twice, the one that is not in the page's zone says so.
    let its_zone = Some(cinema.abbreviation(listing.starts_at)).filter(|its| its != zone);
    let time = cinema.hour_minute(listing.starts_at) + &its_zone.map(|its| format!(" {its}")).unwrap_or_default();
    let machine_time = listing.starts_at.with_timezone(&cinema.zone).to_rfc3339();
    let hall = listing.hall.clone();
    if listing.sales_close_at <= now {
        return view! {
            <li>
                <div class="show" data-closed="">
                    <time datetime=machine_time>{time}</time>
                    <span class="hall">{hall}</span>
                    <span class="left">"Sales closed"</span>
                </div>
            </li>
        }
        .into_any();
    }
    let (left, words) = how_full(listing.free, listing.seats);
    let sold_share = 1.0 - listing.free as f64 / listing.seats.max(1) as f64;
    view! {
        <li>
            <a class="show" href=format!("/shows/{}", listing.show) data-left=left>
                <time datetime=machine_time>{time}</time>
                <span class="price">"from "{listing.price_from.to_string()}</span>
                <span class="hall">{hall}</span>
                <span class="full" style=format!("--p:{sold_share:.2}")></span>
                <span class="left">{words}</span>
            </a>
        </li>
    }
    .into_any()
}

/// Nearly full is a tenth or less.
fn how_full(free: i64, seats: i64) -> (Option<&'static str>, String) {
    match free {
        0 => (Some("none"), "Sold out".to_owned()),
        1 => (Some("few"), "1 seat free".to_owned()),
        _ if free * 10 <= seats => (Some("few"), format!("Nearly full, {free} left")),
        _ => (None, format!("{free} seats free")),
    }
}
