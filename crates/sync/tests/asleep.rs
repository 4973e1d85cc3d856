//! Every lock that can be told to spin, when the watch on spins has put waiters to sleep: in a process of its own.

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

/// Clocks that a test sets.
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

/// Whether a waiter that goes by this policy sleeps, and is let in by a holder that goes by it, too: it wakes no thread.
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
                // SAFETY: takes no argument.
                number.store(unsafe { libc::gettid() }, Ordering::Relaxed);
                let token = lock.lock(wait);
                // SAFETY: this thread holds the lock.
                unsafe { lock.unlock(token, wait) };
                sleeps() != before
            });
            let start = Instant::now();
            // A waiter that never sleeps fails the test, and does not stop it.
            while !is_asleep(number.load(Ordering::Relaxed)) && start.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
            // SAFETY: this thread holds the lock.
            unsafe { lock.unlock(token, wait) };
            waiter.join().unwrap()
        })
    }
}

/// Whether the kernel says that the thread sleeps.
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
