//! How many come at once: counted by the clock, without anybody who resets a counter.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::MAY_BE_OLD;

/// Counts arrivals in windows of [`MAY_BE_OLD`].
#[derive(Debug)]
pub struct Pace(Mutex<Windows>);

#[derive(Debug)]
struct Windows {
    begun: Instant,
    present: u32,
    before: u32,
    last: Instant,
}

impl Windows {
    fn move_to(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.begun);
        if passed >= 2 * MAY_BE_OLD {
            (self.before, self.present, self.begun) = (0, 0, now);
        } else if passed >= MAY_BE_OLD {
            (self.before, self.present, self.begun) = (self.present, 0, now);
        }
    }
}

impl Pace {
    /// Nobody has come.
    pub fn new(now: Instant) -> Self {
        Self(Mutex::new(Windows { begun: now, present: 0, before: 0, last: now }))
    }

    /// Somebody comes; how many came in this window or the one before, whichever is more.
    pub fn note(&self, now: Instant) -> u32 {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.move_to(now);
        windows.present = windows.present.saturating_add(1);
        windows.last = windows.last.max(now);
        windows.present.max(windows.before)
    }

    /// Whether at least so many came in this window or the one before.
    pub fn is_crowded(&self, now: Instant, crowd: u32) -> bool {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.move_to(now);
        windows.present.max(windows.before) >= crowd
    }

    /// Somebody is here who does not count as one more.
    pub fn touch(&self, now: Instant) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.last = windows.last.max(now);
    }

    /// For how long nobody has come.
    pub fn quiet_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.0.lock().unwrap_or_else(PoisonError::into_inner).last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_remembered_for_one_window_and_no_longer() {
        let start = Instant::now();
        let at = |windows: f64| start + MAY_BE_OLD.mul_f64(windows);
        let pace = Pace::new(start);
        for nth in 1..=5 {
            assert_eq!(pace.note(at(0.5)), nth);
        }
        assert!(pace.is_crowded(at(0.9), 5) && !pace.is_crowded(at(0.9), 6));
        assert!(pace.is_crowded(at(1.5), 5), "the window before counts");
        assert_eq!(pace.note(at(1.6)), 5);
        assert!(!pace.is_crowded(at(2.6), 5), "the one before that does not");
        assert!(!pace.is_crowded(at(9.0), 1));
        assert_eq!(pace.quiet_for(at(9.0)), at(9.0) - at(1.6));
    }
}
