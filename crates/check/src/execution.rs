//! The state of one execution under a model checker: the storage of its guest threads, the memory
//! that they gave back, and the time.
//!
//! Both tools run all guests of an execution as coroutines on one host thread, one at a time. So
//! this state is in the storage of that host thread, needs no lock, and adds no happens-before edge
//! between guests.

use baton_machine::{Atomic, Local, Machine, Native, Shared};
use core::alloc::Layout;
use core::ptr::NonNull;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The state of the execution that runs on this host thread.
#[derive(Default)]
struct Execution {
    /// Storage of every guest so far. It is kept until the next execution begins, because guests
    /// hold plain references to it.
    #[allow(clippy::vec_box, reason = "guests keep references: the storage must not move")]
    storage: Vec<Box<Local>>,
    /// By guest number: whether a live guest has it.
    taken: Vec<bool>,
    /// Blocks of memory that guests have been given and have not given back.
    in_use: Vec<(NonNull<u8>, Layout)>,
    /// Memory that guests gave back. It is kept until the next execution, so that a late access can
    /// be detected.
    given_back: Vec<(NonNull<u8>, Layout)>,
    /// Address of the words that all guests share, in memory that is in use; 0 before they are
    /// made.
    shared: usize,
    /// Addresses of cells that only one guest polls.
    polled: BTreeSet<usize>,
    /// The time in nanoseconds.
    now: u64,
}

/// The time at which an execution begins: an hour, so that a test can name a deadline in the past.
const START: u64 = 3_600_000_000_000;

thread_local! {
    static EXECUTION: RefCell<Execution> = RefCell::default();
}

fn with<R>(f: impl FnOnce(&mut Execution) -> R) -> R {
    EXECUTION.with(|execution| f(&mut execution.borrow_mut()))
}

/// Forgets the last execution and frees what it kept.
pub(crate) fn begin() {
    with(|execution| {
        // An execution that was abandoned halfway has left memory in use.
        for (memory, layout) in execution.given_back.drain(..).chain(execution.in_use.drain(..)) {
            // SAFETY: the memory came from `alloc` with this layout, and the execution whose guests
            // could refer to it is over.
            unsafe { Native::dealloc(memory, layout) };
        }
        *execution = Execution { now: START, ..Execution::default() };
    });
}

/// Makes storage for a guest that has none yet, under the lowest number that no live guest has.
pub(crate) fn enrol() -> &'static Local {
    with(|execution| {
        let index = execution.taken.iter().position(|taken| !taken).unwrap_or(execution.taken.len());
        if index == execution.taken.len() {
            execution.taken.push(true);
        } else {
            execution.taken[index] = true;
        }
        execution.storage.push(Box::new(Local::new(index as u32)));
        let local: &Local = execution.storage.last().expect("pushed just now");
        // SAFETY: the box lives until `begin`, and only guests of this execution get the reference.
        unsafe { &*core::ptr::from_ref(local) }
    })
}

/// Ends a guest's use of its storage and frees its number.
pub(crate) fn retire(local: &'static Local) {
    local.finish();
    with(|execution| execution.taken[local.index() as usize] = false);
}

/// Makes the words that all guests share. It is called where its effect happens before every guest;
/// the cells are never dropped.
pub(crate) fn make_shared<C: Atomic<usize>>() {
    let at = alloc(Layout::new::<Shared<C>>()).cast::<Shared<C>>();
    // SAFETY: the memory was allocated for this value just now.
    unsafe { at.write(Shared::new(core::array::from_fn(|_| C::new(0)))) };
    with(|execution| execution.shared = at.as_ptr().expose_provenance());
}

/// Returns the words that [`make_shared`] made for this execution.
pub(crate) fn shared<C: Atomic<usize>>() -> &'static Shared<C> {
    let at = with(|execution| execution.shared);
    assert!(at != 0, "guests run in an execution");
    // SAFETY: the words were made in this execution, for cells of the machine's only kind, and live
    // until the next one begins; only guests of this execution get the reference.
    unsafe { &*core::ptr::with_exposed_provenance(at) }
}

/// Records that one guest alone polls the cell, or no longer polls it. Panics if another guest
/// already polls it.
#[track_caller]
pub(crate) fn polls_alone(cell: usize, polls: bool) {
    let as_said = with(|execution| if polls { execution.polled.insert(cell) } else { execution.polled.remove(&cell) });
    assert!(as_said, "two guests poll a cell that one is to poll alone");
}

/// Allocates zeroed host memory.
pub(crate) fn alloc(layout: Layout) -> NonNull<u8> {
    let memory = Native::alloc(layout);
    with(|execution| execution.in_use.push((memory, layout)));
    memory
}

/// Takes memory back, and frees it when the next execution begins.
pub(crate) fn dealloc(memory: NonNull<u8>, layout: Layout) {
    with(|execution| {
        let owned = execution.in_use.iter().position(|&owned| owned == (memory, layout));
        execution
            .in_use
            .swap_remove(owned.expect("guest memory is given back once, with the layout it was asked with"));
        execution.given_back.push((memory, layout));
    });
}

/// Panics if `at` lies in memory that a guest gave back: an algorithm then used memory that it must
/// not use any more.
#[track_caller]
pub(crate) fn assert_alive(at: usize) {
    let gone = with(|execution| {
        execution.given_back.iter().any(|(memory, layout)| {
            let start = memory.as_ptr().addr();
            (start..start + layout.size()).contains(&at)
        })
    });
    assert!(!gone, "guest memory was used after it had been given back");
}

/// Advances the time by `step` nanoseconds. Returns the new time.
pub(crate) fn advance(step: u64) -> u64 {
    with(|execution| {
        execution.now += step;
        execution.now
    })
}
