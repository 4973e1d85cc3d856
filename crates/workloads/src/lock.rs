//! Threads that contend for one lock: think, lock, compute and write shared lines, unlock.

use crate::{Probe, Team, Think, expect, share};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Slot, Wait};
use baton_sync::lock::RawLock;

/// One pair of cache lines (adjacent-line prefetch takes pairs) of the data that the lock guards.
#[repr(C, align(128))]
struct Line<M: Machine>(M::Slot<u64>);

/// The workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contention {
    /// Threads.
    pub threads: u32,
    /// Cycles computed with the lock held.
    pub critical: Cycles,
    /// Cycles computed between two acquisitions, around which each think time lies.
    pub think: Cycles,
    /// How far: within this share of `think`.
    pub spread: f64,
    /// Shared lines that each holder reads and writes; each holds a count.
    pub lines: u32,
    /// Acquisitions a thread.
    pub iterations: u64,
}

impl Contention {
    /// The threads, contending for an `L`. The check: every line counted every acquisition.
    pub fn team<M: Machine, L: RawLock<M>, P: Probe>(self, wait: Wait, probe: P) -> Team {
        let lock = share::<M, L>(L::new());
        probe.lock_at(0, lock.as_ptr().cast_const().cast());
        let lines: Vec<_> = (0..self.lines).map(|_| share::<M, _>(Line::<M>(M::Slot::new(0)))).collect();
        let body = |thread: u32| {
            let (lock, lines, probe) = (lock.clone(), lines.clone(), probe.clone());
            let mut think = Think::new(self.think, self.spread, u64::from(thread));
            Box::new(move || {
                for _ in 0..self.iterations {
                    M::work(think.next());
                    let requested = probe.request(0);
                    let token = lock.lock(wait);
                    probe.acquired(0, requested);
                    M::work(self.critical);
                    for line in &lines {
                        // SAFETY: the lock is held, so nobody else accesses the count meanwhile.
                        unsafe { line.0.write(|count| *count += 1) };
                    }
                    probe.release(0);
                    // SAFETY: locked above, with the same policy.
                    unsafe { lock.unlock(token, wait) };
                }
            }) as crate::Body
        };
        let bodies = (0..self.threads).map(body).collect();
        let expected = u64::from(self.threads).saturating_mul(self.iterations);
        let verify = Box::new(move || {
            lines.iter().try_for_each(|line| {
                // SAFETY: the threads have ended.
                expect("acquisitions that a guarded line counted", unsafe { line.0.read(|count| *count) }, expected)
            })
        });
        Team::new(bodies, verify)
    }
}

// SAFETY: a line's slot is accessed under the lock, or when the threads have ended.
unsafe impl<M: Machine> Sync for Line<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Line<M> {}
