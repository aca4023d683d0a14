//! The waiting room's page. It works without a script: it asks again by itself, sooner the nearer the turn is.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::parts::{notice, poster, title, when};
use super::problem::{failed, not_found, problem_page};
use crate::box_office::queue::{self, Room, Waiting};
use crate::domain::Error;
use crate::domain::cinema::Cinema;
use crate::domain::ids::ShowId;
use crate::domain::queue::ADMITTED_FOR;
use crate::domain::show::Show;
use crate::request;
use crate::store::maps;

/// At least so long until the page asks again, in seconds: a person does not read faster.
const SOONEST_S: i64 = 2;
/// At most so long: whoever waits wants to see that the page lives.
const LATEST_S: i64 = 30;

/// How far the visitor is in a show's waiting room; whoever's turn it is goes on to the map.
#[component]
pub fn Queue() -> impl IntoView {
    let show = use_params_map().read_untracked().get("show").and_then(|show| show.parse::<ShowId>().ok());
    Suspend::new(async move {
        request::do_not_store();
        let Some(id) = show else { return not_found() };
        let office = request::office();
        let room = match queue::look(&office, request::visitor(), id).await {
            Ok(room) => room,
            Err(Error::UnknownShow) => return not_found(),
            Err(error) => {
                return problem_page(
                    &error,
                    "The waiting room does not answer",
                    "Your place is kept. Please try again.",
                )
                .into_any();
            }
        };
        // A show without a waiting room is open; whoever is admitted carries the pass from here on.
        match room.map(|room| (room, room.waiting)) {
            None => {}
            Some((_, Waiting::Admitted { pass, .. })) => request::carry(&office, id, pass),
            Some((room, _)) => {
                return match maps::show(&office.pool, &office.plans, id).await {
                    Ok(Some(show)) => waiting_room(&office.cinema, &show, room).into_any(),
                    Ok(None) => not_found(),
                    Err(error) => failed(error),
                };
            }
        }
        request::redirect_page(&format!("/shows/{id}"));
        ().into_any()
    })
}

/// What the page says of a place.
struct Words {
    heading: String,
    lines: Vec<String>,
    /// In how many seconds something may be new; `None` when it is the visitor's move.
    news_in_s: Option<i64>,
}

fn waiting_room(cinema: &Cinema, show: &Show, room: Room) -> impl IntoView + use<> {
    let refused = request::form_error("/api/join_queue");
    let refused = refused.map(|error| notice("bad", "problem-notice", error.to_string()));
    let words = words(cinema, room);
    if let Some(seconds) = words.news_in_s {
        // Halfway there, so that the page comes closer and closer to the moment.
        let seconds = if seconds <= 2 * SOONEST_S { seconds } else { seconds / 2 };
        request::ask_again(seconds.clamp(1, LATEST_S));
    }
    let button = if room.opening.is_open(room.now) { "Take a place" } else { "Come in and wait" };
    let form = words.news_in_s.is_none().then(|| {
        view! {
            <form class="actions" method="post" action="/api/join_queue">
                <input type="hidden" name="show" value=show.id.to_string()/>
                <input type="hidden" name="attempt" value=request::new_attempt().to_string()/>
                <button class="primary" data-testid="join">{button}</button>
            </form>
        }
    });
    view! {
        {title("Waiting room", cinema)}
        <main id="main">
            <header class="show-head">
                {poster(&show.film, false)}
                <div>
                    <h1>{show.film.title.clone()}</h1>
                    <p class="facts-line">{when(cinema, show.starts_at)} <span>{show.hall.clone()}</span></p>
                </div>
            </header>
            {refused}
            <section class="panel waiting" aria-labelledby="place" data-testid="waiting-room">
                <h2 id="place">{words.heading}</h2>
                {words.lines.into_iter().map(|line| view! { <p>{line}</p> }).collect_view()}
                {form}
                <p class="soft">"As of "{cinema.to_the_second(room.now)}"."</p>
            </section>
        </main>
    }
}

fn words(cinema: &Cinema, room: Room) -> Words {
    let opening = room.opening;
    let turn = format!("A turn lasts {} minutes.", ADMITTED_FOR.num_minutes());
    let until_opening = (opening.at - room.now).num_seconds() + 1;
    let draw = format!(
        "At {}, places are drawn at random among all who are here by then. Being first is of no use, and neither are more tabs.",
        cinema.to_the_second(opening.at)
    );
    let (heading, lines, news_in_s) = match room.waiting {
        Waiting::Outside { others } if !opening.is_open(room.now) => (
            "The sale has not opened yet".to_owned(),
            vec![draw, people(others, if others == 0 { "waiting yet" } else { "waiting already" })],
            None,
        ),
        Waiting::Outside { .. } => {
            let rate = match opening.per_minute {
                Some(1) => "One person a minute is let in, in the order of the places.".to_owned(),
                people => format!("{} people a minute are let in, in the order of their places.", people.unwrap_or(0)),
            };
            ("Take a place in the queue".to_owned(), vec![rate, turn], None)
        }
        Waiting::Over => {
            let words = format!(
                "{turn} Yours has ended without a hold of seats, or after it. A new place is behind everybody who waits now."
            );
            ("Your turn is over".to_owned(), vec![words], None)
        }
        Waiting::BeforeTheDraw { others } => {
            let lines = vec![
                draw,
                people(others, "waiting with you"),
                format!("This browser keeps your place, also while the page is closed. {turn}"),
            ];
            ("You are in the waiting room".to_owned(), lines, Some(until_opening))
        }
        Waiting::InLine { place, ahead, admitted_at } => {
            let left = (admitted_at - room.now).num_seconds() + 1;
            let lines = vec![
                format!(
                    "{} Your turn comes {}, at {}.",
                    people(ahead, "before you"),
                    duration(left),
                    cinema.to_the_second(admitted_at)
                ),
                format!(
                    "This browser keeps your place, also while the page is closed. More tabs or a reload change nothing. {turn}"
                ),
            ];
            (format!("Your number is {}", place.0), lines, Some(left))
        }
        Waiting::Admitted { .. } => ("It is your turn".to_owned(), Vec::new(), Some(1)),
    };
    Words { heading, lines, news_in_s }
}

fn people(count: i64, how: &str) -> String {
    match count {
        0 => format!("Nobody is {how}."),
        1 => format!("One person is {how}."),
        _ => format!("{count} people are {how}."),
    }
}

/// Roughly how long, as people say it.
fn duration(seconds: i64) -> String {
    match seconds {
        ..=1 => "in a second".to_owned(),
        2..=90 => format!("in about {seconds} seconds"),
        91..=5400 => format!("in about {} minutes", (seconds + 30) / 60),
        _ => format!("in about {} hours", (seconds + 1800) / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_said_as_people_say_them() {
        assert_eq!(people(0, "before you"), "Nobody is before you.");
        assert_eq!(people(1, "before you"), "One person is before you.");
        assert_eq!(people(312, "before you"), "312 people are before you.");
        for (seconds, words) in [
            (0, "in a second"),
            (31, "in about 31 seconds"),
            (90, "in about 90 seconds"),
            (91, "in about 2 minutes"),
            (5400, "in about 90 minutes"),
            (7300, "in about 2 hours"),
        ] {
            assert_eq!(duration(seconds), words);
        }
    }
}
