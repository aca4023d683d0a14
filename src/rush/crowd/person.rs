//! One of the crowd: drawn from the scenario's seed and a number, so that the same person comes in every run.

use std::net::Ipv4Addr;
use std::time::Duration;

use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::scenario::{Curve, Holders, People, Scenario};

/// How steeply a rush falls off: half of its people come within the first fifth of the time.
const STEEP: f64 = 3.4;

/// What somebody does who holds seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Pays with a card that is good.
    Pays,
    /// Pays with a card that is declined, then with a good one.
    NeedsSecondCard,
    /// Goes back to the map, which gives the seats free.
    GoesBack,
    /// Closes the tab.
    NeverPays,
}

/// Somebody.
#[derive(Clone, Debug)]
pub struct Person {
    /// Which of the crowd, from 0, in the order of arrival.
    pub nth: u32,
    /// When they arrive, after the start.
    pub arrives: Duration,
    /// Whether they load the whole page.
    pub opens_page: bool,
    /// Whether they look at the map.
    pub opens_map: bool,
    /// How many seats they want.
    pub party: usize,
    /// How long they look before they press.
    pub picks: Duration,
    /// What they do with seats.
    pub then: Then,
    /// How long they take on the payment page.
    pub thinks: Duration,
    /// For whatever they choose on the way.
    pub dice: SmallRng,
}

/// Draws the people of a scenario.
#[derive(Debug)]
pub struct Drawing<'a> {
    scenario: &'a Scenario,
    parties: WeightedIndex<u32>,
}

impl<'a> Drawing<'a> {
    /// Of a scenario that was checked; `None` for one whose parties have no weight.
    pub fn new(scenario: &'a Scenario) -> Option<Self> {
        Some(Self { scenario, parties: WeightedIndex::new(&scenario.people.parties).ok()? })
    }

    /// Everybody, in the order of arrival.
    pub fn people(&self) -> impl Iterator<Item = Person> + '_ {
        (0..self.scenario.people.number).map(|nth| self.person(nth))
    }

    fn person(&self, nth: u32) -> Person {
        let Scenario { seed, people, holders, .. } = self.scenario;
        // Spread by a large odd number, or neighbours would begin alike.
        let mut dice = SmallRng::seed_from_u64(seed.wrapping_add(u64::from(nth).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        Person {
            nth,
            arrives: arrival(people, nth, dice.random()),
            opens_page: dice.random_bool(people.opens_page),
            opens_map: dice.random_bool(people.opens_map),
            party: self.parties.sample(&mut dice) + 1,
            picks: between(people.pick_s, &mut dice),
            then: then(holders, dice.random()),
            thinks: between(holders.think_s, &mut dice),
            dice,
        }
    }
}

impl Person {
    /// Where they come from: an address of their own, as a proxy would report it.
    pub fn address(&self) -> Ipv4Addr {
        // Counted from 1, in 10.0.0.0/8.
        Ipv4Addr::from_bits(0x0a00_0001 + self.nth)
    }
}

/// One in each equal part of the whole crowd, so that the order of numbers is that of arrivals.
fn arrival(people: &People, nth: u32, within: f64) -> Duration {
    let part = (f64::from(nth) + within) / f64::from(people.number);
    let at = match people.curve {
        Curve::Evenly => part,
        Curve::Rush => -(1.0 - part * (1.0 - (-STEEP).exp())).ln() / STEEP,
    };
    Duration::from_secs_f64(people.arrive_s * at.clamp(0.0, 1.0))
}

fn between((from, to): (f64, f64), dice: &mut SmallRng) -> Duration {
    Duration::from_secs_f64(from + (to - from) * dice.random::<f64>())
}

fn then(holders: &Holders, drawn: f64) -> Then {
    let mut most = 0.0;
    for (share, then) in [
        (holders.never_pay, Then::NeverPays),
        (holders.goes_back, Then::GoesBack),
        (holders.declined_once, Then::NeedsSecondCard),
    ] {
        most += share;
        if drawn < most {
            return then;
        }
    }
    Then::Pays
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening() -> Scenario {
        Scenario::find("opening-sale").unwrap()
    }

    #[test]
    fn half_of_a_rush_comes_in_the_first_fifth_and_nobody_after_the_time() {
        let scenario = opening();
        let all: Vec<Person> = Drawing::new(&scenario).unwrap().people().collect();
        assert_eq!(all.len(), 200_000);
        assert!(all.windows(2).all(|pair| pair[0].arrives <= pair[1].arrives), "in the order of arrival");
        let early = all.iter().filter(|person| person.arrives < Duration::from_secs(12)).count();
        assert!((98_000..=104_000).contains(&early), "{early} in the first fifth");
        assert!(all.iter().all(|person| person.arrives <= Duration::from_secs(60)));
        let share = |then: Then| all.iter().filter(|person| person.then == then).count() as f64 / 200_000.0;
        assert!((share(Then::NeverPays) - 0.3).abs() < 0.01, "{}", share(Then::NeverPays));
        assert!((share(Then::Pays) - 0.62).abs() < 0.01, "{}", share(Then::Pays));
    }

    #[test]
    fn the_same_seed_is_the_same_crowd_and_another_is_not() {
        let (scenario, other) = (opening(), Scenario { seed: 8, ..opening() });
        let picks = |scenario: &Scenario| -> Vec<Duration> {
            Drawing::new(scenario).unwrap().people().take(50).map(|person| person.picks).collect()
        };
        assert_eq!(picks(&scenario), picks(&scenario));
        assert_ne!(picks(&scenario), picks(&other));
    }

    #[test]
    fn everybody_has_an_address_of_their_own() {
        let scenario = opening();
        let last = Drawing::new(&scenario).unwrap().people().last().unwrap();
        assert_eq!(last.address(), Ipv4Addr::new(10, 3, 13, 64));
    }
}
