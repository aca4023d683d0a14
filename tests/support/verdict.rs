//! The promises, asked of a world at rest: of the model's world of plain values, and of a live cinema's database, the card
//! processor's books, its mails and what its visitors were told. One checker for both, and it knows nothing of either.

use std::fmt::{self, Display};

use matinee::domain::saga::Phase;

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Two tickets for a seat.
    SoldTwice,
    /// Money taken and neither kept for tickets nor given back.
    Kept,
    /// Tickets, and the money back.
    TicketsForNothing,
    /// More went back than had come.
    RefundedTooMuch,
    /// Something is still under way.
    Stuck,
    /// Tickets and orders do not fit together.
    WrongTickets,
    /// A mail too few or too many.
    WrongMails,
    /// Somebody was told what is not so.
    ToldOtherwise,
}

impl Check {
    /// Each, in the order of a report.
    pub const ALL: [Self; 8] = [
        Self::SoldTwice,
        Self::Kept,
        Self::TicketsForNothing,
        Self::RefundedTooMuch,
        Self::Stuck,
        Self::WrongTickets,
        Self::WrongMails,
        Self::ToldOtherwise,
    ];

    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::SoldTwice => "seats sold twice",
            Self::Kept => "captured money with neither tickets nor a refund",
            Self::TicketsForNothing => "tickets whose money went back, or never came",
            Self::RefundedTooMuch => "refunded more than was taken",
            Self::Stuck => "orders and payments that are stuck",
            Self::WrongTickets => "orders with other tickets than they bought",
            Self::WrongMails => "orders without exactly one mail of each kind",
            Self::ToldOtherwise => "people who were told what is not so",
        }
    }
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    pub check: Check,
    /// Where.
    pub what: String,
}

impl Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check.words(), self.what)
    }
}

/// An order at the end.
#[derive(Clone, Debug)]
pub struct OrderLine<K> {
    pub id: K,
    pub seats: usize,
    pub phase: Phase,
    /// It says where mails go.
    pub has_address: bool,
}

/// A payment at the end: what became of it in our books, and its money in those of the card processor.
#[derive(Clone, Debug)]
pub struct PaymentLine<K> {
    pub id: K,
    pub order: K,
    /// Its fate is not known, or its refund not made.
    pub is_open: bool,
    pub bought: bool,
    pub captured: i64,
    pub refunded: i64,
}

/// What a mail brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailKind {
    Tickets,
    Refund,
}

/// What somebody was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<K> {
    /// The seats are held. They may lapse; the promise is that nobody else gets them before.
    Held(K),
    /// Others had the seats, so this order was not made.
    Taken(K),
    /// Tickets, so many.
    Sold(K, usize),
    /// The card of this payment was declined, or the card processor failed; nothing was charged.
    NotCharged(K),
    /// The order has lapsed or was released; nothing was charged.
    Ended(K),
    /// The money of this order goes back, or has gone.
    Refunded(K),
}

/// All there is at the end.
#[derive(Clone, Debug)]
pub struct Ledger<K> {
    /// Seat and order.
    pub tickets: Vec<(K, K)>,
    pub orders: Vec<OrderLine<K>>,
    pub payments: Vec<PaymentLine<K>>,
    /// As they lie in the post.
    pub mails: Vec<(K, MailKind)>,
    pub told: Vec<Told<K>>,
}

impl<K: Copy + Ord + Display> Ledger<K> {
    /// Each broken promise.
    pub fn breaches(&self) -> Vec<Breach> {
        let mut found = Vec::new();
        self.seats(&mut found);
        self.payments.iter().for_each(|payment| Self::payment(payment, &mut found));
        self.orders.iter().for_each(|order| self.order(order, &mut found));
        for (order, kind) in &self.mails {
            if self.orders.iter().all(|known| known.id != *order) {
                found.push(Breach {
                    check: Check::WrongMails,
                    what: format!("a mail ({kind:?}) for no order: {order}"),
                });
            }
        }
        self.told.iter().for_each(|told| self.was_told(*told, &mut found));
        found
    }

    fn seats(&self, found: &mut Vec<Breach>) {
        let mut seats: Vec<K> = self.tickets.iter().map(|ticket| ticket.0).collect();
        seats.sort_unstable();
        for pair in seats.windows(2).filter(|pair| pair[0] == pair[1]) {
            found.push(Breach { check: Check::SoldTwice, what: format!("seat {} was sold twice", pair[0]) });
        }
    }

    fn payment(payment: &PaymentLine<K>, found: &mut Vec<Breach>) {
        let PaymentLine { id, captured, refunded, bought, .. } = *payment;
        let money = || format!("payment {id}: {captured} taken, {refunded} given back, bought: {bought}");
        if !bought && refunded < captured {
            found.push(Breach { check: Check::Kept, what: money() });
        }
        if bought && (captured == 0 || refunded > 0) {
            found.push(Breach { check: Check::TicketsForNothing, what: money() });
        }
        if refunded > captured {
            found.push(Breach { check: Check::RefundedTooMuch, what: money() });
        }
        if payment.is_open {
            found.push(Breach { check: Check::Stuck, what: format!("payment {id} of order {}", payment.order) });
        }
    }

    fn order(&self, order: &OrderLine<K>, found: &mut Vec<Breach>) {
        let OrderLine { id, phase, .. } = *order;
        let sold = phase == Phase::Sold;
        let (tickets, expected) = (self.tickets_of(id), if sold { order.seats } else { 0 });
        let buying = self.of_order(id).filter(|payment| payment.bought).count();
        if tickets != expected || buying != usize::from(sold) {
            let what = format!("order {id} is {phase:?}: {tickets} tickets, {buying} payments bought them");
            found.push(Breach { check: Check::WrongTickets, what });
        }
        if matches!(phase, Phase::Paying | Phase::RefundOwed) {
            found.push(Breach { check: Check::Stuck, what: format!("order {id}: {phase:?}") });
        }
        let refunds = self.of_order(id).any(|payment| payment.refunded > 0);
        for (kind, wanted) in [(MailKind::Tickets, sold), (MailKind::Refund, refunds)] {
            let mails = self.mails.iter().filter(|mail| **mail == (id, kind)).count();
            if mails != usize::from(wanted && order.has_address) {
                let what = format!("order {id} is {phase:?}: {mails} mails ({kind:?})");
                found.push(Breach { check: Check::WrongMails, what });
            }
        }
    }

    fn was_told(&self, told: Told<K>, found: &mut Vec<Breach>) {
        let (kept, whom) = match told {
            Told::Held(order) => (self.orders.iter().any(|known| known.id == order), ("held", order)),
            Told::Taken(order) => (self.is_free_of_charge(order), ("taken", order)),
            Told::Sold(order, tickets) => {
                let tickets_are_there = tickets > 0 && self.tickets_of(order) == tickets;
                (tickets_are_there && self.of_order(order).any(|payment| payment.bought), ("sold", order))
            }
            Told::NotCharged(payment) => {
                let charged = |known: &PaymentLine<K>| known.id == payment && known.captured != known.refunded;
                (!self.payments.iter().any(charged), ("declined, of payment", payment))
            }
            Told::Ended(order) => (self.is_free_of_charge(order), ("lapsed or released", order)),
            Told::Refunded(order) => {
                let came_back = self.of_order(order).any(|payment| payment.refunded > 0);
                (came_back && self.is_free_of_charge(order), ("refunded", order))
            }
        };
        if !kept {
            let what = format!("{} {}, and it is not so", whom.0, whom.1);
            found.push(Breach { check: Check::ToldOtherwise, what });
        }
    }

    fn tickets_of(&self, order: K) -> usize {
        self.tickets.iter().filter(|ticket| ticket.1 == order).count()
    }

    fn of_order(&self, order: K) -> impl Iterator<Item = &PaymentLine<K>> {
        self.payments.iter().filter(move |payment| payment.order == order)
    }

    /// No tickets, and none of its money is with us.
    fn is_free_of_charge(&self, order: K) -> bool {
        self.tickets_of(order) == 0 && self.of_order(order).all(|payment| payment.captured == payment.refunded)
    }
}
