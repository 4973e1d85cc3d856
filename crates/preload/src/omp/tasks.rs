//! Tasks, recorded: their creation, which thread runs them and when, and waits for them.
//!
//! The runtime copies a task's data when the task is created, and gives the task's function the
//! copy. So the hook creates a task with a function of this library ([`run`]) and with data that
//! begin with a [`Head`]; the program's data follow it. A task that can be completed by an event
//! (`detach`) is passed on untouched, because the runtime writes into the task's data before it
//! copies them.

use super::late::{self, Copier};
use super::team;
use crate::events;
use crate::hooks::{Code, slot};
use crate::thread::{self, Function, Region};
use core::ffi::{c_int, c_uint, c_void};

/// Points the slots of tasks to the functions of this file.
pub(super) fn install() {
    slot::GOMP_task.set(task_shim as Code);
    slot::GOMP_taskwait.set(taskwait as Code);
    slot::GOMP_taskwait_depend.set(taskwait_depend as Code);
    slot::GOMP_taskgroup_end.set(taskgroup_end as Code);
}

type Data = *mut c_void;

/// Begins a recorded task's data: the program's function, and what events say about the task. The
/// program's data lie `offset` bytes behind the head's first byte.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    run: Function,
    offset: usize,
    number: u64,
    /// The region in which the task was created. It lives until all of its tasks have ended.
    region: *const Region,
}

/// The data that the runtime gets at a task's creation, and copies by [`copy`].
struct Source {
    head: Head,
    /// The program's data, their length, and the function that copies them.
    data: Data,
    length: usize,
    copy: Copier,
}

/// Makes the data of a recorded task, on the runtime's behalf: writes the head, and copies the
/// program's data behind it.
unsafe extern "C-unwind" fn copy(to: Data, from: Data) {
    // SAFETY: `from` is the source that `task` made, and `task` waits until the runtime returns;
    // `to` has room for the head and the data, and is aligned for both.
    unsafe {
        let source = &*from.cast::<Source>();
        to.cast::<Head>().write(source.head);
        let to = to.byte_add(source.head.offset);
        match source.copy {
            Some(copy) => copy(to, source.data),
            None => core::ptr::copy_nonoverlapping(source.data.cast::<u8>(), to.cast(), source.length),
        }
    }
}

/// Runs in place of the task's function, and calls it. Nothing here has a destructor, as in
/// [`team::member`].
unsafe extern "C-unwind" fn run(data: Data) {
    // SAFETY: `copy` wrote the head at the beginning of `data`.
    let head = unsafe { *data.cast::<Head>() };
    // SAFETY: the region does not end before the task has ended.
    let outer = unsafe { team::begin_task(thread::current(), head.region, head.run, head.number) };
    // SAFETY: the program's function gets its own copy of the data, as the program asked.
    unsafe { (head.run)(data.byte_add(head.offset)) };
    // The same thread ends the task that began it: GCC's runtime and Baton's never move a task
    // between threads.
    // SAFETY: the region does not end before the task has ended.
    unsafe { team::end_task(thread::current(), head.region, &outer, head.number) };
}

/// libgomp's flag of a task that an event completes.
const DETACH: c_uint = 1 << 13;
/// The greatest alignment of data with which a task is recorded.
const ALIGNED: i64 = 4096;

/// Four of the arguments are on the stack, so this shim pushes the call site and then these four
/// once more; [`task`] gets the call site as its last argument, as in [`super::regions`].
#[unsafe(naked)]
unsafe extern "C-unwind" fn task_shim() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 40]",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 40]",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 40]",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 40]",
        ".cfi_adjust_cfa_offset 8",
        "call {task}",
        "add rsp, 40",
        ".cfi_adjust_cfa_offset -40",
        "ret",
        ".cfi_endproc",
        task = sym task,
    );
}

#[allow(clippy::too_many_arguments, reason = "the runtime's interface, and the call site")]
unsafe extern "C-unwind" fn task(
    function: Function,
    data: Data,
    copied: Copier,
    length: i64,
    align: i64,
    deferred: bool,
    flags: c_uint,
    depend: *mut Data,
    priority: c_int,
    detach: Data,
    site: usize,
) {
    let site = team::site(site);
    let runtime = late::GOMP_task.at(site);
    let thread = thread::current();
    let is_known = (0..=isize::MAX as i64 - ALIGNED).contains(&length) && (1..=ALIGNED).contains(&align);
    let region = team::region_of(thread);
    if flags & DETACH != 0 || !is_known || region.is_null() {
        // SAFETY: passed on.
        return unsafe {
            runtime(function, data, copied, length, align, deferred, flags, depend, priority, detach);
        };
    }
    let align = align.max(align_of::<Head>() as i64);
    let offset = size_of::<Head>().next_multiple_of(align as usize);
    let number = team::next_task(thread);
    let head = Head { run: function, offset, number, region };
    let mut source = Source { head, data, length: length as usize, copy: copied };
    events::create_task(thread, number, site);
    // SAFETY: passed on, with `source` in place of the data: `copy` knows how to copy it, and `run`
    // how to use the copy.
    unsafe {
        let data = (&raw mut source).cast();
        runtime(run, data, Some(copy), offset as i64 + length, align, deferred, flags, depend, priority, detach);
    }
}

/// Calls `wait`, in which the thread waits for tasks, between its events; outside of regions
/// without events, as there are no recorded tasks.
pub(super) fn waiting<T>(site: usize, wait: impl FnOnce(usize) -> T) -> T {
    let site = team::site(site);
    if team::region_of(thread::current()).is_null() { wait(site) } else { events::task_wait(site, || wait(site)) }
}

unsafe extern "C-unwind" fn taskwait(site: usize) {
    // SAFETY: passed on.
    waiting(site, |site| unsafe { late::GOMP_taskwait.at(site)() });
}

unsafe extern "C-unwind" fn taskwait_depend(depend: *mut Data, site: usize) {
    // SAFETY: passed on.
    waiting(site, |site| unsafe { late::GOMP_taskwait_depend.at(site)(depend) });
}

unsafe extern "C-unwind" fn taskgroup_end(site: usize) {
    // SAFETY: passed on.
    waiting(site, |site| unsafe { late::GOMP_taskgroup_end.at(site)() });
}
