//! The contract of a machine: every operation that an algorithm may use.

use crate::cell::{Atomic, Slot, Word};
use crate::device::Device;
use crate::local::Local;
use crate::notice::{LockNotice, Notice};
use crate::phase::Behaviour;
use crate::queues::flows::Flows;
use crate::queues::{Post, QueueDevice};
use crate::shared::Shared;
use crate::site::Site;
use crate::units;
use crate::wait::{Clock, Deadline, Spinning, Wait, WaitResult};
use core::alloc::Layout;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use std::sync::Arc;

/// What a locking attempt tells the machine about its thread (OCOR, section 4.1): the registers
/// that the network interface reads when it builds a packet for the attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockHint {
    /// Tries left before the thread goes to sleep, including this one (RTR in OCOR's paper).
    pub retries_left: u32,
    /// Critical sections that the thread has completed (PROG in OCOR's paper).
    pub progress: u32,
}

/// What the thread has done with a lock, for hardware that serves lock holders before others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The thread has taken a lock.
    Entered,
    /// The thread has released a lock.
    Left,
    /// The thread has stopped trying to take a lock.
    GivenUp,
}

/// The destination of pushed cache lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushTo {
    /// The cache level that all cores share.
    SharedLevel,
    /// The private caches of this core. A machine that cannot push there treats this as
    /// [`PushTo::SharedLevel`], or does nothing.
    Core(units::CoreId),
}

/// The operations of a machine. All are associated functions on the machine that the calling thread
/// runs on, so a lock needs no handle and can implement `lock_api` and `pthread_mutex_t`.
///
/// # Safety
/// An implementation's cells must be atomic among its own guest threads, `alloc` must return memory
/// that is valid and unaliased until `dealloc`, and `local` must return the same storage on every
/// call of a thread and never one that another live thread has. `wait_while` must say that a cell has
/// changed only if it has.
pub unsafe trait Machine: Sized + Send + Sync + 'static {
    /// An atomic cell. On `Native` and `Simulated` it has the size and alignment of `T`, and
    /// all-zero bytes are a valid cell that holds the zero value.
    type Atomic<T: Word>: Atomic<T>;

    /// A memory location for plain data that threads hand to each other; a model checker reports
    /// races on it.
    type Slot<T: 'static>: Slot<T>;

    /// A handle of a queue device. Machines that cannot have one use
    /// [`NoDevice`](crate::device::NoDevice), a type without a value, so that code for devices is never
    /// reached.
    type Queues: Device<QueueDevice> + Flows + Send + Sync + 'static;

    /// Short name for messages: `native`, `simulated`, `shuttle`, `loom`, `unwaited`.
    const NAME: &'static str;

    /// Whether [`Machine::hint`] has an effect. If not, algorithms skip the bookkeeping that only
    /// hints need.
    const HINTS: bool = true;

    /// Executes a memory fence.
    fn fence(order: Ordering);

    /// Executes a memory fence with SeqCst in a thread that has done an atomic read-modify-write, as the
    /// last of the accesses that the fence is to order or after them. Machines where such an operation is a
    /// fence itself need none.
    #[inline(always)]
    #[track_caller]
    fn fence_after_exchange() {
        Self::fence(Ordering::SeqCst);
    }

    /// Hints that this thread spins (PAUSE, YIELD), so that the core gives its issue slots to a
    /// sibling for a moment. The thread waits for no event.
    fn relax();

    /// Waits while `cell` holds `value`, by policy `wait`, until `deadline` at the latest.
    ///
    /// Returns [`WaitResult::Changed`] with the last value read, which differs from `value` and was
    /// read with acquire ordering, or [`WaitResult::Expired`]. A thread that is woken and finds the
    /// value unchanged goes on waiting. The thread that changes the cell must call
    /// [`Machine::wake`] afterwards with a policy that parks if waiters may park. At least one read
    /// of the cell comes before any expiry.
    fn wait_while<T: Word>(cell: &Self::Atomic<T>, value: T, wait: Wait, deadline: Option<Deadline>) -> WaitResult<T>;

    /// Lets other threads go first, after the calling thread has lost a race for a word `lost` times
    /// before, so that the word's line stays with one of them for several operations. By default it does
    /// nothing.
    #[inline(always)]
    fn give_way(lost: u32) {
        let _ = lost;
    }

    /// Reports that a wait which an algorithm spins out itself, without [`Machine::wait_while`],
    /// has failed `tries` times. Returns whether the waiter should now sleep anyway, in
    /// `wait_while` with a policy that parks; no waker needs to know about the sleep.
    #[inline(always)]
    fn tried_in_vain(tries: u32, spinning: &mut Spinning) -> bool {
        let _ = (tries, spinning);
        false
    }

    /// Wakes up to `n` threads that may be parked on `cell`; does nothing if `wait` does not park.
    /// Uses only the cell's address, so the cell's memory may already be freed.
    ///
    /// The call orders itself after the store that precedes it (by a full fence where needed), so
    /// that a waiter either sees the store or is woken.
    fn wake<T: Word>(cell: *const Self::Atomic<T>, n: u32, wait: Wait);

    /// [`Machine::wait_while`] of a thread that sleeps in the groups `group`, a mask with at least
    /// one bit, so that [`Machine::wake_in`] can wake one kind of a cell's waiters. A machine that
    /// has no groups lets all waiters sleep alike.
    #[inline(always)]
    fn wait_while_in<T: Word>(
        cell: &Self::Atomic<T>,
        value: T,
        group: u32,
        wait: Wait,
        deadline: Option<Deadline>,
    ) -> WaitResult<T> {
        let _ = group;
        Self::wait_while(cell, value, wait, deadline)
    }

    /// [`Machine::wake`] of up to `n` threads that sleep in a group with a bit of `group`. A machine
    /// that has no groups wakes all threads that sleep on the cell.
    #[inline(always)]
    #[track_caller]
    fn wake_in<T: Word>(cell: *const Self::Atomic<T>, n: u32, group: u32, wait: Wait) {
        let _ = (n, group);
        Self::wake::<T>(cell, u32::MAX, wait);
    }

    /// Returns the time on `clock` in nanoseconds.
    fn now(clock: Clock) -> units::Nanos;

    /// Describes the next locking attempt to the machine. Does nothing on real machines.
    fn hint(hint: LockHint);

    /// Tells the machine that the calling thread has taken or released a lock, or has stopped
    /// trying to take one. Does nothing on real machines.
    #[inline(always)]
    fn section(section: Section) {
        let _ = section;
    }

    /// Whether a checker of races watches the program and must be told what is ordered, by
    /// [`Machine::happens_before`] and [`Machine::happens_after`]. Model checkers see it themselves.
    #[inline(always)]
    fn is_checked_for_races() -> bool {
        false
    }

    /// Tells a checker of races that what the calling thread has done comes before what a thread
    /// does after a later call of [`Machine::happens_after`] with this address. Several threads may
    /// tell it of one address. Does not access the memory there.
    #[inline(always)]
    fn happens_before(at: *const ()) {
        let _ = at;
    }

    /// See [`Machine::happens_before`].
    #[inline(always)]
    fn happens_after(at: *const ()) {
        let _ = at;
    }

    /// Tells the scheduler something about the calling thread. Does nothing where the scheduler
    /// does not listen, as on today's real machines.
    #[inline(always)]
    fn notify(notice: Notice) {
        let _ = notice;
    }

    /// Whether the scheduler listens to [`Machine::notify_lock`]; if not, locks can skip the calls.
    #[inline(always)]
    fn hears_locks() -> bool {
        false
    }

    /// Tells the scheduler what the calling thread does with the lock or barrier at `address`. Does
    /// nothing where the scheduler does not listen.
    #[inline(always)]
    fn notify_lock(notice: LockNotice, address: usize) {
        let _ = (notice, address);
    }

    /// Returns storage of the calling guest thread (never Rust's `thread_local!`, which coroutines
    /// would share).
    fn local() -> &'static Local;

    /// Returns the storage of the calling thread, or `None` if the thread has not used it yet and
    /// the machine can tell. The call takes fewer instructions than [`Machine::local`], because it
    /// sets nothing up.
    #[inline(always)]
    fn used_local() -> Option<&'static Local> {
        Some(Self::local())
    }

    /// Returns storage that all threads of this machine, and only they, share. Every call returns
    /// the same reference.
    fn shared() -> &'static Shared<Self::Atomic<usize>>;

    /// [`Machine::alloc`] for memory that is never freed and lives as long as the machine.
    fn keep(layout: Layout) -> NonNull<u8> {
        Self::alloc(layout)
    }

    /// Declares that from now on only the calling thread polls `cell` (`polls`), or that it has
    /// stopped polling. Does nothing on the real machine; machines that check report an error if a
    /// second thread polls. Uses only the cell's address.
    #[inline(always)]
    fn polls_alone<T: Word>(cell: *const Self::Atomic<T>, polls: bool) {
        let _ = (cell, polls);
    }

    /// Returns the NUMA node that the calling thread runs on. This is a hint: the thread may have
    /// moved when the call returns. The number is less than [`Machine::nodes`], except for a node
    /// that was added to a running machine.
    fn node() -> u32;

    /// Returns the number of NUMA node numbers, at least 1. The value never changes.
    fn nodes() -> u32;

    /// Returns where the calling thread runs, a hint like [`Machine::node`]. A machine that knows
    /// only nodes reports one core in each.
    fn site() -> Site {
        Site { node: Self::node(), ..Site::default() }
    }

    /// Allocates zeroed memory of this machine, with the layout that it has on the host.
    fn alloc(layout: Layout) -> NonNull<u8>;

    /// Frees memory that [`Machine::alloc`] returned.
    ///
    /// # Safety
    /// `memory` came from `alloc` with the same layout, and no thread uses it any more.
    unsafe fn dealloc(memory: NonNull<u8>, layout: Layout);

    /// Computes for `cycles` without touching memory.
    fn work(cycles: units::Cycles);

    /// Computes `instructions` instructions with the given behaviour, if the machine can simulate
    /// that. Returns whether it did; if not, the caller computes and accesses memory itself.
    fn phase(behaviour: &Arc<Behaviour>, instructions: u64) -> bool {
        let _ = (behaviour, instructions);
        false
    }

    /// Reads (or writes) each cache line of the `bytes` bytes at `start`, like a guest that walks
    /// over its data. On `Native` a write stores the byte that it read, so the range must belong to
    /// the caller.
    ///
    /// # Safety
    /// The range is live guest memory, and with `write` no other thread accesses it during the
    /// call.
    unsafe fn touch(start: *mut u8, bytes: usize, write: bool);

    /// Reads `places` like a guest that walks over an array by an index: in any order, where no
    /// read depends on another's value, with `instructions` instructions for each read. On `Native`
    /// the caller executes these instructions itself.
    ///
    /// # Safety
    /// Each place is live guest memory. During the call other threads write it only through atomic
    /// cells.
    unsafe fn touch_each<T>(places: impl IntoIterator<Item = *const T>, instructions: u32);

    /// Hints that the lines of the `bytes` bytes at `start` will be read, or written if `write`. No
    /// thread waits for the lines. Any address is allowed; memory that is not mapped is not
    /// fetched.
    fn prefetch(start: *const u8, bytes: usize, write: bool);

    /// Hints that this core wrote the lines at `start` and that another core will read them next.
    /// The machine moves them out of this core's private caches, after all earlier stores (CAF's
    /// prepush: Wang and others, 2016).
    fn prepush(start: *const u8, bytes: usize, to: PushTo);

    /// Returns queue device `number`, counted from 0 among the machine's queue devices; `None` if
    /// there is no such device.
    fn queues(number: u32) -> Option<Self::Queues>;

    /// Sends requests to a queue device by stores that no core waits for (such as MOVDIR64B or
    /// Intel's DLB: four requests in one 64-byte store), after all older stores of the thread. The
    /// device writes each answer to memory, where the thread polls for it. Returns whether the
    /// machine can post; with no requests the call only asks this.
    ///
    /// # Safety
    /// Each answer's cell lives until the device writes it, or until the machine runs no thread any
    /// more.
    unsafe fn post(device: Self::Queues, requests: &[Post<'_, Self::Atomic<u64>>]) -> bool {
        let _ = (device, requests);
        false
    }
}
