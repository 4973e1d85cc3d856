//! What a run's locks cost: events that guests leave at their locks, and the shares of the run that follow from them.
//!
//! | file | holds |
//! | --- | --- |
//! | `mod.rs` | [`LockRecorder`]: the events that a profiled program would leave, without their cost |
//! | [`shares`] | from these events to critical sections, competition overhead and rates |

mod shares;

pub use shares::Shares;

use crate::machine::guest as act;
use baton_trace::{Address, How, Lock, LockKind, Mode, SiteId, Ticks, Trace, What, analysis::Window};
use baton_units::Cycles;
use std::sync::{Arc, Mutex, PoisonError};

const MODE: Mode = Mode::Exclusive;

/// A request that found the lock busy. Times stay far below the top bit.
const WAITED: u64 = 1 << 63;

/// Records requests, acquisitions and releases of guests' locks, which are numbered from 0. Copies share what they keep.
#[derive(Clone, Debug, Default)]
pub struct LockRecorder {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// By lock: threads between request and release. A request that finds one waits.
    busy: Vec<u32>,
    acquisitions: u64,
    /// The first beginning of a part that counts, and the last end of one: when, and the messages sent until then.
    counted: Option<(Moment, Moment)>,
}

/// A time, and what the network had taken by then.
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

/// The lock of a number, as it stands in the trace.
pub fn lock(number: u32) -> Lock {
    Lock { address: 0x1000 + 64 * Address::from(number), kind: LockKind::Other }
}

impl LockRecorder {
    /// Acquisitions so far, warm-up included.
    pub fn acquisitions(&self) -> u64 {
        self.with(|shared| shared.acquisitions)
    }

    /// The part of the run that counts, from the first thread's beginning to the last one's end; the whole run of a
    /// workload that does not say.
    pub fn counted(&self, trace: &Trace) -> Window {
        match self.with(|shared| shared.counted) {
            Some((begin, end)) => Window::between(trace, &[(Ticks(begin.at), Ticks(end.at))]),
            None => Window::whole(trace),
        }
    }

    /// The thread is about to take a lock; what it returns goes to [`LockRecorder::acquired`].
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
        // How the wait goes is told by the counts of tries and sleeps, from here on.
        at.0 | WAITED
    }

    /// It has the lock.
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

    /// It is about to give the lock up.
    pub fn release(&self, number: u32) {
        self.with(|shared| {
            if let Some(busy) = shared.busy.get_mut(number as usize) {
                *busy = busy.saturating_sub(1);
            }
        });
        act::record(act::time(), What::Release { lock: lock(number), mode: MODE, site: SiteId::UNKNOWN });
    }

    /// Messages of the caches and homes in the part that counts; none of a workload that does not say which.
    pub fn messages(&self) -> Option<u64> {
        self.with(|shared| shared.counted).map(|(begin, end)| end.messages - begin.messages)
    }

    /// The thread's part that counts begins.
    pub fn begin(&self) {
        let now = Moment::now();
        // Guests run in the order of time: the first to come is the first beginning.
        self.with(|shared| shared.counted = Some(shared.counted.unwrap_or((now, now))));
    }

    /// The thread's part that counts has ended.
    pub fn end(&self) {
        let now = Moment::now();
        self.with(|shared| shared.counted = Some((shared.counted.map_or(now, |(begin, _)| begin), now)));
    }

    fn with<R>(&self, f: impl FnOnce(&mut Shared) -> R) -> R {
        f(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
