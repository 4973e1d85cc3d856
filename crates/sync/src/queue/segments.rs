//! A queue for many producers and consumers whose memory follows the number of items: a list of
//! segments with some places each. The producer that takes the last place of a segment links the next
//! one, and the consumer that takes the last item out of a segment frees it.
//!
//! Each side claims positions by one word:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 `LINKING` | the thread with the segment's last position moves the side to the next segment |
//! | 1 `AWAITED` | a thread waits for the end of that |
//! | 2 to 63 | the next position; it does not wrap |
//!
//! A side's pointer names the segment of its next position whenever `LINKING` is clear. A thread
//! follows it only after it has claimed a position there: until that place is used, the segment lives.
//!
//! | place | meaning |
//! | --- | --- |
//! | 0 `EMPTY` | no item |
//! | 1 `FULL` | an item for the consumer with this position |
//! | 2 `AWAITED_ITEM` | that consumer waits |

use super::item::ItemSlot;
use super::{BadBound, Counted, ExactQueue, MOST, QueueError, QueueInfo, RawQueue, Side, check_capacity};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Machine, Owned, Wait, WaitResult};
use core::ptr::NonNull;

const LINKING: u64 = 1;
const AWAITED: u64 = 2;
const POSITION: u64 = 4;

const EMPTY: u32 = 0;
const FULL: u32 = 1;
const AWAITED_ITEM: u32 = 2;

/// The capacity of a queue without a bound.
const UNBOUNDED: usize = usize::MAX;

/// A place for an item.
struct Place<M: Machine, T: Send + 'static> {
    state: M::Atomic<u32>,
    item: ItemSlot<M, T>,
}

/// Neighbouring places.
struct Segment<M: Machine, T: Send + 'static, const PLACES: usize> {
    places: [Place<M, T>; PLACES],
    /// Number of places whose items have not been taken out.
    left: M::Atomic<u32>,
    /// The segment behind this one. (The compiler does not take a type that contains a cell of itself.)
    next: M::Atomic<Ptr<()>>,
}

impl<M: Machine, T: Send + 'static, const PLACES: usize> Segment<M, T, PLACES> {
    #[cold]
    fn new() -> Owned<M, Self> {
        const { assert!(PLACES.is_power_of_two() && PLACES <= 1 << 16) };
        Owned::new(Segment {
            places: core::array::from_fn(|_| Place { state: M::Atomic::new(EMPTY), item: ItemSlot::empty() }),
            left: M::Atomic::new(PLACES as u32),
            next: M::Atomic::new(Ptr::NULL),
        })
    }
}

/// One side, alone in its pair of cache lines.
#[repr(C, align(128))]
struct End<M: Machine, T: Send + 'static, const PLACES: usize, const TRIES: u32> {
    at: M::Atomic<u64>,
    /// How far a thread of this side saw the other side, in positions: the other side has come this far at
    /// least. While that is enough, no thread of this side reads the other side's line.
    other: M::Atomic<u64>,
    segment: M::Atomic<Ptr<Segment<M, T, PLACES>>>,
}

impl<M: Machine, T: Send + 'static, const PLACES: usize, const TRIES: u32> End<M, T, PLACES, TRIES> {
    /// Whether `at` is the last position of its segment.
    fn is_last(at: u64) -> bool {
        (at / POSITION) as usize % PLACES == PLACES - 1
    }

    /// Claims position `at`, whose word the caller has read. Returns its segment, or the word as it is
    /// now.
    fn claim(&self, at: u64) -> Result<*mut Segment<M, T, PLACES>, u64> {
        // Relaxed: the read of the word, with acquire, saw the last change of the pointer. A later one
        // comes after the exchange, which then fails.
        let segment = self.segment.load(Relaxed).0;
        let linking = if Self::is_last(at) { LINKING } else { 0 };
        // Release: the load of the pointer comes before the changes of it by the thread that claims the
        // segment's last position. Acquire on success: that thread comes after those loads. C11: without
        // either a load could read a later store, an execution that loom does not have. Acquire on
        // failure: see the pointer.
        match self.at.compare_exchange_weak(at, at + POSITION + linking, AcqRel, Acquire) {
            Ok(_) => Ok(segment),
            Err(now) => Err(now),
        }
    }

    /// Moves this side to the next segment, after the claim of the position before `next`.
    #[cold]
    fn link(&self, segment: *mut Segment<M, T, PLACES>, next: u64) {
        // Relaxed: the swap publishes it.
        self.segment.store(Ptr(segment), Relaxed);
        // Release: see the first load in `claim`.
        if self.at.swap(next, Release) & AWAITED != 0 {
            M::wake::<u64>(&self.at, u32::MAX, Wait::SpinPark(TRIES));
        }
    }

    /// Waits until the side is no longer linking. Returns the word as it is then.
    #[cold]
    fn linked(&self, mut at: u64) -> u64 {
        while at & LINKING != 0 {
            if at & AWAITED == 0
                // Relaxed: only tells the linking thread, whose swap finds the bit or came first.
                && let Err(now) = self.at.compare_exchange(at, at | AWAITED, Relaxed, Acquire)
            {
                at = now;
                continue;
            }
            if let WaitResult::Changed(now) = M::wait_while(&self.at, at | AWAITED, Wait::SpinPark(TRIES), None) {
                at = now;
            }
        }
        at
    }
}

/// A queue of segments with `PLACES` places each, a power of two. A thread that waits for another one in the
/// middle of a call tries `TRIES` times before it sleeps; bits of the words say whether one waits, so that a
/// wake-up costs nothing if none does.
pub struct Segments<M: Machine, T: Send + 'static, const PLACES: usize = 8, const TRIES: u32 = SPIN_TRIES> {
    tail: End<M, T, PLACES, TRIES>,
    head: End<M, T, PLACES, TRIES>,
    /// Most items at a time.
    capacity: usize,
}

/// The queue is full or empty: the word of the other side, and what was seen in it, for waiting until
/// it changes.
struct NotYet<'a, M: Machine> {
    word: &'a M::Atomic<u64>,
    seen: u64,
}

impl<M: Machine, T: Send + 'static, const PLACES: usize, const TRIES: u32> Segments<M, T, PLACES, TRIES> {
    /// Creates an empty queue that takes any number of items.
    pub fn unbounded() -> Self {
        Self::bounded(UNBOUNDED)
    }

    fn bounded(capacity: usize) -> Self {
        let first = Ptr(Segment::new().into_raw());
        let end = || End { at: M::Atomic::new(0), other: M::Atomic::new(0), segment: M::Atomic::new(first) };
        Segments { tail: end(), head: end(), capacity }
    }

    // A call of its own, here and below: inlined into a program's code, it would push out shorter ones.
    #[inline(never)]
    fn put_one(&self, item: T, wait: Wait) -> Result<(), (T, NotYet<'_, M>)> {
        // Acquire: see `claim`.
        let mut at = self.tail.at.load(Acquire);
        let (mut spare, mut lost) = (None, 0);
        let segment = loop {
            if at & LINKING != 0 {
                at = self.tail.linked(at);
            }
            let is_full = |head: u64| (at / POSITION).saturating_sub(head) >= self.capacity as u64;
            // Relaxed, here and below: no place is used on account of it.
            if self.capacity != UNBOUNDED && is_full(self.tail.other.load(Relaxed)) {
                let seen = self.head.at.load(Relaxed);
                if is_full(seen / POSITION) {
                    return Err((item, NotYet { word: &self.head.at, seen }));
                }
                self.tail.other.store(seen / POSITION, Relaxed);
            }
            // Made before the claim: other producers wait from the claim to the link.
            if End::<M, T, PLACES, TRIES>::is_last(at) && spare.is_none() {
                spare = Some(Segment::new());
            }
            match self.tail.claim(at) {
                Ok(segment) => break segment,
                Err(now) => {
                    at = now;
                    M::give_way(lost);
                    lost += 1;
                }
            }
        };
        // SAFETY: this thread has claimed a position of the segment, which lives until the item is out.
        let segment = unsafe { &*segment };
        if End::<M, T, PLACES, TRIES>::is_last(at) {
            let next = spare.take().expect("it was made before the claim").into_raw();
            self.tail.link(next, at + POSITION);
            // Relaxed: the place's state publishes it.
            segment.next.store(Ptr(next.cast()), Relaxed);
        }
        let place = &segment.places[(at / POSITION) as usize % PLACES];
        let state: *const M::Atomic<u32> = &place.state;
        // SAFETY: only this thread has the position, whose place is new.
        unsafe { place.item.put(item) };
        // Release: the consumer sees the item, and frees the segment after this thread's last access.
        if place.state.swap(FULL, Release) == AWAITED_ITEM {
            Self::wake_consumer(state);
        }
        M::wake::<u64>(&self.tail.at, u32::MAX, wait);
        Ok(())
    }

    #[inline(never)]
    fn take_one(&self, wait: Wait) -> Result<T, NotYet<'_, M>> {
        // Acquire: see `claim`.
        let mut at = self.head.at.load(Acquire);
        let mut lost = 0;
        let segment = loop {
            if at & LINKING != 0 {
                at = self.head.linked(at);
            }
            // Relaxed, here and below: no place is used on account of it.
            if self.head.other.load(Relaxed) <= at / POSITION {
                // The word is no older than the one that the thread saw which claimed the position before
                // `at`, so it is not behind the head.
                let seen = self.tail.at.load(Relaxed);
                if seen / POSITION <= at / POSITION {
                    return Err(NotYet { word: &self.tail.at, seen });
                }
                self.head.other.store(seen / POSITION, Relaxed);
            }
            match self.head.claim(at) {
                Ok(segment) => break segment,
                Err(now) => {
                    at = now;
                    M::give_way(lost);
                    lost += 1;
                }
            }
        };
        // SAFETY: this thread has claimed a position of the segment, which lives until the item is out.
        let place = unsafe { &(&(*segment).places)[(at / POSITION) as usize % PLACES] };
        // Acquire: see the item.
        if place.state.load(Acquire) != FULL {
            Self::await_item(&place.state);
        }
        // SAFETY: only this thread has the position, and its place holds an item.
        let item = unsafe { place.item.get() };
        if End::<M, T, PLACES, TRIES>::is_last(at) {
            // SAFETY: as above. Relaxed: the producer of this item stored it before the place's state.
            let next = unsafe { &(*segment).next }.load(Relaxed);
            self.head.link(next.0.cast(), at + POSITION);
        }
        M::wake::<u64>(&self.head.at, u32::MAX, wait);
        // SAFETY: as above. Release: accesses of this thread come before the segment is freed. Acquire:
        // and those of all others before this thread frees it.
        if unsafe { &(*segment).left }.fetch_add(u32::MAX, AcqRel) == 1 {
            // SAFETY: all items are out, so no thread will access the segment, to which neither side
            // points any more: the head left it with its last position, and the tail before.
            drop(unsafe { Owned::<M, _>::from_raw(segment) });
        }
        Ok(item)
    }

    #[cold]
    fn wake_consumer(state: *const M::Atomic<u32>) {
        M::wake::<u32>(state, 1, Wait::SpinPark(TRIES));
    }

    /// Waits until the producer of a claimed position has put its item in.
    #[cold]
    fn await_item(state: &M::Atomic<u32>) {
        // Acquire: see the item.
        // Relaxed on success: only tells the producer, whose swap finds it.
        if state.compare_exchange(EMPTY, AWAITED_ITEM, Relaxed, Acquire).is_ok() {
            let _ = M::wait_while(state, AWAITED_ITEM, Wait::SpinPark(TRIES), None);
        }
    }
}

// SAFETY: each side gives out a position once, and only a position that the other side has given out
// before (the head), so that its place gets one item and loses it once. The place's state orders these.
unsafe impl<M: Machine, T: Send + 'static, const PLACES: usize, const TRIES: u32> RawQueue<M>
    for Segments<M, T, PLACES, TRIES>
{
    type Item = T;
    const INFO: QueueInfo = QueueInfo {
        name: "segments",
        what: "a list of segments that are made and freed as the items need; a word for each side",
        source: "Baton; segments as in crossbeam's SegQueue",
        limits: "a thread in the middle of a call delays the one that gets its item, at a segment's end its whole side",
        producers: Side::Multi,
        consumers: Side::Multi,
        bulk: false,
        device: false,
        counted: Counted { instructions: 184.0, accesses: 16 },
        counted_bulk: None,
    };

    fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        check_capacity(capacity)?;
        Ok(Self::bounded(capacity))
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline]
    unsafe fn try_enqueue(&self, item: T, wait: Wait) -> Result<(), T> {
        self.put_one(item, wait).map_err(|(item, _)| item)
    }

    #[inline]
    unsafe fn try_dequeue(&self, wait: Wait) -> Option<T> {
        self.take_one(wait).ok()
    }

    unsafe fn enqueue(&self, mut item: T, wait: Wait) {
        while let Err((back, full)) = self.put_one(item, wait) {
            item = back;
            let _ = M::wait_while(full.word, full.seen, wait, None);
        }
    }

    unsafe fn dequeue(&self, wait: Wait) -> T {
        loop {
            match self.take_one(wait) {
                Ok(item) => return item,
                Err(empty) => {
                    let _ = M::wait_while(empty.word, empty.seen, wait, None);
                }
            }
        }
    }
}

// SAFETY: the bound is compared with the number of positions that are given out, at the exchange.
unsafe impl<M: Machine, T: Send + 'static, const PLACES: usize, const TRIES: u32> ExactQueue<M>
    for Segments<M, T, PLACES, TRIES>
{
    // The exchange in `claim`.
    const EXCHANGES: bool = true;

    fn exactly(capacity: usize) -> Result<Self, BadBound> {
        if (1..=MOST).contains(&capacity) { Ok(Self::bounded(capacity)) } else { Err(BadBound(capacity)) }
    }

    fn len(&self) -> usize {
        // Relaxed for both: no item is accessed.
        let head = self.head.at.load(Relaxed) / POSITION;
        ((self.tail.at.load(Relaxed) / POSITION).saturating_sub(head) as usize).min(self.capacity)
    }
}

impl<M: Machine, T: Send + 'static, const PLACES: usize, const TRIES: u32> Drop for Segments<M, T, PLACES, TRIES> {
    fn drop(&mut self) {
        // Relaxed, here and below: no thread is in a call any more.
        let (mut at, end) = (self.head.at.load(Relaxed) / POSITION, self.tail.at.load(Relaxed) / POSITION);
        let mut next = self.head.segment.load(Relaxed).0;
        while let Some(segment) = NonNull::new(next) {
            // SAFETY: the segments from the head's to the tail's are alive, and each is freed once, here.
            let segment = unsafe { Owned::<M, _>::from_raw(segment.as_ptr()) };
            for place in &segment.places[at as usize % PLACES..] {
                if at < end && core::mem::needs_drop::<T>() {
                    // SAFETY: the place holds an item: its position is given out to a producer alone.
                    drop(unsafe { place.item.get() });
                }
                at += 1;
            }
            next = segment.next.load(Relaxed).0.cast();
        }
    }
}
