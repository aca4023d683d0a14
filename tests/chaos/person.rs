//! Somebody who would like to see the film, and has a day on which nothing works.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use chrono::{DateTime, Utc};
use matinee::domain::seat::{HoldWindow, Status};
use matinee::gateway::TEST_CARDS;
use rand::Rng;
use rand::rngs::StdRng;
use reqwest::StatusCode;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::client::Client;
use crate::history::Told;
use crate::page::{Kind, Page};
use crate::plan::Plan;
use crate::site::Site;
use crate::time;

/// How often somebody tries to get seats.
const ROUNDS: usize = 6;
/// Accepted after five seconds.
const SLOW_CARD: &str = "4000000000000341";
/// Where everybody wants to sit: so many of the first free seats.
const FRONT: usize = 24;
/// How many cards somebody has.
const CARDS: usize = 3;

pub struct Person {
    site: Arc<Site>,
    client: Client,
    dice: StdRng,
    /// How long they look at a payment that is on its way.
    patience: Duration,
    window: Duration,
    /// The orders they may have made.
    pub orders: Vec<Uuid>,
}

impl Person {
    pub fn new(site: &Arc<Site>, plan: &Plan, nth: usize) -> Self {
        let patience = Duration::from_secs(if plan.is_short { 8 } else { 60 });
        let window = Duration::from_secs(plan.window_s.unsigned_abs().into());
        let dice = plan.dice(u64::try_from(nth).unwrap());
        Self { site: Arc::clone(site), client: Client::at(site), dice, patience, window, orders: Vec::new() }
    }

    /// Picks, holds, and pays or not.
    pub async fn comes(&mut self) {
        for _ in 0..ROUNDS {
            let Some(order) = self.hold().await else { continue };
            match self.dice.random_range(0..10) {
                // Closes the tab.
                0 => return,
                1 => self.release(order).await,
                _ => return self.pay(order).await,
            }
        }
    }

    /// An order, once its seats are held.
    async fn hold(&mut self) -> Option<Uuid> {
        let show = self.site.show;
        if self.dice.random_ratio(1, 3) {
            self.client.get(&mut self.dice, &format!("/shows/{show}")).await;
        }
        let map = self.client.get(&mut self.dice, &format!("/shows/{show}/seats")).await?.json();
        let window = HoldWindow::from_seconds(i32::try_from(map["hold_window_s"].as_i64()?).ok()?)?;
        let now = map["now"].as_str()?.parse().ok()?;
        let free: Vec<i64> =
            map["seats"].as_array()?.iter().filter_map(|seat| self.may_be_free(window, now, seat)).collect();
        if free.is_empty() {
            return None;
        }
        // Everybody wants to sit in front.
        let wanted = self.dice.random_range(1..=4).min(free.len());
        let first = self.dice.random_range(0..FRONT.min(free.len() - wanted + 1));
        let attempt = self.name();
        let order = self.client.order(attempt);
        self.orders.push(order);
        let answer = self.client.hold(&mut self.dice, show, attempt, &free[first..first + wanted]).await?;
        match (answer.status, answer.error().as_str()) {
            (StatusCode::OK, _) => {
                let leads_to = Some(format!("/orders/{order}/pay"));
                if answer.location != leads_to {
                    self.site.history.is_odd(format!("a hold leads to {:?}, not {leads_to:?}", answer.location));
                }
                self.site.history.add(Told::Held { order });
                return Some(order);
            }
            (_, "seat_taken") => self.site.history.add(Told::Taken { order }),
            // Two of their own orders, when an answer was lost.
            (_, "already_yours" | "too_many_seats") => {}
            (status, error) => self.site.history.is_odd(format!("a hold: {status} {error} {}", answer.body)),
        }
        None
    }

    /// By the rule; and some pick what others hold.
    fn may_be_free(&mut self, window: HoldWindow, now: DateTime<Utc>, seat: &Value) -> Option<i64> {
        let status = Status::ALL.into_iter().find(|status| Some(status.as_str()) == seat["status"].as_str())?;
        let locked_at = seat["locked_at"].as_str().and_then(|at| at.parse().ok());
        let is_free =
            window.is_available(status, locked_at, now) || (status == Status::Locked && self.dice.random_ratio(1, 8));
        seat["no"].as_i64().filter(|_| is_free)
    }

    async fn release(&mut self, order: Uuid) {
        let form = [("order", order.to_string())];
        let Some(answer) = self.client.post(&mut self.dice, "/api/release_hold", &form).await else { return };
        match (answer.status, answer.error().as_str()) {
            (StatusCode::OK, _) => self.site.history.add(Told::Ended { order }),
            // The hold was paid for by nobody, so nothing else may stand in the way.
            (status, error) => self.site.history.is_odd(format!("a release: {status} {error}")),
        }
    }

    async fn pay(&mut self, order: Uuid) {
        let email = self.dice.random_ratio(4, 5).then(|| format!("{}@example.org", order.simple()));
        for _ in 0..CARDS {
            // A person takes a moment to type.
            sleep(Duration::from_millis(self.dice.random_range(50..1500))).await;
            let attempt = self.name();
            let mut card = TEST_CARDS[self.dice.random_range(0..TEST_CARDS.len())].number;
            if self.dice.random_ratio(1, 4) {
                // The bank thinks for so long that others may take the seats meanwhile.
                card = SLOW_CARD;
                self.expire_soon(order);
            }
            let form = [
                ("order", order.to_string()),
                ("attempt", attempt.to_string()),
                ("card", card.to_owned()),
                ("email", email.clone().unwrap_or_default()),
            ];
            let Some(answered) = self.send_payment(order, &form).await else { return };
            if answered && email.is_some() {
                self.site.history.has_address(order);
            }
            // Some believe what they read, some close the tab first.
            if self.dice.random_ratio(1, 4) {
                return;
            }
            let page = self.watch(order).await;
            if page == Some(Kind::Declined) && answered {
                self.site.history.add(Told::NotCharged { order, attempt });
            }
            if !matches!(page, Some(Kind::Declined | Kind::Held)) {
                return;
            }
        }
    }

    /// `None` when there is nothing more to pay; else whether the server said that it has dealt with this attempt.
    async fn send_payment(&mut self, order: Uuid, form: &[(&str, String)]) -> Option<bool> {
        self.site.counts.payments_sent.fetch_add(1, Relaxed);
        let answer = if self.dice.random_ratio(1, 5) {
            self.site.counts.doubled.fetch_add(1, Relaxed);
            let mut other = self.dice.clone();
            let (one, two) = tokio::join!(
                self.client.post(&mut self.dice, "/api/pay", form),
                self.client.post(&mut other, "/api/pay", form)
            );
            one.or(two)
        } else {
            self.client.post(&mut self.dice, "/api/pay", form).await
        };
        let Some(answer) = answer else { return Some(false) };
        match (answer.status, answer.error().as_str()) {
            (StatusCode::OK, _) => {
                if let Some(page) = answer.location.filter(|location| location.starts_with("http")) {
                    self.confirm(&page).await;
                }
                Some(true)
            }
            (_, "payment_in_progress") => Some(false),
            (_, "hold_lapsed" | "already_released") => {
                // Said of the order as it is; a payment that was sent before may still have to be given back.
                self.watch(order).await;
                None
            }
            (status, error) => {
                self.site.history.is_odd(format!("a payment: {status} {error} {}", answer.body));
                None
            }
        }
    }

    /// The card processor wants to know whether it is really them.
    async fn confirm(&mut self, page: &str) {
        let decision = match self.dice.random_range(0..5) {
            0 => return,
            1 => "refuse",
            _ => "confirm",
        };
        let back = self.client.decide(&mut self.dice, page, decision).await.and_then(|answer| answer.location);
        if let Some(back) = back
            && self.dice.random_ratio(3, 4)
        {
            self.client.follow(&mut self.dice, &back).await;
        }
    }

    /// Looks at the order until its page tells an end, or they have no more patience.
    async fn watch(&mut self, order: Uuid) -> Option<Kind> {
        let since = Instant::now();
        loop {
            let page = self.look(order).await?;
            if page != Kind::UnderWay || since.elapsed() > self.patience {
                return Some(page);
            }
            sleep(Duration::from_millis(self.dice.random_range(500..2000))).await;
        }
    }

    /// When all is over: what became of everything they tried.
    pub async fn looks_back(&mut self) {
        for order in self.orders.clone() {
            match self.look(order).await {
                None | Some(Kind::UnderWay) => self.site.history.is_odd(format!("order {order} has no end")),
                Some(_) => {}
            }
        }
    }

    /// What the order's page tells, which they keep in mind.
    pub async fn look(&mut self, order: Uuid) -> Option<Kind> {
        let answer = self.client.get(&mut self.dice, &format!("/orders/{order}")).await?;
        let page = Page::read(&answer.body);
        match page.kind {
            Kind::Sold => self.site.history.add(Told::Sold { order, codes: page.codes }),
            Kind::Refunded => self.site.history.add(Told::Refunded { order }),
            Kind::Ended => self.site.history.add(Told::Ended { order }),
            Kind::None if answer.status == StatusCode::NOT_FOUND => {}
            Kind::None => self.site.history.is_odd(format!("an order's page: {} {}", answer.status, answer.body)),
            Kind::Held | Kind::Declined | Kind::UnderWay => {}
        }
        Some(page.kind)
    }

    /// The hold lapses while the card processor thinks.
    fn expire_soon(&mut self, order: Uuid) {
        let (site, window) = (Arc::clone(&self.site), self.window);
        let after = Duration::from_millis(self.dice.random_range(20..2500));
        tokio::spawn(async move {
            sleep(after).await;
            if time::expire(&site.cinema.db, order, window).await.unwrap_or(false) {
                site.counts.expired.fetch_add(1, Relaxed);
            }
        });
    }

    fn name(&mut self) -> Uuid {
        uuid::Builder::from_random_bytes(self.dice.random()).into_uuid()
    }
}
