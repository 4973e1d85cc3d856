//! The end of a run that another host thread asks for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The time at which a run is cut off, which another host thread can move into the past. A `Stop`
/// belongs to one run.
#[derive(Clone, Debug)]
pub struct Stop(Arc<AtomicU64>);

impl Default for Stop {
    fn default() -> Stop {
        Stop(Arc::new(AtomicU64::new(u64::MAX)))
    }
}

impl Stop {
    /// Ends the run at its next event.
    pub fn now(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether [`Stop::now`] was called, or the run's limit is cycle 0.
    pub fn is_asked(&self) -> bool {
        self.limit() == 0
    }

    /// The time at which the run is cut off.
    #[inline(always)]
    pub(crate) fn limit(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Cuts the run off at `limit`, unless it was asked to end before.
    pub(crate) fn set_limit(&self, limit: u64) {
        self.0.fetch_min(limit, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_no_request_and_undoes_none() {
        let stop = Stop::default();
        stop.set_limit(100);
        assert_eq!((stop.limit(), stop.is_asked()), (100, false));
        stop.now();
        stop.set_limit(50);
        assert_eq!((stop.limit(), stop.is_asked()), (0, true));
    }
}
