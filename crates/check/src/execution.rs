//! What one execution under a model checker keeps: the storage of its guest threads, the memory that they gave back,
//! and the time.
//!
//! Both tools run all guests of an execution as coroutines on one host thread, one at a time, so this state stands in
//! that host thread's storage and needs no lock. It adds no happens-before edge between guests.

use baton_machine::{Atomic, Local, Machine, Native, Shared};
use core::alloc::Layout;
use core::ptr::NonNull;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The state of the execution that runs on this host thread.
#[derive(Default)]
struct Execution {
    /// Storage of every guest so far, kept until the next execution begins, as guests hold plain references to it.
    #[allow(clippy::vec_box, reason = "guests keep references: the storage must not move")]
    storage: Vec<Box<Local>>,
    /// By guest number: taken or free.
    taken: Vec<bool>,
    /// Memory that is in use.
    in_use: Vec<(NonNull<u8>, Layout)>,
    /// Memory that was given back. It is kept until the next execution, so that a late access is seen, not suffered.
    given_back: Vec<(NonNull<u8>, Layout)>,
    /// What all guests share, in memory that is in use; zero: not made yet.
    shared: usize,
    /// Cells that one guest alone polls.
    polled: BTreeSet<usize>,
    /// The time in nanoseconds.
    now: u64,
}

/// An hour: later than zero, so that a deadline in the past can be named.
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
        // An execution that was given up halfway left memory in use.
        for (memory, layout) in execution.given_back.drain(..).chain(execution.in_use.drain(..)) {
            // SAFETY: it came from `alloc` with this layout, and the execution whose guests could refer to it is over.
            unsafe { Native::dealloc(memory, layout) };
        }
        *execution = Execution { now: START, ..Execution::default() };
    });
}

/// Storage for a guest that has none yet, under the lowest number that no live guest has.
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

/// Makes what all guests share. Called where every guest comes after it; its cells are never dropped.
pub(crate) fn make_shared<C: Atomic<usize>>() {
    let at = alloc(Layout::new::<Shared<C>>()).cast::<Shared<C>>();
    // SAFETY: the memory was allocated for it just now.
    unsafe { at.write(Shared::new(core::array::from_fn(|_| C::new(0)))) };
    with(|execution| execution.shared = at.as_ptr().expose_provenance());
}

/// What [`make_shared`] made for this execution.
pub(crate) fn shared<C: Atomic<usize>>() -> &'static Shared<C> {
    let at = with(|execution| execution.shared);
    assert!(at != 0, "guests run in an execution");
    // SAFETY: made in this execution for cells of the machine's one kind, and in use until the next begins; only guests of this
    // one get the reference.
    unsafe { &*core::ptr::with_exposed_provenance(at) }
}

/// Notes that a guest alone polls the cell, or polls it no more; panics if another does.
#[track_caller]
pub(crate) fn polls_alone(cell: usize, polls: bool) {
    let as_said = with(|execution| if polls { execution.polled.insert(cell) } else { execution.polled.remove(&cell) });
    assert!(as_said, "two guests poll a cell that one is to poll alone");
}

/// Zeroed host memory.
pub(crate) fn alloc(layout: Layout) -> NonNull<u8> {
    let memory = Native::alloc(layout);
    with(|execution| execution.in_use.push((memory, layout)));
    memory
}

/// Takes memory back; it is freed when the next execution begins.
pub(crate) fn dealloc(memory: NonNull<u8>, layout: Layout) {
    with(|execution| {
        let owned = execution.in_use.iter().position(|&owned| owned == (memory, layout));
        execution
            .in_use
            .swap_remove(owned.expect("guest memory is given back once, with the layout it was asked with"));
        execution.given_back.push((memory, layout));
    });
}

/// Panics if `at` lies in memory that a guest gave back: an algorithm touched what it must not touch any more.
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

/// The time in nanoseconds, moved on by `step` first.
pub(crate) fn advance(step: u64) -> u64 {
    with(|execution| {
        execution.now += step;
        execution.now
    })
}
