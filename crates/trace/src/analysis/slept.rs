//! Whether a thread slept or spun in a wait for a lock: by its context switches, or by its CPU time.

use crate::clock::Ticks;
use crate::event::What;
use baton_units::Nanos;

/// A thread's time off the CPU during its latest wait for a lock.
#[derive(Clone, Copy, Debug, Default)]
pub struct OffInWait {
    /// Whether the thread's context switches were recorded.
    switched: bool,
    since: Option<Ticks>,
    off: Ticks,
}

impl OffInWait {
    /// Takes a context switch of the thread into account; other events change nothing. Returns the
    /// interval off the CPU that the event ends, if it ends one.
    pub fn step(&mut self, now: Ticks, what: &What) -> Option<(Ticks, Ticks)> {
        match what {
            What::OffCpu { .. } => self.since = Some(now),
            What::OnCpu { .. } => {
                let since = self.since.take();
                self.off += since.map_or(Ticks(0), |since| now.since(since));
                self.switched = true;
                return since.map(|since| (since, now));
            }
            _ => {}
        }
        None
    }

    /// Records that a wait for a lock begins: from now on, time off the CPU counts for this wait.
    pub fn begin(&mut self) {
        self.off = Ticks(0);
    }

    /// Returns the time that the thread was on the CPU in a wait of this length; `None` if no
    /// context switches were recorded.
    pub fn used(&self, waited: Ticks) -> Option<Ticks> {
        self.switched.then(|| waited.since(self.off))
    }
}

/// Whether the thread slept in a wait of length `waited` with `used` CPU time: it did if more than
/// 2 µs and more than a tenth of the wait are no CPU time. A futex call that finds its word changed
/// and returns at once takes less than that off the CPU; the shortest sleep takes more.
pub fn has_slept(waited: Nanos, used: Nanos) -> bool {
    let missing = waited.0.saturating_sub(used.0);
    missing > 2_000 && missing > waited.0 / 10
}
