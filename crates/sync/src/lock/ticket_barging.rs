//! A ticket queue that is passed over while it sleeps: see [`barging`](super::barging).
//!
//! Who sleeps must be woken by its number. So the number served stands in one of two words, by turns; who waits for a number watches the
//! word of that number, and only those that wait for every other number are woken with it.

use super::barging::{Barging, Debt, Queue, SLEEP};
use super::{Counted, LockInfo, Posix, Waits, ZeroInit};
use baton_machine::Ordering::Relaxed;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Machine, Wait};

/// The lock.
pub type TicketBarging<M> = Barging<M, TicketQueue<M>>;

/// Set in a word of the number served while a thread may sleep on it.
const SLEEPERS: u32 = 1;

/// The queue: the next number to give out, and the number served: twice the last even one and twice the last odd one,
/// with [`SLEEPERS`]. All wrap.
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

/// What the word of `number` holds while it is served.
fn served(number: u32) -> u32 {
    number.wrapping_mul(2)
}

/// Which of the two words that is.
fn word_of(number: u32) -> usize {
    (number & 1) as usize
}

// SAFETY: number 0 is the next one and is served; word 1 holds 0, which is no odd number's.
unsafe impl<M: Machine> ZeroInit for TicketQueue<M> {}

// SAFETY: numbers are given out once each, and only their owner becomes the head when they are served; fewer than 2^31 threads
// wait. After the release `settle` computes an address and touches nothing.
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
        // Relaxed: the number orders nothing, here and below: what the lock guards is ordered by its word.
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
        // All: the one whose number it is cannot be told from the others.
        M::wake::<u32>(queue.wrapping_byte_add(offset).cast(), u32::MAX, SLEEP);
    }
}
