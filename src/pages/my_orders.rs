//! This visitor's orders.

use leptos::prelude::*;

use super::parts::{Known, poster, title, when};
use super::problem::failed;
use crate::box_office::BoxOffice;
use crate::domain::cinema::Cinema;
use crate::domain::order::Standing;
use crate::request;
use crate::store::{StoreResult, maps, orders};

/// What this browser holds, bought, or gave back.
#[component]
pub fn MyOrders() -> impl IntoView {
    Suspend::new(async move {
        request::do_not_store();
        let office = request::office();
        match read(&office).await {
            Ok(known) => list(&office.cinema, &known).into_any(),
            Err(error) => failed(error),
        }
    })
}

async fn read(office: &BoxOffice) -> StoreResult<Vec<Known>> {
    let Some(visitor) = request::visitor() else { return Ok(Vec::new()) };
    let mut known: Vec<Known> = Vec::new();
    for (order, now) in orders::of_visitor(&office.pool, visitor).await? {
        let show = match known.iter().find(|known| known.order.show == order.show) {
            Some(known) => Some(known.show.clone()),
            None => maps::show(&office.pool, &office.plans, order.show).await?,
        };
        known.extend(show.map(|show| Known { order, show, now }));
    }
    Ok(known)
}

fn list(cinema: &Cinema, known: &[Known]) -> impl IntoView + use<> {
    let items = known.iter().map(|known| item(cinema, known)).collect_view();
    let body = if known.is_empty() {
        view! {
            <section class="empty">
                <h2>"No tickets yet"</h2>
                <p>"Seats you hold or buy in this browser appear here."</p>
                <p><a class="button primary" href="/">"See what’s on"</a></p>
            </section>
        }
        .into_any()
    } else {
        view! { <ul class="orders">{items}</ul> }.into_any()
    };
    view! {
        {title("My tickets", cinema)}
        <main id="main">
            <h1>"My tickets"</h1>
            {body}
        </main>
    }
}

fn item(cinema: &Cinema, known: &Known) -> impl IntoView + use<> {
    let (kind, words) = match known.order.standing(known.now) {
        Standing::Held { ends_at } => ("held", format!("Held until {}", cinema.hour_minute(ends_at))),
        Standing::Paying { .. } => ("paying", "Payment on its way".to_owned()),
        Standing::Lapsed { .. } => ("lapsed", "Lapsed".to_owned()),
        Standing::Sold { .. } => ("sold", "Tickets".to_owned()),
        Standing::Released { .. } => ("released", "Given back".to_owned()),
        Standing::RefundOwed { .. } => ("refunded", "Refund on its way".to_owned()),
        Standing::Refunded { .. } => ("refunded", "Refunded".to_owned()),
    };
    view! {
        <li>
            <a class="order" href=format!("/orders/{}", known.order.id)>
                {poster(&known.show.film, true)}
                <div>
                    <h2>{known.show.film.title.clone()}</h2>
                    <p>{when(cinema, known.show.starts_at)}", "{known.show.hall.clone()}</p>
                    <p class="soft">{known.seats()}", "{known.order.total.to_string()}</p>
                </div>
                <span class="state" data-o=kind>{words}</span>
            </a>
        </li>
    }
}
