//! Contracts of the work-stealing deque.

use crate::world::{Scenario, World, share};
use baton_machine::{Atomic, Machine, Ordering, OwnedSlice, Slot};
use baton_sync::deque::{Deque, Steal};
use baton_sync::queue::QueueError;

/// A deque of numbers. For each number there is a note, which the owner writes before it pushes the
/// number, and a count of how often the number was taken.
struct Table<M: Machine> {
    deque: Deque<M, u64>,
    notes: OwnedSlice<M, M::Slot<u64>>,
    taken: OwnedSlice<M, M::Atomic<u64>>,
}

// SAFETY: a note is written before its number is pushed, and read by the guest that takes the
// number; that this works is what is tested.
unsafe impl<M: Machine> Sync for Table<M> {}
// SAFETY: a note is written before its number is pushed, and read by the guest that takes the
// number; that this works is what is tested.
unsafe impl<M: Machine> Send for Table<M> {}

impl<M: Machine> Table<M> {
    fn new(capacity: usize, items: usize) -> Self {
        let deque = Deque::with_capacity(capacity).expect("a power of two");
        let notes = OwnedSlice::new(items, |_| M::Slot::new(0));
        Table { deque, notes, taken: OwnedSlice::new(items, |_| M::Atomic::new(0)) }
    }

    /// Checks an item that the caller has taken out of the deque.
    fn take(&self, item: u64) {
        // SAFETY: the caller took the number, so its note was written before.
        let note = unsafe { self.notes[item as usize].read(|note| *note) };
        assert_eq!(note, item + 7, "an item came before what was written ahead of it");
        let before = self.taken[item as usize].fetch_add(1, Ordering::Relaxed);
        assert_eq!(before, 0, "item {item} was taken twice");
    }

    /// Pushes an item, or takes it if there is no room.
    fn push(&self, item: u64) {
        // SAFETY: the number was not pushed yet.
        unsafe { self.notes[item as usize].write(|note| *note = item + 7) };
        // SAFETY: only the owner calls this.
        if let Err(back) = unsafe { self.deque.push(item) } {
            self.take(back);
        }
    }

    fn pop(&self) -> bool {
        // SAFETY: only the owner calls this.
        let item = unsafe { self.deque.pop() };
        item.inspect(|item| self.take(*item)).is_some()
    }

    fn steal(&self) {
        if let Steal::Taken(item) = self.deque.steal() {
            self.take(item);
        }
    }

    fn assert_all_taken(&self) {
        for (item, taken) in self.taken.iter().enumerate() {
            assert_eq!(taken.load(Ordering::Relaxed), 1, "item {item}");
        }
    }
}

/// An owner pushes items and pops one after every second push, while thieves steal. The owner takes
/// an item for which there is no room at once.
fn share_out<W: World>(capacity: usize, thieves: usize, items: u64, tries: usize) {
    let plan = move || {
        let table = share::<W::M, _>(Table::<W::M>::new(capacity, items as usize));
        let (owner, all) = (table.clone(), table.clone());
        let owner = move || {
            for item in 0..items {
                owner.push(item);
                if item % 2 == 1 {
                    owner.pop();
                }
            }
            // The owner takes what thieves have not taken by then.
            while owner.pop() {}
        };
        let thief = |_| {
            let table = table.clone();
            move || (0..tries).for_each(|_| table.steal())
        };
        Scenario::new().guest(owner).guests(thieves, thief).finally(move || all.assert_all_taken())
    };
    if thieves > 1 { W::skim(plan) } else { W::dig(plan) }
}

/// Every item is taken once, and what the owner wrote before it is seen, with places that are
/// reused and with a full deque.
pub fn taken_once<W: World>() {
    for &crowd in W::CROWDS {
        let rounds = crowd.rounds;
        share_out::<W>(2, crowd.guests - 1, 2 * rounds.min(2) as u64, rounds);
        share_out::<W>(1, crowd.guests - 1, rounds as u64, rounds);
        if rounds > 4 {
            share_out::<W>(16, crowd.guests - 1, 4 * rounds as u64, 2 * rounds);
        }
    }
}

/// The owner and thieves want the only item, and exactly one gets it.
pub fn last_one<W: World>() {
    for &crowd in W::CROWDS {
        share_out::<W>(4, crowd.guests - 1, 1, 1);
    }
}

/// The owner pops the newest item and a thief steals the oldest; a full deque returns the item.
pub fn in_order<W: World>() {
    W::run(|| {
        let deque = share::<W::M, _>(Deque::<W::M, u64>::with_capacity(4).expect("a power of two"));
        let all = deque.clone();
        let guest = move || {
            for lap in 0..3 {
                let at = 10 * lap;
                // SAFETY: this is the only guest.
                unsafe {
                    assert_eq!((deque.pop(), deque.steal()), (None, Steal::Empty));
                    (0..4).for_each(|item| assert_eq!(deque.push(at + item), Ok(())));
                    assert_eq!(deque.push(at + 4), Err(at + 4));
                    assert_eq!((deque.steal(), deque.pop()), (Steal::Taken(at), Some(at + 3)));
                    assert_eq!((deque.pop(), deque.steal()), (Some(at + 2), Steal::Taken(at + 1)));
                    assert_eq!((deque.pop(), deque.steal()), (None, Steal::Empty));
                }
            }
        };
        Scenario::new().guest(guest).finally(move || drop(all))
    });
    for bad in [0, 3, 1 << 31] {
        assert!(Deque::<W::M, u64>::with_capacity(bad).is_err_and(|error| error == QueueError::Capacity(bad)), "{bad}");
    }
}
