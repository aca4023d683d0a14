//! One visit: come, look, press, and with seats pay, go back, or close the tab.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use rand::Rng;
use serde::Deserialize;
use uuid::Uuid;

use super::hall::{Free, Hall};
use super::link::{Answer, Links, Question};
use super::person::{Person, Then};
use super::record::{Fate, Grant, Kind, Record};
use super::scenario::Scenario;
use super::shown::Shown;
use crate::domain::ids::{OrderId, ShowId};
use crate::domain::seat::SeatNo;

const GOOD_CARD: &str = "4242424242424242";
const DECLINED_CARD: &str = "4000000000000002";

/// Between two looks at a payment that is not decided yet, as the order's page does it.
const LOOKS_AGAIN: Duration = Duration::from_secs(1);
/// So often, at most: after that a person calls the cinema.
const LOOKS: u32 = 120;

/// What all visits share.
#[derive(Debug)]
pub struct Cinema {
    /// The scenario.
    pub scenario: Scenario,
    /// The show.
    pub show: ShowId,
    /// Its hall.
    pub hall: Hall,
    /// Its servers.
    pub servers: Vec<Arc<Links>>,
    /// The map that was read last.
    pub shown: Shown,
    /// What was seen.
    pub record: Record,
}

#[derive(Deserialize)]
struct RefusalJson {
    #[serde(default)]
    nearest: Vec<SeatNo>,
}

#[derive(Deserialize)]
struct ClockJson {
    standing: String,
}

/// What a try came to.
enum Tried {
    /// Seats, and the number of their grant.
    Held { order: OrderId, grant: usize },
    /// No; perhaps with other seats to take instead.
    Lost { offered: Vec<SeatNo> },
    /// No answer until patience was at an end.
    Unanswered,
}

struct Visit {
    cinema: Arc<Cinema>,
    person: Person,
    cookie: Option<String>,
}

/// Lets somebody come, from their arrival to their leaving.
pub async fn visit(cinema: Arc<Cinema>, person: Person) {
    let record = Arc::clone(&cinema);
    let mut visit = Visit { cinema, person, cookie: None };
    let held = visit.gets_seats().await;
    if let Some((order, grant)) = held {
        visit.with_seats(order, grant).await;
    }
    record.record.gone(held.is_some());
}

impl Visit {
    /// Tries until there are seats, or patience or tries are at an end.
    async fn gets_seats(&mut self) -> Option<(OrderId, usize)> {
        let people = &self.cinema.scenario.people;
        let (tries, insists, patience) = (people.tries, people.insists, Duration::from_secs_f64(people.patience_s));
        let leaves = Instant::now() + patience;
        if self.person.opens_page {
            let show = self.cinema.show;
            self.reads(Kind::Page, &format!("/shows/{show}"), true).await;
        }
        let mut offered = Vec::new();
        let mut tried = 0;
        while tried < tries && Instant::now() < leaves {
            let seats = match std::mem::take(&mut offered) {
                seats if !seats.is_empty() => seats,
                _ => match self.picks(insists).await {
                    Some(seats) => seats,
                    None => return None,
                },
            };
            tokio::time::sleep(self.person.picks).await;
            tried += 1;
            if seats.is_empty() {
                continue;
            }
            match self.presses(&seats, leaves).await {
                Tried::Held { order, grant } => return Some((order, grant)),
                Tried::Lost { offered: instead } => offered = instead,
                Tried::Unanswered => return None,
            }
        }
        None
    }

    /// The seats to press for; empty when the map shows none free now, `None` when all are sold and there is nothing to wait
    /// for.
    async fn picks(&mut self, insists: bool) -> Option<Vec<SeatNo>> {
        let party = self.person.party;
        if self.person.opens_map
            && let Some((free, sold_out)) = self.looks().await
        {
            let seats = self.cinema.hall.choose(party, &free, &mut self.person.dice);
            if !seats.is_empty() || !insists {
                return (!sold_out).then_some(seats);
            }
        }
        Some(self.cinema.hall.favourite(party, &mut self.person.dice))
    }

    /// Reads the map: which seats it shows as free, and whether all are sold.
    async fn looks(&self) -> Option<(Free, bool)> {
        let answer = self.reads(Kind::Map, &format!("/shows/{}/seats", self.cinema.show), false).await?;
        self.cinema.shown.free(&answer)
    }

    /// Presses, and sends the same form again when the server says to come again or does not answer.
    async fn presses(&mut self, seats: &[SeatNo], leaves: Instant) -> Tried {
        let attempt = self.some_id();
        let mut form = format!("show={}&attempt={attempt}", self.cinema.show);
        for seat in seats {
            form.push_str(&format!("&seats%5B%5D={seat}"));
        }
        let cinema = Arc::clone(&self.cinema);
        cinema.record.attempt();
        let asked = Instant::now();
        loop {
            let answer = self.asks("/api/hold_seats", Some(form.clone()), false).await;
            if let Some(answer) = &answer
                && let Some(tried) = understood(&cinema.record, answer, seats, asked)
            {
                self.cookie = answer.cookie.clone().or(self.cookie.take());
                return tried;
            }
            if Instant::now() > leaves {
                return Tried::Unanswered;
            }
            let wait = answer.and_then(|answer| answer.retry_after).unwrap_or(LOOKS_AGAIN);
            // Not everybody at the same moment.
            tokio::time::sleep(wait.mul_f64(self.person.dice.random_range(1.0..1.5))).await;
        }
    }

    async fn with_seats(&mut self, order: OrderId, grant: usize) {
        tokio::time::sleep(self.person.thinks).await;
        match self.person.then {
            Then::NeverPays => {}
            Then::GoesBack => {
                let asked = Instant::now();
                let Some(answer) = self.commands("/api/release_hold", format!("order={order}")).await else { return };
                if answer.is_yes() {
                    self.cinema.record.answered(Kind::Released, asked);
                    self.cinema.record.told(grant, Fate::Released { asked });
                }
            }
            Then::NeedsSecondCard => {
                self.pays(order, DECLINED_CARD).await;
                self.pays(order, GOOD_CARD).await;
                self.learns(order, grant).await;
            }
            Then::Pays => {
                self.pays(order, GOOD_CARD).await;
                self.learns(order, grant).await;
            }
        }
    }

    async fn pays(&mut self, order: OrderId, card: &str) {
        let asked = Instant::now();
        let form = format!("order={order}&attempt={}&card={card}", self.some_id());
        if let Some(answer) = self.commands("/api/pay", form).await
            && answer.is_yes()
        {
            self.cinema.record.answered(Kind::Paid, asked);
        }
    }

    /// Looks at the order until it is decided.
    async fn learns(&self, order: OrderId, grant: usize) {
        for _ in 0..LOOKS {
            let answer = self.asks(&format!("/orders/{order}/clock"), None, false).await;
            let clock = answer.and_then(|answer| serde_json::from_slice::<ClockJson>(&answer.unpacked()?).ok());
            let fate = match clock.as_ref().map(|clock| clock.standing.as_str()) {
                Some("sold") => Some(Fate::Sold { told: Instant::now() }),
                Some("refunded" | "refund_owed") => Some(Fate::Refunded),
                // Declined, or too late to pay.
                Some("held" | "lapsed" | "released") => return,
                _ => None,
            };
            if let Some(fate) = fate {
                return self.cinema.record.told(grant, fate);
            }
            tokio::time::sleep(LOOKS_AGAIN).await;
        }
    }

    /// A command that is sent again when the server says to come again.
    async fn commands(&self, path: &str, form: String) -> Option<Answer> {
        for _ in 0..LOOKS {
            let answer = self.asks(path, Some(form.clone()), false).await?;
            let Some(wait) = answer.retry_after else { return Some(answer) };
            tokio::time::sleep(wait).await;
        }
        None
    }

    async fn reads(&self, kind: Kind, path: &str, page: bool) -> Option<Answer> {
        let asked = Instant::now();
        let answer = self.asks(path, None, page).await?;
        (answer.status == StatusCode::OK).then(|| self.cinema.record.answered(kind, asked))?;
        Some(answer)
    }

    async fn asks(&self, path: &str, form: Option<String>, page: bool) -> Option<Answer> {
        let servers = &self.cinema.servers;
        let server = &servers[self.person.nth as usize % servers.len()];
        let question = Question { path, form, from: self.person.address(), cookie: self.cookie.as_deref(), page };
        match server.ask(&question).await {
            Ok(answer) => {
                self.cinema.record.status(answer.status.as_u16());
                Some(answer)
            }
            Err(error) => {
                self.cinema.record.broke(&error.to_string());
                None
            }
        }
    }

    fn some_id(&mut self) -> Uuid {
        uuid::Builder::from_random_bytes(self.person.dice.random()).into_uuid()
    }
}

/// What the answer to a hold says; `None` when it says to come again, or is none that a person understands.
fn understood(record: &Record, answer: &Answer, seats: &[SeatNo], asked: Instant) -> Option<Tried> {
    if answer.status == StatusCode::CONFLICT {
        record.answered(Kind::Lost, asked);
        let refusal = serde_json::from_slice::<RefusalJson>(&answer.body);
        return Some(Tried::Lost { offered: refusal.map(|refusal| refusal.nearest).unwrap_or_default() });
    }
    let page = answer.location.as_deref().filter(|_| answer.is_yes())?;
    let order = page.split('/').nth(2)?.parse().ok()?;
    record.answered(Kind::Held, asked);
    let (seats, told) = (seats.to_vec(), Instant::now());
    let grant = record.granted(Grant { order, seats, asked, told, fate: Fate::Held });
    Some(Tried::Held { order, grant })
}
