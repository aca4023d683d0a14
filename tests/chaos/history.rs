//! What visitors were told, and how often what happened.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use uuid::Uuid;

/// What somebody was told. An attempt that was refused has the name that its order would have had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Held {
        order: Uuid,
    },
    Taken {
        order: Uuid,
    },
    /// With these codes on the tickets.
    Sold {
        order: Uuid,
        codes: Vec<String>,
    },
    /// Nothing was charged by this attempt to pay.
    NotCharged {
        order: Uuid,
        attempt: Uuid,
    },
    /// Lapsed or released, and nothing charged.
    Ended {
        order: Uuid,
    },
    Refunded {
        order: Uuid,
    },
}

/// Everything that anybody was told, in the order of hearing.
#[derive(Debug, Default)]
pub struct History {
    told: Mutex<Vec<Told>>,
    /// Answers that no server in order gives, whatever happens around it.
    odd: Mutex<Vec<String>>,
    /// Orders whose visitor said where the tickets go, and was answered.
    addressed: Mutex<HashSet<Uuid>>,
}

impl History {
    pub fn add(&self, told: Told) {
        self.told.lock().unwrap().push(told);
    }

    pub fn all(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }

    pub fn has_address(&self, order: Uuid) {
        self.addressed.lock().unwrap().insert(order);
    }

    pub fn addressed(&self) -> HashSet<Uuid> {
        self.addressed.lock().unwrap().clone()
    }

    pub fn is_odd(&self, what: String) {
        self.odd.lock().unwrap().push(what);
    }

    pub fn odd(&self) -> Vec<String> {
        self.odd.lock().unwrap().clone()
    }
}

/// How often what happened.
#[derive(Debug, Default)]
pub struct Counts {
    pub server_kills: AtomicUsize,
    pub gateway_kills: AtomicUsize,
    pub postgres_crashes: AtomicUsize,
    pub cuts: AtomicUsize,
    pub silences: AtomicUsize,
    /// Holds that were made to lapse while they were paid for.
    pub expired: AtomicUsize,
    pub heard: AtomicUsize,
    pub delivered: AtomicUsize,
    pub repeated: AtomicUsize,
    /// Webhooks that came too late for their signature, or changed on the way, and were not believed.
    pub disbelieved: AtomicUsize,
    /// The same, and a server believed them.
    pub believed: AtomicUsize,
    /// Webhooks that the gateway was told nobody heard.
    pub refused: AtomicUsize,
    /// Requests of visitors that nobody answered.
    pub lost: AtomicUsize,
    /// "Not available right now".
    pub unavailable: AtomicUsize,
    pub retries: AtomicUsize,
    /// Forms that were sent twice at once.
    pub doubled: AtomicUsize,
    pub payments_sent: AtomicUsize,
}
