//! Tests locks that a program adds to the list of locks. They have a test binary of their own,
//! because no lock can be added after the list was read.

use baton_machine::{Atomic, Machine, Native, Ordering, Wait};
use baton_sync::lock::{
    self, LOCKS, LockInfo, LockVisitor, Posix, RawLock, TryLock, TryVisitor, ZeroInit, added, mcs::Mcs,
};
use std::cell::UnsafeCell;

/// A test-and-set lock.
struct Own<M: Machine>(M::Atomic<u32>);

// SAFETY: one zero word, free when zero.
unsafe impl<M: Machine> ZeroInit for Own<M> {}

// SAFETY: only the thread whose swap found 0 holds the lock; Acquire pairs with the Release of `unlock`.
unsafe impl<M: Machine> RawLock<M> for Own<M> {
    type Token = ();
    const INFO: LockInfo =
        LockInfo { name: "own", fifo: false, c_number: u32::MAX, ..<Mcs<Native> as RawLock<Native>>::INFO };
    fn new() -> Self {
        Own(M::Atomic::new(0))
    }
    fn lock(&self, wait: Wait) {
        while self.0.swap(1, Ordering::Acquire) != 0 {
            let _ = M::wait_while(&self.0, 1, wait, None);
        }
    }
    unsafe fn unlock(&self, (): (), wait: Wait) {
        let cell: *const M::Atomic<u32> = &self.0;
        self.0.store(0, Ordering::Release);
        M::wake::<u32>(cell, 1, wait);
    }
}

// SAFETY: as `lock`.
unsafe impl<M: Machine> TryLock<M> for Own<M> {
    fn try_lock(&self) -> Option<()> {
        (self.0.swap(1, Ordering::Acquire) == 0).then_some(())
    }
}

/// A queue lock, whose token is a node's address, under a name of its own.
struct Queue<M: Machine>(Mcs<M>);

// SAFETY: as `Mcs`.
unsafe impl<M: Machine> ZeroInit for Queue<M> {}

// SAFETY: as `Mcs`.
unsafe impl<M: Machine> RawLock<M> for Queue<M> {
    type Token = <Mcs<M> as RawLock<M>>::Token;
    const INFO: LockInfo = LockInfo { name: "own-queue", posix: Posix::Yes, ..<Mcs<Native> as RawLock<Native>>::INFO };
    fn new() -> Self {
        Queue(Mcs::new())
    }
    fn lock(&self, wait: Wait) -> Self::Token {
        self.0.lock(wait)
    }
    unsafe fn unlock(&self, token: Self::Token, wait: Wait) {
        // SAFETY: the caller holds the lock by `token`.
        unsafe { self.0.unlock(token, wait) }
    }
}

// SAFETY: as `Mcs`.
unsafe impl<M: Machine> TryLock<M> for Queue<M> {
    fn try_lock(&self) -> Option<Self::Token> {
        self.0.try_lock()
    }
}

struct Count(Wait);

struct Counter<L>(L, UnsafeCell<u64>);
// SAFETY: threads access the cell only while they hold the lock.
unsafe impl<L: Sync> Sync for Counter<L> {}

impl LockVisitor<Native> for Count {
    type Out = u64;
    fn visit<L: RawLock<Native> + ZeroInit>(self) -> u64 {
        let shared = Counter(L::new(), UnsafeCell::new(0));
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    let shared = &shared;
                    for _ in 0..2000 {
                        let token = shared.0.lock(self.0);
                        // SAFETY: this thread holds the lock.
                        unsafe {
                            *shared.1.get() += 1;
                            shared.0.unlock(token, self.0);
                        }
                    }
                });
            }
        });
        shared.1.into_inner()
    }
}

struct Tries(Wait);

impl TryVisitor<Native> for Tries {
    type Out = [bool; 3];
    fn visit<L: TryLock<Native> + ZeroInit>(self) -> [bool; 3] {
        let lock = L::new();
        let held = lock.try_lock();
        let again = lock.try_lock().is_some();
        let first = held.is_some();
        if let Some(token) = held {
            // SAFETY: the first try took the lock, which `token` proves.
            unsafe { lock.unlock(token, self.0) };
        }
        [first, again, lock.try_lock().is_some()]
    }
}

#[test]
fn an_added_lock_is_found_by_name_and_locks() {
    added::add(&[added::on::<Native, Own<Native>>()]).unwrap();
    added::add(&[added::on::<Native, Queue<Native>>()]).unwrap();
    let again = added::add(&[added::on::<Native, Own<Native>>()]).unwrap_err().to_string();
    assert_eq!(again, "another lock is named `own`");
    let taken = added::add(&[added::on::<Native, Mcs<Native>>()]).unwrap_err().to_string();
    assert_eq!(taken, "another lock is named `mcs`");

    assert_eq!(lock::locks().len(), LOCKS.len() + 2);
    assert_eq!(lock::info("own").unwrap().name, "own");
    assert!(added::is_added("own") && !added::is_added("mcs"));
    for name in ["own", "own-queue"] {
        for wait in [Wait::Pause, Wait::SpinPark(20)] {
            assert_eq!(lock::visit::<Native, _>(name, Count(wait)), Ok(6000), "{name} {wait}");
            assert_eq!(lock::visit_try::<Native, _>(name, Tries(wait)), Ok([true, false, true]), "{name} {wait}");
        }
    }
    let unknown = lock::visit::<Native, _>("owm", Count(Wait::Pause)).unwrap_err().to_string();
    assert!(unknown.ends_with("futex, plain, fair, own, own-queue"), "{unknown}");
    let elsewhere = lock::visit_try::<Elsewhere, _>("own", Nothing);
    assert!(elsewhere.is_err(), "it was added for another machine");
}

struct Nothing;

/// A machine that is not the native one.
type Elsewhere = baton_machine::Unwaited<Native, Nothing>;

// SAFETY: no object is made on this machine.
unsafe impl baton_machine::Alone for Nothing {}

impl TryVisitor<Elsewhere> for Nothing {
    type Out = ();
    fn visit<L: TryLock<Elsewhere> + ZeroInit>(self) {}
}
