//! Tests every lock that accepts a spinning policy after the watch on spins has made waiters sleep.
//! The watch is global, so the test runs in its own process.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the tests stand outside of the algorithms")]

use baton_machine::native::stall::{Clocks, Then, WATCH};
use baton_machine::native::thread::sleeps;
use baton_machine::units::Nanos;
use baton_machine::wait::Spinning;
use baton_machine::{Native, Wait};
use baton_sync::lock::{LOCKS, LockVisitor, RawLock, Waits, ZeroInit, visit};
use std::cell::Cell;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Clocks that a test sets by hand.
#[derive(Default)]
struct Set(Cell<u64>);
impl Clocks for Set {
    fn now(&self) -> Nanos {
        Nanos(self.0.get())
    }
    fn thread(&self) -> Nanos {
        Nanos(self.0.get())
    }
    fn process(&self) -> Nanos {
        Nanos(self.0.get())
    }
}

/// Checks that a waiter under this policy sleeps, and gets the lock although a holder under the
/// same policy wakes no thread.
struct Sleeps(Wait);
impl LockVisitor<Native> for Sleeps {
    type Out = bool;
    fn visit<L: RawLock<Native> + ZeroInit>(self) -> bool {
        let (lock, number) = (L::new(), AtomicI32::new(0));
        let (lock, number, wait) = (&lock, &number, self.0);
        let token = lock.lock(wait);
        std::thread::scope(|s| {
            let waiter = s.spawn(move || {
                let before = sleeps();
                // SAFETY: gettid takes no argument.
                number.store(unsafe { libc::gettid() }, Ordering::Relaxed);
                let token = lock.lock(wait);
                // SAFETY: this thread holds the lock.
                unsafe { lock.unlock(token, wait) };
                sleeps() != before
            });
            let start = Instant::now();
            // A waiter that never sleeps must fail the test instead of hanging it.
            while !is_asleep(number.load(Ordering::Relaxed)) && start.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
            // SAFETY: this thread holds the lock.
            unsafe { lock.unlock(token, wait) };
            waiter.join().unwrap()
        })
    }
}

/// Whether the kernel reports that the thread sleeps.
fn is_asleep(number: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{number}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

#[test]
fn waiters_that_only_spin_sleep_once_the_program_stood_still() {
    let (clocks, mut spinning) = (Set::default(), Spinning::default());
    WATCH.start(&clocks, Then::Sleep, |_| {});
    assert!(!WATCH.look(&mut spinning, &clocks));
    clocks.0.set(1_000_000_000);
    assert!(WATCH.look(&mut spinning, &clocks));
    for lock in LOCKS.iter().filter(|lock| lock.waits == Waits::Any) {
        for wait in [Wait::Spin, Wait::Pause] {
            assert!(visit(lock.name, Sleeps(wait)).unwrap(), "{} under {wait}", lock.name);
        }
    }
}
