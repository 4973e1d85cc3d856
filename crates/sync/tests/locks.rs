//! Every lock of the registry on the real machine, under real threads: mutual exclusion, visibility
//! of the last holder's writes, try and deadline, zeroed memory. (The contract suites of `check` go
//! further; these tests run without it.)

#![allow(clippy::disallowed_types, reason = "the tests stand outside of the algorithms")]

use baton_machine::units::Nanos;
use baton_machine::{Clock, Deadline, Machine, Native, Wait};
use baton_sync::lock::{self, LOCKS, LockInfo, LockVisitor, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

struct Shared<L> {
    lock: L,
    sum: UnsafeCell<u64>,
}
// SAFETY: the sum is accessed only under the lock.
unsafe impl<L: Sync> Sync for Shared<L> {}

/// Returns the policies to try a lock with, and the rounds for each. Spinning threads get few
/// rounds, because the tests may share their CPUs.
fn policies(info: &LockInfo) -> Vec<(Wait, u64)> {
    match info.waits {
        Waits::Fixed(own) => vec![(own, 20_000)],
        Waits::Spinning => vec![(Wait::Pause, 200)],
        Waits::Any => {
            vec![(Wait::Spin, 200), (Wait::Pause, 200), (Wait::Futex, 3_000), (Wait::SpinPark(32), 3_000)]
        }
    }
}

/// Threads add to a sum under the lock, with pauses of varying length, so that all paths are taken.
struct Count {
    wait: Wait,
    rounds: u64,
}

impl LockVisitor<Native> for Count {
    type Out = ();
    fn visit<L: RawLock<Native> + ZeroInit>(self) {
        const THREADS: u64 = 4;
        let shared = Shared { lock: L::new(), sum: UnsafeCell::new(0) };
        std::thread::scope(|s| {
            for t in 0..THREADS {
                let shared = &shared;
                s.spawn(move || {
                    for i in 0..self.rounds {
                        let token = shared.lock.lock(self.wait);
                        // SAFETY: this thread holds the lock by `token`.
                        unsafe {
                            let sum = shared.sum.get();
                            *sum = std::hint::black_box(*sum) + 1;
                            shared.lock.unlock(token, self.wait);
                        }
                        for _ in 0..(i * 7 + t) % 50 {
                            Native::relax();
                        }
                    }
                });
            }
        });
        assert_eq!(shared.sum.into_inner(), THREADS * self.rounds, "{} under {}", L::INFO.name, self.wait);
    }
}

#[test]
fn one_holder_at_a_time_that_sees_what_the_last_one_wrote() {
    for info in LOCKS {
        for (wait, rounds) in policies(info) {
            lock::visit::<Native, _>(info.name, Count { wait, rounds }).unwrap();
        }
    }
}

/// Checks a lock that is zeroed memory.
struct Zeroed(Wait);

impl lock::TryVisitor<Native> for Zeroed {
    type Out = ();
    fn visit<L: TryLock<Native> + ZeroInit>(self) {
        // SAFETY: `ZeroInit` guarantees that zero bytes are a free lock.
        let lock: L = unsafe { std::mem::zeroed() };
        let name = L::INFO.name;
        for _ in 0..3 {
            let token = lock.try_lock().unwrap_or_else(|| panic!("a zeroed {name} is not free"));
            assert!(lock.try_lock().is_none(), "{name} was taken twice");
            assert!(std::thread::scope(|s| s.spawn(|| lock.try_lock().is_none()).join().unwrap()));
            // SAFETY: the lock is held by `token`.
            unsafe { lock.unlock(token, self.0) };
            let token = lock.lock(self.0);
            assert!(lock.try_lock().is_none(), "{name} was taken twice");
            // SAFETY: the lock is held by `token`.
            unsafe { lock.unlock(token, self.0) };
        }
    }
}

#[test]
fn zeroed_memory_is_a_free_lock_and_a_try_tells_held_from_free() {
    for info in LOCKS.iter().filter(|info| info.try_lock) {
        for (wait, _) in policies(info) {
            lock::visit_try::<Native, _>(info.name, Zeroed(wait)).unwrap();
        }
    }
}

fn soon(clock: Clock) -> Deadline {
    Deadline { at: Nanos(Native::now(clock).0 + 5_000_000), clock }
}

/// Gives up waiting, then uses the lock again.
struct Timed(Wait);

impl lock::TimedVisitor<Native> for Timed {
    type Out = ();
    fn visit<L: TimedLock<Native> + ZeroInit>(self) {
        let lock = L::new();
        let name = L::INFO.name;
        for clock in [Clock::Monotonic, Clock::Realtime] {
            let past = Deadline { at: Nanos(1), clock };
            let token = lock.lock_until(self.0, past).expect("a free lock is taken whatever the deadline");
            std::thread::scope(|s| {
                s.spawn(|| {
                    assert!(lock.lock_until(self.0, past).is_none());
                    let deadline = soon(clock);
                    assert!(lock.lock_until(self.0, deadline).is_none(), "{name} was taken twice");
                    assert!(Native::now(clock) >= deadline.at, "{name} gave up early");
                });
            });
            let waits = AtomicBool::new(false);
            std::thread::scope(|s| {
                s.spawn(|| {
                    waits.store(true, Ordering::Release);
                    let later = Deadline { at: Nanos(Native::now(clock).0 + 60_000_000_000), clock };
                    let token = lock.lock_until(self.0, later).expect("the lock is freed long before the deadline");
                    // SAFETY: the lock is held by `token`.
                    unsafe { lock.unlock(token, self.0) };
                });
                while !waits.load(Ordering::Acquire) {
                    Native::relax();
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
                // SAFETY: the lock is held by `token`.
                unsafe { lock.unlock(token, self.0) };
            });
        }
    }
}

#[test]
fn a_deadline_ends_a_wait_and_leaves_no_trace() {
    for info in LOCKS.iter().filter(|info| info.timed) {
        for (wait, _) in policies(info) {
            lock::visit_timed::<Native, _>(info.name, Timed(wait)).unwrap();
        }
    }
}
