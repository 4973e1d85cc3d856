//! Tasks, recorded: their creation, what runs them and when, and waits for them.
//!
//! The runtime copies a task's data when the task is created, and gives its function the copy. So a task gets a function of ours, whose
//! data begins with what it stands for, and the program's data follows. A task that can be completed by an event (`detach`) is
//! passed on untouched: the runtime writes into its data before it copies it.

use super::late::{self, Copier};
use super::team;
use crate::events;
use crate::hooks::{Code, slot};
use crate::thread::{self, Function, Region};
use core::ffi::{c_int, c_uint, c_void};

/// Points the slots here.
pub(super) fn install() {
    slot::GOMP_task.set(task_shim as Code);
    slot::GOMP_taskwait.set(taskwait as Code);
    slot::GOMP_taskwait_depend.set(taskwait_depend as Code);
    slot::GOMP_taskgroup_end.set(taskgroup_end as Code);
}

type Data = *mut c_void;

/// What a task of ours stands for. The program's data lies `offset` bytes behind its beginning.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    run: Function,
    offset: usize,
    number: u64,
    /// Lives until all of its tasks have ended.
    region: *const Region,
}

/// What the runtime gets as a task's data; it copies by [`copy`].
struct Source {
    head: Head,
    /// The program's data, its length, and how it is copied.
    data: Data,
    length: usize,
    copy: Copier,
}

/// The runtime makes the task's own data.
unsafe extern "C-unwind" fn copy(to: Data, from: Data) {
    // SAFETY: `from` is what `task` made, which waits for the runtime to return; `to` has room for the head and the data, and is
    // aligned for both.
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

/// What runs in place of the task's function. Nothing here has a destructor, as in [`team::member`].
unsafe extern "C-unwind" fn run(data: Data) {
    // SAFETY: `copy` has made it.
    let head = unsafe { *data.cast::<Head>() };
    // SAFETY: the region ends when the task has ended.
    let outer = unsafe { team::begin_task(thread::current(), head.region, head.run, head.number) };
    // SAFETY: as the program asked, with its own copy of the data.
    unsafe { (head.run)(data.byte_add(head.offset)) };
    // A task that may move between threads is run by one in GCC's runtime, and in ours.
    // SAFETY: as above.
    unsafe { team::end_task(thread::current(), head.region, &outer, head.number) };
}

/// libgomp's flag of a task that an event completes.
const DETACH: c_uint = 1 << 13;
/// Greatest alignment of data that is looked into.
const ALIGNED: i64 = 4096;

/// Four arguments are on the stack: see [`super::regions`].
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
    // SAFETY: passed on, with data of ours, which `copy` knows how to copy, and `run` how to use.
    unsafe {
        let data = (&raw mut source).cast();
        runtime(run, data, Some(copy), offset as i64 + length, align, deferred, flags, depend, priority, detach);
    }
}

/// A wait for tasks; outside of regions there are none.
fn waiting(site: usize, wait: impl FnOnce(usize)) {
    let site = team::site(site);
    if team::region_of(thread::current()).is_null() {
        wait(site);
    } else {
        events::task_wait(site, || wait(site));
    }
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
