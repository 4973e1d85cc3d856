//! Data that a program's threads share under a lock, with a condition to wait for.
//!
//! A program does not know how its locks are made. [`Kit`] makes them: from a lock and an event of
//! `sync` ([`Locks`]), or from other primitives, as `examples/program.rs` does with pthread mutexes
//! and condition variables.

use baton_machine::{Machine, Slot, Wait};
use baton_sync::event::{Event, RawEvent};
use baton_sync::lock::RawLock;
use baton_workloads::Probe;
use std::marker::PhantomData;

/// Makes monitors: a mutual exclusion with a condition that a thread can wait for inside (Hoare,
/// CACM 1974; woken threads look at their condition anew, as in Mesa). A program numbers its
/// monitors from 0.
///
/// # Safety
/// At most one thread is between `enter` (or the return of `wait`) and `leave` (or the call of
/// `wait`) of a monitor. What that thread wrote there happens before the next thread's `enter` or
/// `wait` returns.
pub unsafe trait Kit<M: Machine>: Clone + Send + Sync + 'static {
    /// The monitor itself, which is put into the machine's memory.
    type Monitor: Send + Sync + 'static;
    /// What a thread carries from entering to leaving.
    type Token: Copy;

    /// Makes a free monitor.
    fn monitor(&self, number: u32) -> Self::Monitor;
    /// Enters the monitor; waits while another thread is inside.
    fn enter(&self, monitor: &Self::Monitor) -> Self::Token;
    /// Leaves the monitor.
    ///
    /// # Safety
    /// The calling thread is inside, by `token`.
    unsafe fn leave(&self, monitor: &Self::Monitor, token: Self::Token);
    /// Leaves the monitor, sleeps until notified (or for no reason), and enters it again.
    ///
    /// # Safety
    /// The condition of [`Kit::leave`].
    unsafe fn wait(&self, monitor: &Self::Monitor, token: Self::Token) -> Self::Token;
    /// Wakes all threads that sleep in [`Kit::wait`] of this monitor.
    fn notify_all(&self, monitor: &Self::Monitor);
    /// Returns the policy by which threads wait for anything but a monitor, such as a barrier.
    fn policy(&self) -> Wait;
}

/// The kit of a lock of `sync` and its event. The probe hears of every acquisition.
pub struct Locks<L, P> {
    /// How threads wait.
    pub wait: Wait,
    /// The probe that hears of every acquisition.
    pub probe: P,
    lock: PhantomData<fn() -> L>,
}

impl<L, P> Locks<L, P> {
    /// A kit of locks that wait by `wait`.
    pub fn new(wait: Wait, probe: P) -> Self {
        Locks { wait, probe, lock: PhantomData }
    }
}

impl<L, P: Clone> Clone for Locks<L, P> {
    fn clone(&self) -> Self {
        Locks::new(self.wait, self.probe.clone())
    }
}

/// A lock and its event, on a pair of cache lines without other data.
#[repr(C, align(128))]
pub struct LockAndEvent<M: Machine, L> {
    lock: L,
    event: Event<M>,
    number: u32,
}

// SAFETY: the lock lets in one thread at a time, and its unlock happens before the next lock
// returns.
unsafe impl<M: Machine, L: RawLock<M>, P: Probe + Sync> Kit<M> for Locks<L, P> {
    type Monitor = LockAndEvent<M, L>;
    type Token = L::Token;

    fn monitor(&self, number: u32) -> Self::Monitor {
        LockAndEvent { lock: L::new(), event: Event::new(), number }
    }

    fn enter(&self, monitor: &Self::Monitor) -> L::Token {
        let requested = self.probe.request(monitor.number);
        let token = monitor.lock.lock(self.wait);
        self.probe.acquired(monitor.number, requested);
        token
    }

    unsafe fn leave(&self, monitor: &Self::Monitor, token: L::Token) {
        self.probe.release(monitor.number);
        // SAFETY: by contract the thread holds the lock by this token.
        unsafe { monitor.lock.unlock(token, self.wait) };
    }

    unsafe fn wait(&self, monitor: &Self::Monitor, token: L::Token) -> L::Token {
        let waiter = monitor.event.prepare(self.wait);
        // SAFETY: by contract the thread holds the lock; it prepared the waiter, and retires it
        // once.
        unsafe {
            self.leave(monitor, token);
            // The reason why the sleep ended does not matter: the condition is looked at anew.
            let _ = monitor.event.sleep(waiter, self.wait, None);
            monitor.event.retire(waiter, self.wait);
        }
        self.enter(monitor)
    }

    fn notify_all(&self, monitor: &Self::Monitor) {
        monitor.event.notify_all(self.wait);
    }

    fn policy(&self) -> Wait {
        self.wait
    }
}

/// Data in a monitor.
#[repr(C, align(128))]
pub(crate) struct Guarded<M: Machine, K: Kit<M>, T: 'static> {
    monitor: K::Monitor,
    data: M::Slot<T>,
}

// SAFETY: the data is accessed in the monitor only, and may go from thread to thread.
unsafe impl<M: Machine, K: Kit<M>, T: Send> Sync for Guarded<M, K, T> {}
// SAFETY: as above.
unsafe impl<M: Machine, K: Kit<M>, T: Send> Send for Guarded<M, K, T> {}

impl<M: Machine, K: Kit<M>, T: Send + 'static> Guarded<M, K, T> {
    pub(crate) fn new(kit: &K, number: u32, data: T) -> Self {
        Guarded { monitor: kit.monitor(number), data: M::Slot::new(data) }
    }

    /// Runs `f` on the data inside the monitor. The call reads and writes all lines of the data.
    pub(crate) fn with<R>(&self, kit: &K, f: impl FnOnce(&mut T) -> R) -> R {
        let token = kit.enter(&self.monitor);
        // SAFETY: inside the monitor no other thread accesses the data, and the thread leaves with
        // the token of its entry.
        unsafe {
            let result = self.data.write(|data| f(&mut *data));
            kit.leave(&self.monitor, token);
            result
        }
    }

    /// Reads the data without entering, when the program has ended.
    ///
    /// # Safety
    /// No thread uses the monitor any more.
    pub(crate) unsafe fn at_end<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        // SAFETY: the caller promises that no thread uses the monitor any more.
        unsafe { self.data.read(|data| f(&*data)) }
    }

    /// Runs `f` inside the monitor until it returns a value; between two runs the thread sleeps
    /// until another thread has changed the data.
    pub(crate) fn when<R>(&self, kit: &K, mut f: impl FnMut(&mut T) -> Option<R>) -> R {
        let mut token = kit.enter(&self.monitor);
        loop {
            // SAFETY: inside the monitor no other thread accesses the data, and the thread leaves
            // or waits with the token of its entry.
            unsafe {
                if let Some(result) = self.data.write(|data| f(&mut *data)) {
                    kit.leave(&self.monitor, token);
                    return result;
                }
                token = kit.wait(&self.monitor, token);
            }
        }
    }

    /// Runs `f` inside the monitor, and wakes all threads that wait, so that they look at the data
    /// again.
    pub(crate) fn change<R>(&self, kit: &K, f: impl FnOnce(&mut T) -> R) -> R {
        let result = self.with(kit, f);
        kit.notify_all(&self.monitor);
        result
    }
}
