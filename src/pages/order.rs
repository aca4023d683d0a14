//! What became of an order: its tickets, or the plain story of how it ended.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::parts::{Known, bought, title};
use super::payment::declined_words;
use super::problem::{failed, not_found};
use super::story::{Evidence, story};
use super::ticket::ticket;
use crate::box_office::{self, BoxOffice};
use crate::domain::cinema::Cinema;
use crate::domain::ids::OrderId;
use crate::domain::order::Standing;
use crate::domain::payment::{Payment, PaymentState, Refund};
use crate::domain::saga::OrderEvent;
use crate::domain::ticket::Ticket;
use crate::request;
use crate::store::{StoreResult, events, payments, refunds, tickets};

/// An order, for its visitor and for whoever has its link.
#[component]
pub fn OrderPage() -> impl IntoView {
    let order = use_params_map().read_untracked().get("order").and_then(|order| order.parse::<OrderId>().ok());
    Suspend::new(async move {
        request::do_not_store();
        let Some(order) = order else { return not_found() };
        let office = request::office();
        // Whoever looks next finishes what a crash left open; if that fails the page still tells the state.
        let _ = box_office::resume(&office, order).await;
        match read(&office, order).await {
            Ok(Some(story)) => story.page(&office.cinema).into_any(),
            Ok(None) => not_found(),
            Err(error) => failed(error),
        }
    })
}

struct Story {
    known: Known,
    payments: Vec<Payment>,
    tickets: Vec<Ticket>,
    refunds: Vec<Refund>,
    events: Vec<OrderEvent>,
}

async fn read(office: &BoxOffice, order: OrderId) -> StoreResult<Option<Story>> {
    let Some(known) = Known::read(office, order).await? else { return Ok(None) };
    Ok(Some(Story {
        payments: payments::of_order(&office.pool, order).await?,
        tickets: tickets::of_order(&office.pool, order).await?,
        refunds: refunds::of_order(&office.pool, order).await?,
        events: events::of_order(&office.pool, order).await?,
        known,
    }))
}

/// An end, told.
struct End {
    kind: &'static str,
    heading: &'static str,
    words: String,
    facts: Vec<(&'static str, String)>,
    next: Next,
}

enum Next {
    Again,
    Pay,
    Confirm(String),
    Wait,
}

impl Story {
    fn page(&self, cinema: &Cinema) -> impl IntoView + use<> {
        match self.known.order.standing(self.known.now) {
            Standing::Sold { .. } => self.sold(cinema).into_any(),
            standing => self.told(cinema, self.end(cinema, standing)).into_any(),
        }
    }

    fn end(&self, cinema: &Cinema, standing: Standing) -> End {
        let seats = self.known.seats();
        let time = |instant| cinema.to_the_second(instant);
        let held = ("Held at", time(self.known.order.held_at));
        let total = self.known.order.total;
        let one = self.known.order.seats.count() == 1;
        let (are, they_were) = if one { ("is", "it was") } else { ("are", "they were") };
        let gone =
            if one { format!("{seats} was no longer free") } else { format!("not all of {seats} were still free") };
        match standing {
            Standing::Held { ends_at } if request::visitor() != Some(self.known.order.visitor) => End {
                kind: "held",
                heading: "Held in another browser",
                words: format!(
                    "{seats} {are} held, but not by this browser: only the one that holds can pay or release."
                ),
                facts: vec![("Held until", time(ends_at))],
                next: Next::Again,
            },
            Standing::Held { ends_at } => {
                let until = ("Held until", time(ends_at));
                match declined_words(self.payments.last(), &seats) {
                    Some(words) => End {
                        kind: "declined",
                        heading: "The payment did not go through",
                        words,
                        facts: self.declined_at(cinema).into_iter().chain([until]).collect(),
                        next: Next::Pay,
                    },
                    None => End {
                        kind: "held",
                        heading: "You hold these seats",
                        words: format!("{seats} {are} kept for you until the time below. Nothing was charged yet."),
                        facts: vec![held, until],
                        next: Next::Pay,
                    },
                }
            }
            Standing::Paying { ends_at } if self.to_confirm().is_some() => End {
                kind: "held",
                heading: "Your card must be confirmed",
                words:
                    "Your bank wants you to confirm this payment on the card processor’s page. Nothing was charged yet."
                        .into(),
                facts: vec![("Held until", time(ends_at))],
                next: Next::Confirm(self.to_confirm().unwrap_or_default()),
            },
            Standing::Paying { ends_at } => End {
                kind: "paying",
                heading: "Your payment is on its way",
                words: "The card processor has not answered yet. This page looks again by itself; do not pay again."
                    .into(),
                facts: vec![("Held until", time(ends_at))],
                next: Next::Wait,
            },
            Standing::Lapsed { ended_at } => End {
                kind: "lapsed",
                heading: "Your hold has lapsed",
                words: format!("{seats} went back on sale before {they_were} paid for. Nothing was charged."),
                facts: vec![held, ("Ended at", time(ended_at)), ("Now", time(self.known.now))],
                next: Next::Again,
            },
            Standing::Released { released_at } => End {
                kind: "released",
                heading: "You gave these seats back",
                words: format!("{seats} {are} free for others. Nothing was charged."),
                facts: vec![held, ("Given back at", time(released_at))],
                next: Next::Again,
            },
            Standing::RefundOwed { since } => End {
                kind: "refunded",
                heading: "Your payment is being refunded",
                words: format!(
                    "The payment arrived after your hold had ended, and {gone}. All of the {total} goes back to your card. There are no tickets for this order."
                ),
                facts: self.refund_facts(cinema, since),
                next: Next::Again,
            },
            Standing::Refunded { refunded_at } => End {
                kind: "refunded",
                heading: "Your payment was refunded",
                words: format!(
                    "The payment arrived after your hold had ended, and {gone}. All of the {total} went back to your card. There are no tickets for this order."
                ),
                facts: self.refund_facts(cinema, refunded_at),
                next: Next::Again,
            },
            Standing::Sold { sold_at } => End {
                kind: "sold",
                heading: "Your tickets",
                words: String::new(),
                facts: vec![("Paid at", time(sold_at))],
                next: Next::Again,
            },
        }
    }

    /// Where the payment under way waits for its card's holder, if it does; told to the visitor alone.
    fn to_confirm(&self) -> Option<String> {
        let yours = request::visitor() == Some(self.known.order.visitor);
        let open = self.payments.iter().find(|payment| payment.state == PaymentState::Started);
        open.filter(|_| yours).and_then(|payment| payment.action_url.clone())
    }

    fn declined_at(&self, cinema: &Cinema) -> Option<(&'static str, String)> {
        match self.payments.last()?.state {
            PaymentState::Declined { settled_at, .. } => Some(("Declined at", cinema.to_the_second(settled_at))),
            PaymentState::Failed { settled_at } => Some(("Given up at", cinema.to_the_second(settled_at))),
            _ => None,
        }
    }

    fn refund_facts(&self, cinema: &Cinema, changed_at: chrono::DateTime<chrono::Utc>) -> Vec<(&'static str, String)> {
        let Some(refund) = self.refunds.first() else { return vec![("Since", cinema.to_the_second(changed_at))] };
        let mut facts = vec![
            ("Hold ended at", cinema.to_the_second(refund.hold_ended_at)),
            ("Payment arrived at", cinema.to_the_second(refund.owed_since)),
        ];
        match &refund.made {
            Some((at, reference)) => facts.extend([
                ("Refunded at", cinema.to_the_second(*at)),
                ("Refunded", refund.amount.to_string()),
                ("Reference", reference.clone()),
            ]),
            None => facts.push(("To be refunded", refund.amount.to_string())),
        }
        facts
    }

    fn told(&self, cinema: &Cinema, end: End) -> impl IntoView + use<> {
        let order = &self.known.order;
        let facts = end.facts.into_iter().map(|(name, value)| view! { <div><dt>{name}</dt><dd>{value}</dd></div> });
        let testid = if end.kind == "lapsed" { "lapsed-notice" } else { "outcome" };
        let again = view! {
            <a class="button primary" href=format!("/shows/{}", order.show)>"Choose seats again"</a>
            <a class="button" href="/">"What’s on"</a>
        };
        let look_again = matches!(end.next, Next::Wait).then(|| view! { <meta http-equiv="refresh" content="2"/> });
        let next = match end.next {
            Next::Again => again.into_any(),
            Next::Pay => {
                view! { <a class="button primary" href=format!("/orders/{}/pay", order.id)>"Continue to payment"</a> }
                    .into_any()
            }
            Next::Confirm(url) => {
                // Straight from the payment form. Whoever comes back to this address by Back is led there again, and from
                // there here, without the word.
                if request::query("confirm").is_some() {
                    request::go_on_to(&url);
                }
                view! { <a class="button primary" href=url>"Confirm the payment"</a> }.into_any()
            }
            Next::Wait => view! {
                <a class="button primary" href=format!("/orders/{}", order.id)>"Look again"</a>
            }
            .into_any(),
        };
        view! {
            {title(end.heading, cinema)}
            {look_again}
            <main id="main">
                <header class="outcome" data-o=end.kind data-testid=testid>
                    <h1>{end.heading}</h1>
                    <p>{end.words}</p>
                    <dl class="facts">{facts.collect_view()}<div><dt>"Order"</dt><dd><code>{order.code()}</code></dd></div></dl>
                    <p class="actions">{next}</p>
                </header>
                <div class="told">{bought(cinema, &self.known)}{self.what_happened(cinema)}</div>
            </main>
        }
    }

    fn what_happened(&self, cinema: &Cinema) -> impl IntoView + use<> {
        story(cinema, &self.events, &Evidence { payments: &self.payments, refunds: &self.refunds })
    }

    fn sold(&self, cinema: &Cinema) -> impl IntoView + use<> {
        let order = &self.known.order;
        let paid_at = self.payments.iter().find_map(|payment| match payment.state {
            PaymentState::Captured { settled_at, bought: true, .. } => Some(cinema.to_the_second(settled_at)),
            _ => None,
        });
        view! {
            {title("Your tickets", cinema)}
            <main id="main">
                <header class="outcome" data-o="sold" data-testid="outcome">
                    <h1>"Your tickets"</h1>
                    <p>"Paid "{order.total.to_string()}" at "{paid_at}", order "<code>{order.code()}</code>". Show one code a person at the door."</p>
                    <p class="actions"><a class="button" href="/my">"My tickets"</a></p>
                </header>
                <ul class="tickets">{self.tickets.iter().map(|known| ticket(cinema, &self.known, known)).collect_view()}</ul>
                <div class="told">{self.what_happened(cinema)}</div>
            </main>
        }
    }
}
