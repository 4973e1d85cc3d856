//! Context switches: when a thread left its CPU, whether it blocked or was preempted, and when it was back, as the kernel has it.
//! And, where the kernel tells, waits for locks inside of glibc (`libc_locks`).
//!
//! Each recorded thread asks the kernel (perf_event_open) for its own switches, which an ordinary user may have unless the
//! administrator forbids it (`perf_event_paranoid` above 2). They come in a small ring of memory, which the thread empties when it holds
//! no lock: around waits and behind releases, once it is half full or some milliseconds old, and at its end. Where the kernel says no, or a limit on locked memory is reached, there is
//! no ring, and CPU times around waits have to tell as much as they can. With a ring no CPU times are read.

use super::libc_locks;
use super::perf::{self, Attributes, LOST, Record, Records, SAMPLE, SWITCH};
use super::session::SESSION;
use crate::thread::{Ring, Thread};
use baton_machine::native::thread as machine;
use baton_trace::clock::{self, Moment};
use baton_trace::{OffReason, SiteId, What, notes};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Pages of records: some 680 switches, or 89 waits for glibc's locks.
const PAGES: usize = 4;
/// Pages of the ring of wakes, and of that of samples: 102 wakes, 128 samples.
const WAKE_PAGES: usize = 1;
const SAMPLE_PAGES: usize = 1;

/// Waits for glibc's locks after which a thread gets samples of where it is. Much of what such a lock costs is no wait: its cache
/// line moves between CPUs.
const WAITS: u64 = 16;
/// Nanoseconds of CPU time between two samples.
const PERIOD_NS: u64 = 1_000_000;

/// The longest time, in ticks, that records stay in the rings of a thread that waits now and then: 6 ms of a counter of 3 GHz. A process
/// that is killed loses them.
const KEPT: u64 = 1 << 24;

/// The marks of a switch.
const OUT: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;

/// Rings at a time, at most: 20 MiB of locked memory, and 512 KiB for those with breakpoints.
const RINGS: u32 = 1024;
const WITH_BREAKPOINTS: u32 = 64;
static OPEN: AtomicU32 = AtomicU32::new(0);
/// The kernel says no, or the user: no thread tries any more.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// With `BATON_SWITCHES=off`.
pub(super) fn refuse() {
    REFUSED.store(true, Relaxed);
    libc_locks::refuse();
}

impl Ring {
    /// Asks for the calling thread's switches.
    pub(super) fn open(&self) {
        self.busy.store(false, Relaxed);
        self.lock.store(0, Relaxed);
        self.waits.store(0, Relaxed);
        if REFUSED.load(Relaxed) || !SESSION.is_open() {
            return;
        }
        let (ticks, nanos) = moment();
        self.ticks.store(ticks, Relaxed);
        self.nanos.store(nanos, Relaxed);
        let before = OPEN.fetch_add(1, Relaxed);
        let rings = if before < RINGS { crate::base::errno::kept(|| map(before < WITH_BREAKPOINTS)) } else { None };
        if rings.is_none() {
            OPEN.fetch_sub(1, Relaxed);
        }
        let (at, wakes) = rings.unwrap_or((0, 0));
        self.wakes.store(wakes, Relaxed);
        self.at.store(at, Relaxed);
    }

    /// Writes down that the calling thread runs: from here on the trace has all its switches, even if it has none.
    pub(super) fn begin(&self, thread: &Thread) {
        if self.told().is_some() {
            let (ticks, cpu) = clock::now_ordered(SESSION.source());
            let cpu = cpu.unwrap_or_else(machine::cpu);
            thread.pen.post_at(&SESSION, ticks, What::OnCpu { tid: 0, cpu });
        }
    }

    /// Gives the rings back.
    pub(super) fn close(&self) {
        let (at, wakes) = (self.at.swap(0, Relaxed), self.wakes.swap(0, Relaxed));
        if at != 0 {
            OPEN.fetch_sub(1, Relaxed);
            // SAFETY: mapped by `open`; its only reader is this thread.
            unsafe { perf::unmap(at, PAGES) };
        }
        let samples = self.samples.swap(0, Relaxed);
        for (at, pages) in [(wakes, WAKE_PAGES), (samples, SAMPLE_PAGES)] {
            if at != 0 {
                // SAFETY: as above.
                unsafe { perf::unmap(at, pages) };
            }
        }
    }

    /// In a fork's child: the kernel gave it no copy of the rings.
    pub fn forget(&self) {
        self.wakes.store(0, Relaxed);
        self.samples.store(0, Relaxed);
        if self.at.swap(0, Relaxed) != 0 {
            OPEN.fetch_sub(1, Relaxed);
        }
        self.busy.store(false, Relaxed);
    }

    /// Whether the kernel has told something since the ring was emptied, and that was more than [`KEPT`] ago or a ring is half full. So a
    /// sleep is due at once, and one switch among many is not. A program that is killed cannot empty its rings any more, so that a
    /// sleep in them would be taken for work.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        let at = self.at.load(Relaxed);
        // SAFETY: a ring that is there stays mapped while its thread runs.
        at != 0 && unsafe { perf::written(at) != perf::read(at) } && self.is_old_or_filling(at)
    }

    #[inline(never)]
    fn is_old_or_filling(&self, at: usize) -> bool {
        let since = clock::now(SESSION.source()).saturating_sub(self.ticks.load(Relaxed));
        since > KEPT
            || half_full(at, PAGES * perf::PAGE)
            || half_full(self.wakes.load(Relaxed), WAKE_PAGES * perf::PAGE)
    }

    /// How much the kernel has told so far: it grows when the thread leaves its CPU, and when it comes back. `None` without a ring.
    #[inline(always)]
    pub(super) fn told(&self) -> Option<u64> {
        let at = self.at.load(Relaxed);
        // SAFETY: as above.
        (at != 0).then(|| unsafe { perf::written(at) })
    }

    /// Writes down what the kernel has told since the last time.
    pub(super) fn empty(&self, thread: &Thread) {
        // Switches last: what comes in between is a switch, as the thread itself is here.
        // SAFETY: the rings stay mapped while their thread runs.
        let mut rings = unsafe {
            let samples = Records::of(self.samples.load(Relaxed), SAMPLE_PAGES);
            let wakes = Records::of(self.wakes.load(Relaxed), WAKE_PAGES);
            [samples, wakes, Records::of(self.at.load(Relaxed), PAGES)]
        };
        if rings.iter().all(Records::is_empty) || self.busy.swap(true, Relaxed) {
            return;
        }
        let began = clock::now(SESSION.source());
        let reader = Reader { thread, then: (self.ticks.load(Relaxed), self.nanos.load(Relaxed)), now: moment() };
        while let Some(ring) = first(&rings) {
            if let Some(record) = rings[ring].next() {
                reader.told(ring, &record);
            }
            rings[ring].pass();
        }
        rings.iter().for_each(Records::give_back);
        self.ticks.store(reader.now.0, Relaxed);
        self.nanos.store(reader.now.1, Relaxed);
        if self.waits.load(Relaxed) >= WAITS && self.samples.load(Relaxed) == 0 {
            self.sample();
        }
        // The program did not ask for this: it is no time of its own.
        let ticks = clock::now(SESSION.source()).saturating_sub(began);
        thread.pen.post(&SESSION, What::Pause { ticks });
        self.busy.store(false, Relaxed);
    }

    /// Asks for samples.
    #[cold]
    fn sample(&self) {
        let samples = Attributes::samples(PERIOD_NS);
        match crate::base::errno::kept(|| perf::map(&samples, SAMPLE_PAGES)) {
            Ok(at) => self.samples.store(at, Relaxed),
            // Not again.
            Err(_) => self.waits.store(0, Relaxed),
        }
    }

    /// Ends a wait for one of glibc's locks whose wake has not been told: the thread ends, or waits again.
    pub(super) fn taken(&self, thread: &Thread) {
        let lock = self.lock.swap(0, Relaxed);
        if lock != 0 {
            thread.pen.post_at(&SESSION, self.taken.load(Relaxed), What::LibcTaken { lock });
        }
    }
}

/// Whether a ring of this many bytes, if it is there, is half full.
fn half_full(at: usize, bytes: usize) -> bool {
    // SAFETY: a ring that is there stays mapped while its thread runs.
    at != 0 && unsafe { perf::written(at).wrapping_sub(perf::read(at)) > bytes as u64 / 2 }
}

/// Writes records down, between two moments on both clocks.
struct Reader<'a> {
    thread: &'a Thread,
    then: (u64, u64),
    now: (u64, u64),
}

/// The rings in the order of [`Ring::empty`].
const SAMPLES: usize = 0;
const WAKES: usize = 1;

/// The ring whose next record is the earliest; `None` if all records have been passed.
fn first(rings: &[Records; 3]) -> Option<usize> {
    let time = |ring: usize| rings[ring].next().map(|record| nanos(ring, &record));
    (0..rings.len()).filter_map(|ring| Some((time(ring)?, ring))).min().map(|(_, ring)| ring)
}

/// When a record of a ring was written; 0 if it does not say so.
fn nanos(ring: usize, record: &Record) -> u64 {
    match (record.sort(), ring) {
        (SAMPLE, SAMPLES) => record.code_and_nanos().1,
        (SAMPLE | SWITCH, _) => record.nanos(),
        _ => 0,
    }
}

impl Reader<'_> {
    fn told(&self, ring: usize, record: &Record) {
        match (record.sort(), ring) {
            (SAMPLE, SAMPLES) => self.sampled(record),
            (SAMPLE, WAKES) => self.woke(record),
            (SAMPLE, _) => self.waits(record),
            (SWITCH, _) => self.switched(record),
            // Samples that are missing are as good as those before them.
            (LOST, WAKES..) => self.lost(),
            _ => {}
        }
    }

    fn sampled(&self, record: &Record) {
        let (code, nanos) = record.code_and_nanos();
        let what = What::Sample { code: code & 0xffff_ffff_ffff, micros: (PERIOD_NS / 1000) as u32 };
        self.thread.pen.post_at(&SESSION, ticks_at(nanos, self.then, self.now), what);
        super::modules::know(code);
    }

    fn switched(&self, record: &Record) {
        let ticks = self.ticks_at(record);
        let what = match record.marks() & OUT {
            0 => {
                // A wait for a lock of glibc's is over when the thread runs again, as far as the kernel tells.
                self.thread.switches.taken.store(ticks, Relaxed);
                What::OnCpu { tid: 0, cpu: record.cpu() }
            }
            _ if record.marks() & PREEMPTED != 0 => What::OffCpu { tid: 0, reason: OffReason::Preempted },
            _ => What::OffCpu { tid: 0, reason: OffReason::Blocked },
        };
        self.thread.pen.post_at(&SESSION, ticks, what);
    }

    /// A wait for a lock of glibc's begins.
    fn waits(&self, record: &Record) {
        let Some(lock) = libc_locks::lock(record) else { return };
        self.thread.switches.taken(self.thread);
        let ticks = self.ticks_at(record);
        let site = libc_locks::site(self.thread, record);
        self.thread.pen.post_at(&SESSION, ticks, What::LibcWait { lock, site });
        let ring = &self.thread.switches;
        ring.waits.store(ring.waits.load(Relaxed) + 1, Relaxed);
        ring.lock.store(lock, Relaxed);
        ring.taken.store(ticks, Relaxed);
    }

    /// A lock of glibc's was released. A thread that has waited for one finds out at the release
    /// whether others wait, so that its wake shows that it had the lock.
    fn woke(&self, record: &Record) {
        let Some(lock) = libc_locks::lock(record) else { return };
        self.thread.switches.taken(self.thread);
        let what = What::LibcWake { lock, site: SiteId::UNKNOWN };
        self.thread.pen.post_at(&SESSION, self.ticks_at(record), what);
    }

    #[cold]
    fn lost(&self) {
        static SAID: AtomicBool = AtomicBool::new(false);
        if !SAID.swap(true, Relaxed) {
            self.thread.pen.post(&SESSION, What::Note { address: 0, code: notes::RING_FULL });
        }
    }

    fn ticks_at(&self, record: &Record) -> u64 {
        ticks_at(record.nanos(), self.then, self.now)
    }
}

/// Opens and maps the events: of waits for glibc's locks, with switches, and of wakes; or of switches alone. The second ring may be
/// missing (0).
fn map(breakpoints: bool) -> Option<(usize, usize)> {
    if breakpoints && libc_locks::is_on() {
        match perf::map(&libc_locks::waits(), PAGES) {
            Ok(at) => return Some((at, perf::map(&libc_locks::wakes(), WAKE_PAGES).unwrap_or(0))),
            // No memory left; or the debug registers are a debugger's, which may be so for this thread alone.
            Err(0) => return None,
            Err(libc::ENOSPC | libc::EBUSY | libc::EMFILE) => {}
            Err(_) => libc_locks::refuse(),
        }
    }
    match perf::map(&Attributes::switches(), PAGES) {
        Ok(at) => Some((at, 0)),
        Err(0 | libc::EMFILE) => None,
        // Too many descriptors may pass; all else will be so for the next thread, too.
        Err(_) => {
            REFUSED.store(true, Relaxed);
            None
        }
    }
}

/// Now, on both clocks.
fn moment() -> (u64, u64) {
    let now = Moment::now(SESSION.source());
    (now.ticks, now.monotonic_ns)
}

/// A time of the kernel's in ticks, on the straight line through two moments.
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
