//! Finds threads that wait for each other's mutexes, and so wait for ever.
//!
//! With the feature `deadlocks` all mutexes of this crate note the thread that holds them, and a
//! thread that has to wait is entered in a list with a backtrace. [`find`] looks for circles of
//! threads in that list. It reports threads that cannot go on, never an order of locks that could
//! lead there, and no thread that waits with a deadline. It does not look at reader-writer locks,
//! because a guard that may move to another thread does not say which thread will release it.
//!
//! ```no_run
//! std::thread::spawn(|| loop {
//!     std::thread::sleep(std::time::Duration::from_secs(10));
//!     for deadlock in baton_sync::deadlocks::find() {
//!         eprintln!("{deadlock}");
//!     }
//! });
//! ```
//!
//! Why a circle is one: a thread enters itself, with the mutexes that it holds, before it waits, and
//! takes itself from the list before it notes the mutex that it got. So a thread in the list releases
//! nothing, and holds what it has entered. The list does not change during [`find`], so all waits of a
//! circle exist at once.
//!
//! A mutex has the same size with the feature and without: its thread keeps the list of the mutexes
//! that it holds, by their addresses. A guard that is forgotten stays in that list; if its mutex then
//! moves or ends, what is reported about the thread may be wrong.

use super::policy::WaitPolicy;
use super::raw::{Held, Raw};
use crate::lock::{HandOver, RawLock, TimedLock, TryLock, ZeroInit};
use baton_machine::{Deadline, Native};
use core::cell::RefCell;
use core::fmt;
use core::time::Duration;
use lock_api::{RawMutex, RawMutexFair, RawMutexTimed};
use std::backtrace::Backtrace;
use std::sync::{Arc, PoisonError};
use std::thread::ThreadId;

thread_local! {
    /// Addresses of the mutexes that the calling thread holds, the last one taken at the end.
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A thread that waits for a mutex.
struct Entry {
    holds: Vec<usize>,
    blocked: Blocked,
}

#[allow(clippy::disallowed_types, reason = "the list is for the tool that watches the mutexes of this crate")]
static WAITING: std::sync::Mutex<Vec<Entry>> = std::sync::Mutex::new(Vec::new());

/// The calling thread's entry in the list.
struct Waiting(ThreadId);

impl Waiting {
    /// Enters the calling thread. Returns `None` if the thread ends, and has no list any more.
    fn at(mutex: usize) -> Option<Waiting> {
        let current = std::thread::current();
        let blocked = Blocked {
            thread: current.id(),
            name: current.name().map(ToOwned::to_owned),
            mutex,
            backtrace: Arc::new(Backtrace::force_capture()),
        };
        let holds = HELD.try_with(|held| held.borrow().clone()).ok()?;
        WAITING.lock().unwrap_or_else(PoisonError::into_inner).push(Entry { holds, blocked });
        Some(Waiting(current.id()))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|entry| entry.blocked.thread != self.0);
    }
}

/// A lock whose holders note that they hold it.
#[repr(transparent)]
pub struct Tracked<L: RawLock<Native>, W>(Raw<L, W>);

impl<L: TryLock<Native> + ZeroInit, W: WaitPolicy> Tracked<L, W> {
    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    /// Notes that the calling thread has taken the lock. A thread that ends has no list any more, and
    /// then nothing is reported about it.
    fn held<T>(&self, token: T) -> T {
        let _ = HELD.try_with(|held| held.borrow_mut().push(self.address()));
        token
    }

    /// Notes that the calling thread is about to release the lock.
    fn released(&self) {
        let _ = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            if let Some(at) = held.iter().rposition(|&mutex| mutex == self.address()) {
                held.remove(at);
            }
        });
    }
}

// SAFETY: the lock is that of `Raw`.
unsafe impl<L: TryLock<Native> + ZeroInit, W: WaitPolicy> RawMutex for Tracked<L, W> {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make a lock in a constant")]
    const INIT: Self = Tracked(Raw::INIT);

    // It does not move to another thread, so the thread that took the lock releases it.
    type Guard = Held<L::Token>;

    fn lock(&self) -> Self::Guard {
        if let Some(token) = self.try_lock() {
            return token;
        }
        let waiting = Waiting::at(self.address());
        let token = self.0.lock();
        drop(waiting);
        self.held(token)
    }

    fn try_lock(&self) -> Option<Self::Guard> {
        self.0.try_lock().map(|token| self.held(token))
    }

    unsafe fn unlock(&self, guard: Self::Guard) {
        self.released();
        // SAFETY: the caller holds the lock by this token.
        unsafe { self.0.unlock(guard) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: the lock is that of `Raw`.
unsafe impl<L: TryLock<Native> + ZeroInit + HandOver<Native>, W: WaitPolicy> RawMutexFair for Tracked<L, W> {
    unsafe fn unlock_fair(&self, guard: Self::Guard) {
        self.released();
        // SAFETY: the caller holds the lock by this token.
        unsafe { self.0.unlock_fair(guard) };
    }
}

// SAFETY: the lock is that of `Raw`.
unsafe impl<L: TimedLock<Native> + ZeroInit, W: WaitPolicy> RawMutexTimed for Tracked<L, W> {
    type Duration = Duration;
    type Instant = Deadline;

    fn try_lock_for(&self, timeout: Duration) -> Option<Self::Guard> {
        self.0.try_lock_for(timeout).map(|token| self.held(token))
    }

    fn try_lock_until(&self, timeout: Deadline) -> Option<Self::Guard> {
        self.0.try_lock_until(timeout).map(|token| self.held(token))
    }
}

/// A thread that waits for a mutex.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Blocked {
    /// The thread.
    pub thread: ThreadId,
    /// The thread's name, if it has one.
    pub name: Option<String>,
    /// The address by which mutexes can be told apart.
    pub mutex: usize,
    /// Where the thread waits.
    pub backtrace: Arc<Backtrace>,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "thread `{name}`"),
            None => write!(f, "{:?}", self.thread),
        }
    }
}

/// Threads that wait for each other: each one waits for a mutex that the next one holds, and the last
/// one for a mutex that the first one holds. A single thread waits for a mutex that it holds itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Deadlock {
    /// The threads.
    pub threads: Vec<Blocked>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "deadlock of {} thread(s):", self.threads.len())?;
        for (i, blocked) in self.threads.iter().enumerate() {
            let next = &self.threads[(i + 1) % self.threads.len()];
            writeln!(f, "{blocked} waits for the mutex at {:#x}, which {next} holds:", blocked.mutex)?;
            writeln!(f, "{}", blocked.backtrace)?;
        }
        Ok(())
    }
}

/// Returns all deadlocks that there are now.
pub fn find() -> Vec<Deadlock> {
    let waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    // The entry of the thread for which each one waits, if that thread waits too.
    let next = |entry: &Entry| waiting.iter().position(|other| other.holds.contains(&entry.blocked.mutex));
    let next: Vec<_> = waiting.iter().map(next).collect();
    // The round in which an entry was seen first.
    let mut seen = vec![0; next.len()];
    let mut found = Vec::new();
    for round in 1..=next.len() {
        let mut at = round - 1;
        let end = loop {
            if seen[at] != 0 {
                break (seen[at] == round).then_some(at);
            }
            seen[at] = round;
            match next[at] {
                Some(behind) => at = behind,
                None => break None,
            }
        };
        // A walk that came back to an entry of its own has found a circle.
        if let Some(start) = end {
            let circle = std::iter::successors(Some(start), |&at| next[at].filter(|&behind| behind != start));
            found.push(Deadlock { threads: circle.map(|at| waiting[at].blocked.clone()).collect() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "the tests stand outside of the algorithms"
    )]

    use super::super::policy::{Adaptive, Park};
    use super::*;
    use crate::lock::{fair::Fair, plain::Plain};
    use std::collections::BTreeSet;
    use std::sync::{Barrier, Mutex as StdMutex};
    use std::time::Instant;

    type Mutex<T> = lock_api::Mutex<Tracked<Plain<Native>, Adaptive>, T>;

    /// The deadlocks in which a thread has one of these names. Tests run beside each other, and a
    /// deadlock stays until the program ends.
    fn found(names: &[&str]) -> Vec<Deadlock> {
        let named = |blocked: &Blocked| blocked.name.as_deref().is_some_and(|name| names.contains(&name));
        find().into_iter().filter(|deadlock| deadlock.threads.iter().any(named)).collect()
    }

    fn start(name: &str, f: impl FnOnce() + Send + 'static) {
        std::thread::Builder::new().name(name.to_owned()).spawn(f).unwrap();
    }

    /// Waits for a deadlock of threads with exactly these names.
    fn await_deadlock(names: &[&str]) -> Deadlock {
        let begin = Instant::now();
        loop {
            if let [deadlock] = found(names).as_slice() {
                let said: BTreeSet<_> = deadlock.threads.iter().map(|t| t.name.clone().unwrap()).collect();
                assert_eq!(said, names.iter().map(|name| (*name).to_owned()).collect());
                assert_eq!(deadlock.threads.len(), names.len());
                return deadlock.clone();
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "no deadlock is found");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Threads that each hold a mutex, and then wait for that of the next one.
    fn circle(names: &'static [&'static str]) -> Deadlock {
        let mutexes: &'static [Mutex<()>] = Vec::from_iter(names.iter().map(|_| Mutex::new(()))).leak();
        let all_hold: &'static Barrier = Box::leak(Box::new(Barrier::new(names.len())));
        for (i, name) in names.iter().enumerate() {
            start(name, move || {
                let _own = mutexes[i].lock();
                all_hold.wait();
                drop(mutexes[(i + 1) % names.len()].lock());
            });
        }
        await_deadlock(names)
    }

    #[test]
    fn a_mutex_has_the_size_that_it_has_without_the_feature() {
        assert_eq!(size_of::<Mutex<u32>>(), size_of::<lock_api::Mutex<Raw<Plain<Native>>, u32>>());
        assert_eq!(size_of::<Mutex<()>>(), 4);
    }

    /// Only mutexes that are held are noted, in whatever order they are released.
    #[test]
    fn a_thread_notes_what_it_holds() {
        let noted = || HELD.with(|held| held.borrow().clone());
        let mutexes = [(); 3].map(|()| Mutex::new(()));
        let addresses = [0, 1, 2].map(|i| core::ptr::from_ref(&mutexes[i]).addr());
        let [first, second, third] = [0, 1, 2].map(|i| mutexes[i].lock());
        assert_eq!(noted(), addresses);
        drop(second);
        assert_eq!(noted(), [addresses[0], addresses[2]]);
        let second = mutexes[1].try_lock_for(Duration::ZERO);
        drop((third, first, second));
        assert!(noted().is_empty());
    }

    #[test]
    fn two_threads_that_wait_for_each_other() {
        let said = circle(&["abba-1", "abba-2"]).to_string();
        assert!(said.starts_with("deadlock of 2 thread(s):\nthread `abba-"), "{said}");
        assert!(said.contains(", which thread `abba-1` holds:"), "{said}");
    }

    #[test]
    fn three_threads_in_a_circle() {
        circle(&["circle-1", "circle-2", "circle-3"]);
    }

    #[test]
    fn a_thread_that_locks_twice() {
        static LOCK: Mutex<()> = Mutex::new(());
        start("twice", || {
            let _held = LOCK.lock();
            drop(LOCK.lock());
        });
        assert_eq!(await_deadlock(&["twice"]).threads.len(), 1);
    }

    /// A thread that waits behind a deadlock is not part of it.
    #[test]
    fn a_thread_behind_a_deadlock_is_not_reported() {
        static LOCK: Mutex<()> = Mutex::new(());
        let held: &'static Barrier = Box::leak(Box::new(Barrier::new(2)));
        start("in-front", move || {
            let _held = LOCK.lock();
            held.wait();
            drop(LOCK.lock());
        });
        held.wait();
        start("behind", || drop(LOCK.lock()));
        while WAITING.lock().unwrap().iter().filter(|entry| entry.blocked.name.as_deref() == Some("behind")).count()
            == 0
        {
            std::thread::yield_now();
        }
        await_deadlock(&["in-front"]);
        assert!(found(&["behind"]).is_empty());
    }

    /// Locks in both orders under a third one, tries and deadlines: nothing waits for ever, and
    /// nothing is reported at any time.
    #[test]
    fn no_deadlock_is_invented() {
        type Lock = lock_api::Mutex<Tracked<Fair<Native>, Park>, u32>;
        const NAMES: [&str; 4] = ["gate-1", "gate-2", "try-1", "try-2"];
        let gate = &Mutex::new(());
        let locks = &[Lock::new(0), Lock::new(0)];
        let left = &StdMutex::new(NAMES.len());
        std::thread::scope(|s| {
            for (i, name) in NAMES.iter().enumerate() {
                let worker = move || {
                    let [first, second] = [&locks[i % 2], &locks[(i + 1) % 2]];
                    for round in 0..2_000 {
                        if i < 2 {
                            let _gate = gate.lock();
                            let mut one = first.lock();
                            *second.lock() += 1;
                            *one += 1;
                            continue;
                        }
                        let mut one = first.lock();
                        let other = match round % 2 {
                            0 => second.try_lock(),
                            _ => second.try_lock_for(Duration::from_micros(50)),
                        };
                        *one += 1;
                        if let Some(mut other) = other {
                            *other += 1;
                        }
                        lock_api::MutexGuard::unlock_fair(one);
                    }
                    *left.lock().unwrap() -= 1;
                };
                std::thread::Builder::new().name((*name).to_owned()).spawn_scoped(s, worker).unwrap();
            }
            while *left.lock().unwrap() != 0 {
                let found = found(&NAMES);
                assert!(found.is_empty(), "{}", found[0]);
            }
        });
        assert!(locks.iter().all(|lock| *lock.lock() >= 2_000));
        assert!(
            !WAITING.lock().unwrap().iter().any(|entry| NAMES.contains(&entry.blocked.name.as_deref().unwrap_or("")))
        );
    }
}
