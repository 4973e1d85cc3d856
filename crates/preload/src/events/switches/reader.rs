//! Writes the records of a thread's rings into the trace.

use super::super::libc_locks;
use super::super::perf::{LOST, Record, Records, SAMPLE, SWITCH};
use super::super::session::SESSION;
use crate::thread::Thread;
use baton_trace::{OffReason, SiteId, What, notes};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bits of a switch record: the thread left its CPU, and it left because it was preempted.
const OUT: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;

/// Writes a ring's records into the trace. `then` and `now` are two moments, each on the counter
/// and on the kernel's clock, between which the records lie.
pub(super) struct Reader<'a> {
    thread: &'a Thread,
    then: (u64, u64),
    pub(super) now: (u64, u64),
    /// The time of the last record about the thread's switches, in nanoseconds of the kernel's clock.
    last: Cell<u64>,
    /// Whether records about switches were lost.
    pub(super) lost: Cell<bool>,
    /// How often the thread left its CPU.
    pub(super) left: Cell<u64>,
}

/// The places of the rings in the array of [`Ring::empty`](crate::thread::Ring::empty).
const SAMPLES: usize = 0;
const WAITS: usize = 1;
const WAKES: usize = 2;
const SWITCHED: usize = 3;

/// The place of the ring whose next record is the earliest; `None` if all records have been passed.
pub(super) fn first(rings: &[Records; 4]) -> Option<usize> {
    let time = |ring: usize| rings[ring].next().map(|record| nanos(ring, &record));
    (0..rings.len()).filter_map(|ring| Some((time(ring)?, ring))).min().map(|(_, ring)| ring)
}

/// The time of a record in nanoseconds; 0 if the record has none.
fn nanos(ring: usize, record: &Record) -> u64 {
    match (record.sort(), ring) {
        (SAMPLE, SAMPLES) => record.code_and_nanos().1,
        (SAMPLE | SWITCH, _) => record.nanos(),
        (LOST, _) => record.lost_until().0,
        _ => 0,
    }
}

impl Reader<'_> {
    pub(super) fn new(thread: &Thread, then: (u64, u64), now: (u64, u64)) -> Reader<'_> {
        Reader { thread, then, now, last: Cell::new(then.1), lost: Cell::new(false), left: Cell::new(0) }
    }

    pub(super) fn told(&self, ring: usize, record: &Record) {
        if ring == SWITCHED && record.sort() != LOST {
            self.last.set(nanos(ring, record));
        }
        match (record.sort(), ring) {
            (SAMPLE, SAMPLES) => self.sampled(record),
            (SAMPLE, WAKES) => self.woke(record),
            (SAMPLE, WAITS) => self.waits(record),
            (SWITCH, _) => self.switched(record),
            // Lost samples are not reported: the samples that were kept show the same distribution.
            (LOST, SWITCHED) => {
                let (until, cpu) = record.lost_until();
                self.lost(until, cpu);
            }
            (LOST, WAITS | WAKES) => self.noted(),
            _ => {}
        }
    }

    fn sampled(&self, record: &Record) {
        let (code, nanos) = record.code_and_nanos();
        let what = What::Sample { code: code & 0xffff_ffff_ffff, micros: self.thread.switches.period.load(Relaxed) };
        self.thread.pen.post_at(&SESSION, ticks_at(nanos, self.then, self.now), what);
        super::super::modules::know(code);
    }

    fn switched(&self, record: &Record) {
        let ticks = self.ticks_at(record);
        let what = if record.marks() & OUT == 0 {
            // A wait for one of glibc's locks ends, as far as the kernel's records tell, when the
            // thread is back on a CPU.
            self.thread.switches.taken.store(ticks, Relaxed);
            What::OnCpu { tid: 0, cpu: record.cpu() }
        } else {
            self.left.set(self.left.get() + 1);
            let preempted = record.marks() & PREEMPTED != 0;
            let reason = if preempted { OffReason::Preempted } else { OffReason::Blocked };
            What::OffCpu { tid: 0, reason }
        };
        self.thread.pen.post_at(&SESSION, ticks, what);
    }

    /// Records that the thread begins to wait for one of glibc's locks.
    fn waits(&self, record: &Record) {
        let Some(lock) = libc_locks::lock(record) else { return };
        self.thread.switches.taken(self.thread);
        let ticks = self.ticks_at(record);
        let site = libc_locks::site(self.thread, record);
        self.thread.pen.post_at(&SESSION, ticks, What::LibcWait { lock, site });
        let ring = &self.thread.switches;
        ring.waited.store(ring.waited.load(Relaxed) + 1, Relaxed);
        ring.lock.store(lock, Relaxed);
        ring.taken.store(ticks, Relaxed);
    }

    /// Records that the thread released one of glibc's locks that has waiters. A thread that has
    /// waited for the lock wakes another at its release, so the wake shows that this thread had got
    /// the lock.
    fn woke(&self, record: &Record) {
        let Some(lock) = libc_locks::lock(record) else { return };
        self.thread.switches.taken(self.thread);
        let what = What::LibcWake { lock, site: SiteId::UNKNOWN };
        self.thread.pen.post_at(&SESSION, self.ticks_at(record), what);
    }

    /// Records that the thread's switches from the last one to `until` are not known: in the trace the
    /// thread is off its CPU meanwhile, for an unknown reason.
    #[cold]
    pub(super) fn lost(&self, until: u64, cpu: u32) {
        let off = What::OffCpu { tid: 0, reason: OffReason::Unknown };
        self.thread.pen.post_at(&SESSION, ticks_at(self.last.get(), self.then, self.now), off);
        self.thread.pen.post_at(&SESSION, ticks_at(until, self.then, self.now), What::OnCpu { tid: 0, cpu });
        self.last.set(until);
        self.lost.set(true);
        self.noted();
    }

    #[cold]
    fn noted(&self) {
        static SAID: AtomicBool = AtomicBool::new(false);
        if !SAID.swap(true, Relaxed) {
            self.thread.pen.post(&SESSION, What::Note { address: 0, code: notes::RING_FULL });
        }
    }

    fn ticks_at(&self, record: &Record) -> u64 {
        ticks_at(record.nanos(), self.then, self.now)
    }
}

/// Converts a time of the kernel's clock to ticks, on the straight line through the moments `then`
/// and `now`.
fn ticks_at(nanos: u64, then: (u64, u64), now: (u64, u64)) -> u64 {
    let span = u128::from(now.1.saturating_sub(then.1).max(1));
    let ticks = u128::from(now.0.saturating_sub(then.0));
    let since = u128::from(nanos.clamp(then.1, now.1.max(then.1)) - then.1);
    then.0 + (ticks * since / span) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_times_fall_between_the_moments() {
        let (then, now) = ((1000, 50_000), (4000, 51_000));
        assert_eq!(ticks_at(50_000, then, now), 1000);
        assert_eq!(ticks_at(50_500, then, now), 2500);
        assert_eq!(ticks_at(51_000, then, now), 4000);
        assert_eq!((ticks_at(10, then, now), ticks_at(99_000, then, now)), (1000, 4000));
        assert_eq!(ticks_at(50_000, then, then), 1000);
    }
}
