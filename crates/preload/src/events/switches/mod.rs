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

mod pace;
mod reader;
mod samples;

use super::libc_locks;
use super::perf::{self, Attributes, Records};
use super::session::SESSION;
use crate::thread::{Ring, Thread};
use baton_machine::native::thread as machine;
use baton_trace::clock::{self, Moment};
use baton_trace::{What, sys};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use reader::{Reader, first};

/// Pages of the ring of context switches, of which it holds some 680.
const PAGES: usize = 4;
/// Pages of the rings of waits and of wakes at glibc's locks: room for 89 waits and for 102 wakes.
const WAIT_PAGES: usize = 4;
const WAKE_PAGES: usize = 1;

/// The longest time, in ticks, that records stay in the rings of a thread that waits now and then: 6 ms of a counter of 3 GHz. A process
/// that is killed loses them.
const KEPT: u64 = 1 << 24;

/// Most threads that have rings at a time: 20 MiB of locked memory. Fewer may have breakpoints and
/// samples from the start, whose rings take 2.3 MiB more.
const RINGS: u32 = 1024;
const WITH_BREAKPOINTS: u32 = 64;
static OPEN: AtomicU32 = AtomicU32::new(0);
/// Whether switches are given up: the kernel refuses them, or the user did (`BATON_SWITCHES=off`).
/// No thread asks any more.
static REFUSED: AtomicBool = AtomicBool::new(false);

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
        self.waited.store(0, Relaxed);
        self.period.store(0, Relaxed);
        if REFUSED.load(Relaxed) || !SESSION.is_open() {
            return;
        }
        let (ticks, nanos) = moment();
        self.ticks.store(ticks, Relaxed);
        self.nanos.store(nanos, Relaxed);
        let before = OPEN.fetch_add(1, Relaxed);
        let at = if before < RINGS { crate::base::errno::kept(map) } else { 0 };
        if at == 0 {
            OPEN.fetch_sub(1, Relaxed);
            return;
        }
        self.at.store(at, Relaxed);
        let entitled = before < WITH_BREAKPOINTS;
        self.begin_pace(nanos, entitled);
        if entitled && !pace::threads_are_short_lived() {
            self.give_breakpoints();
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
        let at = self.at.swap(0, Relaxed);
        if at != 0 {
            OPEN.fetch_sub(1, Relaxed);
            // SAFETY: `open` mapped the ring; its only reader is this thread.
            unsafe { perf::unmap(at, PAGES) };
            self.end_pace();
        }
        self.take_breakpoints();
        self.end_samples();
    }

    /// Forgets the rings in a fork's child, because the kernel does not copy the mappings into the
    /// child.
    pub fn forget(&self) {
        for ring in [&self.waits, &self.wakes, &self.samples] {
            ring.store(0, Relaxed);
        }
        if self.at.swap(0, Relaxed) != 0 {
            OPEN.fetch_sub(1, Relaxed);
        }
        self.busy.store(false, Relaxed);
    }

    /// Whether the rings should be emptied: the kernel has written into the ring of switches, and
    /// the rings were last emptied more than [`KEPT`] ago, or that ring or one of those of glibc's
    /// locks is more than half full. So a sleep after a long time of work is written at once, while of many
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
        if free { self.is_due() } else { self.is_filling(self.at.load(Relaxed)) }
    }

    #[inline(never)]
    fn is_old_or_filling(&self, at: usize) -> bool {
        let since = clock::now(SESSION.source()).saturating_sub(self.ticks.load(Relaxed));
        since > KEPT || self.is_filling(at)
    }

    fn is_filling(&self, at: usize) -> bool {
        half_full(at, PAGES)
            || half_full(self.waits.load(Relaxed), WAIT_PAGES)
            || half_full(self.wakes.load(Relaxed), WAKE_PAGES)
    }

    /// Bytes that the kernel has written about the thread so far: they grow when the thread leaves
    /// its CPU, and when it comes back. `None` without a ring.
    #[inline(always)]
    pub(super) fn told(&self) -> Option<u64> {
        let at = self.at.load(Relaxed);
        // SAFETY: as above.
        (at != 0).then(|| unsafe { perf::written(at) })
    }

    /// Writes the records that the kernel has made since the last time into the trace, and decides what
    /// the kernel does for the thread from now on.
    pub(super) fn empty(&self, thread: &Thread) {
        self.write(thread, true);
    }

    /// Like [`empty`](Ring::empty), for a thread that is about to end.
    pub(super) fn empty_last(&self, thread: &Thread) {
        self.write(thread, false);
    }

    fn write(&self, thread: &Thread, goes_on: bool) {
        // The switch ring is read last: while this thread reads the rings, the kernel adds no
        // records to them but switches.
        // SAFETY: the rings stay mapped while their thread runs.
        let mut rings = unsafe {
            let samples = Records::of(self.samples.load(Relaxed), samples::PAGES);
            let waits = Records::of(self.waits.load(Relaxed), WAIT_PAGES);
            let wakes = Records::of(self.wakes.load(Relaxed), WAKE_PAGES);
            [samples, waits, wakes, Records::of(self.at.load(Relaxed), PAGES)]
        };
        if rings.iter().all(Records::is_empty) || self.busy.swap(true, Relaxed) {
            return;
        }
        let began = clock::now(SESSION.source());
        let full = is_full(self.at.load(Relaxed));
        let then = (self.ticks.load(Relaxed), self.nanos.load(Relaxed));
        let waited = self.waited.load(Relaxed);
        let reader = Reader::new(thread, then, moment());
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
        if goes_on {
            self.keep_pace(reader.left.get(), reader.now.1, self.waited.load(Relaxed) != waited);
            self.sample_if_it_waits();
        }
        // Records the time that emptying took as a pause, which the analysis takes off the thread's
        // time: the program did not ask for it.
        let ticks = clock::now(SESSION.source()).saturating_sub(began);
        thread.pen.post(&SESSION, What::Pause { ticks });
        self.busy.store(false, Relaxed);
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

/// Whether the ring of `pages` pages at `at` is half full. False if there is no ring.
fn half_full(at: usize, pages: usize) -> bool {
    // SAFETY: `at` is a ring that stays mapped while its thread runs.
    at != 0 && unsafe { perf::written(at).wrapping_sub(perf::read(at)) > (pages * perf::PAGE) as u64 / 2 }
}

/// The room that the greatest record about a context switch takes.
const ROOM: u64 = 64;

/// Whether the ring of switches at `at` has no room for a further record, so that some may be lost.
fn is_full(at: usize) -> bool {
    // SAFETY: as in `half_full`.
    at != 0 && unsafe { perf::written(at).wrapping_sub(perf::read(at)) + ROOM > (PAGES * perf::PAGE) as u64 }
}

/// Opens the perf event of the calling thread's context switches and maps its ring; 0 if the kernel
/// gives none.
fn map() -> usize {
    match perf::map(&Attributes::switches(), PAGES) {
        Ok(at) => at,
        // A lack of locked memory (0) or of descriptors (EMFILE) may pass.
        Err(0 | libc::EMFILE) => 0,
        // Any other error would meet the next thread too.
        Err(_) => {
            REFUSED.store(true, Relaxed);
            0
        }
    }
}

/// The time now, on the counter and on the kernel's clock.
fn moment() -> (u64, u64) {
    let now = Moment::now(SESSION.source());
    (now.ticks, now.monotonic_ns)
}
