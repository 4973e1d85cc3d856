//! One thread's pen. The fast path is a claim of 16 bytes, a time stamp and two stores.

use super::segment::{Segment, Slot};
use super::session::Session;
use crate::clock::{self, Moment};
use crate::event::What;
use crate::layout::{FOREIGN_THREAD, GRAIN, SPAN, SegmentHeader};
use crate::record::{MASK_48, RECORD_BYTES, Raw};
use crate::sys;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// First segment of a thread; each next one is twice as large, up to [`SPAN`]. Small, for programs of thousands of threads.
const FIRST_BYTES: u32 = 8 << 10;
const NO_THREAD: u32 = u32::MAX - 1;
const NO_CPU: u32 = u32::MAX;

/// One thread's writer. Const-initialised and without `Drop`, for thread-local storage; not `Sync`: only its own thread (and
/// signal handlers on it) may use it.
pub struct ThreadWriter {
    /// Next free slot, or the end of the segment; 0: no segment. The only word that says who owns what.
    cursor: AtomicUsize,
    /// A segment that was made but not needed; 0: none.
    spare: AtomicUsize,
    thread: AtomicU32,
    tid: AtomicU32,
    sequence: AtomicU32,
    next_bytes: AtomicU32,
    cpu: AtomicU32,
    /// Base of the segments, where it is not the time at which they are made; 0: it is.
    base: AtomicU64,
    own_thread_only: PhantomData<*const ()>,
}

impl Default for ThreadWriter {
    fn default() -> Self {
        ThreadWriter::new()
    }
}

impl ThreadWriter {
    /// A writer that takes its first segment with its first event.
    pub const fn new() -> ThreadWriter {
        ThreadWriter {
            cursor: AtomicUsize::new(0),
            spare: AtomicUsize::new(0),
            thread: AtomicU32::new(NO_THREAD),
            tid: AtomicU32::new(0),
            sequence: AtomicU32::new(0),
            next_bytes: AtomicU32::new(FIRST_BYTES),
            cpu: AtomicU32::new(NO_CPU),
            base: AtomicU64::new(0),
            own_thread_only: PhantomData,
        }
    }

    /// A writer for events about other threads, from `since` (raw ticks) on: context switches out of a kernel buffer. Only
    /// [`ThreadWriter::post_at`], in the order of time, and only events with a `tid`.
    pub const fn foreign(since: u64) -> ThreadWriter {
        let mut writer = ThreadWriter::new();
        writer.thread = AtomicU32::new(FOREIGN_THREAD);
        writer.base = AtomicU64::new(since);
        writer
    }

    /// Records an act, stamped now. For what gives away: call it *before* the act.
    #[inline(always)]
    pub fn post(&self, session: &Session, what: What) {
        if let Some(slot) = self.claim(session) {
            let ticks = clock::now(session.source());
            self.fill(session, slot, ticks, what.encode());
        }
    }

    /// Records an act, stamped after everything before it is done, and the CPU where that costs nothing (a [`What::Cpu`]
    /// follows when it changed). For what takes: call it *after* the act.
    #[inline(always)]
    pub fn post_ordered(&self, session: &Session, what: What) {
        if let Some(slot) = self.claim(session) {
            let (ticks, cpu) = clock::now_ordered(session.source());
            self.fill(session, slot, ticks, what.encode());
            if let Some(cpu) = cpu
                && cpu != self.cpu.load(Ordering::Relaxed)
            {
                self.moved(session, ticks, cpu);
            }
        }
    }

    /// Records an act at a time (raw ticks) that was read before, at most 2³⁶ ticks ago.
    #[inline]
    pub fn post_at(&self, session: &Session, ticks: u64, what: What) {
        if let Some(slot) = self.claim(session) {
            self.fill(session, slot, ticks, what.encode());
        }
    }

    /// This thread's number in the file, once it has posted.
    pub fn thread(&self) -> Option<u32> {
        Some(self.thread.load(Ordering::Relaxed)).filter(|t| *t < NO_THREAD)
    }

    /// Seals and unmaps: the last act of a thread. A later event starts a new segment, which then stays mapped.
    pub fn finish(&self) {
        let cursor = self.cursor.swap(0, Ordering::Relaxed);
        if cursor != 0 {
            retire(cursor);
        }
        self.drop_spare();
    }

    /// In the child of a fork: lets go of the parent's segment without touching it.
    pub fn forget(&self) {
        let cursor = self.cursor.swap(0, Ordering::Relaxed);
        if cursor != 0 && Segment::before(cursor).is_filled_to(cursor) {
            // SAFETY: the child's copy of the mapping; every slot is filled, so no frame holds one.
            unsafe { Segment::before(cursor).unmap() };
        }
        self.drop_spare();
        self.thread.store(NO_THREAD, Ordering::Relaxed);
        self.tid.store(0, Ordering::Relaxed);
        self.sequence.store(0, Ordering::Relaxed);
        self.next_bytes.store(FIRST_BYTES, Ordering::Relaxed);
        self.cpu.store(NO_CPU, Ordering::Relaxed);
    }

    fn drop_spare(&self) {
        let spare = self.spare.swap(0, Ordering::Relaxed);
        if spare != 0 {
            // SAFETY: a spare has never been given out.
            unsafe { Segment::from_start(spare).unmap() };
        }
    }

    /// The next slot, if there is room or room can be made.
    #[inline(always)]
    fn claim(&self, session: &Session) -> Option<Slot> {
        loop {
            let cursor = self.cursor.load(Ordering::Relaxed);
            // Both the end of a segment and "no segment" (0) are multiples of the grain; so is every 256th slot.
            if cursor.is_multiple_of(GRAIN) {
                return self.claim_slowly(session, 1);
            }
            if self.advance(cursor, cursor + RECORD_BYTES) {
                return Some(Slot(cursor));
            }
        }
    }

    /// The next `records` slots in one piece, in a new segment if this one has no room for them.
    #[cold]
    #[inline(never)]
    pub(super) fn claim_slowly(&self, session: &Session, records: usize) -> Option<Slot> {
        let bytes = records * RECORD_BYTES;
        loop {
            let cursor = self.cursor.load(Ordering::Relaxed);
            let room = if cursor == 0 { 0 } else { Segment::before(cursor).end() - cursor };
            if room < bytes {
                self.refill(session, cursor)?;
            } else if self.advance(cursor, cursor + bytes) {
                return Some(Slot(cursor));
            }
        }
    }

    /// Moves the cursor if it still is where it was; false if a signal handler on this thread moved it.
    ///
    /// One instruction, so no handler can come in between; without the lock prefix, as no other thread looks.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn advance(&self, from: usize, to: usize) -> bool {
        let moved: u8;
        // SAFETY: the cursor is a word of this thread's own; CMPXCHG reads and writes it and sets rax and the flags.
        unsafe {
            core::arch::asm!("cmpxchg qword ptr [{cursor}], {to}", "sete {moved}", cursor = in(reg) self.cursor.as_ptr(),
                to = in(reg) to, moved = out(reg_byte) moved, inout("rax") from => _, options(nostack));
        }
        moved != 0
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn advance(&self, from: usize, to: usize) -> bool {
        self.cursor.compare_exchange_weak(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    fn fill(&self, session: &Session, slot: Slot, ticks: u64, raw: Raw) {
        let time = slot.time_of(ticks);
        if time <= MASK_48 {
            slot.fill(time, raw);
        } else {
            self.fill_out_of_range(session, slot, ticks, raw);
        }
    }

    /// The time does not fit into 48 bits: a stamp older than the segment allows counts as its oldest time; one more than a day
    /// after the segment began goes into a new segment, and leaves a pause of no length in the claimed slot.
    #[cold]
    #[inline(never)]
    fn fill_out_of_range(&self, session: &Session, slot: Slot, ticks: u64, raw: Raw) {
        if (slot.time_of(ticks) as i64) < 0 {
            return slot.fill(0, raw);
        }
        slot.fill(MASK_48, What::Pause { ticks: 0 }.encode());
        let old = Segment::before(slot.0 + 1);
        let cursor = self.cursor.load(Ordering::Relaxed);
        if cursor != 0 && Segment::before(cursor) == old && self.refill(session, cursor).is_none() {
            return;
        }
        if let Some(slot) = self.claim(session) {
            slot.fill(slot.time_of(ticks).min(MASK_48), raw);
        }
    }

    #[cold]
    #[inline(never)]
    fn moved(&self, session: &Session, ticks: u64, cpu: u32) {
        self.cpu.store(cpu, Ordering::Relaxed);
        self.post_at(session, ticks, What::Cpu { cpu });
    }

    /// Gives the thread a new segment if the cursor still is `cursor`, the end of the old one. `None`: the event is lost, and
    /// counted.
    fn refill(&self, session: &Session, cursor: usize) -> Option<()> {
        if !session.is_open() {
            self.lose(session, cursor);
            return None;
        }
        let began = clock::now(session.source());
        let Some(segment) = self.take_spare().or_else(|| self.allocate(session)) else {
            self.lose(session, cursor);
            return None;
        };
        if !self.advance(cursor, segment.first_slot()) {
            // A handler came first; its segment serves this event too.
            let unused = self.spare.swap(segment.start(), Ordering::Relaxed);
            if unused != 0 {
                // SAFETY: a spare has never been given out.
                unsafe { Segment::from_start(unused).unmap() };
            }
            return Some(());
        }
        if cursor != 0 {
            retire(cursor);
            let ticks = clock::now(session.source()).saturating_sub(began);
            self.post(session, What::Pause { ticks });
        }
        Some(())
    }

    fn take_spare(&self) -> Option<Segment> {
        Some(self.spare.swap(0, Ordering::Relaxed)).filter(|at| *at != 0).map(Segment::from_start)
    }

    fn allocate(&self, session: &Session) -> Option<Segment> {
        if self.thread.load(Ordering::Relaxed) == NO_THREAD {
            let number = session.next_thread();
            // A handler may have been faster; then its number holds and this one stays unused.
            let _ = self.thread.compare_exchange(NO_THREAD, number, Ordering::Relaxed, Ordering::Relaxed);
        }
        if self.tid.load(Ordering::Relaxed) == 0 {
            self.tid.store(sys::tid(), Ordering::Relaxed);
        }
        let bytes = self.next_bytes.load(Ordering::Relaxed);
        self.next_bytes.store((bytes * 2).min(SPAN as u32), Ordering::Relaxed);
        let base = match self.base.load(Ordering::Relaxed) {
            0 => Moment::now(session.source()),
            since => Moment { ticks: since, monotonic_ns: 0 },
        };
        let header = SegmentHeader {
            pid: sys::pid(),
            tid: self.tid.load(Ordering::Relaxed),
            thread: self.thread.load(Ordering::Relaxed),
            sequence: self.sequence.fetch_add(1, Ordering::Relaxed),
            base,
            bytes,
        };
        session.allocate(bytes as usize, header)
    }

    /// Counts a lost event, in this thread's last segment if it has one: no cache line moves between threads then.
    fn lose(&self, session: &Session, cursor: usize) {
        if cursor == 0 {
            return session.count_dropped();
        }
        let last = Segment::before(cursor);
        last.count_dropped();
        // Full, it will not change any more. A definition that did not fit leaves room that events can still use.
        if cursor == last.end() && !last.is_sealed() {
            last.seal(cursor);
        }
    }
}

/// Seals and unmaps the segment that the cursor has left.
fn retire(cursor: usize) {
    let segment = Segment::before(cursor);
    if segment.is_sealed() || segment.seal(cursor) {
        // SAFETY: every slot is filled, so no frame holds one; the cursor points elsewhere.
        unsafe { segment.unmap() };
    }
    // Otherwise a frame below this one still has to fill its slot: the mapping stays for it.
}
