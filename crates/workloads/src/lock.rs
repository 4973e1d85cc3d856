//! Threads that contend for one lock: think, lock, compute and write shared lines, unlock.

use crate::{Charge, Knobs, Probe, Refused, Team, Think, Workload, WorkloadInfo, expect, share};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Slot, Wait};
use baton_sync::lock::known::Known;
use baton_sync::lock::{self, LockInfo, LockVisitor, RawLock, ZeroInit};

/// A means that lets one thread in at a time.
///
/// # Safety
/// From the return of [`enter`](Exclusion::enter) to the call of [`leave`](Exclusion::leave) no
/// other thread is inside, and what one thread did inside happens before the next thread enters.
pub(crate) unsafe trait Exclusion: Send + Sync + 'static {
    /// Proof that the thread that holds it is inside.
    type Token;

    /// Makes the first entry possible, if it is not possible from the start. Thread 0 calls this
    /// before its own first `enter`; other threads may wait in `enter` already.
    fn open(&self, wait: Wait) {
        let _ = wait;
    }

    /// Waits until the calling thread is inside.
    fn enter(&self, wait: Wait) -> Self::Token;

    /// Leaves.
    ///
    /// # Safety
    /// The token is the one that the calling thread's `enter` returned, with the same `wait`.
    unsafe fn leave(&self, token: Self::Token, wait: Wait);
}

/// A lock of the library. The lock begins where the value begins, because a log knows a lock by its
/// address.
#[repr(transparent)]
struct Locked<M: Machine, L: RawLock<M>>(L, core::marker::PhantomData<M>);

// SAFETY: a `RawLock` lets one thread in at a time, and orders the threads' accesses, by its own
// contract.
unsafe impl<M: Machine, L: RawLock<M>> Exclusion for Locked<M, L> {
    type Token = L::Token;

    fn enter(&self, wait: Wait) -> L::Token {
        self.0.lock(wait)
    }

    unsafe fn leave(&self, token: L::Token, wait: Wait) {
        // SAFETY: by contract.
        unsafe { self.0.unlock(token, wait) };
    }
}

/// One pair of cache lines (adjacent-line prefetch takes pairs) of the data that the lock guards.
#[repr(C, align(128))]
struct Line<M: Machine>(M::Slot<u64>);

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contention {
    /// Number of threads.
    pub threads: u32,
    /// Cycles computed with the lock held.
    pub critical: Cycles,
    /// Mean number of cycles computed between two acquisitions.
    pub think: Cycles,
    /// Largest deviation of a think time from `think`, as a share of `think`.
    pub spread: f64,
    /// Number of shared lines that each holder reads and writes. Each line holds a count.
    pub lines: u32,
    /// Number of acquisitions of each thread.
    pub iterations: u64,
}

impl Contention {
    /// The threads, contending for a lock of type `L`. The check: every line counted every
    /// acquisition.
    pub fn team<M: Machine, L: RawLock<M>, P: Probe>(self, wait: Wait, probe: P) -> Team {
        self.team_at::<M, _, P>(Locked(L::new(), core::marker::PhantomData), wait, probe)
    }

    /// The threads, contending for any means that lets one thread in at a time. The check is that
    /// of [`Contention::team`].
    pub(crate) fn team_at<M: Machine, E: Exclusion, P: Probe>(self, lock: E, wait: Wait, probe: P) -> Team {
        let lock = share::<M, E>(lock);
        probe.lock_at(0, lock.as_ptr().cast_const().cast());
        let lines: Vec<_> = (0..self.lines).map(|_| share::<M, _>(Line::<M>(M::Slot::new(0)))).collect();
        let body = |thread: u32| {
            let (lock, lines, probe) = (lock.clone(), lines.clone(), probe.clone());
            let mut think = Think::new(self.think, self.spread, u64::from(thread));
            Box::new(move || {
                if thread == 0 {
                    lock.open(wait);
                }
                for _ in 0..self.iterations {
                    M::work(think.draw());
                    let requested = probe.request(0);
                    let token = lock.enter(wait);
                    probe.acquired(0, requested);
                    M::work(self.critical);
                    for line in &lines {
                        // SAFETY: the lock is held, so no other thread accesses the count meanwhile.
                        unsafe { line.0.write(|count| *count += 1) };
                    }
                    probe.release(0);
                    // SAFETY: this thread entered above, with the same policy.
                    unsafe { lock.leave(token, wait) };
                }
            }) as crate::Body
        };
        let bodies = (0..self.threads).map(body).collect();
        // A lock in a device is freed by a system call, which is no part of the run, so the check
        // keeps the lock until the run is over.
        let kept = lock.clone();
        let expected = u64::from(self.threads).saturating_mul(self.iterations);
        let verify = Box::new(move || {
            drop(kept);
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

/// Makes the team of [`Contention`] for a lock of the registry.
#[derive(Clone, Copy)]
pub struct Contended {
    lock: &'static LockInfo,
    wait: Wait,
    contention: Contention,
}

struct Make<P>(Contention, Wait, P);
impl<M: Machine, P: Probe> LockVisitor<M> for Make<P> {
    type Out = Team;
    fn visit<L: RawLock<M> + ZeroInit>(self) -> Team {
        self.0.team::<M, Known<M, L>, P>(self.1, self.2)
    }
}

impl Workload for Contended {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "lock",
        what: "Think, lock, compute, unlock",
        figure: "lock.rate_per_kilocycle",
        has_locks: true,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Contended, Refused> {
        let (lock, wait) = knobs.lock()?;
        let contention = Contention {
            threads: knobs.threads_or_two(),
            critical: Cycles(knobs.critical),
            think: Cycles(knobs.think),
            spread: knobs.spread,
            lines: knobs.lines,
            iterations: knobs.iterations_or(1000),
        };
        Ok(Contended { lock, wait, contention })
    }

    fn threads(&self) -> u32 {
        self.contention.threads
    }

    fn wait(&self, _: Option<Wait>) -> Wait {
        self.wait
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, probe: P) -> Result<Team, Refused> {
        lock::visit::<M, _>(self.lock.name, Make(self.contention, wait, probe)).map_err(Refused::because)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.lock.name)
    }

    fn charge(&self) -> Charge {
        Charge::Counted(self.lock.counted)
    }
}
