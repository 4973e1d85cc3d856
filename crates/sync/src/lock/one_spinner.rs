//! 1spinner: a queue lock in which at most one waiter polls the lock itself. Every other waiter
//! watches a monitor of the thread in front, which changes when that thread *has* the lock. So a
//! waiter is woken one step early, and its wake-up overlaps the critical section before its own. A
//! release is one store, for which the holder need not know which thread comes next.
//!
//! The lock is two tickets (`monitors.rs`); each is an id and the generation of one acquisition.
//! `tail` names the last to arrive, and `head` the last to release. This differs from the paper's
//! form (`one_spinner_paper.rs`), where `head` names the holder:
//!
//! | step | what a thread does |
//! | --- | --- |
//! | arrive | exchanges its ticket with `tail`. If `head` equals the ticket found there, the lock is free, and the thread has it |
//! | phase 1 | waits, by the policy, while the monitor of the ticket in front shows that ticket's generation |
//! | phase 2 | polls `head` until it equals the ticket in front: spins, unless the policy sleeps |
//! | enter | advances its own monitor: the thread behind goes to phase 2 |
//! | release | stores its ticket to `head` |
//! | leave | a thread whose deadline has passed replaces its own ticket in `tail` by the one in front of it. If its ticket is not there, a thread is behind it: its monitor then says that it has left, and which ticket was in front of it |
//!
//! Invariants:
//!
//! 1. The exchanges on `tail` order the acquisitions: each has at most one in front and one behind.
//!    An acquisition that leaves drops out of the order: the thread behind it, or the next to come,
//!    then has its predecessor in front.
//! 2. `head` takes the tickets in that order, each once, when its holder releases. The thread that
//!    finds the ticket in front of its own in `head` comes next; no other thread does, because no
//!    other has that ticket in front. A lock is free if `head` equals `tail`, both zero included.
//!    It asks no monitor, so the fate of the last holder's monitor does not matter.
//! 3. **At most one thread polls `head`.** A thread in phase 2 has seen the one in front of it
//!    enter, and a thread that has entered no longer polls. So if two threads polled, the later one
//!    in the queue would have seen the other enter. (A thread that arrives, or tries, reads `head`
//!    once.) `polls_alone` tells machines that check this.
//! 4. A wait in phase 1 ends: the thread in front advances its monitor when it enters, or shows
//!    that it leaves. A generation returns only after 2^48 acquisitions of one id, more than can
//!    happen during a single read.
//! 5. Tickets are different, so a try may replace the ticket that it read in `tail` by its own, if
//!    `head` equalled that ticket. If the exchange succeeds, `tail` has not changed since, and
//!    neither has `head`: `head` advances from a ticket only to one that came behind and did not
//!    leave, after which `tail` holds that ticket or a later one.
//! 6. **The thread that takes the ticket of an acquisition that has left out of `tail` cleans up
//!    for it**: it has that acquisition's predecessor in front instead, and returns its id. Once
//!    all calls are done, no ticket that has left is in `tail`: a thread that puts a ticket back
//!    checks that ticket's monitor afterwards, and a thread that leaves checks `tail` after its
//!    monitor says so. Both execute a full fence in between, so one of them sees the other.
//!
//! A try advances its monitor before it exchanges `tail`: if the exchange succeeds, the ticket
//! names a holder from the start. If it fails, a generation is skipped.
//!
//! The wake-up of phase 1 comes from the thread in front, after the change of its monitor: that
//! thread holds the lock, or leaves the queue.
//! Phase 2 spins under every policy that keeps the CPU. Under a policy that sleeps, it sleeps by
//! that policy, and the release, after its store, wakes one thread by the lock's address.

use super::{Counted, Fifo, LockInfo, Posix, RawLock, TimedLock, Token, TryLock, Waits, ZeroInit};
use crate::monitors::{self, Monitor, Ticket};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};
use core::alloc::Layout;
use core::ptr::NonNull;

/// Returns the policy of phase 2. Under a policy that sleeps, phase 2 sleeps too: where threads
/// outnumber CPUs, a thread that polled without end would take the CPU from the very holder that it
/// waits for.
fn poll(wait: Wait) -> Wait {
    if wait.parks() { wait } else { Wait::Pause }
}

/// A 1spinner lock of 16 bytes.
#[repr(C)]
pub struct OneSpinner<M: Machine> {
    tail: M::Atomic<u64>,
    head: M::Atomic<u64>,
}

/// The holder's token: its ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held(u64);

impl Token for Held {
    #[inline(always)]
    fn to_word(self) -> usize {
        self.0 as usize
    }
    #[inline(always)]
    fn from_word(word: usize) -> Self {
        Held(word as u64)
    }
}

// A token must fit a word.
const _: () = assert!(size_of::<usize>() >= size_of::<u64>());

impl<M: Machine> OneSpinner<M> {
    /// Returns the monitor of the ticket in front.
    fn of(mine: &Monitor<M>, front: Ticket) -> &Monitor<M> {
        // SAFETY: the ticket was read from the tail with Acquire, and only exchanges change the
        // tail; or it came from the monitor of a thread that read it so, and left. Zero was never
        // in front, because `head` equals it from the start.
        unsafe { mine.of(front) }
    }

    /// Waits through both phases behind ticket `front`, which had not released the lock yet when
    /// last read. Returns the ticket then in front as the error if the deadline has passed.
    #[cold]
    fn queue(
        &self,
        mine: &Monitor<M>,
        mut front: Ticket,
        wait: Wait,
        deadline: Option<Deadline>,
    ) -> Result<(), Ticket> {
        loop {
            let monitor = Self::of(mine, front);
            match M::wait_while(&monitor.shown, front.waiting(), wait, deadline) {
                WaitResult::Changed(shown) if shown == front.left() => front = Self::succeed(monitor, front),
                WaitResult::Changed(_) => break,
                WaitResult::Expired => return Err(front),
            }
        }
        M::polls_alone::<u64>(&self.head, true);
        let entered = self.poll_head(front, wait, deadline);
        M::polls_alone::<u64>(&self.head, false);
        entered.then_some(()).ok_or(front)
    }

    /// Waits through phase 2. Returns false if the deadline has passed.
    fn poll_head(&self, front: Ticket, wait: Wait, deadline: Option<Deadline>) -> bool {
        // Acquire: see the last holder's writes, if it has already left.
        let mut head = self.head.load(Acquire);
        while head != front.0 {
            match M::wait_while(&self.head, head, poll(wait), deadline) {
                WaitResult::Changed(now) => head = now,
                WaitResult::Expired => return false,
            }
        }
        true
    }

    /// Takes the place of an acquisition that has left the queue, and whose ticket only the calling
    /// thread has in front. Returns the ticket that was in front of that acquisition.
    fn succeed(monitor: &Monitor<M>, left: Ticket) -> Ticket {
        let front = monitor.front();
        monitor.end(left);
        monitors::give_spare(NonNull::from(monitor));
        front
    }

    /// Takes this thread out of the queue, in which `front` is the ticket in front of its own.
    /// Returns true if the thread has got the lock meanwhile: it then stays, and holds the lock.
    #[cold]
    fn leave(&self, mine: &Monitor<M>, ticket: Ticket, mut front: Ticket, wait: Wait) -> bool {
        while Self::of(mine, front).has_left(front) {
            front = Self::succeed(Self::of(mine, front), front);
        }
        // Acquire: see the last holder's writes.
        if self.head.load(Acquire) == front.0 {
            return true;
        }
        if !self.put_back(mine, ticket, front) {
            mine.leave(ticket, front);
            let shown: *const M::Atomic<u64> = &mine.shown;
            M::wake::<u64>(shown, 1, wait);
            // The thread behind may have left meanwhile, and have put this thread's ticket back
            // before it could see that this thread leaves. SeqCst: either this thread sees the
            // ticket in the tail, or the other one sees what this thread's monitor says.
            M::fence(SeqCst);
            self.put_back(mine, ticket, front);
        }
        false
    }

    /// Replaces in the tail a ticket that leaves or has left by the one in front of it, and so on
    /// if that has left too. Returns false, without a change, if a thread is behind the first
    /// ticket.
    fn put_back(&self, mine: &Monitor<M>, mut ticket: Ticket, mut front: Ticket) -> bool {
        let mut monitor = mine;
        // Relaxed: a thread that finds `front` in the tail synchronizes with the exchange that
        // first put it into the tail, because the tail changes only by exchanges.
        while self.tail.compare_exchange(ticket.0, front.0, Relaxed, Relaxed).is_ok() {
            monitor.end(ticket);
            monitors::give_spare(NonNull::from(monitor));
            monitor = Self::of(mine, front);
            // SeqCst for the reason in `leave`.
            M::fence(SeqCst);
            if !monitor.has_left(front) {
                return true;
            }
            (ticket, front) = (front, monitor.front());
        }
        !core::ptr::eq(monitor, mine)
    }

    /// Whether no thread has come behind the holder. Only the holder may ask.
    pub(super) fn is_last(&self, held: Held) -> bool {
        // Relaxed: the answer holds only for a moment.
        self.tail.load(Relaxed) == held.0
    }

    /// Called when the thread has the lock by `ticket`: lets the thread behind go to phase 2.
    #[inline(always)]
    fn enter(mine: &Monitor<M>, ticket: Ticket, wait: Wait) {
        let shown: *const M::Atomic<u64> = &mine.shown;
        mine.end(ticket);
        M::wake::<u64>(shown, 1, wait);
    }
}

// SAFETY: the lock is two words, which are equal when zero: free.
unsafe impl<M: Machine> ZeroInit for OneSpinner<M> {}

/// Threads arrive in the order of their exchanges on the tail.
impl<M: Machine> Fifo for OneSpinner<M> {
    fn is_free(&self) -> bool {
        // Acquire: if the lock is free, the last holder's accesses to it come before this call
        // returns. `head` is read first so that a ticket which arrives between the two loads is
        // seen.
        let head = self.head.load(Acquire);
        self.tail.load(Relaxed) == head
    }
}

// SAFETY: a thread enters when `head` names the ticket in front of its own. That ticket's holder
// stores it once, on leaving, with Release, and it is read with Acquire; only one thread has the
// ticket in front.
unsafe impl<M: Machine> RawLock<M> for OneSpinner<M> {
    type Token = Held;
    const ENROLS: bool = true;
    const INFO: LockInfo = LockInfo {
        name: "1spinner",
        what: "queue lock: the next one polls the lock, each other watches a monitor of the one in front",
        source: "Akkan, Lang and Ionkov, CLUSTER 2013; ids and generations are Baton's",
        limits: "a preempted waiter holds up those behind it; the next one spins, unless the policy sleeps; 65,535 acquisitions under way",
        fifo: true,
        try_lock: true,
        timed: true,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 40.2, accesses: 5 },
        c_number: 18,
    };

    fn new() -> Self {
        OneSpinner { tail: M::Atomic::new(0), head: M::Atomic::new(0) }
    }

    /// A lock that has been free for long, with ids whose generations are about to wrap.
    fn aged() -> Self {
        monitors::age::<M>();
        OneSpinner { tail: M::Atomic::new(u64::MAX), head: M::Atomic::new(u64::MAX) }
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        monitors::provide::<M>(memory)
    }

    #[inline]
    fn lock(&self, wait: Wait) -> Held {
        let monitor = monitors::take::<M>();
        // SAFETY: monitors are never freed.
        let mine = unsafe { monitor.as_ref() };
        let ticket = mine.ticket();
        // Release: a thread that finds the ticket finds its monitor. Acquire: likewise for the
        // ticket in front.
        let front = Ticket(self.tail.swap(ticket.0, AcqRel));
        // Acquire: see the last holder's writes, if it has already left.
        if self.head.load(Acquire) != front.0 {
            let entered = self.queue(mine, front, wait, None);
            debug_assert!(entered.is_ok(), "a wait without a deadline expired");
        }
        Self::enter(mine, ticket, wait);
        monitors::give(monitor);
        Held(ticket.0)
    }

    #[inline]
    unsafe fn unlock(&self, token: Held, wait: Wait) {
        let head: *const M::Atomic<u64> = &self.head;
        // Release: the next holder sees this thread's writes.
        self.head.store(token.0, Release);
        // At most one thread is in phase 2.
        M::wake::<u64>(head, 1, wait);
    }
}

// SAFETY: like `lock`, entering only if no thread is in front; a failed try published nothing.
unsafe impl<M: Machine> TryLock<M> for OneSpinner<M> {
    #[inline]
    fn try_lock(&self) -> Option<Held> {
        // Relaxed: only compared.
        let front = self.tail.load(Relaxed);
        // Acquire: see the last holder's writes.
        if self.head.load(Acquire) != front {
            return None;
        }
        let monitor = monitors::take::<M>();
        // SAFETY: monitors are never freed.
        let mine = unsafe { monitor.as_ref() };
        let ticket = mine.ticket();
        // Advances the monitor before the ticket is known, so that it names a holder from the
        // start: no thread waits in phase 1 behind a try, which does not know by which policy to
        // wake it.
        mine.end(ticket);
        // Release for the reason in `lock`, and the monitor has advanced. Relaxed on failure:
        // nothing is read through it.
        let taken = self.tail.compare_exchange(front, ticket.0, Release, Relaxed).is_ok();
        monitors::give(monitor);
        taken.then_some(Held(ticket.0))
    }
}

// SAFETY: like `lock`. A thread that gives up drops out of the order, and the thread behind it has
// its predecessor in front.
unsafe impl<M: Machine> TimedLock<M> for OneSpinner<M> {
    fn provide_timed(memory: fn(Layout) -> *mut u8) -> bool {
        monitors::provide::<M>(memory) && monitors::provide_spare::<M>(memory)
    }

    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<Held> {
        if let Some(held) = self.try_lock() {
            return Some(held);
        }
        let monitor = monitors::take_spare::<M>();
        // SAFETY: monitors are never freed.
        let mine = unsafe { monitor.as_ref() };
        let ticket = mine.ticket();
        // AcqRel and Acquire for the reasons in `lock`.
        let front = Ticket(self.tail.swap(ticket.0, AcqRel));
        if self.head.load(Acquire) != front.0
            && let Err(front) = self.queue(mine, front, wait, Some(deadline))
            && !self.leave(mine, ticket, front, wait)
        {
            return None;
        }
        Self::enter(mine, ticket, wait);
        monitors::give_spare(monitor);
        Some(Held(ticket.0))
    }
}
