//! What is kept of each thread for a tool.

use super::callbacks::Data;
use baton_machine::Native;
use baton_omp::Runtime;
use baton_omp::team::Context;
use baton_omp::tool::TaskRecord;
use core::cell::{Cell, RefCell, UnsafeCell};
use core::ffi::c_void;
use std::sync::Arc;

/// The numbers of `ompt_state_t` that a thread may have.
pub(crate) mod state {
    pub(crate) const WORK_SERIAL: i32 = 0;
    pub(crate) const WORK_PARALLEL: i32 = 1;
    pub(crate) const WORK_REDUCTION: i32 = 2;
    pub(crate) const WAIT_IMPLICIT_PARALLEL: i32 = 0x11;
    pub(crate) const WAIT_IMPLICIT_WORKSHARE: i32 = 0x12;
    pub(crate) const WAIT_EXPLICIT: i32 = 0x14;
    pub(crate) const WAIT_IMPLEMENTATION: i32 = 0x15;
    pub(crate) const WAIT_TASKWAIT: i32 = 0x20;
    pub(crate) const WAIT_TASKGROUP: i32 = 0x21;
    pub(crate) const WAIT_LOCK: i32 = 0x41;
    pub(crate) const WAIT_CRITICAL: i32 = 0x42;
    pub(crate) const WAIT_ATOMIC: i32 = 0x43;
    pub(crate) const WAIT_ORDERED: i32 = 0x44;
    pub(crate) const IDLE: i32 = 0x100;
    pub(crate) const OVERHEAD: i32 = 0x101;
    pub(crate) const UNDEFINED: i32 = 0x102;
}

/// OMPT's `ompt_dependence_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Dependence {
    pub(crate) variable: u64,
    pub(crate) kind: i32,
}

/// A thread, as a tool knows it.
pub(crate) struct Thread {
    word: UnsafeCell<u64>,
    /// Whether the tool was told that the thread begins, and not that it ends.
    pub(crate) known: Cell<bool>,
    pub(crate) state: Cell<i32>,
    /// What the thread waits for, in a state that says that it waits for a lock.
    pub(crate) wait: Cell<u64>,
    /// Flags of OMPT that the interface knows of the task or region that the thread makes next.
    next: Cell<i32>,
    /// Whether the thread is starting the tool.
    pub(crate) starts: Cell<bool>,
    /// The implicit task that is in a single block whose end the compiler does not tell; null: none.
    pub(crate) single: Cell<*const TaskRecord>,
}

thread_local! {
    static HERE: Thread = const {
        Thread {
            word: UnsafeCell::new(0),
            known: Cell::new(false),
            state: Cell::new(state::UNDEFINED),
            wait: Cell::new(0),
            next: Cell::new(0),
            starts: Cell::new(false),
            single: Cell::new(core::ptr::null()),
        }
    };
}

thread_local! {
    /// The dependences of the task that the thread makes next.
    static DEPENDENCES: RefCell<Vec<Dependence>> = const { RefCell::new(Vec::new()) };
}

/// Says what the interface knows of the task or region that the thread makes next: flags of OMPT, and
/// dependences.
#[cold]
pub(crate) fn set_next(flags: i32, dependences: Vec<Dependence>) {
    with(|thread| thread.next.set(flags));
    DEPENDENCES.set(dependences);
}

/// Takes what was said of the task or region that the thread makes now.
pub(super) fn take_next() -> (i32, Vec<Dependence>) {
    (with(|thread| thread.next.take()), DEPENDENCES.take())
}

impl Thread {
    /// The address of the tool's word.
    pub(crate) fn word(&self) -> Data {
        self.word.get().cast()
    }

    /// Begins anew: the word is zero.
    pub(crate) fn begin(&self, state: i32) {
        // SAFETY: the tool does not know the word of a thread that begins.
        unsafe { self.word.get().write(0) };
        self.known.set(true);
        self.state.set(state);
    }
}

/// Calls `then` on the calling thread.
pub(crate) fn with<R>(then: impl FnOnce(&Thread) -> R) -> R {
    HERE.with(then)
}

/// The calling thread's context, if it has one.
pub(crate) fn context() -> Option<&'static Context<Native>> {
    // SAFETY: a function of this room uses it until the function returns.
    unsafe { Runtime::known() }
}

/// The task that the calling thread runs, as a tool knows it.
pub(crate) fn task() -> Option<&'static Arc<TaskRecord>> {
    context().and_then(Context::record)
}

/// The addresses of the tool's words for a task's region and for the task.
pub(crate) fn words(task: &TaskRecord) -> (Data, Data) {
    (task.region_word(), task.word.address())
}

/// The address of a task's frame.
pub(crate) fn frame(task: &TaskRecord) -> *const c_void {
    core::ptr::from_ref(&task.frame).cast()
}
