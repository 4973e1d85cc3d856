//! What an algorithm may ask of the machine that it runs on.
//!
//! A lock, barrier, event or queue is written once, generic over [`Machine`], and runs on three of them:
//! [`Native`] (the real atomics and wait instructions), `Simulated` (crate `chip`: every operation is a
//! memory transaction of a modelled many-core) and `Checked` (crate `check`: shuttle and loom).
//!
//! | room | holds |
//! | --- | --- |
//! | [`Machine`] | the verbs |
//! | [`cell`] | what can stand in an atomic cell, and the cell's and slot's contracts |
//! | [`wait`] | wait policies, deadlines |
//! | [`device`] | devices, for machines that have some: an extension of [`Machine`] |
//! | [`queues`] | the protocol of CAF's queue device |
//! | [`notice`] | what a thread says of itself to the scheduler |
//! | [`phase`] | computations said by their figures, for machines that can play them |
//! | [`local`] | storage of a guest thread |
//! | [`shared`] | storage that all threads of one machine share |
//! | [`memory`] | guest memory: [`Owned`] values with the layout they have on the host |
//! | [`native`] | the machine that this program runs on |
//! | [`Unwaited`] | a machine whose waits are over at once, for counting |
//! | [`discover`] | what the processor and the kernel say of that machine |

#![warn(missing_docs)]

pub mod cell;
mod counted;
pub mod device;
pub mod discover;
pub mod local;
pub mod memory;
pub mod native;
pub mod notice;
pub mod phase;
pub mod queues;
pub mod shared;
mod site;
mod unwaited;
pub mod wait;

pub use cell::{Atomic, Slot, Word};
pub use core::sync::atomic::Ordering;
pub use counted::{Counted, CountedBulk};
pub use local::Local;
pub use memory::{Owned, OwnedSlice};
pub use native::Native;
pub use notice::{LockNotice, Notice};
pub use phase::{Behaviour, WorkingSet};
pub use shared::Shared;
pub use site::Site;
pub use unwaited::Unwaited;
pub use wait::{Clock, Deadline, Unavailable, Wait, WaitResult};

use crate::queues::Post;
use core::alloc::Layout;
use core::ptr::NonNull;
use std::sync::Arc;

/// What a locking attempt tells the machine about its thread (OCOR, section 4.1): the registers that the
/// network interface reads when it makes a packet of the attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockHint {
    /// Tries left before the thread goes to sleep, this one included (the paper's RTR).
    pub retries_left: u32,
    /// Critical sections that the thread has completed (the paper's PROG).
    pub progress: u32,
}

/// What a lock tells the machine about its thread beside hints, for hardware that serves holders before others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The thread has taken a lock.
    Entered,
    /// It has released one.
    Left,
    /// It has tried to take one, and tries no more.
    GivenUp,
}

/// Where pushed lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushTo {
    /// The level that all cores share.
    SharedLevel,
    /// The private caches of that core. A machine that cannot do this takes it as [`PushTo::SharedLevel`], or does nothing.
    Core(units::CoreId),
}

/// The verbs. All are associated functions: the machine is the one that the calling thread runs on, so
/// that a lock needs no handle to it and can stand behind `lock_api` and `pthread_mutex_t`.
///
/// # Safety
/// An implementation's cells must be atomic among its own guest threads, `alloc` must return memory that is
/// valid and unaliased until `dealloc`, and `local` must return the same storage on every call of a thread
/// and never one that another live thread has.
pub unsafe trait Machine: Sized + Send + Sync + 'static {
    /// An atomic cell. On `Native` and `Simulated` it has the size and alignment of `T`, and all-zero bytes
    /// are a valid cell that holds the zero value.
    type Atomic<T: Word>: Atomic<T>;

    /// A place for plain data that threads hand to each other; the checker reports a race on it.
    type Slot<T: 'static>: Slot<T>;

    /// A queue device of the machine. Where there can be none it is a type without a value,
    /// [`NoDevice`](device::NoDevice), and what is compiled for a device is never reached.
    type Queues: device::Device<queues::QueueDevice> + Send + Sync + 'static;

    /// A short name for messages: `native`, `simulated`, `shuttle`, `loom`.
    const NAME: &'static str;

    /// Whether [`Machine::hint`] does anything: where it does not, algorithms skip keeping what only a hint needs.
    const HINTS: bool = true;

    /// A fence.
    fn fence(order: Ordering);

    /// A hint that this thread spins (PAUSE, YIELD): gives issue slots to a sibling, asks for no event.
    fn relax();

    /// Waits while `cell` holds `value`, as `wait` says, at the latest until `deadline`.
    ///
    /// Returns [`WaitResult::Changed`] with the last value read, which differs from `value` and was read with
    /// acquire ordering, or [`WaitResult::Expired`]. Wake-ups that find the value unchanged wait on. The thread that
    /// changes the cell must call [`Machine::wake`] afterwards with a policy that parks if waiters may park.
    /// At least one read of the cell comes before any expiry.
    fn wait_while<T: Word>(cell: &Self::Atomic<T>, value: T, wait: Wait, deadline: Option<Deadline>) -> WaitResult<T>;

    /// Tells the machine of a wait that an algorithm spins out by itself, with no verb: that so many tries were in vain.
    /// Whether the waiter is to sleep all the same, in [`Machine::wait_while`] with a policy that parks; it need not be woken.
    #[inline(always)]
    fn tried_in_vain(tries: u32, spinning: &mut wait::Spinning) -> bool {
        let _ = (tries, spinning);
        false
    }

    /// Wakes up to `n` threads that may be parked on `cell`; does nothing where `wait` does not park.
    /// The cell itself is not touched, only its address is used: its memory may be gone already.
    ///
    /// It orders itself after the store that came before it (a full fence where one is needed), so that a
    /// waiter either sees the store or is woken.
    fn wake<T: Word>(cell: *const Self::Atomic<T>, n: u32, wait: Wait);

    /// The time on `clock`, in nanoseconds.
    fn now(clock: Clock) -> units::Nanos;

    /// Tells the machine about the next locking attempt. Nothing on real machines.
    fn hint(hint: LockHint);

    /// Tells the machine that the calling thread holds a lock from now on, or one less. Nothing on real machines.
    #[inline(always)]
    fn section(section: Section) {
        let _ = section;
    }

    /// Says something of the calling thread to the scheduler. Nothing where none listens, as on the real machine today.
    #[inline(always)]
    fn notify(notice: Notice) {
        let _ = notice;
    }

    /// Whether the scheduler listens to [`Machine::notify_lock`]: where none does, locks need not say anything.
    #[inline(always)]
    fn hears_locks() -> bool {
        false
    }

    /// Says to the scheduler what the calling thread has to do with a lock or a barrier, which is known by its address. Nothing where
    /// none listens.
    #[inline(always)]
    fn notify_lock(notice: LockNotice, address: usize) {
        let _ = (notice, address);
    }

    /// Storage of the calling guest thread (never Rust's `thread_local!`: coroutines share it).
    fn local() -> &'static Local;

    /// Storage that all threads of this machine share, and no thread of another machine: the same on every call.
    fn shared() -> &'static Shared<Self::Atomic<usize>>;

    /// As [`Machine::alloc`], for what lives as long as the machine and is never given back.
    fn keep(layout: Layout) -> NonNull<u8> {
        Self::alloc(layout)
    }

    /// Says that the calling thread polls `cell` and that no other thread does, or that it polls it no more. Nothing on the real
    /// machine; machines that check stop with an error where a second thread polls. Only the cell's address is used.
    #[inline(always)]
    fn polls_alone<T: Word>(cell: *const Self::Atomic<T>, polls: bool) {
        let _ = (cell, polls);
    }

    /// The NUMA node that the calling thread runs on, a hint: it may have moved when this returns. Less than
    /// [`Machine::nodes`], except at a node that was added to a running machine.
    fn node() -> u32;

    /// How many numbers of NUMA nodes there are, at least one. It stays the same.
    fn nodes() -> u32;

    /// Where the calling thread runs, a hint as [`Machine::node`] is. A machine that knows of nodes only has one core in each.
    fn site() -> Site {
        Site { node: Self::node(), ..Site::default() }
    }

    /// Memory of this machine, zeroed, with the layout that it has on the host.
    fn alloc(layout: Layout) -> NonNull<u8>;

    /// Gives back what [`Machine::alloc`] returned.
    ///
    /// # Safety
    /// `memory` came from `alloc` with the same layout and no thread uses it any more.
    unsafe fn dealloc(memory: NonNull<u8>, layout: Layout);

    /// Computes for `cycles` without touching memory.
    fn work(cycles: units::Cycles);

    /// Computes for so many instructions of that behaviour, if the machine knows what that takes; whether it did. If not, the
    /// caller computes and accesses memory itself.
    fn phase(behaviour: &Arc<Behaviour>, instructions: u64) -> bool {
        let _ = (behaviour, instructions);
        false
    }

    /// Reads (or writes) each cache line of `bytes` bytes at `start`, as a guest that walks over its data.
    /// On `Native` a write stores back the byte that it read, so the range must be the caller's.
    ///
    /// # Safety
    /// The range is guest memory that is alive, and with `write` no other thread accesses it meanwhile.
    unsafe fn touch(start: *mut u8, bytes: usize, write: bool);

    /// Reads these places, in any order and none waiting for what another one holds, with so many instructions to each, as a guest that
    /// walks over an array by an index. On `Native` the instructions are the caller's.
    ///
    /// # Safety
    /// Each place is guest memory that is alive, and no thread writes it meanwhile but through an atomic cell.
    unsafe fn touch_each<T>(places: impl IntoIterator<Item = *const T>, instructions: u32);

    /// A hint: the lines of `bytes` bytes at `start` will be read, or, with `write`, written. No thread waits for them.
    /// Any address will do; memory that is not there is not fetched.
    fn prefetch(start: *const u8, bytes: usize, write: bool);

    /// A hint: these lines were written and will be read elsewhere next, so they leave this core's private caches, after
    /// the stores that came before (CAF's prepush: Wang and others, 2016).
    fn prepush(start: *const u8, bytes: usize, to: PushTo);

    /// The queue device of that number among the machine's queue devices, from 0; `None`: it has not so many.
    fn queues(number: u32) -> Option<Self::Queues>;

    /// Sends requests to a queue device by stores that no core waits for, as processors of today can (64 bytes in one store, as
    /// MOVDIR64B and Intel's DLB have it: four requests), behind all older stores of the thread. The device writes its answers to
    /// memory, where the thread looks for them. Whether the machine can: without requests that is all that is asked.
    ///
    /// # Safety
    /// Each answer's cell lives until it is written, or until no thread of the machine runs any more.
    unsafe fn post(device: Self::Queues, requests: &[Post<'_, Self::Atomic<u64>>]) -> bool {
        let _ = (device, requests);
        false
    }
}

pub use baton_units as units;
