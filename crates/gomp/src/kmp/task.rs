//! Tasks.
//!
//! The compiler asks for a task, writes the task's data into it, and hands it back: to be run later,
//! or between two calls by the compiler's own code. Before the part of a task that the compiler
//! knows lies a head that only this file knows.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::environment::environment;
use crate::events;
use crate::kmp::depends::{self, Listed};
use crate::kmp::framed::framed;
use crate::kmp::ident::{Ident, number};
use crate::kmp::reductions;
use crate::later;
use crate::ompt;
use crate::ompt::constructs::{group_begins, next_task, taskwait_on};
use crate::ompt::thread::Dependence;
use crate::process::place;
use crate::tasks::{begins_at_once, ompt_flags};
use baton_machine::Native;
use baton_omp::Outer;
use baton_omp::tasks::{Clauses, Depend, Event, Kind, Shared};
use baton_omp::team::Context;
use baton_omp::tool::status;
use core::alloc::Layout;
use core::cell::{Cell, RefCell};
use core::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bits of a task's flags.
const TIED: i32 = 1;
const FINAL: i32 = 1 << 1;
const MERGEABLE: i32 = 1 << 2;
const DESTRUCTORS: i32 = 1 << 3;
const PROXY: i32 = 1 << 4;
const PRIORITY: i32 = 1 << 5;

/// What the compiler returns from a task's function is not used.
pub(crate) type Routine = unsafe extern "C-unwind" fn(i32, *mut Task) -> i32;

/// LLVM's `kmp_task_t`, behind which the task's own variables lie, and behind these the addresses
/// of those that it shares.
#[repr(C)]
pub struct Task {
    shareds: *mut c_void,
    routine: Option<Routine>,
    part: i32,
    destructors: Option<Routine>,
    priority: i32,
}

/// The event that completes a task, and its handle.
type Completion = (Shared<Native, Event<Native>>, usize);

/// What only this file knows of a task. It lies before the task.
#[repr(C, align(64))]
struct Head {
    /// Bytes of the task with all that lies behind it.
    bytes: usize,
    flags: i32,
    /// Whether the task's function runs now.
    runs: Cell<bool>,
    /// Whether the function, which runs, is to be called once more: an untied task hands itself
    /// back before it returns.
    again: Cell<bool>,
    event: RefCell<Option<Completion>>,
    /// The task around this one, while the compiler's code runs this one.
    outer: RefCell<Option<Outer<Native>>>,
    /// The parts of a proxy task that have not ended: its function, and the work that the task
    /// stands for.
    left: AtomicU32,
}

/// A task, by the address that the compiler knows.
#[derive(Clone, Copy)]
pub(crate) struct Handle(pub(crate) *mut Task);

impl Handle {
    /// Makes a task of `bytes` bytes, with `shareds` bytes behind it.
    fn new(flags: i32, bytes: usize, shareds: usize, routine: Option<Routine>) -> Handle {
        let own = bytes.next_multiple_of(size_of::<usize>());
        let handle = Handle::of_size(flags, own + shareds);
        // SAFETY: the memory was made above, and has room for the task and what it shares.
        unsafe {
            let behind = handle.0.cast::<u8>().add(own).cast();
            let shareds = if shareds == 0 { core::ptr::null_mut() } else { behind };
            handle.0.write(Task { shareds, routine, part: 0, destructors: None, priority: 0 });
        }
        handle
    }

    fn layout(bytes: usize) -> Layout {
        let whole = Layout::from_size_align(size_of::<Head>() + bytes, align_of::<Head>());
        whole.expect("a task has a size that memory can have")
    }

    /// A task of `bytes` bytes in all, of which only the head is written.
    fn of_size(flags: i32, bytes: usize) -> Handle {
        let bytes = bytes.max(size_of::<Task>());
        let layout = Handle::layout(bytes);
        // SAFETY: the layout has a size that is not 0.
        let at = unsafe { std::alloc::alloc(layout) }.cast::<Head>();
        if at.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        let (event, outer) = (RefCell::new(None), RefCell::new(None));
        let left = AtomicU32::new(2);
        let head = Head { bytes, flags, runs: Cell::new(false), again: Cell::new(false), event, outer, left };
        // SAFETY: taken above.
        unsafe {
            at.write(head);
            Handle(at.add(1).cast())
        }
    }

    /// A copy of the task, as the compiler has filled it in.
    ///
    /// # Safety
    /// The task has not been run.
    pub(crate) unsafe fn copy(self) -> Handle {
        let head = self.head();
        let copy = Handle::of_size(head.flags, head.bytes);
        // SAFETY: both have as many bytes.
        unsafe {
            core::ptr::copy_nonoverlapping(self.0.cast::<u8>(), copy.0.cast(), head.bytes);
            if !(*self.0).shareds.is_null() {
                let offset = (*self.0).shareds.byte_offset_from_unsigned(self.0);
                (*copy.0).shareds = copy.0.cast::<u8>().add(offset).cast();
            }
        }
        copy
    }

    fn head(&self) -> &Head {
        // SAFETY: `of_size` wrote the head before the task; it stays until the task is freed.
        unsafe { &*self.0.cast::<Head>().sub(1) }
    }

    fn is(self, flag: i32) -> bool {
        self.head().flags & flag != 0
    }

    /// Frees the task.
    ///
    /// # Safety
    /// Neither the compiler's code nor a list has the task any more.
    pub(crate) unsafe fn free(self) {
        let bytes = self.head().bytes;
        // SAFETY: by contract; `of_size` took the memory with this layout.
        unsafe {
            let head = self.0.cast::<Head>().sub(1);
            head.drop_in_place();
            std::alloc::dealloc(head.cast(), Handle::layout(bytes));
        }
    }

    fn is_final(self, place: &Context<Native>) -> bool {
        self.is(FINAL) || place.is_final()
    }

    /// The handle of the event that completes the task.
    fn event(self, place: &Context<Native>) -> usize {
        self.head().event.borrow_mut().get_or_insert_with(|| events::make(place)).1
    }

    /// Calls the task's function unless the task is cancelled, and then the destructors of its
    /// variables.
    ///
    /// # Safety
    /// The compiler has filled the task in, and it runs once.
    unsafe fn run(self, cancelled: bool) {
        // SAFETY: by contract.
        unsafe {
            if cancelled {
                place()
                    .record()
                    .iter()
                    .for_each(|task| task.ends.store(status::CANCEL | status::DISCARDED, Ordering::Relaxed));
            }
            if !cancelled && let Some(routine) = (*self.0).routine {
                self.head().runs.set(true);
                self.call(routine);
                self.run_on(routine);
            }
            self.destroy();
        }
    }

    /// Calls the task's function; if there is a tool, by a function that has a frame pointer.
    #[inline(always)]
    unsafe fn call(self, routine: Routine) {
        // SAFETY: the compiler's function takes these arguments.
        unsafe {
            match place().record() {
                None => _ = routine(number(), self.0),
                Some(task) => framed(routine, number(), self.0, task.frame.exit_slot()),
            }
        }
    }

    /// Calls the function of an untied task again, as long as it hands itself back.
    unsafe fn run_on(self, routine: Routine) {
        while self.head().again.take() {
            // SAFETY: the compiler's function goes on where it returned.
            unsafe { self.call(routine) };
        }
        self.head().runs.set(false);
    }

    /// Destroys the variables of a task.
    ///
    /// # Safety
    /// The compiler has filled the task in; its variables are not used any more.
    pub(crate) unsafe fn destroy(self) {
        // SAFETY: by contract; the compiler wrote the destructors if the flag says so.
        unsafe {
            if self.is(DESTRUCTORS)
                && let Some(destroy) = (*self.0).destructors
            {
                destroy(number(), self.0);
            }
        }
    }

    /// The function of a task has ended. A proxy task stays until its work has ended too.
    unsafe fn ended(self) {
        // AcqRel: the last of the two comes after what the other did with the task.
        if !self.is(PROXY) || self.head().left.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: no other code has the task any more.
            unsafe { self.free() };
        }
    }

    /// Leaves the task for later, or runs it at once if the runtime leaves no task here.
    ///
    /// # Safety
    /// The compiler has filled the task in, and does not use it any more.
    pub(crate) unsafe fn submit(self, place: &Context<Native>, depends: Vec<Depend>, kind: Kind, deferred: bool) {
        // SAFETY: as below.
        unsafe { self.submit_listed(place, depends, kind, deferred, Vec::new) };
    }

    /// What a tool is told of the task's clauses.
    fn flags_for_tool(self) -> i32 {
        ompt_flags(!self.is(TIED), self.is(MERGEABLE))
    }

    /// Does what [`submit`](Handle::submit) does. `listed`: the dependences as a tool is told of them.
    ///
    /// # Safety
    /// As for [`submit`](Handle::submit).
    unsafe fn submit_listed(
        self,
        place: &Context<Native>,
        depends: Vec<Depend>,
        kind: Kind,
        deferred: bool,
        listed: impl FnOnce() -> Vec<Dependence>,
    ) {
        let is_final = self.is_final(place);
        next_task(place, || self.flags_for_tool(), listed);
        if self.is(PROXY) {
            self.event(place);
        }
        let event = self.head().event.borrow().as_ref().map(|(event, _)| event.clone());
        let kind = if event.is_some() { Kind::Detached } else { kind };
        if !deferred || begins_at_once(place, kind, &depends) {
            place.await_dependences(&depends);
            // SAFETY: by contract.
            let body = || unsafe {
                Event::tell(event.as_deref(), place.record());
                self.run(place.task_cancelled());
            };
            // The maker of a task with an event does not wait for the event, as under LLVM's library.
            match &event {
                None => place.run_at_once(is_final, body),
                Some(event) => place.run_with_event(is_final, event, body),
            }
            // SAFETY: the function has ended.
            return unsafe { self.ended() };
        }
        // SAFETY: the compiler wrote the priority if the flag says so.
        let priority = if self.is(PRIORITY) { unsafe { (*self.0).priority }.min(environment().priority) } else { 0 };
        let clauses = Clauses { is_final, priority, depends, event, constructed: true };
        // SAFETY: the memory has room for an address.
        let fill = |data: *mut c_void| unsafe { data.cast::<*mut Task>().write(self.0) };
        place.defer(deferred_task, Layout::new::<*mut Task>(), fill, clauses);
    }
}

unsafe extern "C-unwind" fn deferred_task(data: *mut c_void) {
    // SAFETY: `submit` wrote the address of a task, which runs once.
    unsafe {
        let task = Handle(data.cast::<*mut Task>().read());
        task.run(place().task_cancelled());
        task.ended();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_task_alloc(
    _at: *const Ident,
    _thread: i32,
    flags: i32,
    bytes: usize,
    shareds: usize,
    routine: Option<Routine>,
) -> *mut Task {
    Handle::new(flags, bytes, shareds, routine).0
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_target_task_alloc(
    at: *const Ident,
    thread: i32,
    flags: i32,
    bytes: usize,
    shareds: usize,
    routine: Option<Routine>,
    _device: i64,
) -> *mut Task {
    __kmpc_omp_task_alloc(at, thread, flags, bytes, shareds, routine)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task(_at: *const Ident, _thread: i32, task: *mut Task) -> i32 {
    // SAFETY: the compiler passes a task that it has filled in.
    unsafe {
        let task = Handle(task);
        if task.head().runs.get() {
            task.head().again.set(true);
        } else {
            task.submit(place(), Vec::new(), Kind::Plain, true);
        }
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task_parts(at: *const Ident, thread: i32, task: *mut Task) -> i32 {
    // SAFETY: by contract.
    unsafe { __kmpc_omp_task(at, thread, task) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task_with_deps(
    _at: *const Ident,
    _thread: i32,
    task: *mut Task,
    count: i32,
    list: *const Listed,
    more: i32,
    further: *const Listed,
) -> i32 {
    // SAFETY: the compiler passes a task that it has filled in, and both lists.
    unsafe {
        let lists = [(count, list), (more, further)];
        let listed = || depends::listed(lists);
        Handle(task).submit_listed(place(), depends::read(lists), Kind::Plain, true, listed);
    }
    0
}

/// Begins a task whose function the compiler calls next, in the same thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task_begin_if0(_at: *const Ident, _thread: i32, task: *mut Task) {
    let (task, place) = (Handle(task), place());
    task.head().runs.set(true);
    next_task(place, || task.flags_for_tool(), Vec::new);
    let has_event = task.head().event.borrow().is_some();
    task.head().outer.replace(Some(place.begin_included(task.is_final(place), has_event)));
    Event::tell(task.head().event.borrow().as_ref().map(|(event, _)| &**event), place.record());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task_complete_if0(_at: *const Ident, _thread: i32, task: *mut Task) {
    let (task, place) = (Handle(task), place());
    // SAFETY: the compiler has run the task's function.
    unsafe {
        if let Some(routine) = (*task.0).routine {
            task.run_on(routine);
        }
        task.destroy();
    }
    let (outer, event) = (task.head().outer.take(), task.head().event.take());
    let event = event.as_ref().map(|(event, _)| &**event);
    // Nothing waits for the event here, as under LLVM's library and unlike under libgomp.
    // SAFETY: the compiler ends the task where it is the current one again.
    outer.into_iter().for_each(|outer| unsafe { place.end_task(outer, event) });
    // SAFETY: as above.
    unsafe { task.ended() };
}

/// Waits for the tasks on which a task that the thread runs itself depends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_wait_deps(
    _at: *const Ident,
    _thread: i32,
    count: i32,
    list: *const Listed,
    more: i32,
    further: *const Listed,
) {
    let (place, lists) = (place(), [(count, list), (more, further)]);
    // SAFETY: the compiler passes both lists.
    let (depends, listed) = unsafe { (depends::read(lists), || depends::listed(lists)) };
    taskwait_on(place, listed, || place.await_dependences(&depends));
}

/// A taskwait with dependences; with `nowait` it becomes an empty task that has them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_taskwait_deps_51(
    at: *const Ident,
    thread: i32,
    count: i32,
    list: *const Listed,
    more: i32,
    further: *const Listed,
    nowait: i32,
) {
    // SAFETY: the compiler passes both lists.
    unsafe {
        if nowait == 0 {
            __kmpc_omp_wait_deps(at, thread, count, list, more, further);
        } else {
            later::later(depends::read([(count, list), (more, further)]), || ());
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_taskwait(_at: *const Ident, _thread: i32) -> i32 {
    let place = place();
    ompt::sync(place, ompt::Sync::Taskwait, || place.taskwait());
    0
}

/// A point at which a thread may switch to another task; it never does here.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_taskyield(_at: *const Ident, _thread: i32, _part: i32) -> i32 {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_taskgroup(_at: *const Ident, _thread: i32) {
    let place = place();
    group_begins(place);
    place.begin_group(false);
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_taskgroup(_at: *const Ident, _thread: i32) {
    let place = place();
    ompt::sync(place, ompt::Sync::Taskgroup, || reductions::end_group(place));
}

/// Makes the event by which the program completes a detached task.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_task_allow_completion_event(_at: *const Ident, _thread: i32, task: *mut Task) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(Handle(task).event(place()))
}

/// The work of a proxy task has ended.
unsafe fn completed(task: *mut Task) {
    let task = Handle(task);
    let handle = task.head().event.borrow().as_ref().map(|(_, handle)| *handle);
    handle.into_iter().for_each(|handle| events::omp_fulfill_event(handle));
    // SAFETY: the caller does not use the task any more.
    unsafe { task.ended() };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_proxy_task_completed(_thread: i32, task: *mut Task) {
    // SAFETY: by contract.
    unsafe { completed(task) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_proxy_task_completed_ooo(task: *mut Task) {
    // SAFETY: by contract.
    unsafe { completed(task) };
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_reg_task_with_affinity(
    _at: *const Ident,
    _thread: i32,
    _task: *mut Task,
    _count: i32,
    _list: *const c_void,
) -> i32 {
    0
}

/// Whether tasks of the team may be run by its other threads.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_has_task_team(_thread: i32) -> i32 {
    i32::from(place().team().size > 1)
}
