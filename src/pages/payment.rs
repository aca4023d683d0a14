//! The payment page: what you buy, how long you have, and the card form.

use chrono::{DateTime, Utc};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::parts::{Known, bought, notice, title};
use super::problem::{failed, not_found};
use crate::box_office::BoxOffice;
use crate::domain::cinema::Cinema;
use crate::domain::ids::OrderId;
use crate::domain::order::Standing;
use crate::domain::payment::{Payment as Paid, PaymentState};
use crate::islands::Countdown;
use crate::request;
use crate::store::{StoreResult, payments};

/// Pay an order that is held; any other order has its own page.
#[component]
pub fn Payment() -> impl IntoView {
    let order = use_params_map().read_untracked().get("order").and_then(|order| order.parse::<OrderId>().ok());
    Suspend::new(async move {
        request::do_not_store();
        let Some(order) = order else { return not_found() };
        let office = request::office();
        match read(&office, order).await {
            Ok(Some((known, last))) => match known.order.standing(known.now) {
                Standing::Held { ends_at } => payment(&office.cinema, &known, ends_at, last.as_ref()).into_any(),
                _ => {
                    request::redirect_page(&format!("/orders/{order}"));
                    ().into_any()
                }
            },
            Ok(None) => not_found(),
            Err(error) => failed(error),
        }
    })
}

async fn read(office: &BoxOffice, order: OrderId) -> StoreResult<Option<(Known, Option<Paid>)>> {
    let Some(known) = Known::read(office, order).await? else { return Ok(None) };
    let last = payments::of_order(&office.pool, order).await?.pop();
    Ok(Some((known, last)))
}

/// Why the last try did not work, in words for its visitor.
pub fn declined_words(last: Option<&Paid>, seats: &str) -> Option<String> {
    match &last?.state {
        PaymentState::Declined { reason, .. } => Some(format!(
            "The payment did not go through: {reason}. Nothing was charged, and you still hold {seats}. Try another card."
        )),
        PaymentState::Failed { .. } => Some(format!(
            "The card processor did not answer. Nothing was charged, and you still hold {seats}. Please try again."
        )),
        PaymentState::Started | PaymentState::Captured { .. } => None,
    }
}

fn payment(cinema: &Cinema, known: &Known, ends_at: DateTime<Utc>, last: Option<&Paid>) -> impl IntoView + use<> {
    let order = &known.order;
    let left_ms = (ends_at - known.now).num_milliseconds().max(0);
    let error = request::form_error("/api/pay").or_else(|| request::form_error("/api/release_hold"));
    let refused = error.map(|error| notice("bad", "problem-notice", error.to_string()));
    let yours = request::visitor() == Some(order.visitor);
    // Whoever has the link may see the order; why a card was declined is its holder's alone.
    let declined =
        declined_words(last, &known.seats()).filter(|_| yours).map(|words| notice("bad", "declined-notice", words));
    let right = if yours {
        view! {
            {clock(cinema, known, ends_at, left_ms)}
            {form(known)}
            <Countdown/>
        }
        .into_any()
    } else {
        view! {
            <section class="panel">
                <h2>"Held in another browser"</h2>
                <p>"These seats can be paid for or released only in the browser that holds them. If that is this one, allow
                    its cookies and hold the seats again."</p>
            </section>
        }
        .into_any()
    };
    view! {
        {title("Pay", cinema)}
        <main id="main">
            <h1>"Pay"</h1>
            {refused}
            {declined}
            <div class="two">
                <div>{bought(cinema, known)}{yours.then(cards)}</div>
                <div>{right}</div>
            </div>
        </main>
    }
}

fn clock(cinema: &Cinema, known: &Known, ends_at: DateTime<Utc>, left_ms: i64) -> impl IntoView + use<> {
    let seconds = (left_ms + 999) / 1000;
    let show = known.order.show;
    let renewal = (known.order.locked_at == known.order.held_at).then_some(" Starting to pay renews the hold once.");
    view! {
        // Without a script the page asks again when the hold is over, and is told so.
        <noscript><meta http-equiv="refresh" content=(seconds + 1).to_string()/></noscript>
        <section
            class="panel clock"
            aria-label="Time left"
            data-order=known.order.id.to_string()
            data-show=show.to_string()
            data-left=left_ms
        >
            <p class="countdown-words">"Your seats are held for"</p>
            <p class="countdown" role="timer" data-testid="countdown">{format!("{:02}:{:02}", seconds / 60, seconds % 60)}</p>
            <div class="drain" style=format!("--left:{seconds};--of:{}", known.order.hold_window.seconds())></div>
            <p class="soft">"Held until "{cinema.to_the_second(ends_at)}"."{renewal}</p>
        </section>
        <section class="notice" data-o="warn" data-testid="lapsed-notice" role="alert" hidden>
            <div>
                <p><b>"Your hold has lapsed."</b>" The seats are free for everybody again, and you were not charged."</p>
            </div>
            <div class="actions"><a class="button primary" href=format!("/shows/{show}")>"Back to the seat map"</a></div>
        </section>
    }
}

fn form(known: &Known) -> impl IntoView + use<> {
    let order = known.order.id.to_string();
    view! {
        <section class="panel pay-panel">
            <form class="pay-form" method="post" action="/api/pay" autocomplete="off">
                <input type="hidden" name="order" value=order.clone()/>
                <input type="hidden" name="attempt" value=request::new_attempt().to_string()/>
                <label for="card">"Card number"</label>
                <input id="card" name="card" inputmode="numeric" autocomplete="off" list="test-cards" required/>
                <datalist id="test-cards">
                    {test_cards().into_iter().map(|(number, does)| view! { <option value=number>{does}</option> }).collect_view()}
                </datalist>
                <label for="email">"Mail the tickets to "<span class="soft">"(if you like)"</span></label>
                <input id="email" name="email" type="email" autocomplete="email" maxlength="254"/>
                <button class="primary" data-testid="pay">"Pay "{known.order.total.to_string()}</button>
            </form>
            <form class="actions release-form" method="post" action="/api/release_hold">
                <input type="hidden" name="order" value=order/>
                <button data-testid="release">"Release the seats"</button>
                <span class="soft">"Nothing has been charged."</span>
            </form>
        </section>
    }
}

/// Cards to try things out with, where cards are not real.
fn test_cards() -> Vec<(&'static str, &'static str)> {
    request::office().test_cards.clone()
}

fn cards() -> impl IntoView {
    let cards = test_cards();
    let none = cards.is_empty();
    let rows = cards
        .into_iter()
        .map(|(number, does)| view! { <tr><th scope="row"><code>{number}</code></th><td>{does}</td></tr> });
    view! {
        <section class="panel" hidden=none>
            <table class="cards">
                <caption>"Test cards: no real money moves here"</caption>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </section>
    }
}
