//! Tasks, recorded: their creation, which thread runs them and when, and waits for them.
//!
//! The runtime makes a task with room for the words that the task shares with its creator, and the
//! program then fills in the words and hands the task to the runtime. The hook asks for more room:
//! the words lie behind a [`Head`], by which [`run`], the task's function in place of the program's,
//! finds what events say about the task.
//!
//! Passed on unrecorded are tasks outside of regions, untied tasks, whose function runs several
//! times, tasks that an event completes, and task loops, for which the runtime copies the task.

use super::super::interface::{Entry, Ident, Task};
use super::super::tasks::waiting;
use super::super::{late, pass, team};
use crate::events;
use crate::hooks::{Code, slot, with_site};
use crate::thread::{self, Function, Region};
use core::ffi::{c_int, c_void};

/// Points the slots of tasks to the functions of this file.
pub(in super::super) fn install() {
    slot::__kmpc_omp_task_alloc.set(alloc_shim as Code);
    slot::__kmpc_omp_task.set(task as Code);
    slot::__kmpc_omp_task_with_deps.set(with_deps_shim as Code);
    slot::__kmpc_taskloop.set(taskloop_shim as Code);
    slot::__kmpc_taskloop_5.set(taskloop_5_shim as Code);
    slot::__kmpc_omp_taskwait.set(taskwait as Code);
    slot::__kmpc_end_taskgroup.set(end_taskgroup as Code);
}

/// What lies before the words of a recorded task.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Head {
    entry: Entry,
    number: u64,
    /// The region in which the task was made. It lives until all of its tasks have ended.
    region: *const Region,
    /// The bytes of the words.
    bytes: usize,
}

/// The head of a task, if it is a recorded one.
///
/// # Safety
/// The task has not ended.
unsafe fn head(task: *const Task) -> Option<Head> {
    // SAFETY: by contract; `alloc` gave the task its function and its head together.
    unsafe {
        let recorded = (*task).entry as usize == run as *const () as usize;
        recorded.then(|| (*task).shared.cast::<Head>().sub(1).read_unaligned())
    }
}

/// LLVM's flags of a task: one thread runs all of it; an event completes it.
const TIED: c_int = 1 << 0;
const DETACHABLE: c_int = 1 << 6;
/// Words of more bytes than this are not given a head.
const MOST_BYTES: usize = 1 << 40;

with_site! { alloc_shim alloc }

#[allow(clippy::too_many_arguments, reason = "the runtime's interface, and the call site")]
unsafe extern "C-unwind" fn alloc(
    place: *const Ident,
    number: c_int,
    flags: c_int,
    task_bytes: usize,
    bytes: usize,
    entry: Entry,
    site: usize,
) -> *mut Task {
    let site = team::site(site);
    let (runtime, inner) = late::__kmpc_omp_task_alloc.called(site);
    let thread = thread::current();
    let region = team::region_of(thread);
    if inner || region.is_null() || flags & (TIED | DETACHABLE) != TIED || bytes > MOST_BYTES {
        // SAFETY: passed on.
        return unsafe { runtime(place, number, flags, task_bytes, bytes, entry) };
    }
    let head = Head { entry, number: team::next_task(thread), region, bytes };
    // SAFETY: passed on, with room for the head too. The task is the calling thread's alone until it is
    // handed to the runtime, and has the room that was asked for at `shared`.
    unsafe {
        let task = runtime(place, number, flags, task_bytes, size_of::<Head>() + bytes, run);
        (*task).shared.cast::<Head>().write_unaligned(head);
        (*task).shared = (*task).shared.byte_add(size_of::<Head>());
        task
    }
}

/// Runs in place of the task's function, and calls it. Nothing here has a destructor, as in
/// [`team::member_that`].
unsafe extern "C-unwind" fn run(number: c_int, task: *mut Task) -> c_int {
    // SAFETY: the runtime passes the task, which has not ended; only tasks with a head have this function.
    let head = unsafe { head(task).unwrap_unchecked() };
    // SAFETY: the function stands for its address alone.
    let named = unsafe { core::mem::transmute::<Entry, Function>(head.entry) };
    // SAFETY: the region does not end before the task has ended.
    let outer = unsafe { team::begin_task(thread::current(), head.region, named, head.number) };
    // SAFETY: the program's function gets its own task.
    let answer = unsafe { (head.entry)(number, task) };
    // The same thread ends the task that began it, because the task is tied.
    // SAFETY: the region does not end before the task has ended.
    unsafe { team::end_task(thread::current(), head.region, &outer, head.number) };
    answer
}

/// Records that a task is created, if it is a recorded one.
///
/// # Safety
/// The task has not been handed to the runtime yet.
unsafe fn created(task: *mut Task, site: usize) {
    // SAFETY: the program passes the task that it has made.
    if let Some(head) = unsafe { head(task) } {
        events::create_task(thread::current(), head.number, site);
    }
}

unsafe extern "C-unwind" fn task(place: *const Ident, number: c_int, task: *mut Task, site: usize) -> c_int {
    let site = team::site(site);
    let (runtime, inner) = late::__kmpc_omp_task.called(site);
    // SAFETY: passed on.
    unsafe {
        if !inner {
            created(task, site);
        }
        runtime(place, number, task)
    }
}

/// One of the arguments is on the stack, so this shim pushes the call site and then this one once
/// more; [`with_deps`] gets the call site as its last argument.
#[unsafe(naked)]
unsafe extern "C-unwind" fn with_deps_shim() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 24]",
        ".cfi_adjust_cfa_offset 8",
        "call {with_deps}",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        ".cfi_endproc",
        with_deps = sym with_deps,
    );
}

#[allow(clippy::too_many_arguments, reason = "the runtime's interface, and the call site")]
unsafe extern "C-unwind" fn with_deps(
    place: *const Ident,
    number: c_int,
    task: *mut Task,
    count: c_int,
    list: *mut c_void,
    more: c_int,
    more_list: *mut c_void,
    site: usize,
) -> c_int {
    let site = team::site(site);
    let (runtime, inner) = late::__kmpc_omp_task_with_deps.called(site);
    // SAFETY: passed on.
    unsafe {
        if !inner {
            created(task, site);
        }
        runtime(place, number, task, count, list, more, more_list)
    }
}

/// Gives a task its own function back, and its words their own place.
unsafe extern "C" fn forget(task: *mut Task) {
    // SAFETY: the program passes the task that it has made and has not handed to the runtime yet. What
    // is moved lies in the room that `alloc` asked for.
    unsafe {
        let Some(head) = head(task) else { return };
        let place = (*task).shared.byte_sub(size_of::<Head>());
        core::ptr::copy((*task).shared.cast::<u8>(), place.cast::<u8>(), head.bytes);
        (*task).shared = place;
        (*task).entry = head.entry;
    }
}

/// Declares a naked function that makes a task an unrecorded one, and then passes the call on.
macro_rules! unrecorded {
    ($shim:ident $name:ident) => {
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $shim() {
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                // The task is the third argument.
                "mov rdi, rdx",
                "call {forget}",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp {pass}",
                forget = sym forget,
                pass = sym pass::jump::$name,
            );
        }
    };
}

unrecorded! { taskloop_shim __kmpc_taskloop }
unrecorded! { taskloop_5_shim __kmpc_taskloop_5 }

unsafe extern "C-unwind" fn taskwait(place: *const Ident, number: c_int, site: usize) -> c_int {
    let (runtime, inner) = late::__kmpc_omp_taskwait.called(team::site(site));
    // SAFETY: passed on.
    let wait = || unsafe { runtime(place, number) };
    if inner { wait() } else { waiting(site, |_| wait()) }
}

unsafe extern "C-unwind" fn end_taskgroup(place: *const Ident, number: c_int, site: usize) {
    let (runtime, inner) = late::__kmpc_end_taskgroup.called(team::site(site));
    // SAFETY: passed on.
    let wait = || unsafe { runtime(place, number) };
    if inner { wait() } else { waiting(site, |_| wait()) }
}
