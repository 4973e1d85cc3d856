//! Where guests of shuttle sleep: a model of the kernel's futex queues.
//!
//! Everything here happens between two scheduling points, so that comparing the cell and falling
//! asleep is one step, as in the kernel. Which of several sleepers a wake-up finds is a random
//! choice.
//!
//! Shuttle may wake a parked thread without a reason. A sleeper that must not be woken like that
//! waits for a message instead.

use super::Whims;
use ::shuttle::rand::{Rng, thread_rng};
use ::shuttle::sync::mpsc;
use ::shuttle::thread::{self, Thread};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

struct Sleeper {
    /// Address of the cell on which the guest sleeps.
    at: usize,
    /// The groups in which the guest sleeps, as a mask.
    group: u32,
    wakes: Wakes,
    woken: Rc<Cell<bool>>,
}

/// How the sleeper is woken.
enum Wakes {
    Parked(Thread),
    Listens(mpsc::Sender<()>),
}

thread_local! {
    static SLEEPERS: RefCell<Vec<Sleeper>> = const { RefCell::new(Vec::new()) };
}

/// Empties the queues, because a new execution begins.
pub(super) fn begin() {
    SLEEPERS.with(|sleepers| sleepers.borrow_mut().clear());
}

/// A place in the queue of a cell.
pub(super) struct Bed {
    woken: Rc<Cell<bool>>,
    message: Option<mpsc::Receiver<()>>,
}

impl Bed {
    /// Queues the calling guest in `group` at the cell with this address.
    pub(super) fn take(at: usize, group: u32, whims: Whims) -> Bed {
        let woken = Rc::new(Cell::new(false));
        let (wakes, message) = match whims {
            Whims::Some => (Wakes::Parked(thread::current()), None),
            Whims::None => {
                let (bell, message) = mpsc::channel();
                (Wakes::Listens(bell), Some(message))
            }
        };
        let sleeper = Sleeper { at, group, wakes, woken: woken.clone() };
        SLEEPERS.with(|sleepers| sleepers.borrow_mut().push(sleeper));
        Bed { woken, message }
    }

    /// Whether a wake-up has found this guest.
    pub(super) fn woken(&self) -> bool {
        self.woken.get()
    }

    /// Blocks until a wake-up finds this guest. If none ever does, shuttle reports a deadlock.
    pub(super) fn sleep(&self) {
        if let Some(message) = &self.message {
            message.recv().expect("the sleeper's place in the queue goes with its wake-up");
        }
        while !self.woken() {
            thread::park();
        }
    }
}

/// A guest that leaves without having been woken also leaves the queue.
impl Drop for Bed {
    fn drop(&mut self) {
        SLEEPERS.with(|sleepers| sleepers.borrow_mut().retain(|s| !Rc::ptr_eq(&s.woken, &self.woken)));
    }
}

/// Wakes up to `n` sleepers of the cell with this address that share a group with `group`.
pub(super) fn wake(at: usize, n: u32, group: u32) {
    for _ in 0..n {
        let sleeper = SLEEPERS.with(|sleepers| {
            let mut sleepers = sleepers.borrow_mut();
            let here: Vec<usize> =
                (0..sleepers.len()).filter(|&i| sleepers[i].at == at && sleepers[i].group & group != 0).collect();
            let chosen = match here.len() {
                0 => return None,
                1 => here[0],
                several => here[thread_rng().gen_range(0..several)],
            };
            let sleeper = sleepers.remove(chosen);
            sleeper.woken.set(true);
            Some(sleeper)
        });
        match sleeper {
            Some(Sleeper { wakes: Wakes::Parked(guest), .. }) => guest.unpark(),
            Some(Sleeper { wakes: Wakes::Listens(bell), .. }) => bell.send(()).expect("it sleeps until it is woken"),
            None => return,
        }
    }
}
