//! A client that hangs up after it has sent its payment: whatever the server waits for at that moment, the order ends as
//! tickets, or as if nothing had been sent. Never charged and nothing.

use std::sync::Arc;
use std::time::Duration;

use matinee::domain::ids::OrderId;
use matinee::domain::payment::Payment;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::browser::{Browser, encoded, serve};
use crate::support::wires::{Exchange, Side};
use crate::support::{Books, Cinema, GOOD_CARD, PRICE, until};

/// The form, whose second sending is answered like the first.
fn form(order: OrderId, attempt: Uuid) -> [(&'static str, String); 3] {
    [("order", order.to_string()), ("attempt", attempt.to_string()), ("card", GOOD_CARD.to_owned())]
}

/// Waits, without anybody looking at the order, until no payment is under way and what was charged has its ticket; then
/// sends the form again, to a client that stays. Whether it was the first sending that bought the seat.
async fn ends(cinema: &Cinema, visitor: &Browser, order: OrderId, attempt: Uuid) -> bool {
    // What the server still does after the client has gone may come between two of these questions, so they are asked again.
    until("the payment is at rest, and nothing is charged without a ticket", || async {
        let at_rest = cinema.payments(order).await.iter().all(Payment::is_at_rest);
        let expected = if cinema.is_sold(order).await { Books::sold_for(PRICE) } else { Books::EMPTY };
        at_rest && cinema.books(order).await == expected
    })
    .await;
    let bought = cinema.is_sold(order).await;
    cinema.proves().await;
    // The same attempt never charges twice, nor finishes what the first one left: what is sold now was never lost.
    let answer = visitor.post("/api/pay", &form(order, attempt)).await;
    assert_eq!(answer.location, Some(format!("/orders/{order}")), "{answer:?}");
    assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    assert_eq!(cinema.ticketed(order).await.len(), 1);
    bought
}

/// At each thing that the server waits for while it answers, noticed at once or only later.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_at_any_point_is_charged_for_tickets_or_not_at_all() {
    let cinema = Cinema::open().await;
    let wires = cinema.wires().await;
    let site = serve(&Arc::new(wires.office())).await;
    let (mut bought, mut nothing, mut nth) = (0, 0, 0);
    loop {
        nth += 1;
        let mut came_there = false;
        // The client is gone for longer than the server needs to see it, or has gone just then.
        for gone_for in [Duration::ZERO, Duration::from_millis(30)] {
            let show = cinema.show_of(1).await;
            let (visitor, attempt) = (Browser::at(site), Uuid::new_v4());
            let order = visitor.hold(show, &[1]).await.order();
            let payment = form(order, attempt);
            wires.stop_at(Exchange::Nth(nth), Side::Before);
            let hung_up = tokio::select! {
                _ = visitor.post("/api/pay", &payment) => wires.was_stopped(),
                () = wires.stopped() => true,
            };
            tokio::time::sleep(gone_for).await;
            if hung_up {
                wires.go_on();
            } else {
                wires.stop_at(Exchange::Never, Side::Before);
            }
            came_there |= hung_up;
            let sold = ends(&cinema, &visitor, order, attempt).await;
            *if sold { &mut bought } else { &mut nothing } += usize::from(hung_up);
        }
        if !came_there {
            break;
        }
    }
    println!("hung up at {} points: {bought} bought, {nothing} did not", nth - 1);
    // The charge and the confirmation are the server's own work, and go on; a start may still come after one has looked.
    assert!(nth > 3 && bought >= 2 * (nth - 2), "{nth} {bought} {nothing}");
    cinema.proves().await;
}

/// After any number of the request's bytes, all of them included, without waiting for an answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_a_part_of_its_payment_is_charged_for_tickets_or_not_at_all() {
    let cinema = Cinema::open().await;
    let site = serve(&cinema.office).await;
    let (mut bought, mut nothing) = (0, 0);
    for part in 0..=40 {
        let show = cinema.show_of(1).await;
        let (visitor, attempt) = (Browser::at(site), Uuid::new_v4());
        let order = visitor.hold(show, &[1]).await.order();
        let body = encoded(&form(order, attempt));
        let request = format!(
            "POST /api/pay HTTP/1.1\r\nhost: {site}\r\naccept: application/json\r\ncookie: matinee={}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            visitor.cookie("matinee").unwrap(),
            body.len()
        );
        let bytes = &request.as_bytes()[..request.len() * part.min(20) / 20];
        let mut connection = TcpStream::connect(site).await.unwrap();
        connection.write_all(bytes).await.unwrap();
        // Half of those that send everything stay until the payment has begun.
        if part > 20 && part % 2 == 0 {
            until("a payment begins", || async { !cinema.payments(order).await.is_empty() }).await;
        }
        drop(connection);
        let sold = ends(&cinema, &visitor, order, attempt).await;
        assert!(!sold || part >= 20, "bought with a part of a request");
        *if sold { &mut bought } else { &mut nothing } += 1;
    }
    println!("{bought} bought, {nothing} did not");
    assert!(bought >= 10 && nothing >= 20, "{bought} {nothing}");
    cinema.proves().await;
}
