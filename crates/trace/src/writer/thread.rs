//! The writer of one thread. The fast path is the claim of 16 bytes, a time stamp and two stores.

use super::segment::{Segment, Slot};
use super::session::Session;
use crate::clock::{self, Moment};
use crate::event::What;
use crate::layout::{FOREIGN_THREAD, GRAIN, SPAN, SegmentHeader};
use crate::record::{MASK_48, RECORD_BYTES, Raw};
use crate::sys;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Size of a thread's first segment; each further one is twice as large, up to [`SPAN`]. Small, for
/// programs with thousands of threads.
const FIRST_BYTES: u32 = 8 << 10;
const NO_THREAD: u32 = u32::MAX - 1;
const NO_CPU: u32 = u32::MAX;

/// The writer of one thread. Constant-initialised and without `Drop`, for thread-local storage; not
/// `Sync`: only its own thread, and signal handlers on it, may use it.
pub struct ThreadWriter {
    /// The next free slot, or the end of the segment; 0: no segment. The only word that decides
    /// which code owns which slot.
    cursor: AtomicUsize,
    /// A segment that was created in advance, or was not needed; 0: none.
    spare: AtomicUsize,
    /// The end of a full segment that is still to be sealed; 0: none.
    left: AtomicUsize,
    /// From this cursor on, [`ThreadWriter::prepare`] has work to do.
    due: AtomicUsize,
    thread: AtomicU32,
    tid: AtomicU32,
    sequence: AtomicU32,
    next_bytes: AtomicU32,
    cpu: AtomicU32,
    /// Base of the segments; 0: the time at which each is created.
    base: AtomicU64,
    own_thread_only: PhantomData<*const ()>,
}

impl Default for ThreadWriter {
    fn default() -> Self {
        ThreadWriter::new()
    }
}

impl ThreadWriter {
    /// Creates a writer that gets its first segment with its first event.
    pub const fn new() -> ThreadWriter {
        ThreadWriter {
            cursor: AtomicUsize::new(0),
            spare: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            due: AtomicUsize::new(usize::MAX),
            thread: AtomicU32::new(NO_THREAD),
            tid: AtomicU32::new(0),
            sequence: AtomicU32::new(0),
            next_bytes: AtomicU32::new(FIRST_BYTES),
            cpu: AtomicU32::new(NO_CPU),
            base: AtomicU64::new(0),
            own_thread_only: PhantomData,
        }
    }

    /// Creates a writer for events about other threads, from `since` (raw ticks) on: context
    /// switches from a kernel buffer. It accepts only [`ThreadWriter::post_at`], in the order of
    /// time, and only events with a `tid`.
    pub const fn foreign(since: u64) -> ThreadWriter {
        let mut writer = ThreadWriter::new();
        writer.thread = AtomicU32::new(FOREIGN_THREAD);
        writer.base = AtomicU64::new(since);
        writer
    }

    /// Records an act, stamped now. For an act that gives something away: call this *before* the
    /// act.
    #[inline(always)]
    pub fn post(&self, session: &Session, what: What) {
        if let Some(slot) = self.claim(session) {
            let ticks = clock::now(session.source());
            self.fill(session, slot, ticks, what.encode());
        }
    }

    /// Records an act, stamped after everything before it is done. Also records the CPU where that
    /// costs nothing (a [`What::Cpu`] follows when it changed). For an act that takes something:
    /// call this *after* the act.
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

    /// Whether the segment is nearly full, or another one is to be sealed:
    /// [`ThreadWriter::prepare`] has work to do.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.cursor.load(Ordering::Relaxed) >= self.due.load(Ordering::Relaxed)
    }

    /// Creates the next segment in advance and seals the last one. That takes some hundred
    /// microseconds, so call this when the thread holds no lock. If it is never called, the work is
    /// done when a segment is full.
    #[cold]
    pub fn prepare(&self, session: &Session) {
        self.due.store(usize::MAX, Ordering::Relaxed);
        let began = clock::now(session.source());
        let left = self.left.swap(0, Ordering::Relaxed);
        if left != 0 {
            retire(left);
            self.pause_since(session, began);
        }
        let cursor = self.cursor.load(Ordering::Relaxed);
        if cursor == 0 || self.spare.load(Ordering::Relaxed) != 0 || !session.is_open() {
            return;
        }
        let due = Segment::before(cursor).nearly_full();
        if cursor < due {
            return self.due.store(due, Ordering::Relaxed);
        }
        let began = clock::now(session.source());
        // If no segment is available, the event that needs it reports that.
        if let Ok(segment) = session.try_allocate(self.next_bytes() as usize, self.header(session)) {
            let unused = self.spare.swap(segment.start(), Ordering::Relaxed);
            if unused != 0 {
                discard(unused);
            }
            self.pause_since(session, began);
        }
    }

    /// Records that the time from `began` (raw ticks) until now was the writer's, not the program's.
    fn pause_since(&self, session: &Session, began: u64) {
        let ticks = clock::now(session.source()).saturating_sub(began);
        self.post(session, What::Pause { ticks });
    }

    /// Returns this thread's number in the file, once it has posted an event.
    pub fn thread(&self) -> Option<u32> {
        Some(self.thread.load(Ordering::Relaxed)).filter(|t| *t < NO_THREAD)
    }

    /// Seals and unmaps the segments: the last act of a thread. A later event starts a new segment,
    /// which then stays mapped.
    pub fn finish(&self) {
        let cursor = self.cursor.swap(0, Ordering::Relaxed);
        for end in [self.left.swap(0, Ordering::Relaxed), cursor] {
            if end != 0 {
                retire(end);
            }
        }
        let spare = self.spare.swap(0, Ordering::Relaxed);
        if spare != 0 {
            discard(spare);
        }
    }

    /// Called in a forked child: drops the parent's segments without writing to them.
    pub fn forget(&self) {
        let cursor = self.cursor.swap(0, Ordering::Relaxed);
        for end in [self.left.swap(0, Ordering::Relaxed), cursor] {
            if end != 0 && Segment::before(end).is_filled_to(end) {
                // SAFETY: unmaps the child's copy of the mapping; every slot is filled, so no stack
                // frame holds one.
                unsafe { Segment::before(end).unmap() };
            }
        }
        let spare = self.spare.swap(0, Ordering::Relaxed);
        if spare != 0 {
            // SAFETY: unmaps the child's copy of the mapping; a spare has never been handed out.
            unsafe { Segment::from_start(spare).unmap() };
        }
        self.due.store(usize::MAX, Ordering::Relaxed);
        self.thread.store(NO_THREAD, Ordering::Relaxed);
        self.tid.store(0, Ordering::Relaxed);
        self.sequence.store(0, Ordering::Relaxed);
        self.next_bytes.store(FIRST_BYTES, Ordering::Relaxed);
        self.cpu.store(NO_CPU, Ordering::Relaxed);
    }

    /// Claims the next slot, if there is room or room can be made.
    #[inline(always)]
    fn claim(&self, session: &Session) -> Option<Slot> {
        loop {
            let cursor = self.cursor.load(Ordering::Relaxed);
            // Both the end of a segment and "no segment" (0) are multiples of the grain; so is
            // every 256th slot.
            if cursor.is_multiple_of(GRAIN) {
                return self.claim_slowly(session, 1);
            }
            if self.advance(cursor, cursor + RECORD_BYTES) {
                return Some(Slot(cursor));
            }
        }
    }

    /// Claims the next `records` slots in one piece, in a new segment if the current one has no
    /// room for them.
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

    /// Advances the cursor if it still has the value `from`; returns false if a signal handler on
    /// this thread moved it.
    ///
    /// A single instruction, so no handler can come in between; without the lock prefix, because no
    /// other thread reads it.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn advance(&self, from: usize, to: usize) -> bool {
        let moved: u8;
        // SAFETY: the cursor is a word of this thread; CMPXCHG reads and writes it and sets rax and
        // the flags.
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

    /// Fills a slot whose time does not fit into 48 bits. A stamp older than the segment allows
    /// counts as its oldest time. One more than a day after the segment's beginning goes into a new
    /// segment, and leaves a pause of length zero in the claimed slot.
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

    /// Gives the thread a new segment if the cursor still is `cursor`, the end of the old one.
    /// Returns `None` if the event is lost, which is counted.
    fn refill(&self, session: &Session, cursor: usize) -> Option<()> {
        if !session.is_open() {
            self.lose(session, cursor);
            return None;
        }
        let began = clock::now(session.source());
        let spare = self.take_spare();
        let Some(segment) = spare.or_else(|| self.allocate(session)) else {
            self.lose(session, cursor);
            return None;
        };
        if !self.advance(cursor, segment.first_slot()) {
            // A signal handler came first; its segment serves this event too.
            let unused = self.spare.swap(segment.start(), Ordering::Relaxed);
            if unused != 0 {
                discard(unused);
            }
            return Some(());
        }
        self.due.store(segment.nearly_full(), Ordering::Relaxed);
        if cursor != 0 {
            match spare {
                Some(_) => self.leave(cursor),
                None => retire(cursor),
            }
            self.pause_since(session, began);
        }
        Some(())
    }

    /// Marks the segment that ends at `cursor` as full. [`ThreadWriter::prepare`] seals it; a
    /// segment that was already waiting for that is sealed now.
    fn leave(&self, cursor: usize) {
        let before = self.left.swap(cursor, Ordering::Relaxed);
        if before != 0 {
            retire(before);
        }
        self.due.store(0, Ordering::Relaxed);
    }

    fn take_spare(&self) -> Option<Segment> {
        Some(self.spare.swap(0, Ordering::Relaxed)).filter(|at| *at != 0).map(Segment::from_start)
    }

    fn allocate(&self, session: &Session) -> Option<Segment> {
        session.allocate(self.next_bytes() as usize, self.header(session))
    }

    /// Returns the size of the next segment, and doubles the size for the one after it.
    fn next_bytes(&self) -> u32 {
        let bytes = self.next_bytes.load(Ordering::Relaxed);
        self.next_bytes.store((bytes * 2).min(SPAN as u32), Ordering::Relaxed);
        bytes
    }

    /// Returns the next segment's header; the session fills in its size.
    fn header(&self, session: &Session) -> SegmentHeader {
        if self.thread.load(Ordering::Relaxed) == NO_THREAD {
            let number = session.next_thread();
            // A signal handler may have been faster; then its number counts and this one stays
            // unused.
            let _ = self.thread.compare_exchange(NO_THREAD, number, Ordering::Relaxed, Ordering::Relaxed);
        }
        if self.tid.load(Ordering::Relaxed) == 0 {
            self.tid.store(sys::tid(), Ordering::Relaxed);
        }
        let base = match self.base.load(Ordering::Relaxed) {
            0 => Moment::now(session.source()),
            since => Moment { ticks: since, monotonic_ns: 0 },
        };
        SegmentHeader {
            pid: sys::pid(),
            tid: self.tid.load(Ordering::Relaxed),
            thread: self.thread.load(Ordering::Relaxed),
            sequence: self.sequence.fetch_add(1, Ordering::Relaxed),
            base,
            bytes: 0,
        }
    }

    /// Counts a lost event, in this thread's last segment if it has one, so that no cache line
    /// moves between threads.
    fn lose(&self, session: &Session, cursor: usize) {
        if cursor == 0 {
            return session.count_dropped();
        }
        let last = Segment::before(cursor);
        last.count_dropped();
        // A full segment no longer changes, so it is sealed. A definition that did not fit leaves
        // room that events can still use.
        if cursor == last.end() && !last.is_sealed() {
            last.seal(cursor);
        }
    }
}

/// Seals a spare, which has never been handed out, as empty, and unmaps it.
fn discard(spare: usize) {
    let segment = Segment::from_start(spare);
    segment.seal(segment.first_slot());
    // SAFETY: no slot of the segment was ever claimed.
    unsafe { segment.unmap() };
}

/// Seals and unmaps the segment that the cursor has left.
fn retire(cursor: usize) {
    let segment = Segment::before(cursor);
    if segment.is_sealed() || segment.seal(cursor) {
        // SAFETY: every slot is filled, so no stack frame holds one; the cursor points elsewhere.
        unsafe { segment.unmap() };
    }
    // Otherwise an interrupted stack frame must still fill its slot, so the mapping stays.
}
