//! What there is, and the atomic steps that change it: each function is one statement of the database, or one answer of the
//! card processor.

use chrono::{DateTime, TimeDelta, Utc};
use matinee::domain::saga::{Phase, Step};
use matinee::domain::seat::{HoldWindow, Status};

pub const SEATS: usize = 2;
const WINDOW_S: i32 = 900;

/// A guard taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// None is.
    None,
    /// A hold that looked does not look again when it takes.
    NoRecheck,
    /// Each refund is asked for under a new name.
    NoUniqueRefund,
    /// A confirmation takes its seats whoever has them.
    ConfirmWithoutOrder,
    /// Who was told "never heard of it" cannot rely on that, and nobody is told of the charge.
    NoClosedKeys,
}

#[derive(Clone, Copy, Debug)]
pub struct Seat {
    pub status: Status,
    pub locked_at: Option<DateTime<Utc>>,
    pub order: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Order {
    pub seats: Vec<usize>,
    pub phase: Phase,
    pub locked_at: DateTime<Utc>,
    pub renewed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Started,
    Bought,
    Back { made: bool },
    GivenUp,
}

/// A payment in our books, and what the card processor has under its key.
#[derive(Clone, Debug)]
pub struct Payment {
    pub order: usize,
    pub fate: Fate,
    pub captured: bool,
    pub closed: bool,
    pub refunds: u32,
}

impl Payment {
    pub fn refund_owed_or_made(&self) -> bool {
        matches!(self.fate, Fate::Back { .. })
    }
}

/// What somebody was told about an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Held(usize),
    Sold(usize),
    /// A payment.
    Declined(usize),
    /// A payment.
    Refunded(usize),
}

#[derive(Clone, Debug)]
pub struct World {
    pub mutant: Mutant,
    pub now: DateTime<Utc>,
    pub window: HoldWindow,
    pub seats: [Seat; SEATS],
    pub orders: Vec<Order>,
    pub payments: Vec<Payment>,
    /// Seat and order.
    pub tickets: Vec<(usize, usize)>,
    pub told: Vec<Told>,
    /// A hold that was answered found, when it should still have been held, that others had its seats.
    pub stolen: Vec<usize>,
}

impl World {
    pub fn new(mutant: Mutant) -> Self {
        Self {
            mutant,
            now: DateTime::from_timestamp(1_800_000_000, 0).unwrap(),
            window: HoldWindow::from_seconds(WINDOW_S).unwrap(),
            seats: [Seat { status: Status::Available, locked_at: None, order: None }; SEATS],
            orders: Vec::new(),
            payments: Vec::new(),
            tickets: Vec::new(),
            told: Vec::new(),
            stolen: Vec::new(),
        }
    }

    pub fn pass(&mut self, seconds: i64) {
        self.now += TimeDelta::seconds(seconds);
    }

    fn is_free(&self, seat: usize) -> bool {
        let seat = self.seats[seat];
        self.window.is_available(seat.status, seat.locked_at, self.now)
    }

    fn is_its_own(&self, seat: usize, order: usize) -> bool {
        self.seats[seat].order == Some(order) && self.seats[seat].status == Status::Locked
    }

    pub fn has_lapsed(&self, order: usize) -> bool {
        self.window.is_available(Status::Locked, Some(self.orders[order].locked_at), self.now)
    }

    fn step(&mut self, order: usize, step: Step) -> bool {
        match self.orders[order].phase.after(step) {
            Some(phase) => {
                self.orders[order].phase = phase;
                true
            }
            None => false,
        }
    }

    pub fn looks_free(&self, seats: &[usize]) -> bool {
        seats.iter().all(|seat| self.is_free(*seat))
    }

    /// Takes all wanted seats or none, as they are after the wait.
    pub fn hold(&mut self, seats: &[usize]) -> Option<usize> {
        if self.mutant != Mutant::NoRecheck && !self.looks_free(seats) {
            return None;
        }
        let order = self.orders.len();
        for seat in seats {
            if let Some(before) = self.seats[*seat].order
                && !self.is_free(*seat)
            {
                self.stolen.push(before);
            }
            self.seats[*seat] = Seat { status: Status::Locked, locked_at: Some(self.now), order: Some(order) };
        }
        self.orders.push(Order { seats: seats.to_vec(), phase: Phase::Held, locked_at: self.now, renewed: false });
        Some(order)
    }

    pub fn release(&mut self, order: usize) -> bool {
        if !self.step(order, Step::Release) {
            return false;
        }
        self.free(order);
        true
    }

    fn free(&mut self, order: usize) {
        for seat in self.orders[order].seats.clone() {
            if self.is_its_own(seat, order) {
                self.seats[seat] = Seat { status: Status::Available, locked_at: None, order: None };
            }
        }
    }

    pub fn start(&mut self, order: usize) -> Option<usize> {
        let whole = self.orders[order].seats.iter().all(|seat| self.is_its_own(*seat, order));
        if self.has_lapsed(order) || !whole || !self.step(order, Step::StartPayment) {
            return None;
        }
        if !self.orders[order].renewed {
            (self.orders[order].renewed, self.orders[order].locked_at) = (true, self.now);
            for seat in self.orders[order].seats.clone() {
                self.seats[seat].locked_at = Some(self.now);
            }
        }
        self.payments.push(Payment { order, fate: Fate::Started, captured: false, closed: false, refunds: 0 });
        Some(self.payments.len() - 1)
    }

    /// The card processor is asked to charge. Nothing is taken under a closed key.
    pub fn charge(&mut self, payment: usize, accepted: bool) -> bool {
        let payment = &mut self.payments[payment];
        if accepted && (!payment.closed || self.mutant == Mutant::NoClosedKeys) {
            payment.captured = true;
        }
        payment.captured
    }

    /// The card processor is asked what became of a key, which it closes.
    pub fn find(&mut self, payment: usize) -> bool {
        self.payments[payment].closed = true;
        self.payments[payment].captured
    }

    pub fn confirm(&mut self, payment: usize) {
        if !matches!(self.payments[payment].fate, Fate::Started | Fate::GivenUp) {
            return;
        }
        let order = self.payments[payment].order;
        let seats = self.orders[order].seats.clone();
        let open = matches!(self.orders[order].phase, Phase::Held | Phase::Paying);
        let blind = self.mutant == Mutant::ConfirmWithoutOrder;
        let can = |world: &Self, seat: usize| world.is_its_own(seat, order) || world.is_free(seat);
        if blind || (open && seats.iter().all(|seat| can(self, *seat))) {
            self.step(order, Step::Sell);
            for seat in seats {
                self.seats[seat] = Seat { status: Status::Booked, locked_at: None, order: Some(order) };
                self.tickets.push((seat, order));
            }
            self.payments[payment].fate = Fate::Bought;
        } else {
            if self.step(order, Step::OweRefund) {
                self.free(order);
            }
            self.payments[payment].fate = Fate::Back { made: false };
        }
    }

    pub fn give_up(&mut self, payment: usize) {
        if self.payments[payment].fate == Fate::Started {
            self.payments[payment].fate = Fate::GivenUp;
            self.step(self.payments[payment].order, Step::GiveUp);
        }
    }

    /// The card processor gives the money back: once for a key.
    pub fn refund(&mut self, payment: usize) {
        let unique = self.mutant != Mutant::NoUniqueRefund;
        let payment = &mut self.payments[payment];
        if payment.captured && (payment.refunds == 0 || !unique) {
            payment.refunds += 1;
        }
    }

    pub fn refund_made(&mut self, payment: usize) {
        if self.payments[payment].fate == (Fate::Back { made: false }) {
            self.payments[payment].fate = Fate::Back { made: true };
            let order = self.payments[payment].order;
            let owed = |other: &Payment| other.order == order && other.fate == (Fate::Back { made: false });
            if !self.payments.iter().any(owed) {
                self.step(order, Step::RefundMade);
            }
        }
    }
}
