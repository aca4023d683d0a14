//! Pieces that several pages show alike.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::box_office::BoxOffice;
use crate::domain::cinema::Cinema;
use crate::domain::ids::OrderId;
use crate::domain::money::Money;
use crate::domain::order::Order;
use crate::domain::show::{Film, Show};
use crate::store::{StoreError, maps, orders};

/// The document's title. Escaped here, because leptos_meta writes it as it is: a film called `</title>` would end the
/// element and go on as markup.
pub fn title(text: &str, cinema: &Cinema) -> impl IntoView + use<> {
    let text = format!("{text} · {}", cinema.name).replace('&', "&amp;").replace('<', "&lt;");
    view! { <Title text/> }
}

/// A film's poster; its title stands beside it, so it says nothing to a screen reader.
pub fn poster(film: &Film, lazy: bool) -> impl IntoView + use<> {
    let loading = lazy.then_some("lazy");
    view! { <img class="poster" src=format!("/posters/{}.svg", film.poster) alt="" width="300" height="450" loading=loading/> }
}

/// Date and time in the cinema's zone, for people and machines. A line may end behind the date, not within the time.
pub fn when(cinema: &Cinema, instant: DateTime<Utc>) -> impl IntoView + use<> {
    let text = cinema.date_time(instant);
    let (date, time) = text.split_once(", ").unwrap_or(("", &text));
    view! {
        <time datetime=instant.with_timezone(&cinema.zone).to_rfc3339()>
            <span class="whole">{date.to_owned()}","</span>
            " "
            <span class="whole">{time.to_owned()}</span>
        </time>
    }
}

/// An order with its show and the database's clock.
pub struct Known {
    /// The order.
    pub order: Order,
    /// What it is for.
    pub show: Arc<Show>,
    /// When it was read.
    pub now: DateTime<Utc>,
}

impl Known {
    /// Reads an order for a page; `None` when there is no such order.
    pub async fn read(office: &BoxOffice, id: OrderId) -> Result<Option<Self>, StoreError> {
        let Some((order, now)) = orders::get(&office.pool, id).await? else { return Ok(None) };
        Ok(maps::show(&office.pool, &office.plans, order.show).await?.map(|show| Self { order, show, now }))
    }

    /// Short names of its seats: `C7, C8`.
    pub fn seats(&self) -> String {
        self.show.plan.names(self.order.seats.seats())
    }
}

/// What is bought, and for how much.
pub fn bought(cinema: &Cinema, known: &Known) -> impl IntoView + use<> {
    let (show, order) = (&known.show, &known.order);
    let rows = order.seats.seats().iter().zip(&order.prices).map(|(no, price)| {
        let zone = show.plan.place(*no).map(|place| show.plan.zones()[place.zone].to_lowercase()).unwrap_or_default();
        let price = Money::new(*price, order.total.currency);
        view! { <tr><th scope="row">{show.plan.name(*no)}", "{zone}</th><td>{price.to_string()}</td></tr> }
    });
    view! {
        <section class="panel" aria-labelledby="buy">
            <div class="bought">
                {poster(&show.film, false)}
                <div>
                    <h2 id="buy">{show.film.title.clone()}</h2>
                    <p>{when(cinema, show.starts_at)}</p>
                    <p>{show.hall.clone()}</p>
                    <p class="soft">{show.film.runtime_min}" min, "{show.film.rating.clone()}</p>
                </div>
            </div>
            <table class="seats-bought">
                <caption class="vh">"Seats and prices"</caption>
                <tbody>{rows.collect_view()}</tbody>
                <tfoot><tr><th scope="row">"Total"</th><td data-testid="total">{order.total.to_string()}</td></tr></tfoot>
            </table>
        </section>
    }
}

/// A notice above the content.
pub fn notice(kind: &'static str, testid: &'static str, text: String) -> impl IntoView {
    view! {
        <section class="notice" data-o=kind data-testid=testid role="alert">
            <div><p>{text}</p></div>
        </section>
    }
}
