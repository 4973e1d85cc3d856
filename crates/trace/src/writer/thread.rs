//! The writer of one thread. Its fast path claims 16 bytes, reads the clock and makes two stores.

use super::segment::{Segment, Slot};
use super::session::Session;
use crate::clock::{self, Moment};
use crate::event::What;
use crate::layout::{FOREIGN_THREAD, GRAIN, SPAN, SegmentHeader};
use crate::record::{MASK_48, RECORD_BYTES, Raw};
use crate::sys;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Size of a thread's first segment; each further segment is twice as large, up to [`SPAN`]. The
/// first one is small because a program may have thousands of threads.
const FIRST_BYTES: u32 = 8 << 10;
const NO_THREAD: u32 = u32::MAX - 1;
const NO_CPU: u32 = u32::MAX;

/// The writer of one thread. It is constant-initialised and without `Drop`, so that it can lie in
/// thread-local storage. It is not `Sync`: only its own thread, and signal handlers on that thread,
/// may use it.
pub struct ThreadWriter {
    /// Address of the next free slot, or the end of a full segment; 0 if there is no segment. This
    /// word alone decides which code owns which slot.
    cursor: AtomicUsize,
    /// A segment that was created in advance, or was not needed; 0 if there is none.
    spare: AtomicUsize,
    /// The end of a full segment that is still to be sealed; 0 if there is none.
    left: AtomicUsize,
    /// When the cursor has reached this address, [`ThreadWriter::prepare`] has work to do.
    due: AtomicUsize,
    thread: AtomicU32,
    tid: AtomicU32,
    sequence: AtomicU32,
    next_bytes: AtomicU32,
    cpu: AtomicU32,
    /// The time that the segments' records count from; 0 if each segment counts from its own
    /// creation.
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
    /// switches from a kernel buffer. Call only [`ThreadWriter::post_at`] on it, in the order of
    /// time, and only with events that have a `tid`.
    pub const fn foreign(since: u64) -> ThreadWriter {
        let mut writer = ThreadWriter::new();
        writer.thread = AtomicU32::new(FOREIGN_THREAD);
        writer.base = AtomicU64::new(since);
        writer
    }

    /// Records an act with the present time as its stamp. Call this *before* an act that gives
    /// something away.
    #[inline(always)]
    pub fn post(&self, session: &Session, what: What) {
        if let Some(slot) = self.claim(session) {
            let ticks = clock::now(session.source());
            self.fill(session, slot, ticks, what.encode());
        }
    }

    /// Records an act, stamped when all earlier instructions have completed. Call this *after* an
    /// act that takes something. If the same instruction tells the CPU and that has changed, a
    /// [`What::Cpu`] follows.
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

    /// Records an act with a time (in raw ticks) that was read before, at most 2³⁶ ticks ago.
    #[inline]
    pub fn post_at(&self, session: &Session, ticks: u64, what: What) {
        if let Some(slot) = self.claim(session) {
            self.fill(session, slot, ticks, what.encode());
        }
    }

    /// Whether [`ThreadWriter::prepare`] has work to do: the segment is nearly full, or an earlier
    /// one is still to be sealed.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.cursor.load(Ordering::Relaxed) >= self.due.load(Ordering::Relaxed)
    }

    /// Creates the next segment in advance and seals the last one. The two take some hundred
    /// microseconds, so call this when the thread holds no lock. If it is never called, the same
    /// work is done when a segment is full.
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
        // If no segment can be had now, nothing is reported: the event that needs one will report
        // it.
        if let Ok(segment) = session.try_allocate(self.next_bytes() as usize, self.header(session)) {
            let unused = self.spare.swap(segment.start(), Ordering::Relaxed);
            if unused != 0 {
                discard(unused);
            }
            self.pause_since(session, began);
        }
    }

    /// Records that the time from `began` (raw ticks) until now was the writer's, and not the
    /// program's.
    fn pause_since(&self, session: &Session, began: u64) {
        let ticks = clock::now(session.source()).saturating_sub(began);
        self.post(session, What::Pause { ticks });
    }

    /// Returns this thread's number in the file; `None` before its first event.
    pub fn thread(&self) -> Option<u32> {
        Some(self.thread.load(Ordering::Relaxed)).filter(|t| *t < NO_THREAD)
    }

    /// Seals and unmaps the thread's segments. Call this as the last act of a thread: a later event
    /// starts a new segment, which then stays mapped.
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

    /// Drops the parent's segments without writing to them. Call this in a forked child.
    pub fn forget(&self) {
        let cursor = self.cursor.swap(0, Ordering::Relaxed);
        for end in [self.left.swap(0, Ordering::Relaxed), cursor] {
            if end != 0 && Segment::before(end).is_filled_to(end) {
                // SAFETY: unmaps the child's copy of the segment. Every slot of it is filled, so no
                // interrupted code still holds the address of one.
                unsafe { Segment::before(end).unmap() };
            }
        }
        let spare = self.spare.swap(0, Ordering::Relaxed);
        if spare != 0 {
            // SAFETY: unmaps the child's copy of the spare segment, of which no slot has ever been
            // handed out.
            unsafe { Segment::from_start(spare).unmap() };
        }
        self.due.store(usize::MAX, Ordering::Relaxed);
        self.thread.store(NO_THREAD, Ordering::Relaxed);
        self.tid.store(0, Ordering::Relaxed);
        self.sequence.store(0, Ordering::Relaxed);
        self.next_bytes.store(FIRST_BYTES, Ordering::Relaxed);
        self.cpu.store(NO_CPU, Ordering::Relaxed);
    }

    /// Claims the next slot; gets a new segment if there is no room. Returns `None` if no segment
    /// can be had.
    #[inline(always)]
    fn claim(&self, session: &Session) -> Option<Slot> {
        loop {
            let cursor = self.cursor.load(Ordering::Relaxed);
            // The end of a segment and the 0 of "no segment" are multiples of the grain; every
            // 256th slot is one, too, and takes this slower way without need.
            if cursor.is_multiple_of(GRAIN) {
                return self.claim_slowly(session, 1);
            }
            if self.advance(cursor, cursor + RECORD_BYTES) {
                return Some(Slot(cursor));
            }
        }
    }

    /// Claims the next `records` slots in one piece; gets a new segment if the current one has no
    /// room for all of them.
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

    /// Advances the cursor to `to` if it still has the value `from`. Returns false if a signal
    /// handler on this thread has moved it.
    ///
    /// This is a single instruction, so that no handler can come in between. It has no lock prefix,
    /// because no other thread reads the cursor.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn advance(&self, from: usize, to: usize) -> bool {
        let moved: u8;
        // SAFETY: the cursor is an aligned word of this thread, and only this thread accesses it;
        // CMPXCHG reads and writes that word, and changes only rax and the flags.
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

    /// Fills a slot whose time does not fit into 48 bits. A stamp that is older than the segment
    /// allows gets the oldest time that it allows. An event more than a day after the segment's
    /// beginning goes into a new segment, and a pause of length zero fills the claimed slot.
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

    /// Gives the thread a new segment if the cursor is still `cursor`. If no segment can be had,
    /// counts the event as lost and returns `None`.
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
            // A signal handler has got a new segment first, which serves this event too; this
            // segment becomes the spare one.
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

    /// Marks the full segment that ends at `cursor` as left, for [`ThreadWriter::prepare`] to seal.
    /// If another left segment is still unsealed, seals that one now.
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

    /// Returns the size of the next segment, and doubles the size of the one after it.
    fn next_bytes(&self) -> u32 {
        let bytes = self.next_bytes.load(Ordering::Relaxed);
        self.next_bytes.store((bytes * 2).min(SPAN as u32), Ordering::Relaxed);
        bytes
    }

    /// Returns the header of the next segment. The session fills in the segment's size.
    fn header(&self, session: &Session) -> SegmentHeader {
        if self.thread.load(Ordering::Relaxed) == NO_THREAD {
            let number = session.next_thread();
            // A signal handler may have given the thread a number meanwhile: then that number
            // counts, and this one stays unused.
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

    /// Counts a lost event: in the thread's last segment if it has one, so that no cache line moves
    /// between threads, otherwise in the session.
    fn lose(&self, session: &Session, cursor: usize) {
        if cursor == 0 {
            return session.count_dropped();
        }
        let last = Segment::before(cursor);
        last.count_dropped();
        // A full segment no longer changes, so it can be sealed. But if a definition did not fit,
        // the segment still has room for events.
        if cursor == last.end() && !last.is_sealed() {
            last.seal(cursor);
        }
    }
}

/// Seals a spare segment as empty, and unmaps it. None of its slots has ever been handed out.
fn discard(spare: usize) {
    let segment = Segment::from_start(spare);
    segment.seal(segment.first_slot());
    // SAFETY: no slot of the segment was ever claimed, so nothing refers to it.
    unsafe { segment.unmap() };
}

/// Seals and unmaps the segment before `cursor`, which the thread has left.
fn retire(cursor: usize) {
    let segment = Segment::before(cursor);
    if segment.is_sealed() || segment.seal(cursor) {
        // SAFETY: every slot is filled, so no interrupted code still holds the address of one, and
        // the cursor points elsewhere.
        unsafe { segment.unmap() };
    }
    // If the segment could not be sealed, interrupted code must still fill a slot of it, so the
    // mapping stays.
}
