//! The seats on the page: what each one is, read once from the elements, and how it looks, by the shared rule.

use chrono::{DateTime, Utc};
use web_sys::{HtmlElement, HtmlInputElement};

use super::browser::{all, arrived_ms, elapsed_ms, find, set_attribute};
use crate::domain::local_time::WallClock;
use crate::domain::money::{Currency, Money};
use crate::domain::nearest::Spot;
use crate::domain::seat::{HoldWindow, Look, SeatNo, Status};

/// What the server said about the show.
#[derive(Clone, Debug)]
pub struct Facts {
    pub show: String,
    pub window: HoldWindow,
    pub clock: WallClock,
    pub zone_prices: Vec<i64>,
    pub currency: Currency,
    pub holding: usize,
}

impl Facts {
    /// Reads what the page says of the show, and the database's clock when it was rendered, in milliseconds since 1970.
    fn read(map: &HtmlElement) -> Option<(Self, i64)> {
        let data = map.dataset();
        let facts = Self {
            show: data.get("show")?,
            window: HoldWindow::from_seconds(data.get("window")?.parse().ok()?)?,
            clock: data.get("clock")?.parse().ok()?,
            zone_prices: data.get("prices")?.split(',').map(str::parse).collect::<Result<_, _>>().ok()?,
            currency: data.get("currency")?.parse().ok()?,
            holding: data.get("holding")?.parse().ok()?,
        };
        Some((facts, data.get("now")?.parse().ok()?))
    }
}

/// One seat.
#[derive(Clone, Debug)]
pub struct Seat {
    pub element: HtmlInputElement,
    pub spot: Spot,
    pub name: String,
    ordinary: bool,
    words: String,
    status: Status,
    locked_at: Option<DateTime<Utc>>,
    yours: bool,
    look: Look,
    /// The server said something new since it was drawn.
    news: bool,
}

/// One question at a time; what comes up meanwhile is asked once more behind it.
#[derive(Debug, Default)]
pub struct Asks {
    busy: bool,
    more: bool,
}

impl Asks {
    /// Whether to ask now; if somebody does already, it is noted.
    pub fn begin(&mut self) -> bool {
        self.more = self.busy;
        !std::mem::replace(&mut self.busy, true)
    }

    /// A question was answered: whether to ask again.
    pub fn again(&mut self) -> bool {
        self.busy = std::mem::take(&mut self.more);
        self.busy
    }
}

/// The seats of the page, in reading order and so by ascending number.
#[derive(Debug)]
pub struct Grid {
    pub facts: Facts,
    pub map: HtmlElement,
    pub seats: Vec<Seat>,
    /// Which version of the map these are, in digits.
    pub version: String,
    /// Questions to the server.
    pub asks: Asks,
    /// The database's clock less the page's own, in milliseconds.
    clock_lead_ms: f64,
    /// What the server's clock showed when it last said something new.
    last_word_ms: f64,
}

impl Grid {
    /// Reads the page.
    pub fn read() -> Option<Self> {
        let map = find(".map")?;
        let (facts, rendered_ms) = Facts::read(&map)?;
        let clock_lead_ms = rendered_ms as f64 - arrived_ms();
        let mut seats = Vec::new();
        for (row, element) in all::<HtmlElement>(&map, ".row").into_iter().enumerate() {
            let mut column = 0;
            for input in all::<HtmlInputElement>(&element, "input") {
                let gap = input.style().get_property_value("--g").ok().and_then(|gap| gap.trim().parse().ok());
                column += 1 + gap.unwrap_or(0);
                seats.push(Seat::read(
                    &facts,
                    input,
                    element.dataset().get("name"),
                    i32::try_from(row).unwrap_or(0),
                    column,
                )?);
            }
        }
        let version = map.dataset().get("version")?;
        Some(Self { facts, map, seats, version, asks: Asks::default(), clock_lead_ms, last_word_ms: 0.0 })
    }

    /// The database's clock now, as well as this page can know it.
    pub fn now(&self) -> DateTime<Utc> {
        instant(self.clock_lead_ms + elapsed_ms()).unwrap_or_default()
    }

    /// The server said what its clock shows. A map that has not changed comes from the browser's cache with the time at
    /// which it was made, so the same word twice sets no clock.
    pub fn set_clock(&mut self, server_ms: f64) {
        if server_ms != self.last_word_ms {
            self.last_word_ms = server_ms;
            self.clock_lead_ms = server_ms - elapsed_ms();
        }
    }

    /// The seat of a number.
    pub fn seat_mut(&mut self, no: SeatNo) -> Option<&mut Seat> {
        let index = self.seats.binary_search_by_key(&no, |seat| seat.spot.no).ok()?;
        self.seats.get_mut(index)
    }

    /// The seats that are picked.
    pub fn picked(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().filter(|seat| seat.element.checked())
    }

    /// Their numbers.
    pub fn picked_numbers(&self) -> Vec<SeatNo> {
        self.picked().map(|seat| seat.spot.no).collect()
    }

    /// What the picked seats cost.
    pub fn total(&self) -> Option<Money> {
        let price = |seat: &Seat| {
            usize::try_from(seat.spot.zone).ok().and_then(|zone| self.facts.zone_prices.get(zone)).copied()
        };
        Money::sum(self.picked().filter_map(price), self.facts.currency)
    }

    /// Short names of these seats, for a sentence.
    pub fn names(&self, numbers: &[SeatNo]) -> String {
        let named = self.seats.iter().filter(|seat| numbers.contains(&seat.spot.no));
        named.map(|seat| seat.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Where everything stands, for finding the nearest equal choice.
    pub fn spots(&self) -> Vec<Spot> {
        self.seats
            .iter()
            .map(|seat| Spot { free: seat.look == Look::Available && seat.ordinary, ..seat.spot })
            .collect()
    }

    /// Redraws every seat by the rule and says which picked ones are no longer to be had.
    pub fn redraw(&mut self) -> Vec<SeatNo> {
        let now = self.now();
        let facts = &self.facts;
        self.seats.iter_mut().filter_map(|seat| seat.redraw(facts, now).then_some(seat.spot.no)).collect()
    }

    /// Milliseconds until the next hold ends; `None` when nothing is held.
    pub fn next_lapse_ms(&self) -> Option<f64> {
        let now = self.now();
        let ends = self
            .seats
            .iter()
            .filter(|seat| matches!(seat.look, Look::Held | Look::Yours))
            .filter_map(|seat| seat.locked_at);
        let next = ends.map(|locked_at| self.facts.window.ends_at(locked_at)).min()?;
        // One millisecond behind the last instant, where the rule says free.
        Some(((next - now).num_milliseconds() + 1) as f64)
    }
}

impl Seat {
    fn read(facts: &Facts, element: HtmlInputElement, row_name: Option<String>, row: i32, column: i32) -> Option<Self> {
        let data = element.dataset();
        let no = SeatNo(element.value().parse().ok()?);
        let locked_at = data.get("l").and_then(|micros| micros.parse().ok()).and_then(DateTime::from_timestamp_micros);
        let (status, look) = match data.get("s").as_deref() {
            Some("b") => (Status::Booked, Look::Sold),
            Some("l") => (Status::Locked, Look::Held),
            Some("m") => (Status::Locked, Look::Yours),
            _ => (Status::Available, Look::Available),
        };
        let label = element.get_attribute("aria-label").unwrap_or_default();
        let state = format!(", {}", look.words(until(facts, look, locked_at).as_deref()));
        let words = label.strip_suffix(&state).unwrap_or(&label).to_owned();
        let zone = data.get("z").and_then(|zone| zone.parse().ok()).unwrap_or(0);
        let name = format!("{}{}", row_name.unwrap_or_default(), data.get("n").unwrap_or_default());
        let spot = Spot { no, row, column, zone, free: false };
        // Read by people who look at every seat: a disabled element cannot be focused, so this one is only said to be.
        if look != Look::Available {
            element.set_disabled(false);
            set_attribute(&element, "aria-disabled", Some("true"));
        }
        let ordinary = data.get("k").is_none();
        Some(Self {
            element,
            spot,
            name,
            ordinary,
            words,
            status,
            locked_at,
            yours: look == Look::Yours,
            look,
            news: false,
        })
    }

    /// Whether it can be picked.
    pub fn is_free(&self) -> bool {
        self.look == Look::Available
    }

    /// What the server says of it now.
    pub fn set(&mut self, status: Status, locked_at: Option<DateTime<Utc>>) {
        self.yours = self.yours
            && self.locked_at.zip(locked_at).is_some_and(|(before, now)| (now - before).num_milliseconds().abs() <= 1);
        self.news |= (self.status, self.locked_at) != (status, locked_at);
        self.status = status;
        self.locked_at = locked_at;
    }

    /// Applies the rule; `true` when the seat was picked and is taken now.
    fn redraw(&mut self, facts: &Facts, now: DateTime<Utc>) -> bool {
        let look = Look::of(facts.window, self.status, self.locked_at, now, self.yours);
        if look == self.look && !std::mem::take(&mut self.news) {
            return false;
        }
        let lost = look != Look::Available && self.element.checked();
        if lost {
            self.element.set_checked(false);
        }
        if look != self.look {
            let freed = look == Look::Available;
            set_attribute(&self.element, "data-s", (!freed).then_some(look.code()));
            set_attribute(&self.element, "data-new", freed.then_some(""));
            set_attribute(&self.element, "aria-disabled", (!freed).then_some("true"));
            self.look = look;
        }
        let state = look.words(until(facts, look, self.locked_at).as_deref());
        set_attribute(&self.element, "aria-label", Some(&format!("{}, {state}", self.words)));
        set_attribute(&self.element, "title", (look != Look::Available).then_some(&state));
        lost
    }
}

/// The wall time at which a hold ends at the latest.
fn until(facts: &Facts, look: Look, locked_at: Option<DateTime<Utc>>) -> Option<String> {
    let locked_at = locked_at?;
    match look {
        Look::Held => Some(facts.clock.hour_minute(facts.window.ends_at_the_latest(locked_at))),
        Look::Yours => Some(facts.clock.hour_minute(facts.window.ends_at(locked_at))),
        Look::Available | Look::Sold => None,
    }
}

/// A time from milliseconds since 1970.
pub fn instant(milliseconds: f64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_micros((milliseconds * 1000.0) as i64)
}
