//! What happens when. One seed makes one plan: the same people with the same wishes, and the same faults at the same times.
//! How their steps fall between each other is up to the machine, and differs from run to run.

use std::env;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Servers of the cinema.
pub const SERVERS: usize = 2;

/// Something that breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A server gets signal 9, and is started again after so long.
    KillServer(usize, Duration),
    /// The same with the card processor.
    KillGateway(Duration),
    /// Postgres ends where it stands, and recovers.
    CrashPostgres,
    /// Every connection to Postgres is cut.
    CutDatabase,
    /// Every connection to the card processor is cut, with the answers on their way.
    CutGateway,
    /// Every connection of visitors to a server is cut, with the answers on their way.
    CutVisitors(usize),
    /// The card processor accepts, and does not answer.
    SilenceGateway(Duration),
}

/// A run.
#[derive(Debug)]
pub struct Plan {
    pub seed: u64,
    /// When each comes.
    pub people: Vec<Duration>,
    pub faults: Vec<(Duration, Fault)>,
    /// How long a hold lasts.
    pub window_s: i32,
    /// The short run makes rows older instead of waiting for leases and holds to lapse.
    pub is_short: bool,
}

/// So many come in the short run, which is part of the tests.
const FEW: usize = 40;
/// In this time every kind of fault comes once, and the small ones twice.
const ROUND: Duration = Duration::from_secs(14);
/// So many people come in a round.
const PEOPLE_A_ROUND: usize = 30;
/// Longer than the checkout has patience with the card processor.
const LONG_SILENCE: Duration = Duration::from_secs(33);

impl Plan {
    /// As the environment wants it: `MATINEE_CHAOS_BUYERS` makes it long, `MATINEE_CHAOS_SEED` makes it another.
    pub fn from_environment() -> Self {
        let given = |name: &str| env::var(name).ok().filter(|text| !text.is_empty());
        let number = |name: &str| given(name).map(|text| text.parse().expect("a number"));
        let people = number("MATINEE_CHAOS_BUYERS").map(|many| usize::try_from(many).unwrap());
        Self::new(number("MATINEE_CHAOS_SEED").unwrap_or_else(rand::random), people)
    }

    pub fn new(seed: u64, people: Option<usize>) -> Self {
        let mut dice = StdRng::seed_from_u64(seed);
        let is_short = people.is_none();
        let people = people.unwrap_or(FEW);
        let rounds = people.div_ceil(PEOPLE_A_ROUND).max(1);
        // The short run's only round has everybody in it.
        let rounds = if is_short { 1 } else { rounds };
        let lasts = ROUND * u32::try_from(rounds).unwrap();
        let mut faults: Vec<_> = (0..rounds).flat_map(|nth| round(nth, &mut dice)).collect();
        if !is_short {
            faults.push((lasts / 2, Fault::SilenceGateway(LONG_SILENCE)));
        }
        faults.sort_by_key(|(at, _)| *at);
        let people = (0..people).map(|_| lasts.mul_f64(dice.random_range(0.0..0.9))).collect();
        Self { seed, people, faults, window_s: if is_short { 20 } else { 30 }, is_short }
    }

    /// Dice of one person, or of one part.
    pub fn dice(&self, whose: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed ^ whose.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

fn round(nth: usize, dice: &mut StdRng) -> Vec<(Duration, Fault)> {
    let start = ROUND * u32::try_from(nth).unwrap();
    let dead_for = |dice: &mut StdRng| Duration::from_millis(dice.random_range(0..1500));
    let mut faults = vec![
        Fault::CrashPostgres,
        Fault::CutDatabase,
        Fault::CutDatabase,
        Fault::CutGateway,
        Fault::CutGateway,
        Fault::KillGateway(dead_for(dice)),
        Fault::SilenceGateway(Duration::from_millis(dice.random_range(1500..5000))),
    ];
    for server in 0..SERVERS {
        faults.extend([Fault::KillServer(server, dead_for(dice)), Fault::CutVisitors(server)]);
    }
    // When the first few have come.
    faults.into_iter().map(|fault| (start + ROUND.mul_f64(dice.random_range(0.15..1.0)), fault)).collect()
}
