//! 1spinner: a queue lock in which one waiter at most polls the lock itself. Every other one watches a monitor of the thread in front,
//! which changes when that thread *has* the lock: so a waiter is woken one step early, and its wake-up lies within the
//! critical section before its own. A release is one store, for which the holder need not know who comes next.
//!
//! The lock is two tickets (`monitors.rs`), each an id and the generation of one acquisition. `tail` names the one that came last
//! and `head` the one that released last. This differs from the paper's form (`one_spinner_paper.rs`), where `head` names the holder:
//!
//! | step | what a thread does |
//! | --- | --- |
//! | arrive | exchanges its ticket with `tail`. If `head` equals what it found there, the lock is free, and the thread has it |
//! | phase 1 | waits, by the policy, while the monitor of the ticket in front shows that ticket's generation |
//! | phase 2 | polls `head` until it equals the ticket in front: spins, unless the policy sleeps |
//! | enter | moves its own monitor on: the thread behind goes to phase 2 |
//! | release | stores its ticket to `head` |
//! | leave | a thread whose deadline has passed exchanges its own ticket in `tail` for the one in front of it. If it is not there, a thread is behind it: its monitor says that it has left, and whom it had in front |
//!
//! What always holds:
//!
//! 1. The exchanges on `tail` put the acquisitions in an order: each has one in front and one behind at most. One that leaves goes out
//!    of that order: the thread behind it, or who comes next, has the one in front of it in front.
//! 2. `head` takes the tickets in that order, each once, when its holder releases: the thread that finds the ticket in front of
//!    its own there comes next, and no other does, as no other has that ticket in front. A free lock is one with `head` equal to `tail`, two zeroes among them;
//!    no monitor is asked about it, so that what became of the last holder's monitor does not matter.
//! 3. **One thread at most polls `head`.** A thread in phase 2 has seen the one in front of it enter, and a thread that has entered polls
//!    no more. So if two polled, the later of them in the queue would have seen the other one enter. (A thread that arrives, or tries,
//!    looks once.) Machines that check are told of it by `polls_alone`.
//! 4. A wait in phase 1 ends: the one in front moves its monitor on when it enters, or shows that it leaves, and no generation comes back in
//!    less than 2^48 acquisitions of one id, while a single look is under way.
//! 5. Tickets are different, so that a try may exchange `tail` for its own if `head` equalled it: `tail` is what it was then, and `head`
//!    too, as it moves on from a ticket only by one that came behind it and did not leave, whose ticket or a later one is in `tail` from then on.
//! 6. **Who takes the ticket of one that has left out of `tail` deals with it**: has that one's front in front instead, and gives back its id.
//!    No ticket of one that has left stays in `tail` with all calls done: a thread that puts a ticket back looks at its monitor afterwards,
//!    and one that leaves looks at `tail` after its monitor says so. Both have a full fence in between, so that one of the two sees the other.
//!
//! A try moves its monitor on before it exchanges `tail`: if that succeeds, the ticket names a holder from the first moment. If it fails,
//! a generation is left out.
//!
//! The wake-up of phase 1 comes after the monitor has moved, by one that holds the lock. Phase 2 spins under each policy that keeps the
//! CPU; under one that sleeps it sleeps by it, and the release, after its store, wakes one thread by the lock's address.

use super::{Counted, Fifo, LockInfo, Posix, RawLock, TimedLock, Token, TryLock, Waits, ZeroInit};
use crate::monitors::{self, Monitor, Ticket};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};
use core::alloc::Layout;
use core::ptr::NonNull;

/// How phase 2 waits. Under a policy that sleeps it sleeps as well, by that policy: a thread that polled without end would take the
/// CPU from the very holder that it waits for, where threads outnumber CPUs.
fn poll(wait: Wait) -> Wait {
    if wait.parks() { wait } else { Wait::Pause }
}

/// The lock: 16 bytes.
#[repr(C)]
pub struct OneSpinner<M: Machine> {
    tail: M::Atomic<u64>,
    head: M::Atomic<u64>,
}

/// What the holder carries: its ticket.
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

// A token is a word.
const _: () = assert!(size_of::<usize>() >= size_of::<u64>());

impl<M: Machine> OneSpinner<M> {
    /// The monitor of the one in front.
    fn of(mine: &Monitor<M>, front: Ticket) -> &Monitor<M> {
        // SAFETY: the ticket came from the tail, which only exchanges change, with Acquire, or from the monitor of one that had it from there and
        // left. Zero was never in front, as `head` equals it from the start.
        unsafe { mine.of(front) }
    }

    /// Both phases, behind a ticket that has not released the lock yet, so far as we saw. An error is the ticket in front when the
    /// deadline had passed.
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

    /// Phase 2. False: the deadline has passed.
    fn poll_head(&self, front: Ticket, wait: Wait, deadline: Option<Deadline>) -> bool {
        // Acquire: see the last holder's writes, if it has left already.
        let mut head = self.head.load(Acquire);
        while head != front.0 {
            match M::wait_while(&self.head, head, poll(wait), deadline) {
                WaitResult::Changed(now) => head = now,
                WaitResult::Expired => return false,
            }
        }
        true
    }

    /// Takes the place of one that has left, whose ticket only the calling thread has in front: returns the ticket that it had in front.
    fn succeed(monitor: &Monitor<M>, left: Ticket) -> Ticket {
        let front = monitor.front();
        monitor.end(left);
        monitors::give_spare(NonNull::from(monitor));
        front
    }

    /// Leaves the queue, behind `front`, or has the lock: true.
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
            // The thread behind may have left meanwhile, and have put our ticket back before it could see that we leave. SeqCst: either we
            // see the ticket in the tail, or it sees what our monitor says.
            M::fence(SeqCst);
            self.put_back(mine, ticket, front);
        }
        false
    }

    /// Exchanges a ticket in the tail, whose acquisition leaves or has left, for the one in front of it, and so on for that one. False, and
    /// nothing is done: a thread is behind it.
    fn put_back(&self, mine: &Monitor<M>, mut ticket: Ticket, mut front: Ticket) -> bool {
        let mut monitor = mine;
        // Relaxed: who finds the front there synchronizes with the exchange that put it there first, as the tail is only ever exchanged.
        while self.tail.compare_exchange(ticket.0, front.0, Relaxed, Relaxed).is_ok() {
            monitor.end(ticket);
            monitors::give_spare(NonNull::from(monitor));
            monitor = Self::of(mine, front);
            // SeqCst: as in `leave`.
            M::fence(SeqCst);
            if !monitor.has_left(front) {
                return true;
            }
            (ticket, front) = (front, monitor.front());
        }
        !core::ptr::eq(monitor, mine)
    }

    /// Whether no thread has come behind the holder: asked by the holder.
    pub(super) fn is_last(&self, held: Held) -> bool {
        // Relaxed: for a moment only.
        self.tail.load(Relaxed) == held.0
    }

    /// The lock is ours by `ticket`: lets the one behind go to phase 2.
    #[inline(always)]
    fn enter(mine: &Monitor<M>, ticket: Ticket, wait: Wait) {
        let shown: *const M::Atomic<u64> = &mine.shown;
        mine.end(ticket);
        M::wake::<u64>(shown, 1, wait);
    }
}

// SAFETY: two zero words; they are equal, so the lock is free.
unsafe impl<M: Machine> ZeroInit for OneSpinner<M> {}

/// In the order of the exchanges on the tail.
impl<M: Machine> Fifo for OneSpinner<M> {
    fn is_free(&self) -> bool {
        // Acquire: a free lock's last holder has left it. In this order: a ticket that comes between the two loads is seen.
        let head = self.head.load(Acquire);
        self.tail.load(Relaxed) == head
    }
}

// SAFETY: a thread enters when `head` names the ticket in front of its own. That is stored once, by its holder on leaving, with
// Release, and read with Acquire; and only one thread has the ticket in front.
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

    /// Free since long ago, and ids whose generations are about to wrap.
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
        // SAFETY: never freed.
        let mine = unsafe { monitor.as_ref() };
        let ticket = mine.ticket();
        // Release: a thread that finds the ticket finds its monitor. Acquire: the same of the ticket in front.
        let front = Ticket(self.tail.swap(ticket.0, AcqRel));
        // Acquire: see the last holder's writes, if it has left already.
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
        // Release: the next holder sees our writes.
        self.head.store(token.0, Release);
        // One thread at most is in phase 2.
        M::wake::<u64>(head, 1, wait);
    }
}

// SAFETY: as `lock`, entering only where no thread is in front; a failed try published nothing.
unsafe impl<M: Machine> TryLock<M> for OneSpinner<M> {
    #[inline]
    fn try_lock(&self) -> Option<Held> {
        // Relaxed: compared only.
        let front = self.tail.load(Relaxed);
        // Acquire: see the last holder's writes.
        if self.head.load(Acquire) != front {
            return None;
        }
        let monitor = monitors::take::<M>();
        // SAFETY: never freed.
        let mine = unsafe { monitor.as_ref() };
        let ticket = mine.ticket();
        // Before the ticket is known: it names a holder from the start, so that no thread waits in phase 1 behind a try, whose
        // policy to wake it by is not known here.
        mine.end(ticket);
        // Release: as the swap in `lock`, and the monitor has moved. Relaxed on failure: nothing is read through it.
        let taken = self.tail.compare_exchange(front, ticket.0, Release, Relaxed).is_ok();
        monitors::give(monitor);
        taken.then_some(Held(ticket.0))
    }
}

// SAFETY: as `lock`; one that gives up is out of the order, and the thread behind it has the one in front of it in front.
unsafe impl<M: Machine> TimedLock<M> for OneSpinner<M> {
    fn provide_timed(memory: fn(Layout) -> *mut u8) -> bool {
        monitors::provide::<M>(memory) && monitors::provide_spare::<M>(memory)
    }

    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<Held> {
        if let Some(held) = self.try_lock() {
            return Some(held);
        }
        let monitor = monitors::take_spare::<M>();
        // SAFETY: never freed.
        let mine = unsafe { monitor.as_ref() };
        let ticket = mine.ticket();
        // As in `lock`, both.
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
