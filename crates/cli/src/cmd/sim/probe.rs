//! What guests record about their lock: the events that a profiled program would leave, without their cost.

use baton_chip::act;
use baton_machine::units::Cycles;
use baton_trace::{How, Lock, LockKind, Mode, SiteId, What};
use baton_workloads::Probe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The one lock of the workload.
const LOCK: Lock = Lock { address: 0x1000, kind: LockKind::Other };
const MODE: Mode = Mode::Exclusive;

/// Records requests, acquisitions and releases.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Threads between request and release: a request that finds one waits.
    busy: AtomicU64,
    acquisitions: AtomicU64,
}

/// A request: its time, and whether somebody was there. Times stay far below the top bit.
const WAITED: u64 = 1 << 63;

impl Recorder {
    /// Acquisitions so far.
    pub(crate) fn acquisitions(&self) -> u64 {
        self.shared.acquisitions.load(Relaxed)
    }
}

impl Probe for Recorder {
    #[inline]
    fn request(&self) -> u64 {
        let at = act::time();
        if self.shared.busy.fetch_add(1, Relaxed) == 0 {
            return at.0;
        }
        act::record(at, What::Request { lock: LOCK, mode: MODE, site: SiteId::UNKNOWN });
        // How the wait goes is told by the counts of tries and sleeps, from here on.
        at.0 | WAITED
    }

    #[inline]
    fn acquired(&self, requested: u64) {
        self.shared.acquisitions.fetch_add(1, Relaxed);
        let what = if requested & WAITED == 0 {
            What::Acquire { lock: LOCK, mode: MODE, site: SiteId::UNKNOWN }
        } else {
            let slept = act::slept_since(Cycles(requested & !WAITED));
            What::Acquired { lock: LOCK, mode: MODE, how: How { slept, known: true, tries: 0 } }
        };
        act::record(act::time(), what);
    }

    #[inline]
    fn release(&self) {
        self.shared.busy.fetch_sub(1, Relaxed);
        act::record(act::time(), What::Release { lock: LOCK, mode: MODE, site: SiteId::UNKNOWN });
    }
}
