//! Ticket lock with proportional back-off: a waiter knows how many threads are before it, and looks
//! again only after about as many critical sections could have passed.

use super::ticket::Ticket;
use super::{Counted, Fifo, LockInfo, Posix, RawLock, TryLock, Waits, ZeroInit};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Wait, WaitResult};

/// Cycles to stay away for each waiter between the thread and the lock's holder: a short critical
/// section and its hand-off.
const A_WAITER: u64 = 128;
/// Most waiters that count for the time that a thread stays away, so that no thread is away for
/// long when its turn comes.
const MOST: u32 = 32;

/// A [`Ticket`] lock whose waiters look seldom.
#[repr(transparent)]
pub struct TicketProp<M: Machine>(Ticket<M>);

impl<M: Machine> TicketProp<M> {
    #[cold]
    fn contend(&self, mine: u32, mut serving: u32, wait: Wait) {
        while serving != mine {
            let before = mine.wrapping_sub(serving) - 1;
            if before != 0 {
                M::work(Cycles(A_WAITER * u64::from(before.min(MOST))));
            }
            // The wait returns at once if another number has been served since `serving` was read.
            match M::wait_while(self.0.serving(), serving, wait, None) {
                WaitResult::Changed(now) => serving = now,
                WaitResult::Expired => unreachable!("no deadline was given"),
            }
        }
    }
}

// SAFETY: the only field is a ticket lock, which is free when zero.
unsafe impl<M: Machine> ZeroInit for TicketProp<M> {}

/// Threads arrive in the order in which they take numbers.
impl<M: Machine> Fifo for TicketProp<M> {
    fn is_free(&self) -> bool {
        self.0.is_free()
    }
}

// SAFETY: like the ticket lock; only the pace at which waiters look differs.
unsafe impl<M: Machine> RawLock<M> for TicketProp<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "ticket-prop",
        what: "ticket lock; a waiter stays away in proportion to those before it",
        source: "Mellor-Crummey and Scott, ACM TOCS 1991, section 2.2",
        limits: "stays away too long if critical sections are short, looks too often if they are long",
        fifo: true,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 10.0, accesses: 4 },
        c_number: 3,
    };

    fn new() -> Self {
        TicketProp(Ticket::new())
    }

    fn aged() -> Self {
        TicketProp(Ticket::aged())
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        let (mine, serving) = self.0.take_number();
        if serving != mine {
            self.contend(mine, serving, wait);
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), wait: Wait) {
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock((), wait) };
    }
}

// SAFETY: like the ticket lock.
unsafe impl<M: Machine> TryLock<M> for TicketProp<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        self.0.try_lock()
    }
}
