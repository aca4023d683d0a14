//! A ticket: one seat, with its code to be read at the door.

use leptos::prelude::*;
use qrcode::{Color, QrCode};

use super::parts::{Known, poster, when};
use crate::domain::cinema::Cinema;
use crate::domain::ticket::{Ticket, TicketCode};

/// A ticket of an order.
pub fn ticket(cinema: &Cinema, known: &Known, ticket: &Ticket) -> impl IntoView + use<> {
    let show = &known.show;
    let name = show.plan.name(ticket.seat);
    let place = show.plan.place(ticket.seat);
    let zone = place.map(|place| show.plan.zones()[place.zone].to_lowercase()).unwrap_or_default();
    let seat = place.map(|place| format!("Row {}, seat {}, {zone}", show.plan.rows()[place.row], place.number));
    view! {
        <li>
            <article class="ticket" data-testid="ticket">
                {poster(&show.film, false)}
                <div class="ticket-what">
                    <h2>{show.film.title.clone()}</h2>
                    <dl class="facts">
                        <div><dt>"When"</dt><dd>{when(cinema, show.starts_at)}</dd></div>
                        <div><dt>"Hall"</dt><dd>{show.hall.clone()}</dd></div>
                        <div><dt>"Seat"</dt><dd>{seat}</dd></div>
                        <div><dt>"Order"</dt><dd><code>{known.order.code()}</code></dd></div>
                    </dl>
                </div>
                <div class="stub">
                    {qr(&ticket.code, &name)}
                    <p class="seat-no">{name}</p>
                    <code>{ticket.code.to_string()}</code>
                </div>
            </article>
        </li>
    }
}

/// The ticket's code as a QR code of one path.
fn qr(code: &TicketCode, seat: &str) -> Option<impl IntoView + use<>> {
    let qr = QrCode::new(code.as_str()).ok()?;
    let width = qr.width();
    let path: String = qr
        .to_colors()
        .iter()
        .enumerate()
        .filter(|(_, color)| **color == Color::Dark)
        .map(|(index, _)| format!("M{} {}h1v1h-1z", index % width, index / width))
        .collect();
    Some(view! {
        <svg class="qr" viewBox=format!("0 0 {width} {width}") role="img" aria-label=format!("QR code for seat {seat}")>
            <path d=path fill="currentColor" shape-rendering="crispEdges"></path>
        </svg>
    })
}
