//! The futex protocol in memory, for any machine.
//!
//! A bucket has a lock, which is taken in order of arrival, and a queue of nodes, one for each
//! thread, linked by their numbers. A waiter announces itself in its cell's counter, takes the
//! bucket's lock, and reads the cell again. If the cell has not changed, it puts its node behind
//! the others, gives the lock back, and sleeps until its node says that it was taken out. A waker
//! changes the cell, executes a fence, and reads the counter. If a sleeper is announced, it takes
//! the bucket's lock, takes nodes of its cell out in their order, gives the lock back, and then
//! rouses the threads. Linux does the same (`kernel/futex`): it marks nodes under the lock, and
//! rouses their threads after it.
//!
//! **No wake-up is lost.** A waiter that has read the old value under the bucket's lock stands in
//! the queue before the lock is free; a waker that has changed the cell comes to the lock after
//! that and finds it, or comes before and the waiter reads the new value. A waker that does not
//! come to the lock has read a counter of zero after its fence, so the waiter's announcement, an
//! atomic too, comes later, and with it its look at the cell. The test
//! `crates/chip/tests/futex/schedules.rs` explores schedules of it.
//!
//! A late rousing may reach a sleeper that has gone on and sleeps anew. The sleeper's node then
//! says that it is still queued, so it sleeps on.

use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, Word};

/// One counter of the sleepers' table.
#[repr(C)]
pub struct Counter<M: Machine> {
    /// The number of threads that sleep on a cell of this counter, or are about to.
    pub sleepers: M::Atomic<u32>,
}

/// A hash bucket: 16 bytes, so that it fits into any line.
#[repr(C)]
pub struct Bucket<M: Machine> {
    tickets: M::Atomic<u32>,
    serving: M::Atomic<u32>,
    /// The first and the last node, by number plus one; 0 for none.
    head: M::Atomic<u32>,
    tail: M::Atomic<u32>,
}

/// A thread's entry in a queue.
#[repr(C)]
pub struct Node<M: Machine> {
    /// The cell, as [`Kernel::key`] represents it.
    key: M::Atomic<u64>,
    /// The next node, by number plus one.
    next: M::Atomic<u32>,
    /// The number of the bucket that holds the node.
    bucket: M::Atomic<u32>,
    /// [`QUEUED`] while the node is in a queue.
    state: M::Atomic<u32>,
}

impl<M: Machine> Counter<M> {
    /// A counter without sleepers.
    pub fn new() -> Self {
        Counter { sleepers: M::Atomic::new(0) }
    }
}

impl<M: Machine> Bucket<M> {
    /// A bucket that is unlocked and empty.
    pub fn new() -> Self {
        let zero = || M::Atomic::new(0);
        Bucket { tickets: zero(), serving: zero(), head: zero(), tail: zero() }
    }
}

impl<M: Machine> Node<M> {
    /// A node that is in no queue.
    pub fn new() -> Self {
        let zero = || M::Atomic::new(0);
        Node { key: M::Atomic::new(0), next: zero(), bucket: zero(), state: zero() }
    }

    /// The state: [`QUEUED`] or [`OUT`].
    pub fn state(&self) -> &M::Atomic<u32> {
        &self.state
    }
}

impl<M: Machine> Default for Counter<M> {
    fn default() -> Self {
        Counter::new()
    }
}

impl<M: Machine> Default for Bucket<M> {
    fn default() -> Self {
        Bucket::new()
    }
}

impl<M: Machine> Default for Node<M> {
    fn default() -> Self {
        Node::new()
    }
}

/// The state of a node in a queue.
pub const QUEUED: u32 = 1;
/// The state of a node that was taken out of a queue, or never was in one.
pub const OUT: u32 = 0;

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// The cell had changed before; the thread did not sleep.
    Changed,
    /// A waker took the thread out of the queue.
    Woken,
    /// The thread gave up before a waker came: at its deadline, or because [`Kernel::block`] said
    /// so for another reason (a signal).
    Expired,
}

/// A part of the kernel's code that has a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The way into the kernel to wait, up to the bucket's lock.
    Wait,
    /// From the queue to the moment when the CPU is free.
    Sleep,
    /// Into the kernel to wake, up to the bucket's lock.
    Wake,
}

/// The kernel that the protocol runs in.
pub trait Kernel {
    /// The machine on which the kernel runs.
    type M: Machine;
    /// The value that stands for a cell in nodes; not 0.
    fn key<T: Word>(&self, cell: *const <Self::M as Machine>::Atomic<T>) -> u64;
    /// The counter of a cell.
    fn counter(&self, key: u64) -> &Counter<Self::M>;
    /// The number of the bucket of a cell.
    fn bucket_of(&self, key: u64) -> u32;
    /// The bucket with this number.
    fn bucket(&self, number: u32) -> &Bucket<Self::M>;
    /// The node with this number.
    fn node(&self, number: u32) -> &Node<Self::M>;
    /// The number of the calling thread's node.
    fn me(&self) -> u32;
    /// Executes the code between two steps.
    fn path(&self, path: Path);
    /// Makes the calling thread non-preemptible (`true`) or preemptible again (`false`).
    fn hold(&self, held: bool);
    /// Sleeps until this thread is roused or the deadline comes. Returns at once if the node's
    /// state is no longer [`QUEUED`], and may return spuriously. The result is whether the thread
    /// must give up: the deadline has come, or a signal has.
    fn block(&self, key: u64, state: &<Self::M as Machine>::Atomic<u32>, deadline: Option<Deadline>) -> bool;
    /// Rouses the thread with this node, which was taken out of this bucket, if the thread sleeps.
    fn unblock(&self, number: u32, bucket: u32);
}

/// How threads wait for a bucket's spin lock.
const SPIN: Wait = Wait::Pause;

fn lock<K: Kernel>(kernel: &K, number: u32) -> &Bucket<K::M> {
    kernel.hold(true);
    let bucket = kernel.bucket(number);
    let mine = bucket.tickets.fetch_add(1, Relaxed);
    // Acquire: see what the previous holder did.
    let mut serving = bucket.serving.load(Acquire);
    while serving != mine {
        serving = match K::M::wait_while(&bucket.serving, serving, SPIN, None) {
            baton_machine::WaitResult::Changed(now) => now,
            baton_machine::WaitResult::Expired => serving,
        };
    }
    bucket
}

fn unlock<K: Kernel>(kernel: &K, bucket: &Bucket<K::M>) {
    // Only the holder writes this word.
    let serving = bucket.serving.load(Relaxed);
    // Release: the next holder sees what was done.
    bucket.serving.store(serving.wrapping_add(1), Release);
    K::M::wake(&raw const bucket.serving, u32::MAX, SPIN);
    kernel.hold(false);
}

/// Appends a node to the queue of a locked bucket.
fn push<K: Kernel>(kernel: &K, bucket: &Bucket<K::M>, number: u32) {
    let last = bucket.tail.load(Relaxed);
    match last {
        0 => bucket.head.store(number + 1, Relaxed),
        last => kernel.node(last - 1).next.store(number + 1, Relaxed),
    }
    bucket.tail.store(number + 1, Relaxed);
}

/// Removes nodes from a locked bucket, in order, if `wants` returns true for them. Stops when
/// `wants` returns `None`.
fn take<K: Kernel>(kernel: &K, bucket: &Bucket<K::M>, mut wants: impl FnMut(u32, u64) -> Option<bool>) -> Vec<u32> {
    let mut taken = Vec::new();
    let (mut before, mut at) = (0, bucket.head.load(Relaxed));
    while at != 0 {
        let node = kernel.node(at - 1);
        let Some(wanted) = wants(at - 1, node.key.load(Relaxed)) else { break };
        let next = node.next.load(Relaxed);
        if wanted {
            match before {
                0 => bucket.head.store(next, Relaxed),
                before => kernel.node(before - 1).next.store(next, Relaxed),
            }
            if next == 0 {
                bucket.tail.store(before, Relaxed);
            }
            taken.push(at - 1);
        } else {
            before = at;
        }
        at = next;
    }
    taken
}

/// Removes up to `n` sleepers of a cell from its locked bucket.
fn take_first<K: Kernel>(kernel: &K, bucket: &Bucket<K::M>, key: u64, n: u32) -> Vec<u32> {
    let mut left = n;
    take(kernel, bucket, |_, other| {
        (left != 0).then(|| {
            let takes = other == key;
            left -= u32::from(takes);
            takes
        })
    })
}

/// Removes up to `n` sleepers of a cell from its locked bucket and marks them.
fn take_sleepers<K: Kernel>(kernel: &K, bucket: &Bucket<K::M>, key: u64, n: u32) -> Vec<u32> {
    let taken = take_first(kernel, bucket, key, n);
    for &number in &taken {
        // Release: the thread that reads the mark may use its node again.
        kernel.node(number).state.store(OUT, Release);
    }
    taken
}

/// Sleeps until woken if the cell holds `value`, at most until `deadline`.
pub fn wait<K: Kernel, T: Word>(
    kernel: &K,
    cell: &<K::M as Machine>::Atomic<T>,
    value: T,
    deadline: Option<Deadline>,
) -> Slept {
    let key = kernel.key(core::ptr::from_ref(cell));
    let counter = kernel.counter(key);
    // SeqCst orders this before the look at the cell, as the waker's fence comes before its look at
    // the counter.
    counter.sleepers.fetch_add(1, SeqCst);
    kernel.path(Path::Wait);
    let number = kernel.bucket_of(key);
    let bucket = lock(kernel, number);
    let slept = if cell.load(SeqCst) != value {
        unlock(kernel, bucket);
        Slept::Changed
    } else {
        let me = kernel.me();
        let node = kernel.node(me);
        node.key.store(key, Relaxed);
        node.next.store(0, Relaxed);
        node.bucket.store(number, Relaxed);
        node.state.store(QUEUED, Relaxed);
        push(kernel, bucket, me);
        unlock(kernel, bucket);
        kernel.path(Path::Sleep);
        sleep(kernel, key, me, deadline)
    };
    counter.sleepers.fetch_add(u32::MAX, Relaxed);
    slept
}

fn sleep<K: Kernel>(kernel: &K, key: u64, me: u32, deadline: Option<Deadline>) -> Slept {
    let node = kernel.node(me);
    loop {
        let expired = kernel.block(key, &node.state, deadline);
        if node.state.load(Acquire) == OUT {
            return Slept::Woken;
        }
        if expired {
            return give_up(kernel, me);
        }
    }
}

/// The thread gives up its sleep: it removes itself from its bucket, unless a waker was faster. The
/// node may have been moved to another bucket in the meantime.
fn give_up<K: Kernel>(kernel: &K, me: u32) -> Slept {
    let node = kernel.node(me);
    loop {
        let number = node.bucket.load(Relaxed);
        let bucket = lock(kernel, number);
        if node.bucket.load(Relaxed) == number {
            let slept = if node.state.load(Relaxed) == OUT {
                Slept::Woken
            } else {
                take(kernel, bucket, |other, _| Some(other == me));
                node.state.store(OUT, Relaxed);
                Slept::Expired
            };
            unlock(kernel, bucket);
            return slept;
        }
        unlock(kernel, bucket);
    }
}

/// Wakes up to `n` sleepers of a cell, the earliest first. Returns how many it woke; `None` if no
/// sleeper is announced, so that it did not enter the kernel. The caller must have changed the cell.
pub fn wake<K: Kernel, T: Word>(kernel: &K, cell: *const <K::M as Machine>::Atomic<T>, n: u32) -> Option<u32> {
    let key = kernel.key(cell);
    // The change of the cell comes before the look at the counter.
    K::M::fence(SeqCst);
    let announced = n != 0 && kernel.counter(key).sleepers.load(Relaxed) != 0;
    announced.then(|| wake_key(kernel, key, n))
}

/// Enters the kernel, and wakes up to `n` sleepers of the cell with this key under its bucket's
/// lock. Returns how many it woke.
fn wake_key<K: Kernel>(kernel: &K, key: u64, n: u32) -> u32 {
    kernel.path(Path::Wake);
    let here = kernel.bucket_of(key);
    let bucket = lock(kernel, here);
    let taken = take_sleepers(kernel, bucket, key, n);
    unlock(kernel, bucket);
    taken.iter().for_each(|&number| kernel.unblock(number, here));
    taken.len() as u32
}

/// If the cell holds `value`, wakes up to `n` of its sleepers and moves up to `more` others behind
/// those of `to`, without waking them (FUTEX_CMP_REQUEUE). Returns how many were woken and how many
/// were moved; `None` if the cell has changed.
///
/// A sleeper that was moved counts at its first cell's counter until it resumes. A thread that
/// wakes others at `to` must therefore not rely on the counter there, and [`wake_moved`] does not.
pub fn requeue<K: Kernel, T: Word>(
    kernel: &K,
    from: &<K::M as Machine>::Atomic<T>,
    value: T,
    to: *const <K::M as Machine>::Atomic<T>,
    n: u32,
    more: u32,
) -> Option<(u32, u32)> {
    let (key, other) = (kernel.key(core::ptr::from_ref(from)), kernel.key(to));
    let (here, there) = (kernel.bucket_of(key), kernel.bucket_of(other));
    kernel.path(Path::Wake);
    // Buckets are locked in the order of their numbers, so that two requeues cannot deadlock.
    let first = lock(kernel, here.min(there));
    let second = (here != there).then(|| lock(kernel, here.max(there)));
    let (source, target) = (kernel.bucket(here), kernel.bucket(there));
    let mut woken = None;
    if from.load(SeqCst) == value {
        let taken = take_sleepers(kernel, source, key, n);
        let moved = take_first(kernel, source, key, more);
        for &number in &moved {
            let node = kernel.node(number);
            node.key.store(other, Relaxed);
            node.next.store(0, Relaxed);
            node.bucket.store(there, Relaxed);
            push(kernel, target, number);
        }
        woken = Some((taken, moved.len() as u32));
    }
    if let Some(second) = second {
        unlock(kernel, second);
    }
    unlock(kernel, first);
    let (taken, moved) = woken?;
    taken.iter().for_each(|&number| kernel.unblock(number, here));
    Some((taken.len() as u32, moved))
}

/// Like [`wake`], but always takes the bucket's lock: for a cell to which sleepers were moved, and
/// for each wake-up in Linux before 3.14.
pub fn wake_moved<K: Kernel, T: Word>(kernel: &K, cell: *const <K::M as Machine>::Atomic<T>, n: u32) -> u32 {
    let key = kernel.key(cell);
    K::M::fence(SeqCst);
    wake_key(kernel, key, n)
}
