//! What a run's locks cost: the events that guests record at their locks, and the shares of the
//! run's time that follow from these events.
//!
//! | file | holds |
//! | --- | --- |
//! | `mod.rs` | [`LockRecorder`]: records the events that a profiled program would record, without their cost |
//! | [`shares`] | turns the events into critical sections, competition overhead and rates |

mod shares;

pub use shares::Shares;

use crate::machine::guest as act;
use baton_trace::{Address, How, Lock, LockKind, Mode, SiteId, Ticks, Trace, What, analysis::Window};
use baton_units::Cycles;
use std::sync::{Arc, Mutex, PoisonError};

const MODE: Mode = Mode::Exclusive;

/// Marks the time of a request that found the lock busy. Times never reach the top bit.
const WAITED: u64 = 1 << 63;

/// Records requests, acquisitions and releases of guests' locks, which are numbered from 0. Clones
/// share their records.
#[derive(Clone, Debug, Default)]
pub struct LockRecorder {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// For each lock, the number of threads between request and release. A thread that requests a
    /// lock with such a thread must wait.
    busy: Vec<u32>,
    acquisitions: u64,
    /// When the first thread began the measured part, and when the last thread ended it. `None` if
    /// no thread has marked its beginning or its end.
    counted: Option<(Moment, Moment)>,
}

/// A time, and the number of messages that the network had taken by then.
#[derive(Clone, Copy, Debug)]
struct Moment {
    at: u64,
    messages: u64,
}

impl Moment {
    fn now() -> Moment {
        Moment { at: act::time().0, messages: act::messages() }
    }
}

/// The lock with this number, as the trace names it.
pub fn lock(number: u32) -> Lock {
    Lock { address: 0x1000 + 64 * Address::from(number), kind: LockKind::Other }
}

impl LockRecorder {
    /// The number of acquisitions so far, including warm-up.
    pub fn acquisitions(&self) -> u64 {
        self.with(|shared| shared.acquisitions)
    }

    /// The measured part of the run, from the first thread's beginning to the last thread's end.
    /// For a workload that marks no part, it is the whole run.
    pub fn counted(&self, trace: &Trace) -> Window {
        match self.with(|shared| shared.counted) {
            Some((begin, end)) => Window::between(trace, &[(Ticks(begin.at), Ticks(end.at))]),
            None => Window::whole(trace),
        }
    }

    /// The calling thread is about to take a lock: records a request if another thread holds or
    /// wants the lock. The result must be passed to [`LockRecorder::acquired`].
    pub fn request(&self, number: u32) -> u64 {
        let at = act::time();
        let free = self.with(|shared| {
            let number = number as usize;
            if shared.busy.len() <= number {
                shared.busy.resize(number + 1, 0);
            }
            shared.busy[number] += 1;
            shared.busy[number] == 1
        });
        if free {
            return at.0;
        }
        act::record(at, What::Request { lock: lock(number), mode: MODE, site: SiteId::UNKNOWN });
        // The wait begins at this time: [`LockRecorder::acquired`] finds out whether the thread has
        // slept since.
        at.0 | WAITED
    }

    /// The calling thread has taken the lock: records that. `requested` is what
    /// [`LockRecorder::request`] returned.
    pub fn acquired(&self, number: u32, requested: u64) {
        self.with(|shared| shared.acquisitions += 1);
        let lock = lock(number);
        let what = if requested & WAITED == 0 {
            What::Acquire { lock, mode: MODE, site: SiteId::UNKNOWN }
        } else {
            let slept = act::slept_since(Cycles(requested & !WAITED));
            What::Acquired { lock, mode: MODE, how: How { slept, known: true, tries: 0 } }
        };
        act::record(act::time(), what);
    }

    /// The calling thread is about to release the lock: records that.
    pub fn release(&self, number: u32) {
        self.with(|shared| {
            if let Some(busy) = shared.busy.get_mut(number as usize) {
                *busy = busy.saturating_sub(1);
            }
        });
        act::record(act::time(), What::Release { lock: lock(number), mode: MODE, site: SiteId::UNKNOWN });
    }

    /// Messages of caches and homes during the measured part; `None` for a workload that marks no
    /// part.
    pub fn messages(&self) -> Option<u64> {
        self.with(|shared| shared.counted).map(|(begin, end)| end.messages - begin.messages)
    }

    /// The measured part of the calling thread begins.
    pub fn begin(&self) {
        let now = Moment::now();
        // Guests run in the order of time, so the first thread that gets here has the earliest
        // beginning.
        self.with(|shared| shared.counted = Some(shared.counted.unwrap_or((now, now))));
    }

    /// The measured part of the calling thread has ended.
    pub fn end(&self) {
        let now = Moment::now();
        self.with(|shared| shared.counted = Some((shared.counted.map_or(now, |(begin, _)| begin), now)));
    }

    fn with<R>(&self, f: impl FnOnce(&mut Shared) -> R) -> R {
        f(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
