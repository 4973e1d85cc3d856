//! Queues of `baton-sync`, which find the function here by its name while the program is recorded
//! (the feature `record` of that crate). The library's own futex calls inside of a wait are not
//! recorded: the wait is.

use super::futexes::recorded_thread;
use super::post::tidy_up;
use super::session::SESSION;
use super::sites::{contended, origin};
use super::told;
use crate::base::errno;
use crate::thread::Thread;
use baton_trace::{Address, Stream, Waitable, What, clock};
use core::sync::atomic::Ordering::Relaxed;

/// What a program says of a queue. `baton-sync` (`recorder`) has the same numbers.
pub mod act {
    /// The queue was made; the number is its capacity, or 0.
    pub const MADE: u32 = 0;
    /// The queue is about to end.
    pub const ENDS: u32 = 1;
    /// The thread is about to close the queue.
    pub const CLOSES: u32 = 2;
    /// The thread is about to wait for room.
    pub const FULL: u32 = 3;
    /// The thread is about to wait for an item.
    pub const EMPTY: u32 = 4;
    /// The thread has put a number of items in.
    pub const PUT: u32 = 5;
    /// The thread has taken a number of items out.
    pub const TAKEN: u32 = 6;
    /// The thread waits no longer. It gave up, unless it has moved an item since.
    pub const GOES_ON: u32 = 7;
    /// The thread waits no longer: there is room, or an item, which it moves later.
    pub const GOT: u32 = 8;
}

/// Whether the thread waits at a queue or lock of `baton-sync`, or is in a call of Baton's C library:
/// its futex calls belong to that wait or call.
pub fn is_inside(thread: &Thread) -> bool {
    thread.library.inside.load(Relaxed) != 0 || thread.library.calls.load(Relaxed)
}

/// Whether a wake-up at `futex` belongs to the release of a lock that the thread has told last.
pub fn is_release(thread: &Thread, futex: usize) -> bool {
    thread.library.leaves.load(Relaxed) == futex
}

/// Records, once for each queue without a call that makes it, its `capacity`.
pub fn met(queue: usize, capacity: impl FnOnce() -> usize, at: usize) {
    if recorded_thread().is_some() && told::QUEUES.is_first(queue as Address) {
        tell(act::MADE, queue, capacity() as u64, at);
    }
}

/// Forgets a queue that [`met`] knows, as its memory may become another one. Returns whether it was known.
pub fn forgets(queue: usize) -> bool {
    recorded_thread().is_some() && told::QUEUES.forget(queue as Address)
}

/// Records an act at a queue. The call site is the return address.
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[cfg_attr(test, allow(dead_code))]
pub unsafe extern "C" fn baton_preload_queue(_act: u32, _queue: usize, _number: u64) {
    core::arch::naked_asm!("mov rcx, qword ptr [rsp]", "jmp {tell}", tell = sym tell);
}

/// Records an act at a queue between processes, which has the number `_id` in each of them. The call site is
/// the return address.
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[cfg_attr(test, allow(dead_code))]
pub unsafe extern "C" fn baton_preload_process_queue(_act: u32, _id: u64, _number: u64) {
    core::arch::naked_asm!("mov rcx, qword ptr [rsp]", "jmp {tell}", tell = sym tell_between);
}

extern "C" fn tell_between(act: u32, id: u64, number: u64, at: usize) {
    tell(act, between(id), number, at);
}

/// The address by which the trace has a queue between processes. It is even, as [`OUT`] asks.
pub fn between(id: u64) -> usize {
    Stream::Queue.address(id << 1) as usize
}

/// Records an act at the queue at address `queue`, of the call site `at`.
pub extern "C" fn tell(act: u32, queue: usize, number: u64, at: usize) {
    let Some(thread) = recorded_thread() else { return };
    errno::kept(|| match act {
        act::PUT => moved(thread, queue, number, Way::In),
        act::TAKEN => moved(thread, queue, number, Way::Out),
        act::FULL => waits(thread, queue, at, Way::In),
        act::EMPTY => waits(thread, queue, at, Way::Out),
        act::GOES_ON => goes_on(thread, queue, true),
        act::GOT => goes_on(thread, queue, false),
        _ => lives(thread, act, queue, number, at),
    });
}

/// The direction of an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// The bit of `Thread::library` that tells a wait for an item from one for room. A queue is aligned,
/// so that its address does not have this bit.
const OUT: usize = 1;

impl Way {
    fn mark(self, queue: usize) -> usize {
        queue | if self == Way::Out { OUT } else { 0 }
    }

    fn waited(self, queue: usize, gave_up: bool) -> What {
        let queue = queue as Address;
        match self {
            Way::In => What::PutWaited { queue, gave_up },
            Way::Out => What::TakeWaited { queue, gave_up },
        }
    }
}

/// Records that the thread begins to wait. The upkeep of the recording is done before.
#[cold]
fn waits(thread: &Thread, queue: usize, at: usize, way: Way) {
    if thread.holds.is_free() && (thread.pen.is_due() || thread.switches.is_due()) {
        tidy_up(thread);
    }
    let (site, address) = (contended(thread, at), queue as Address);
    thread.library.inside.store(way.mark(queue), Relaxed);
    let what = match way {
        Way::In => What::PutWait { queue: address, site },
        Way::Out => What::TakeWait { queue: address, site },
    };
    thread.pen.post(&SESSION, what);
}

/// Records that items have gone into a queue or out of it, and the end of the wait before. The two
/// events have one time, so that no other thread's event lies between them.
#[inline]
fn moved(thread: &Thread, queue: usize, number: u64, way: Way) {
    let what = |items| {
        let queue = queue as Address;
        match way {
            Way::In => What::Put { queue, items },
            Way::Out => What::Take { queue, items },
        }
    };
    let most = u64::from(What::MOST_ITEMS);
    let mut left = number;
    if thread.library.inside.load(Relaxed) == way.mark(queue) {
        thread.library.inside.store(0, Relaxed);
        let (now, _) = clock::now_ordered(SESSION.source());
        thread.pen.post_at(&SESSION, now, way.waited(queue, false));
        thread.pen.post_at(&SESSION, now, what(left.min(most) as u32));
        left = left.saturating_sub(most);
    }
    while left > 0 {
        thread.pen.post_ordered(&SESSION, what(left.min(most) as u32));
        left = left.saturating_sub(most);
    }
}

/// Records that the thread's wait has ended, unless that is recorded already.
fn goes_on(thread: &Thread, queue: usize, gave_up: bool) {
    let way = match thread.library.inside.load(Relaxed) {
        waits if waits == Way::In.mark(queue) => Way::In,
        waits if waits == Way::Out.mark(queue) => Way::Out,
        _ => return,
    };
    thread.library.inside.store(0, Relaxed);
    thread.pen.post_ordered(&SESSION, way.waited(queue, gave_up));
}

/// Records the beginning or end of a queue, or that it closes.
#[cold]
fn lives(thread: &Thread, act: u32, queue: usize, number: u64, at: usize) {
    let (address, sort) = (queue as Address, Waitable::Queue);
    match act {
        act::MADE => {
            // A queue between processes is opened several times.
            if Stream::of(address).is_none() {
                thread.pen.post_ordered(&SESSION, What::Init { sort, address, site: origin(thread, at) });
            }
            let capacity = number.min(u64::from(What::MOST_ITEMS)) as u32;
            thread.pen.post(&SESSION, What::QueueCapacity { queue: address, capacity });
        }
        act::ENDS => thread.pen.post(&SESSION, What::Destroy { sort, address }),
        act::CLOSES => thread.pen.post(&SESSION, What::QueueClose { queue: address, site: contended(thread, at) }),
        _ => {}
    }
}
