//! A lock of `sync` as what stands in for a mutex: its type, and what its waiters can do.

use baton_machine::{Deadline, Native, Wait};
use baton_sync::lock::{Fifo, RawLock, TimedLock, TryLock, ZeroInit};
use core::alloc::Layout;
use core::marker::PhantomData;

/// A lock as a stand-in: its type, and what its waiters can do.
pub trait StandIn: 'static {
    /// The lock.
    type Lock: TryLock<Native> + ZeroInit;
    /// Whether its waiters have places, which they cannot give up without a word. The spare lock serves those who might have to.
    const QUEUES: bool;
    /// Whether its waiters can give up at a deadline.
    const GIVES_UP: bool;
    /// Whether [`is_free`](StandIn::is_free) can tell by a look. A try would not do: who asks may be cancelled at any instruction.
    const LOOKS: bool;
    /// Sees to it that [`lock_until`](StandIn::lock_until) allocates nothing. False: there is no memory.
    fn provide_timed(memory: fn(Layout) -> *mut u8) -> bool {
        Self::Lock::provide(memory)
    }
    /// Takes the lock before the deadline; asked only of one whose waiters can give up.
    fn lock_until(lock: &Self::Lock, wait: Wait, deadline: Deadline) -> Option<Held<Self>>;
    /// Whether no thread holds it or waits for it; asked only of one that queues and lies in the mutex.
    fn is_free(lock: &Self::Lock) -> bool;
}

/// What the holder of a stand-in carries.
pub type Held<S> = <<S as StandIn>::Lock as RawLock<Native>>::Token;

/// A lock whose waiters can give up.
pub struct Timed<L>(PhantomData<fn(L)>);
/// A lock whose waiters stand in a queue, out of which they can go at a deadline.
pub struct TimedQueue<L>(PhantomData<fn(L)>);
/// A lock whose waiters stand in a queue. A timed lock polls, and may starve under those who do wait.
pub struct Queued<L>(PhantomData<fn(L)>);
/// A lock that neither gives up nor serves in order. Whether it is free cannot be seen, so it lies beside the mutex.
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
