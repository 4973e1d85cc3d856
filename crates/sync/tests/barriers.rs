//! Every barrier of the registry on the real machine: no thread passes early, writes before the
//! barrier are seen after it, and it can be reused, by any number of participants.

#![allow(clippy::disallowed_types, reason = "the tests stand outside of the algorithms")]

use baton_machine::{Native, Wait};
use baton_sync::barrier::{self, BARRIERS, BarrierVisitor, RawBarrier};
use std::cell::UnsafeCell;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

/// A row of counters, each written by its participant and read by a neighbour, separated only by
/// the barrier.
struct Row(Vec<UnsafeCell<u32>>);
// SAFETY: the barrier separates the writes from the reads.
unsafe impl Sync for Row {}

struct Steps {
    participants: u32,
    wait: Wait,
    episodes: u32,
}

impl BarrierVisitor<Native> for Steps {
    type Out = ();
    fn visit<B: RawBarrier<Native>>(self) {
        let n = self.participants;
        let barrier = B::new(NonZeroU32::new(n).unwrap());
        assert_eq!(barrier.participants(), n);
        let row = Row((0..n).map(|_| UnsafeCell::new(0)).collect());
        let leaders = AtomicU32::new(0);
        std::thread::scope(|s| {
            for index in 0..n {
                let (barrier, row, leaders) = (&barrier, &row, &leaders);
                s.spawn(move || {
                    for episode in 1..=self.episodes {
                        // SAFETY: since the last read all threads have arrived at the second
                        // barrier.
                        unsafe { *row.0[index as usize].get() = episode };
                        let mut leads = u32::from(barrier.wait(index, self.wait));
                        // SAFETY: all threads have written, and write again only after the second
                        // barrier.
                        let seen = unsafe { *row.0[(index as usize + 1) % n as usize].get() };
                        assert_eq!(seen, episode, "{} let go early", B::INFO.name);
                        leads += u32::from(barrier.wait(index, self.wait));
                        leaders.fetch_add(leads, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(leaders.into_inner(), 2 * self.episodes, "one leader an episode");
    }
}

#[test]
fn nobody_passes_before_all_have_arrived() {
    for info in BARRIERS {
        for participants in [1, 2, 3, 5, 8, 21] {
            for wait in [Wait::Futex, Wait::SpinPark(32), Wait::Pause] {
                // Spinning threads that outnumber the CPUs wait for each other's time slices.
                if wait.parks() || participants <= 3 {
                    let episodes = if wait.parks() { 60 } else { 5 };
                    barrier::visit::<Native, _>(info.name, Steps { participants, wait, episodes }).unwrap();
                }
            }
        }
    }
}
