//! Contracts of every machine: tests of the machine's operations themselves.

use crate::world::{Scenario, World, share};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Slot, Wait, WaitResult};
use core::alloc::Layout;
use std::sync::Arc;

/// An atomic cell of a world's machine.
type Cell<W, T> = <<W as World>::M as Machine>::Atomic<T>;

/// A flag, and the data that it announces.
struct Mail<M: Machine> {
    flag: M::Atomic<u32>,
    letter: M::Slot<u64>,
}

// SAFETY: the flag hands the slot over, which is what is tested.
unsafe impl<M: Machine> Sync for Mail<M> {}
// SAFETY: the flag hands the slot over, which is what is tested.
unsafe impl<M: Machine> Send for Mail<M> {}

impl<M: Machine> Mail<M> {
    fn new() -> Self {
        Mail { flag: M::Atomic::new(0), letter: M::Slot::new(0) }
    }
}

/// A wait for a release store sees what was written before the store, whatever the policy.
pub fn message<W: World>() {
    for &wait in W::WAITS {
        deliver::<W>(wait, baton_machine::Ordering::Release);
    }
}

/// Tests [`message`] with the store `order`. With `Relaxed`, a machine that knows orderings must
/// object.
pub fn deliver<W: World>(wait: Wait, order: baton_machine::Ordering) {
    W::run(move || {
        let mail = share::<W::M, _>(Mail::<W::M>::new());
        let (sender, receiver) = (mail.clone(), mail);
        Scenario::new()
            .guest(move || {
                // SAFETY: no thread reads the letter before the flag is set.
                unsafe { sender.letter.write(|letter| *letter = 42) };
                sender.flag.store(1, order);
                W::M::wake::<u32>(&sender.flag, 1, wait);
            })
            .guest(move || {
                assert_eq!(W::M::wait_while(&receiver.flag, 0, wait, None), WaitResult::Changed(1));
                // SAFETY: the flag was set after the last write.
                assert_eq!(unsafe { receiver.letter.read(|letter| *letter) }, 42);
            })
    });
}

/// A row of slots, and the flag that announces it.
struct Shelf<M: Machine> {
    flag: M::Atomic<u32>,
    row: [M::Slot<u64>; 3],
}

// SAFETY: the flag hands the row over, which is what is tested.
unsafe impl<M: Machine> Sync for Shelf<M> {}
// SAFETY: the flag hands the row over, which is what is tested.
unsafe impl<M: Machine> Send for Shelf<M> {}

impl<M: Machine> Shelf<M> {
    fn new() -> Self {
        Shelf { flag: M::Atomic::new(0), row: [(); 3].map(|()| M::Slot::new(0)) }
    }
}

/// A row that is written as a whole arrives as a whole and in order, also when it is taken in
/// parts; slots that were taken can be written again.
pub fn rows<W: World>() {
    for &wait in W::WAITS {
        pass_row::<W>(wait, Release, 0);
    }
}

/// Hands a row over by a store with `order`, and back again. The taker takes `early` slots before
/// the flag is set. With `Relaxed`, a machine that knows orderings must object; with an early slot,
/// every machine that detects races must.
pub fn pass_row<W: World>(wait: Wait, order: baton_machine::Ordering, early: usize) {
    W::run(move || {
        let shelf = share::<W::M, _>(Shelf::<W::M>::new());
        let (giver, taker, last) = (shelf.clone(), shelf.clone(), shelf);
        Scenario::new()
            .guest(move || {
                // SAFETY: no thread takes slots before the flag is set.
                unsafe { Slot::write_row(&giver.row, [1, 2, 3].as_ptr()) };
                giver.flag.store(1, order);
                W::M::wake::<u32>(&giver.flag, 1, wait);
                assert_eq!(W::M::wait_while(&giver.flag, 1, wait, None), WaitResult::Changed(2));
                // SAFETY: the flag was set again after the row was taken.
                unsafe { Slot::write_row(&giver.row[1..], [4, 5].as_ptr()) };
                // SAFETY: the slot was written above, and is taken once.
                assert_eq!(unsafe { giver.row[2].take() }, 5);
            })
            .guest(move || {
                let mut got = [0; 3];
                if early != 0 {
                    // SAFETY: taking slots before the flag is set breaks the contract of
                    // `take_row`, and whether the machine objects is what is tested; there is room
                    // in `got`.
                    unsafe { Slot::take_row(&taker.row[..early], got.as_mut_ptr()) };
                }
                assert_eq!(W::M::wait_while(&taker.flag, 0, wait, None), WaitResult::Changed(1));
                // SAFETY: the flag was set after the row was written, and there is room for two
                // slots, and for one.
                unsafe {
                    Slot::take_row(&taker.row[1..], got[1..].as_mut_ptr());
                    Slot::take_row(&taker.row[..1], got.as_mut_ptr());
                    Slot::take_row(&taker.row[..0], got.as_mut_ptr());
                }
                assert_eq!(got, [1, 2, 3]);
                taker.flag.store(2, Release);
                W::M::wake::<u32>(&taker.flag, 1, wait);
            })
            .finally(move || drop(last))
    });
}

/// Two threads read a row at the same time, again and again; each gets all of it.
pub fn read_rows<W: World>() {
    for &wait in W::WAITS {
        W::run(move || {
            let shelf = share::<W::M, _>(Shelf::<W::M>::new());
            let (giver, readers, last) = (shelf.clone(), [shelf.clone(), shelf.clone()], shelf);
            let mut scenario = Scenario::new().guest(move || {
                // SAFETY: no thread reads slots before the flag is set.
                unsafe { Slot::write_row(&giver.row, [1, 2, 3].as_ptr()) };
                giver.flag.store(1, Release);
                W::M::wake::<u32>(&giver.flag, u32::MAX, wait);
            });
            for reader in readers {
                scenario = scenario.guest(move || {
                    assert_eq!(W::M::wait_while(&reader.flag, 0, wait, None), WaitResult::Changed(1));
                    for _ in 0..2 {
                        let mut got = [0; 3];
                        // SAFETY: the flag was set after the row was written, which stays as it
                        // is, and there is room for three slots.
                        unsafe { Slot::read_row(&reader.row, got.as_mut_ptr()) };
                        assert_eq!(got, [1, 2, 3]);
                    }
                });
            }
            scenario.finally(move || drop(last))
        });
    }
}

/// A wait with a deadline ends even if nothing changes; a wait whose cell differs from the start
/// does not expire.
pub fn expiry<W: World>() {
    for &wait in W::WAITS {
        W::run(move || {
            let cell = share::<W::M, _>(Cell::<W, u32>::new(7));
            Scenario::new().with_deadlines().guest(move || {
                let past = Some(Deadline { at: Nanos(1), clock: Clock::Monotonic });
                assert_eq!(W::M::wait_while(&cell, 6, wait, past), WaitResult::Changed(7));
                assert_eq!(W::M::wait_while(&cell, 7, wait, past), WaitResult::Expired);
                for clock in [Clock::Monotonic, Clock::Realtime] {
                    let soon = Deadline { at: W::M::now(clock) + W::SOON, clock };
                    assert_eq!(W::M::wait_while(&cell, 7, wait, Some(soon)), WaitResult::Expired);
                    assert!(W::M::now(clock) >= soon.at, "expired before its time");
                }
            })
        });
    }
}

/// Two guests pass a cell back and forth. Each change is followed by a wake-up, and no wake-up is
/// lost.
pub fn ping_pong<W: World>() {
    let rounds = W::few().rounds as u32;
    for &wait in W::WAITS {
        W::run(move || {
            let cell = share::<W::M, _>(Cell::<W, u32>::new(0));
            let guest = |me: usize| {
                let cell = cell.clone();
                move || {
                    for round in 0..rounds {
                        let mine = 2 * round + me as u32;
                        if mine > 0 && cell.load(Acquire) == mine - 1 {
                            let _ = W::M::wait_while(&*cell, mine - 1, wait, None);
                        }
                        while cell.load(Acquire) != mine {
                            let _ = W::M::wait_while(&*cell, mine.wrapping_sub(1), wait, None);
                        }
                        cell.store(mine + 1, Release);
                        W::M::wake::<u32>(&**cell, 1, wait);
                    }
                }
            };
            let last = cell.clone();
            let scenario = Scenario::new().guests(2, guest);
            scenario.finally(move || assert_eq!(last.load(Relaxed), 2 * rounds))
        });
    }
}

/// Store buffering: with a SeqCst fence between its store and its load, at least one of two guests
/// sees the other's store.
pub fn fences<W: World>() {
    store_buffer::<W>(|cell| {
        cell.store(1, Relaxed);
        W::M::fence(SeqCst);
    });
}

/// The same with an atomic exchange in place of the store, and the fence for it.
pub fn exchange_fences<W: World>() {
    store_buffer::<W>(|cell| {
        assert_eq!(cell.compare_exchange(0, 1, AcqRel, Acquire), Ok(0));
        W::M::fence_after_exchange();
    });
}

/// The litmus test of store buffering, where `store` stores 1. If it has no fence, a machine that
/// knows orderings must find an execution in which both loads come before both stores.
pub fn store_buffer<W: World>(store: fn(&Cell<W, u32>)) {
    W::run(move || {
        let cells = share::<W::M, _>([(); 2].map(|()| Cell::<W, u32>::new(0)));
        let seen = share::<W::M, _>([(); 2].map(|()| Cell::<W, u32>::new(9)));
        let guest = |me: usize| {
            let (cells, seen) = (cells.clone(), seen.clone());
            move || {
                store(&cells[me]);
                seen[me].store(cells[1 - me].load(Relaxed), Relaxed);
            }
        };
        let all = (seen.clone(), cells.clone());
        Scenario::new().guests(2, guest).finally(move || {
            let (all, _cells) = &all;
            let seen = [all[0].load(Relaxed), all[1].load(Relaxed)];
            assert_ne!(seen, [0, 0], "both loads came before both stores");
        })
    });
}

/// Additions wrap at the cell's own width, a failed compare-and-exchange returns what the cell
/// holds, and narrow neighbours do not disturb each other.
pub fn cells<W: World>() {
    W::run(|| {
        Scenario::new().guest(|| {
            let pair = [Cell::<W, u16>::new(u16::MAX), Cell::<W, u16>::new(7)];
            assert_eq!(pair[0].fetch_add(2, SeqCst), u16::MAX);
            assert_eq!((pair[0].load(SeqCst), pair[1].load(SeqCst)), (1, 7));
            assert_eq!(pair[1].compare_exchange(8, 9, SeqCst, SeqCst), Err(7));
            assert_eq!(pair[1].compare_exchange(7, 9, SeqCst, SeqCst), Ok(7));
            assert_eq!(pair[1].swap(3, SeqCst), 9);
            let wide = Cell::<W, u64>::new(u64::MAX);
            assert_eq!(wide.fetch_add(1, SeqCst), u64::MAX);
            assert_eq!(wide.load(SeqCst), 0);
        })
    });
}

/// Allocated memory is zeroed and aligned.
pub fn memory<W: World>() {
    W::run(|| {
        Scenario::new().guest(|| {
            for layout in [Layout::new::<u8>(), Layout::from_size_align(300, 128).expect("a valid layout")] {
                let at = W::M::alloc(layout);
                assert_eq!(at.as_ptr().addr() % layout.align(), 0);
                for i in 0..layout.size() {
                    // SAFETY: the address is inside the allocation.
                    assert_eq!(unsafe { at.as_ptr().add(i).read() }, 0);
                }
                // SAFETY: the memory was allocated above with this layout.
                unsafe { W::M::dealloc(at, layout) };
            }
        })
    });
}

/// Touching memory, in one piece or at several places, changes nothing, and what others wrote
/// before is seen.
pub fn touches<W: World>() {
    W::run(|| {
        let mail = share::<W::M, _>((Cell::<W, u32>::new(0), [const { 0 }; 4].map(|_: u64| Cell::<W, u64>::new(0))));
        let (writer, reader) = (mail.clone(), mail);
        Scenario::new()
            .guest(move || {
                for (number, cell) in (1..).zip(&writer.1) {
                    cell.store(number, Relaxed);
                }
                writer.0.store(1, Release);
                W::M::wake::<u32>(&writer.0, 1, Wait::Pause);
            })
            .guest(move || {
                let _ = W::M::wait_while(&reader.0, 0, Wait::Pause, None);
                let cells = &reader.1;
                // SAFETY: the cells are alive, and no thread writes them any more.
                unsafe {
                    W::M::touch_each([3, 1, 1, 0].map(|at: usize| &raw const cells[at]), 2);
                    W::M::touch(cells.as_ptr().cast_mut().cast(), size_of_val(cells), false);
                }
                assert_eq!(cells.each_ref().map(|cell| cell.load(Relaxed)), [1, 2, 3, 4]);
            })
    });
}

/// Each guest is at one of the machine's nodes, and all guests see the same number of nodes.
pub fn nodes<W: World>() {
    let guests = W::few().guests;
    W::run(move || {
        let nodes = W::M::nodes();
        assert!(nodes >= 1, "a machine without a node");
        let guest = move |_: usize| {
            move || {
                assert_eq!(W::M::nodes(), nodes);
                let node = W::M::node();
                assert!(node < nodes, "node {node} of {nodes}");
                let site = W::M::site();
                assert!(site.node < nodes, "{site:?} of {nodes} nodes");
            }
        };
        Scenario::new().guests(guests, guest)
    });
}

/// All guests, also those of a later wave, have the same shared words: what one guest adds to a
/// word, the others see.
pub fn shared<W: World>() {
    use baton_machine::shared::Use;
    let guests = W::few().guests;
    W::run(move || {
        let here = core::ptr::from_ref(W::M::shared()).addr();
        // On the real machine, other plans run beside this one.
        let before = W::M::shared().word(Use::Trial).fetch_add(1, Relaxed);
        let guest = move |_: usize| {
            move || {
                let shared = W::M::shared();
                assert_eq!(core::ptr::from_ref(shared).addr(), here, "another storage");
                shared.word(Use::Trial).fetch_add(1, Relaxed);
            }
        };
        Scenario::new().guests(guests, guest).then().guests(guests, guest).finally(move || {
            let now = W::M::shared().word(Use::Trial).load(Relaxed);
            assert!(now - before > 2 * guests, "{} of {} additions are there", now - before, 1 + 2 * guests);
        })
    });
}

/// Memory from `keep` is zeroed and aligned, and two pieces do not overlap.
pub fn kept<W: World>() {
    W::run(|| {
        Scenario::new().guest(|| {
            let layout = Layout::from_size_align(300, 128).expect("a valid layout");
            let two = [W::M::keep(layout), W::M::keep(layout)];
            assert!(two[0].as_ptr().addr().abs_diff(two[1].as_ptr().addr()) >= layout.size(), "one memory twice");
            for at in two {
                assert_eq!(at.as_ptr().addr() % layout.align(), 0);
                // SAFETY: the address is inside the memory that was kept.
                assert!((0..layout.size()).all(|i| unsafe { at.as_ptr().add(i).read() } == 0), "not zeroed");
            }
        })
    });
}

/// Guests poll a cell one after another.
pub fn polls_in_turn<W: World>() {
    poll::<W>(true);
}

/// Two guests poll a cell, one after another or at the same time. In the latter case a machine that
/// checks must object.
pub fn poll<W: World>(in_turn: bool) {
    W::run(move || {
        let cell = share::<W::M, _>(Cell::<W, u32>::new(0));
        let guest = |me: usize| {
            let cell = cell.clone();
            move || {
                if in_turn && me == 1 {
                    let _ = W::M::wait_while(&*cell, 0, Wait::Pause, None);
                }
                W::M::polls_alone::<u32>(&**cell, true);
                if !in_turn {
                    // At this access the other guest may run, so that both poll at the same time.
                    // (With a load, loom would not explore all orders.)
                    cell.fetch_add(1, Relaxed);
                }
                W::M::polls_alone::<u32>(&**cell, false);
                cell.store(1, Release);
            }
        };
        let last = cell.clone();
        Scenario::new().guests(2, guest).finally(move || drop(last))
    });
}

/// Live guests have different numbers and their own storage; the number of a guest that ended is
/// used again.
pub fn storage<W: World>() {
    use baton_machine::local::Use;
    let guests = W::few().guests;
    W::run(move || {
        let numbers = Arc::new((0..2 * guests).map(|_| share::<W::M, _>(Cell::<W, u32>::new(0))).collect::<Vec<_>>());
        let present = share::<W::M, _>(Cell::<W, u32>::new(0));
        let guest = |wave: usize| {
            let (numbers, present) = (numbers.clone(), present.clone());
            move |i: usize| {
                let (numbers, present) = (numbers.clone(), present.clone());
                move || {
                    let local = W::M::local();
                    assert_eq!(local.get(Use::Backoff), 0, "storage was not empty");
                    local.set(Use::Backoff, 1 + i);
                    numbers[wave * guests + i].store(local.index(), Relaxed);
                    // All guests of the wave are there before the first one leaves.
                    present.fetch_add(1, SeqCst);
                    let mut here = present.load(SeqCst);
                    while (here as usize) < (wave + 1) * guests {
                        if let WaitResult::Changed(now) = W::M::wait_while(&*present, here, Wait::Pause, None) {
                            here = now;
                        }
                    }
                    assert_eq!(W::M::local().get(Use::Backoff), 1 + i, "storage is shared");
                    assert_eq!(W::M::local().index(), local.index());
                    local.set(Use::Backoff, 0);
                }
            }
        };
        let all = (numbers.clone(), present.clone());
        Scenario::new().guests(guests, guest(0)).then().guests(guests, guest(1)).finally(move || {
            let (all, _present) = &all;
            let wave = |wave: usize| {
                let mut numbers: Vec<u32> = (0..guests).map(|i| all[wave * guests + i].load(Relaxed)).collect();
                numbers.sort_unstable();
                numbers.windows(2).for_each(|two| assert_ne!(two[0], two[1], "two live guests have one number"));
                numbers
            };
            // Other threads of the host may come and go, so the numbers need not be equal.
            let (first, second) = (wave(0), wave(1));
            assert!(second[guests - 1] <= first[guests - 1] + 1_000, "numbers leak: {first:?}, then {second:?}");
        })
    });
}
