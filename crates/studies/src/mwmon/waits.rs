//! How threads synchronise: the paper's four mechanisms and a real condition variable. Each
//! mechanism is a notice and a barrier.

use baton_chip::Simulated;
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned, Wait};
use baton_sync::barrier::{RawBarrier, central::Central};
use baton_sync::event::{Event, RawEvent};
use baton_sync::lock::{RawLock, futex::Futex};
use serde::Serialize;
use std::num::NonZeroU32;

pub(super) type Word = <Simulated as Machine>::Atomic<u32>;

/// The mechanism by which threads wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum By {
    /// `spin-loops`: a loop with PAUSE; its barrier reverses a sense.
    Pause,
    /// `spin-loops-halt`: HALT, which an interrupt ends.
    Halt,
    /// A futex alone; its barrier is that of NPTL.
    Futex,
    /// A condition variable with its mutex.
    Condvar,
    /// MONITOR and MWAIT in a system call; the barrier of listing 2.
    Mwmon,
}

impl By {
    pub(super) const ALL: [By; 5] = [By::Pause, By::Halt, By::Futex, By::Condvar, By::Mwmon];

    pub(super) fn name(self) -> &'static str {
        match self {
            By::Pause => "spin-loops",
            By::Halt => "spin-loops-halt",
            By::Futex => "futex",
            By::Condvar => "condition variable",
            By::Mwmon => "mwmon",
        }
    }

    fn wait(self) -> Wait {
        match self {
            By::Pause => Wait::Pause,
            By::Halt => Wait::Halt,
            By::Futex | By::Condvar => Wait::Futex,
            By::Mwmon => Wait::Mwmon,
        }
    }
}

/// A word that is alone in a pair of lines.
#[repr(align(128))]
struct Alone(Word);

impl Alone {
    fn new() -> Alone {
        Alone(Word::new(0))
    }
}

/// A mutex and a condition variable that belong together.
struct Guarded {
    mutex: Futex<Simulated>,
    changed: Event<Simulated>,
}

impl Guarded {
    fn new() -> Guarded {
        Guarded { mutex: Futex::new(), changed: Event::new() }
    }

    fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        self.mutex.lock(Wait::Futex);
        let result = f();
        // SAFETY: this thread took `self.mutex` above, and the token of a futex lock is empty.
        unsafe { self.mutex.unlock((), Wait::Futex) };
        result
    }

    /// Waits until `ready` returns true. `ready` is called with the mutex held. The thread joins
    /// the waiters before it releases the mutex, so that no notification is lost.
    fn wait_until(&self, ready: impl Fn() -> bool) {
        let join = || (!ready()).then(|| self.changed.prepare(Wait::Futex));
        while let Some(waiter) = self.locked(join) {
            // SAFETY: this thread joined as `waiter` with this event, and retires it once.
            unsafe {
                let _ = self.changed.sleep(waiter, Wait::Futex, None);
                self.changed.retire(waiter, Wait::Futex);
            }
        }
    }
}

/// A condition that one thread waits for and another makes true, once.
pub(super) struct Notice {
    by: By,
    cell: Owned<Simulated, Alone>,
    guarded: Owned<Simulated, Guarded>,
}

impl Notice {
    pub(super) fn new(by: By) -> Notice {
        Notice { by, cell: Owned::new(Alone::new()), guarded: Owned::new(Guarded::new()) }
    }

    pub(super) fn wait(&self) {
        let cell = &self.cell.0;
        if self.by == By::Condvar {
            self.guarded.wait_until(|| cell.load(Acquire) == 1);
        } else {
            let _ = Simulated::wait_while(cell, 0, self.by.wait(), None);
        }
    }

    pub(super) fn notify(&self) {
        let cell = &self.cell.0;
        if self.by == By::Condvar {
            self.guarded.locked(|| cell.store(1, Release));
            self.guarded.changed.notify_one(Wait::Futex);
        } else {
            cell.store(1, Release);
            Simulated::wake::<u32>(cell, 1, self.by.wait());
        }
    }
}

/// A barrier for two threads.
pub(super) enum Barrier {
    Sense(Owned<Simulated, Central<Simulated>>, Wait),
    Departures(Owned<Simulated, Departures>),
    Condvar(Owned<Simulated, Episodes>),
}

impl Barrier {
    pub(super) fn new(by: By) -> Barrier {
        let two = NonZeroU32::MIN.saturating_add(1);
        match by {
            By::Pause | By::Halt => Barrier::Sense(Owned::new(Central::new(two)), by.wait()),
            By::Futex | By::Mwmon => Barrier::Departures(Owned::new(Departures::new(by == By::Mwmon))),
            By::Condvar => Barrier::Condvar(Owned::new(Episodes::new())),
        }
    }

    pub(super) fn enter(&self, thread: u32) {
        match self {
            Barrier::Sense(barrier, wait) => _ = barrier.wait(thread, *wait),
            Barrier::Departures(barrier) => barrier.enter(),
            Barrier::Condvar(barrier) => barrier.enter(),
        }
    }
}

/// A barrier of a mutex and a condition variable.
pub(super) struct Episodes {
    guarded: Guarded,
    gathered: Word,
    episode: Word,
}

impl Episodes {
    fn new() -> Episodes {
        Episodes { guarded: Guarded::new(), gathered: Word::new(0), episode: Word::new(0) }
    }

    fn enter(&self) {
        let arrive = || {
            let episode = self.episode.load(Relaxed);
            let last = self.gathered.load(Relaxed) == 1;
            self.gathered.store(u32::from(!last), Relaxed);
            if last {
                self.episode.store(episode.wrapping_add(1), Relaxed);
            }
            (episode, last)
        };
        let (episode, last) = self.guarded.locked(arrive);
        if last {
            self.guarded.changed.notify_all(Wait::Futex);
        } else {
            self.guarded.wait_until(|| self.episode.load(Relaxed) != episode);
        }
    }
}

/// The barrier of listing 2, and that of NPTL, which has the same form. The last thread to arrive
/// keeps the lock, and the last one to leave releases it, so that no thread enters again before all
/// have left. The lock of listing 2 spins, and the woken thread's kernel resets the word that
/// threads wait for; the lock of NPTL sleeps, and its word counts episodes.
#[repr(C, align(128))]
pub(super) struct Departures {
    lock: Word,
    gathered: Word,
    mwmon: bool,
    region: Alone,
}

impl Departures {
    fn new(mwmon: bool) -> Departures {
        Departures { lock: Word::new(0), gathered: Word::new(0), mwmon, region: Alone::new() }
    }

    fn lock(&self) {
        if self.mwmon {
            while self.lock.swap(1, Acquire) != 0 {
                let _ = Simulated::wait_while(&self.lock, 1, Wait::Pause, None);
            }
        } else if self.lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            while self.lock.swap(2, Acquire) != 0 {
                let _ = Simulated::wait_while(&self.lock, 2, Wait::Futex, None);
            }
        }
    }

    fn unlock(&self) {
        if self.mwmon {
            self.lock.store(0, Release);
        } else if self.lock.swap(0, Release) == 2 {
            Simulated::wake::<u32>(&self.lock, 1, Wait::Futex);
        }
    }

    fn enter(&self) {
        let (region, wait) = (&self.region.0, if self.mwmon { Wait::Mwmon } else { Wait::Futex });
        self.lock();
        let gathered = self.gathered.load(Relaxed) + 1;
        self.gathered.store(gathered, Relaxed);
        let before = region.load(Relaxed);
        if gathered == 2 {
            region.store(before.wrapping_add(1), Release);
            Simulated::wake::<u32>(region, 1, wait);
        } else {
            self.unlock();
            let _ = Simulated::wait_while(region, before, wait, None);
            if self.mwmon {
                // The kernel resets the word before the system call returns.
                region.store(0, Relaxed);
            }
        }
        if self.gathered.fetch_add(u32::MAX, AcqRel) == 1 {
            self.unlock();
        }
    }
}
