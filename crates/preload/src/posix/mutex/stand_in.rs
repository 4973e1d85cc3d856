//! The locks of `sync` that can replace a mutex: for each the type of the lock, and what its
//! waiters can do.

use baton_machine::{Deadline, Native, Wait};
use baton_sync::lock::{Fifo, RawLock, TimedLock, TryLock, ZeroInit};
use core::alloc::Layout;
use core::marker::PhantomData;

/// A lock that replaces a mutex: its type, and what its waiters can do.
pub trait StandIn: 'static {
    /// The lock.
    type Lock: TryLock<Native> + ZeroInit;
    /// Whether a waiter may have a place in a queue, which it must give up itself. The spare lock
    /// serves threads that might leave a wait without doing so.
    const QUEUES: bool;
    /// Whether waiters can give up at a deadline.
    const GIVES_UP: bool;
    /// Whether [`is_free`](StandIn::is_free) can tell by a mere look. A try would not do, because
    /// the thread that asks may be cancelled at any instruction.
    const LOOKS: bool;
    /// Allocates beforehand what [`lock_until`](StandIn::lock_until) needs, so that it allocates
    /// nothing. Returns false if there is no memory.
    fn provide_timed(memory: fn(Layout) -> *mut u8) -> bool {
        Self::Lock::provide(memory)
    }
    /// Takes the lock before the deadline; `None` if the deadline passed first. Called only if
    /// waiters can give up.
    fn lock_until(lock: &Self::Lock, wait: Wait, deadline: Deadline) -> Option<Held<Self>>;
    /// Whether no thread holds the lock or waits for it. Called only for a lock that queues and
    /// lies in the mutex.
    fn is_free(lock: &Self::Lock) -> bool;
}

/// The token that the holder of the lock has.
pub type Held<S> = <<S as StandIn>::Lock as RawLock<Native>>::Token;

/// A lock without a queue, whose waiters can give up at a deadline.
pub struct Timed<L>(PhantomData<fn(L)>);
/// A lock whose waiters stand in a queue, and can leave it at a deadline.
pub struct TimedQueue<L>(PhantomData<fn(L)>);
/// A lock whose waiters stand in a queue and cannot give up. A timed acquisition polls it, and may
/// starve while other threads wait in the queue.
pub struct Queued<L>(PhantomData<fn(L)>);
/// A lock that does not serve in order, and whose waiters cannot give up. Whether it is free cannot
/// be seen by a look, so it lies beside the mutex.
pub struct Polled<L>(PhantomData<fn(L)>);

impl<L: TimedLock<Native> + ZeroInit> StandIn for Timed<L> {
    type Lock = L;
    const QUEUES: bool = false;
    const GIVES_UP: bool = true;
    const LOOKS: bool = true;
    fn lock_until(lock: &L, wait: Wait, deadline: Deadline) -> Option<L::Token> {
        lock.lock_until(wait, deadline)
    }
    fn is_free(_: &L) -> bool {
        unreachable!("it has no queue")
    }
}

impl<L: TimedLock<Native> + Fifo + ZeroInit> StandIn for TimedQueue<L> {
    type Lock = L;
    const QUEUES: bool = true;
    const GIVES_UP: bool = true;
    const LOOKS: bool = true;
    fn provide_timed(memory: fn(Layout) -> *mut u8) -> bool {
        L::provide_timed(memory)
    }
    fn lock_until(lock: &L, wait: Wait, deadline: Deadline) -> Option<L::Token> {
        lock.lock_until(wait, deadline)
    }
    fn is_free(lock: &L) -> bool {
        lock.is_free()
    }
}

impl<L: TryLock<Native> + Fifo + ZeroInit> StandIn for Queued<L> {
    type Lock = L;
    const QUEUES: bool = true;
    const GIVES_UP: bool = false;
    const LOOKS: bool = true;
    fn lock_until(_: &L, _: Wait, _: Deadline) -> Option<L::Token> {
        unreachable!("a timed lock polls")
    }
    fn is_free(lock: &L) -> bool {
        lock.is_free()
    }
}

impl<L: TryLock<Native> + ZeroInit> StandIn for Polled<L> {
    type Lock = L;
    const QUEUES: bool = true;
    const GIVES_UP: bool = false;
    const LOOKS: bool = false;
    fn lock_until(_: &L, _: Wait, _: Deadline) -> Option<L::Token> {
        unreachable!("a timed lock polls")
    }
    fn is_free(_: &L) -> bool {
        unreachable!("it does not lie in the mutex")
    }
}
