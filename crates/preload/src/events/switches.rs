//! Context switches: when a thread left its CPU, whether it blocked or was preempted, and when it was back, as the kernel has it.
//!
//! Each recorded thread asks the kernel (perf_event_open) for its own switches, which an ordinary user may have unless the
//! administrator forbids it (`perf_event_paranoid` above 2). They come in a small ring of memory, which the thread empties when it holds
//! no lock: before a wait, after one, behind a release once it is half full, and at its end. Where the kernel says no, or a limit on locked memory is reached, there is
//! no ring, and CPU times around waits have to tell as much as they can.
//!
//! The descriptor is closed at once: the mapping keeps the event, and the program's descriptors stay its own.

use super::session::SESSION;
use crate::thread::{Ring, Thread};
use baton_trace::{OffReason, What, clock, sys};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

/// Pages of records: some 680 of them.
const PAGES: usize = 4;
const PAGE: usize = 4096;
const BYTES: usize = PAGES * PAGE;

/// Offsets in the kernel's `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// The kernel's `struct perf_event_attr`, of its version 5.
#[repr(C)]
struct Attributes {
    sort: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    unused: [u64; 5],
    sample_stack_user: u32,
    clock: i32,
    also_unused: [u64; 2],
}

const _: () = assert!(size_of::<Attributes>() == 112);

/// PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY: an event that counts nothing.
const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;
/// PERF_SAMPLE_TIME and PERF_SAMPLE_CPU: what stands behind each record.
const TIME_AND_CPU: u64 = 1 << 2 | 1 << 7;
/// exclude_kernel, exclude_hv, sample_id_all, use_clockid, context_switch.
const FLAGS: u64 = 1 << 5 | 1 << 6 | 1 << 18 | 1 << 25 | 1 << 26;
/// PERF_FLAG_FD_CLOEXEC.
const CLOSE_ON_EXEC: usize = 8;

/// PERF_RECORD_SWITCH, and the marks in its header.
const SWITCH: u32 = 14;
const OUT: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;

/// Rings at a time, at most: 20 MiB of locked memory.
const RINGS: u32 = 1024;
static OPEN: AtomicU32 = AtomicU32::new(0);
/// The kernel says no, or the user: no thread tries any more.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// With `BATON_SWITCHES=off`.
pub(super) fn refuse() {
    REFUSED.store(true, Relaxed);
}

impl Ring {
    /// Asks for the calling thread's switches.
    pub(super) fn open(&self) {
        self.busy.store(false, Relaxed);
        if REFUSED.load(Relaxed) || !SESSION.is_open() {
            return;
        }
        let (ticks, nanos) = moment();
        self.ticks.store(ticks, Relaxed);
        self.nanos.store(nanos, Relaxed);
        let ring = if OPEN.fetch_add(1, Relaxed) < RINGS { crate::base::errno::kept(map) } else { None };
        if ring.is_none() {
            OPEN.fetch_sub(1, Relaxed);
        }
        self.at.store(ring.unwrap_or(0), Relaxed);
    }

    /// Gives the ring back.
    pub(super) fn close(&self) {
        let at = self.at.swap(0, Relaxed);
        if at != 0 {
            OPEN.fetch_sub(1, Relaxed);
            // SAFETY: mapped by `open`, and nobody reads it any more.
            crate::base::errno::kept(|| unsafe { libc::munmap(at as *mut libc::c_void, PAGE + BYTES) });
        }
    }

    /// In a fork's child: the kernel gave it no copy of the ring.
    pub fn forget(&self) {
        if self.at.swap(0, Relaxed) != 0 {
            OPEN.fetch_sub(1, Relaxed);
        }
        self.busy.store(false, Relaxed);
    }

    /// Whether it is half full.
    #[inline(always)]
    pub(super) fn is_filling(&self) -> bool {
        let at = self.at.load(Relaxed);
        // SAFETY: a ring that is there stays mapped while its thread runs; the fields are aligned.
        at != 0 && unsafe { word(at, HEAD).load(Relaxed).wrapping_sub(word(at, TAIL).load(Relaxed)) > BYTES as u64 / 2 }
    }

    /// How much the kernel has told so far: it grows when the thread leaves its CPU, and when it comes back. `None` without a ring.
    #[inline(always)]
    pub(super) fn told(&self) -> Option<u64> {
        let at = self.at.load(Relaxed);
        // SAFETY: as above.
        (at != 0).then(|| unsafe { word(at, HEAD).load(Relaxed) })
    }

    /// Writes down what the kernel has told since the last time.
    pub(super) fn empty(&self, thread: &Thread) {
        let at = self.at.load(Relaxed);
        if at == 0 {
            return;
        }
        // SAFETY: as above. Acquire: the records up to the head are whole.
        let (head, mut tail) = unsafe { (word(at, HEAD).load(Ordering::Acquire), word(at, TAIL).load(Relaxed)) };
        if head == tail || self.busy.swap(true, Relaxed) {
            return;
        }
        let began = clock::now(SESSION.source());
        let then = (self.ticks.load(Relaxed), self.nanos.load(Relaxed));
        let now = moment();
        while tail < head {
            let record = Record::read(at, tail);
            if record.sort == SWITCH {
                let what = match record.marks & OUT {
                    0 => What::OnCpu { tid: 0, cpu: record.cpu },
                    _ if record.marks & PREEMPTED != 0 => What::OffCpu { tid: 0, reason: OffReason::Preempted },
                    _ => What::OffCpu { tid: 0, reason: OffReason::Blocked },
                };
                thread.pen.post_at(&SESSION, ticks_at(record.nanos, then, now), what);
            }
            tail += u64::from(record.size).max(8);
        }
        // SAFETY: as above. Release: the kernel may write there again when all has been read.
        unsafe { word(at, TAIL).store(tail, Ordering::Release) };
        self.ticks.store(now.0, Relaxed);
        self.nanos.store(now.1, Relaxed);
        // The program did not ask for this: it is no time of its own.
        let ticks = clock::now(SESSION.source()).saturating_sub(began);
        thread.pen.post(&SESSION, What::Pause { ticks });
        self.busy.store(false, Relaxed);
    }
}

/// # Safety
/// `at` is a mapped ring and `offset` that of a word in its first page.
#[inline(always)]
unsafe fn word<'a>(at: usize, offset: usize) -> &'a AtomicU64 {
    // SAFETY: by contract.
    unsafe { &*((at + offset) as *const AtomicU64) }
}

/// Opens and maps the event; closes its descriptor again.
fn map() -> Option<usize> {
    let attributes = Attributes {
        sort: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: DUMMY,
        sample_period: 0,
        sample_type: TIME_AND_CPU,
        read_format: 0,
        flags: FLAGS,
        unused: [0; 5],
        sample_stack_user: 0,
        clock: libc::CLOCK_MONOTONIC,
        also_unused: [0; 2],
    };
    // SAFETY: the kernel reads the attributes: this thread, any CPU, no group. Raw calls are no cancellation points.
    unsafe {
        let fd = libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, CLOSE_ON_EXEC);
        if fd < 0 {
            // Too many descriptors may pass; all else will be so for the next thread, too.
            if crate::base::errno::get() != libc::EMFILE {
                REFUSED.store(true, Relaxed);
            }
            return None;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::mmap(core::ptr::null_mut(), PAGE + BYTES, protection, libc::MAP_SHARED, fd as i32, 0);
        libc::syscall(libc::SYS_close, fd);
        (at != libc::MAP_FAILED).then(|| at.expose_provenance())
    }
}

/// Now, on both clocks.
fn moment() -> (u64, u64) {
    (clock::now(SESSION.source()), sys::clock_ns(libc::CLOCK_MONOTONIC))
}

/// A time of the kernel's in ticks, on the straight line through two moments.
fn ticks_at(nanos: u64, then: (u64, u64), now: (u64, u64)) -> u64 {
    let span = u128::from(now.1.saturating_sub(then.1).max(1));
    let ticks = u128::from(now.0.saturating_sub(then.0));
    let since = u128::from(nanos.clamp(then.1, now.1.max(then.1)) - then.1);
    then.0 + (ticks * since / span) as u64
}

/// One record, in the order in which the kernel lays it out.
struct Record {
    sort: u32,
    marks: u16,
    size: u16,
    nanos: u64,
    cpu: u32,
}

impl Record {
    /// The record that begins at `tail`; it may wrap around.
    fn read(at: usize, tail: u64) -> Record {
        let piece = |offset: u64| {
            let place = (tail + offset) as usize % BYTES;
            // SAFETY: records are made of words, aligned; the place is inside the ring.
            unsafe { word(at, PAGE + place).load(Relaxed) }
        };
        let header = piece(0);
        let (sort, marks, size) = (header as u32, (header >> 32) as u16, (header >> 48) as u16);
        // Behind the header, a switch has nothing of its own: time, CPU.
        let (nanos, cpu) = if sort == SWITCH { (piece(8), piece(16) as u32) } else { (0, 0) };
        Record { sort, marks, size, nanos, cpu }
    }
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
