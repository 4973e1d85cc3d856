//! A ticket queue that other threads may overtake while it sleeps: see [`barging`](super::barging).
//!
//! A sleeper must be woken by its number. So two words hold the number served, one the even and the
//! other the odd numbers. A waiter watches the word of its number, and a wake-up reaches only the
//! waiters with even (or only those with odd) numbers.

use super::barging::{Barging, Debt, Queue, SLEEP};
use super::{Counted, LockInfo, Posix, Waits, ZeroInit};
use baton_machine::Ordering::Relaxed;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Machine, Wait};

/// A ticket queue in front of a word that any thread may take.
pub type TicketBarging<M> = Barging<M, TicketQueue<M>>;

/// Set in a word of the served number while a thread may sleep on it.
const SLEEPERS: u32 = 1;

/// The queue: the next number to give out, and the two numbers that were served last. The first word
/// of `served` has twice the even one of them, the second word twice the odd one; [`SLEEPERS`] may be
/// set in each. All numbers wrap.
#[repr(C)]
pub struct TicketQueue<M: Machine> {
    next: M::Atomic<u32>,
    served: [M::Atomic<u32>; 2],
}

impl<M: Machine> TicketQueue<M> {
    fn from(number: u32) -> Self {
        let word = |served: u32| M::Atomic::new(served.wrapping_mul(2));
        let odd = number & 1;
        TicketQueue {
            next: M::Atomic::new(number),
            served: [word(number.wrapping_sub(odd)), word(number.wrapping_sub(1 - odd))],
        }
    }
}

/// Returns what the word of `number` holds while `number` is served.
fn served(number: u32) -> u32 {
    number.wrapping_mul(2)
}

/// Returns which of the two words `number` uses.
fn word_of(number: u32) -> usize {
    (number & 1) as usize
}

// SAFETY: zeroes mean that number 0 is next and is served; word 1 holds 0, which belongs to no odd
// number.
unsafe impl<M: Machine> ZeroInit for TicketQueue<M> {}

// SAFETY: each number is given out once, and only its owner becomes the head when it is served;
// fewer than 2^31 threads wait. After the release `settle` computes an address and accesses
// nothing.
unsafe impl<M: Machine> Queue<M> for TicketQueue<M> {
    type Place = u32;
    const INFO: LockInfo = LockInfo {
        name: "ticket-barging",
        what: "ticket queue before a word that any thread may take: no hand-off to a sleeper",
        source: "after Dice, A Partitioned Ticket Lock, SPAA 2011; barging as in his Malthusian Locks, EuroSys 2017",
        limits: "order of arrival only among those that queue; a wake-up wakes half of the sleepers",
        fifo: false,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: true,
        waits: Waits::Fixed(Wait::SpinPark(SPIN_TRIES)),
        counted: Counted { instructions: 13.0, accesses: 2 },
        c_number: 16,
    };

    fn new() -> Self {
        Self::from(0)
    }

    fn aged() -> Self {
        Self::from(u32::MAX)
    }

    fn enter(&self, tries: u32) -> u32 {
        // Relaxed, here and below: the numbers order nothing; the lock's word orders the data that
        // it guards.
        let mine = self.next.fetch_add(1, Relaxed);
        let word = &self.served[word_of(mine)];
        let mut left = tries;
        loop {
            let now = word.load(Relaxed);
            if now & !SLEEPERS == served(mine) {
                return mine;
            }
            if left > 0 {
                left -= 1;
                M::relax();
            } else if now & SLEEPERS != 0 || word.compare_exchange(now, now | SLEEPERS, Relaxed, Relaxed).is_ok() {
                let _ = M::wait_while(word, now | SLEEPERS, SLEEP, None);
            }
        }
    }

    fn pass_on(&self, mine: u32) -> Debt {
        let next = mine.wrapping_add(1);
        let word = word_of(next);
        let slept = self.served[word].swap(served(next), Relaxed) & SLEEPERS != 0;
        if slept { Debt(1 + word) } else { Debt::NONE }
    }

    unsafe fn settle(queue: *const Self, debt: Debt) {
        let offset = core::mem::offset_of!(Self, served) + (debt.0 - 1) * size_of::<M::Atomic<u32>>();
        // Wakes all sleepers on the word, because the sleeper with the served number cannot be told
        // from the others.
        M::wake::<u32>(queue.wrapping_byte_add(offset).cast(), u32::MAX, SLEEP);
    }
}
