//! Context switches as the kernel reports them: when a thread left its CPU, whether it blocked or
//! was preempted, and when it was back. Where the kernel allows breakpoints, waits for locks inside
//! of glibc too (`libc_locks`).
//!
//! Each recorded thread asks the kernel (perf_event_open) for its own switches, which an ordinary
//! user may have unless the administrator forbids it (`perf_event_paranoid` above 2). They come in
//! a small ring of memory. Once it is half full or some milliseconds old, the thread empties it,
//! before and after waits, after releases and after calls in which it left its CPU if it holds no
//! lock; and it does so at its end. If records are lost all the same, the trace says from when to
//! when. A thread without a ring (the kernel refuses, or a limit is reached) reads its CPU time around
//! waits instead, and only that time tells its spinning from sleeping.

use super::libc_locks;
use super::perf::{self, Attributes, LOST, Record, Records, SAMPLE, SWITCH};
use super::session::SESSION;
use crate::thread::{Ring, Thread};
use baton_machine::native::thread as machine;
use baton_trace::clock::{self, Moment};
use baton_trace::{OffReason, SiteId, What, notes, sys};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Pages of the ring of context switches: room for some 680 switches, or 89 waits for glibc's
/// locks.
const PAGES: usize = 4;
/// Pages of the ring of wakes and of the ring of samples: room for 102 wakes and for 128 samples.
const WAKE_PAGES: usize = 1;
const SAMPLE_PAGES: usize = 1;

/// Number of waits for glibc's locks after which a thread that has no samples asks for them again. The
/// samples show loops that spin, and the rest of a contended lock's cost: its cache line moves between
/// CPUs, which is no wait.
const WAITS: u64 = 16;
/// Nanoseconds of CPU time between two samples.
const PERIOD_NS: u64 = 1_000_000;

/// The longest time, in ticks, that records stay in the rings of a thread that waits now and then: 6 ms of a counter of 3 GHz. A process
/// that is killed loses them.
const KEPT: u64 = 1 << 24;

/// Bits of a switch record: the thread left its CPU, and it left because it was preempted.
const OUT: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;

/// Most threads that have rings at a time: 20 MiB of locked memory. Fewer may have breakpoints and
/// samples from the start, whose rings take 1 MiB more.
const RINGS: u32 = 1024;
const WITH_BREAKPOINTS: u32 = 64;
static OPEN: AtomicU32 = AtomicU32::new(0);
/// Whether switches are given up: the kernel refuses them, or the user did (`BATON_SWITCHES=off`).
/// No thread asks any more.
static REFUSED: AtomicBool = AtomicBool::new(false);
/// Whether the kernel refuses samples. No thread asks any more.
static SAMPLES_REFUSED: AtomicBool = AtomicBool::new(false);

/// Gives switches up, and breakpoints with them: the user wants none (`BATON_SWITCHES=off`).
pub(super) fn refuse() {
    REFUSED.store(true, Relaxed);
    libc_locks::refuse();
}

impl Ring {
    /// Asks the kernel for the calling thread's context switches.
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
        if at != 0 && before < WITH_BREAKPOINTS && !SAMPLES_REFUSED.load(Relaxed) {
            self.sample();
        }
    }

    /// Records that the calling thread runs, if it has a ring. From this event on the trace has all
    /// context switches of the thread, even if there are none.
    pub(super) fn begin(&self, thread: &Thread) {
        if self.told().is_some() {
            let (ticks, cpu) = clock::now_ordered(SESSION.source());
            let cpu = cpu.unwrap_or_else(machine::cpu);
            thread.pen.post_at(&SESSION, ticks, What::OnCpu { tid: 0, cpu });
        }
    }

    /// Gives the thread's rings back to the kernel.
    pub(super) fn close(&self) {
        let (at, wakes) = (self.at.swap(0, Relaxed), self.wakes.swap(0, Relaxed));
        if at != 0 {
            OPEN.fetch_sub(1, Relaxed);
            // SAFETY: `open` mapped the ring; its only reader is this thread.
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

    /// Forgets the rings in a fork's child, because the kernel does not copy the mappings into the
    /// child.
    pub fn forget(&self) {
        self.wakes.store(0, Relaxed);
        self.samples.store(0, Relaxed);
        if self.at.swap(0, Relaxed) != 0 {
            OPEN.fetch_sub(1, Relaxed);
        }
        self.busy.store(false, Relaxed);
    }

    /// Whether the rings should be emptied: the kernel has written into the ring of switches, and
    /// the rings were last emptied more than [`KEPT`] ago, or that ring or the ring of wakes is
    /// more than half full. So a sleep after a long time of work is written at once, while of many
    /// switches most are not. A program that is killed cannot empty its rings, and an unwritten
    /// sleep would be taken for work.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        let at = self.at.load(Relaxed);
        // SAFETY: the ring at `at` stays mapped while its thread runs.
        at != 0 && unsafe { perf::written(at) != perf::read(at) } && self.is_old_or_filling(at)
    }

    /// Whether the rings should be emptied after a call in which the thread left its CPU. If the thread
    /// holds a lock (`free` is false), that would make a critical section longer, so they are emptied
    /// only if records would soon be lost.
    pub(super) fn is_due_in_call(&self, free: bool) -> bool {
        if free { self.is_due() } else { half_full(self.at.load(Relaxed), PAGES * perf::PAGE) }
    }

    #[inline(never)]
    fn is_old_or_filling(&self, at: usize) -> bool {
        let since = clock::now(SESSION.source()).saturating_sub(self.ticks.load(Relaxed));
        since > KEPT
            || half_full(at, PAGES * perf::PAGE)
            || half_full(self.wakes.load(Relaxed), WAKE_PAGES * perf::PAGE)
    }

    /// Bytes that the kernel has written about the thread so far: they grow when the thread leaves
    /// its CPU, and when it comes back. `None` without a ring.
    #[inline(always)]
    pub(super) fn told(&self) -> Option<u64> {
        let at = self.at.load(Relaxed);
        // SAFETY: as above.
        (at != 0).then(|| unsafe { perf::written(at) })
    }

    /// Writes the records that the kernel has made since the last time into the trace.
    pub(super) fn empty(&self, thread: &Thread) {
        // The switch ring is read last: while this thread reads the rings, the kernel adds no
        // records to them but switches.
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
        let full = is_full(self.at.load(Relaxed));
        let then = (self.ticks.load(Relaxed), self.nanos.load(Relaxed));
        let reader = Reader { thread, then, now: moment(), last: Cell::new(then.1), lost: Cell::new(false) };
        while let Some(ring) = first(&rings) {
            if let Some(record) = rings[ring].next() {
                reader.told(ring, &record);
            }
            rings[ring].pass();
        }
        if full {
            // The records that found no room have left no trace in the ring yet.
            reader.lost(reader.now.1, machine::cpu());
        }
        rings.iter().for_each(Records::give_back);
        if reader.lost.get() {
            // Tells how much of the unknown time the thread was on a CPU.
            thread.pen.post(&SESSION, What::CpuTime { ns: sys::thread_cpu_ns() });
        }
        self.ticks.store(reader.now.0, Relaxed);
        self.nanos.store(reader.now.1, Relaxed);
        if self.waits.load(Relaxed) >= WAITS && self.samples.load(Relaxed) == 0 && !SAMPLES_REFUSED.load(Relaxed) {
            self.sample();
        }
        // Records the time that emptying took as a pause, which the analysis takes off the thread's
        // time: the program did not ask for it.
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
            // A lack of locked memory (0) or of descriptors (EMFILE) may pass: this thread asks again
            // after [`WAITS`] more waits.
            Err(0 | libc::EMFILE) => self.waits.store(0, Relaxed),
            Err(_) => SAMPLES_REFUSED.store(true, Relaxed),
        }
    }

    /// Records that the thread got the lock of glibc's for which it last waited, at the time when
    /// it was last back on a CPU. Called when the thread wakes another, waits again, or ends.
    pub(super) fn taken(&self, thread: &Thread) {
        let lock = self.lock.swap(0, Relaxed);
        if lock != 0 {
            thread.pen.post_at(&SESSION, self.taken.load(Relaxed), What::LibcTaken { lock });
        }
    }
}

/// Whether the ring of `bytes` bytes at `at` is half full. False if there is no ring.
fn half_full(at: usize, bytes: usize) -> bool {
    // SAFETY: `at` is a ring that stays mapped while its thread runs.
    at != 0 && unsafe { perf::written(at).wrapping_sub(perf::read(at)) > bytes as u64 / 2 }
}

/// The room that the greatest record about a context switch takes.
const ROOM: u64 = 64;

/// Whether the ring of switches at `at` has no room for a further record, so that some may be lost.
fn is_full(at: usize) -> bool {
    // SAFETY: as in `half_full`.
    at != 0 && unsafe { perf::written(at).wrapping_sub(perf::read(at)) + ROOM > (PAGES * perf::PAGE) as u64 }
}

/// Writes a ring's records into the trace. `then` and `now` are two moments, each on the counter
/// and on the kernel's clock, between which the records lie.
struct Reader<'a> {
    thread: &'a Thread,
    then: (u64, u64),
    now: (u64, u64),
    /// The time of the last record about the thread's switches, in nanoseconds of the kernel's clock.
    last: Cell<u64>,
    /// Whether records about switches were lost.
    lost: Cell<bool>,
}

/// The places of these rings in the array of [`Ring::empty`].
const SAMPLES: usize = 0;
const WAKES: usize = 1;
const SWITCHED: usize = 2;

/// The place of the ring whose next record is the earliest; `None` if all records have been passed.
fn first(rings: &[Records; 3]) -> Option<usize> {
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
    fn told(&self, ring: usize, record: &Record) {
        if ring == SWITCHED && record.sort() != LOST {
            self.last.set(nanos(ring, record));
        }
        match (record.sort(), ring) {
            (SAMPLE, SAMPLES) => self.sampled(record),
            (SAMPLE, WAKES) => self.woke(record),
            (SAMPLE, _) => self.waits(record),
            (SWITCH, _) => self.switched(record),
            // Lost samples are not reported: the samples that were kept show the same distribution.
            (LOST, SWITCHED) => {
                let (until, cpu) = record.lost_until();
                self.lost(until, cpu);
            }
            (LOST, WAKES) => self.noted(),
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
                // A wait for one of glibc's locks ends, as far as the kernel's records tell, when
                // the thread is back on a CPU.
                self.thread.switches.taken.store(ticks, Relaxed);
                What::OnCpu { tid: 0, cpu: record.cpu() }
            }
            _ if record.marks() & PREEMPTED != 0 => What::OffCpu { tid: 0, reason: OffReason::Preempted },
            _ => What::OffCpu { tid: 0, reason: OffReason::Blocked },
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
        ring.waits.store(ring.waits.load(Relaxed) + 1, Relaxed);
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
    fn lost(&self, until: u64, cpu: u32) {
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

/// Opens the perf events of the calling thread and maps their rings. With breakpoints, the first
/// ring has waits for glibc's locks and context switches, the second has wakes (0 if the kernel
/// refuses it); else the first has switches alone.
fn map(breakpoints: bool) -> Option<(usize, usize)> {
    if breakpoints && libc_locks::is_on() {
        match perf::map(&libc_locks::waits(), PAGES) {
            Ok(at) => return Some((at, perf::map(&libc_locks::wakes(), WAKE_PAGES).unwrap_or(0))),
            // 0: there is no locked memory left for a ring. ENOSPC and EBUSY: a debugger has the
            // debug registers, perhaps of this thread alone. EMFILE: too many files are open.
            Err(0) => return None,
            Err(libc::ENOSPC | libc::EBUSY | libc::EMFILE) => {}
            Err(_) => libc_locks::refuse(),
        }
    }
    match perf::map(&Attributes::switches(), PAGES) {
        Ok(at) => Some((at, 0)),
        Err(0 | libc::EMFILE) => None,
        // A lack of locked memory (0) or of descriptors (EMFILE) may pass. Any other error would
        // meet the next thread too.
        Err(_) => {
            REFUSED.store(true, Relaxed);
            None
        }
    }
}

/// The time now, on the counter and on the kernel's clock.
fn moment() -> (u64, u64) {
    let now = Moment::now(SESSION.source());
    (now.ticks, now.monotonic_ns)
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
