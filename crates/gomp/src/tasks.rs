//! Tasks.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::environment::environment;
use crate::events;
use crate::ompt;
use crate::ompt::thread::Dependence;
use crate::process::place;
use baton_machine::Native;
use baton_omp::tasks::depend::ALL;
use baton_omp::tasks::{Clauses, Data, Depend, Kind};
use baton_omp::team::{Context, Function};
use core::alloc::Layout;
use core::ffi::c_void;

const UNTIED: u32 = 1;
pub(crate) const FINAL: u32 = 1 << 1;
const MERGEABLE: u32 = 1 << 2;
const DEPEND: u32 = 1 << 3;
const PRIORITY: u32 = 1 << 4;
const DETACH: u32 = 1 << 13;

/// The value, in the second word of an `omp_depend_t`, of a dependence that only reads.
const IN: usize = 1;

/// Copies a task's data from the creator's memory to the task's own.
pub(crate) type Copy = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// The data that a task is created with, and how the task gets its own copy.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) data: *mut c_void,
    pub(crate) copy: Option<Copy>,
    pub(crate) bytes: i64,
    pub(crate) align: i64,
}

impl Source {
    /// The size and alignment of the task's own data.
    ///
    /// # Safety
    /// The compiler gave `bytes` and `align`.
    #[inline]
    pub(crate) unsafe fn layout(self) -> Layout {
        // SAFETY: the caller says that the compiler gave the size and alignment, which are those of
        // a type.
        unsafe { Layout::from_size_align_unchecked(self.bytes as usize, self.align.max(1) as usize) }
    }

    /// Writes the task's own data to `own`.
    ///
    /// # Safety
    /// `own` is memory of the size and alignment of [`layout`](Source::layout), and the compiler
    /// gave `copy` and `data`.
    #[inline]
    pub(crate) unsafe fn fill(self, own: *mut c_void) {
        // SAFETY: by contract.
        unsafe {
            match self.copy {
                Some(copy) => copy(own, self.data),
                None => core::ptr::copy_nonoverlapping(self.data.cast::<u8>(), own.cast(), self.bytes as usize),
            }
        }
    }

    /// Runs the task at once, on its creator's data, or on a copy if the data have a copy function.
    ///
    /// # Safety
    /// As [`layout`](Source::layout) and [`fill`](Source::fill); the compiler outlined `function`
    /// for these data.
    #[inline]
    pub(crate) unsafe fn run_at_once(self, place: &Context<Native>, is_final: bool, function: Function) {
        if self.copy.is_none() {
            // SAFETY: by contract.
            return place.run_at_once(is_final, || unsafe { function(self.data) });
        }
        // SAFETY: by contract.
        unsafe { run_on_copy(place, is_final, function, self.layout(), |own| self.fill(own)) };
    }
}

/// Runs a task at once on data of its own, which `fill` writes.
///
/// # Safety
/// The compiler outlined `function` for such data.
#[inline(never)]
pub(crate) unsafe fn run_on_copy(
    place: &Context<Native>,
    is_final: bool,
    function: Function,
    layout: Layout,
    fill: impl FnOnce(*mut c_void),
) {
    let mut own = Data::new(layout);
    let own = own.as_ptr();
    fill(own);
    // SAFETY: by contract.
    place.run_at_once(is_final, || unsafe { function(own) });
}

/// Reads the dependences of a task from the compiler's list, which has two forms. Either: the
/// count, the count of those that write, the addresses. Or: 0, the count, the counts of `out` and
/// `inout`, of `mutexinoutset` and of `in`, the addresses of these, and then the addresses of
/// `omp_depend_t` objects.
///
/// # Safety
/// The compiler built the list.
pub(crate) unsafe fn depends(list: *const usize) -> Vec<Depend> {
    // SAFETY: the caller says that the compiler built the list; only words that its counts announce
    // are read.
    let word = |at: usize| unsafe { list.add(at).read() };
    // A null address that is written stands for all memory.
    let address = |at: usize, reads: bool| if word(at) == 0 && !reads { ALL } else { word(at) };
    let plain = |at: usize, reads: bool| Depend { address: address(at, reads), reads };
    if word(0) != 0 {
        let (count, writes) = (word(0), word(1));
        return (0..count).map(|n| plain(2 + n, n >= writes)).collect();
    }
    let (count, writes, reads) = (word(1), word(2) + word(3), word(4));
    // SAFETY: by contract.
    let stored = |at: usize| unsafe { object(core::ptr::with_exposed_provenance(word(at))) };
    let one = |n: usize| if n < writes + reads { plain(5 + n, n >= writes) } else { stored(5 + n) };
    (0..count).map(one).collect()
}

/// The flags of OMPT for these clauses of a task.
pub(crate) fn ompt_flags(untied: bool, mergeable: bool) -> i32 {
    let flag = |holds: bool, flag: i32| if holds { flag } else { 0 };
    flag(untied, 0x1000_0000) | flag(mergeable, 0x4000_0000)
}

/// The dependences of a task as a tool is told of them, from the list that [`depends`] reads.
///
/// # Safety
/// As for [`depends`].
unsafe fn dependences(list: *const usize) -> Vec<Dependence> {
    // The first form of the list does not tell `out` from `inout`.
    const KINDS: [i32; 6] = [IN_LIST, 1, 2, 3, 4, 7];
    const IN_LIST: i32 = 3;
    // SAFETY: by contract.
    let word = |at: usize| unsafe { list.add(at).read() };
    let one = |at: usize, kind: i32| Dependence { variable: word(at) as u64, kind };
    if word(0) != 0 {
        let (count, writes) = (word(0), word(1));
        return (0..count).map(|n| one(2 + n, if n < writes { IN_LIST } else { 1 })).collect();
    }
    let (count, writes, sets, reads) = (word(1), word(2), word(3), word(4));
    // SAFETY: by contract.
    let object = |at: usize| unsafe {
        let object = core::ptr::with_exposed_provenance::<usize>(word(at));
        let kind = KINDS.get(object.add(1).read()).copied().unwrap_or(IN_LIST);
        Dependence { variable: object.read() as u64, kind }
    };
    let kind = |n: usize| match n {
        n if n < writes => Some(IN_LIST),
        n if n < writes + sets => Some(4),
        n if n < writes + sets + reads => Some(1),
        _ => None,
    };
    (0..count).map(|n| kind(n).map_or_else(|| object(5 + n), |kind| one(5 + n, kind))).collect()
}

/// The dependence that an `omp_depend_t` object holds.
///
/// # Safety
/// The compiler filled the two words of the object.
pub(crate) unsafe fn object(at: *const usize) -> Depend {
    // SAFETY: by contract.
    unsafe { Depend { address: at.read(), reads: at.add(1).read() == IN } }
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
pub unsafe extern "C" fn GOMP_task(
    function: Function,
    data: *mut c_void,
    copy: Option<Copy>,
    bytes: i64,
    align: i64,
    deferred: bool,
    flags: u32,
    depend: *mut *mut c_void,
    priority: i32,
    detach: *mut c_void,
) {
    let place = place();
    if place.task_cancelled() {
        return;
    }
    let is_final = flags & FINAL != 0 || place.is_final();
    let source = Source { data, copy, bytes, align };
    if place.record().is_some() {
        // SAFETY: the compiler passes the list of dependences if its flag is set.
        unsafe { tell_next(flags, depend.cast()) };
    }
    if flags & (DEPEND | DETACH | PRIORITY) != 0 {
        let said = TaskClauses { is_final, deferred, flags, depend, priority, detach };
        // SAFETY: the compiler outlined the function for these data, and passes what the flags
        // announce.
        return unsafe { task_of_which_more_is_said(place, function, source, said) };
    }
    if !deferred || place.is_inline(Kind::Plain) {
        // SAFETY: the compiler outlined the function for these data.
        return unsafe { source.run_at_once(place, is_final, function) };
    }
    // SAFETY: as above.
    unsafe { deferred_task(place, function, source, is_final) };
}

/// Says, to a tool, what the compiler knows of the task that the thread makes next.
///
/// # Safety
/// The compiler built the list, if the flags announce one.
#[cold]
#[inline(never)]
unsafe fn tell_next(flags: u32, depend: *const usize) {
    // SAFETY: by contract.
    let list = if flags & DEPEND == 0 { Vec::new() } else { unsafe { dependences(depend) } };
    ompt::thread::set_next(ompt_flags(flags & UNTIED != 0, flags & MERGEABLE != 0), list);
}

/// Creates a task for later that has no clause but perhaps `final`.
///
/// # Safety
/// The compiler gave `source`, and outlined `function` for its data.
#[inline(always)]
unsafe fn deferred_task(place: &Context<Native>, function: Function, source: Source, is_final: bool) {
    let clauses = Clauses { is_final, constructed: source.copy.is_some(), ..Clauses::none() };
    // SAFETY: by contract.
    place.defer(function, unsafe { source.layout() }, |own| unsafe { source.fill(own) }, clauses);
}

/// The clauses of a task, and the pointers that go with them.
struct TaskClauses {
    is_final: bool,
    deferred: bool,
    flags: u32,
    depend: *mut *mut c_void,
    priority: i32,
    detach: *mut c_void,
}

/// Creates a task with dependences, a priority or an event, or runs it at once.
///
/// # Safety
/// The compiler outlined `function` for the data; it passes the list of dependences and the word
/// for the event's handle if the flags announce them.
#[cold]
#[inline(never)]
unsafe fn task_of_which_more_is_said(place: &Context<Native>, function: Function, source: Source, said: TaskClauses) {
    let TaskClauses { is_final, deferred, flags, depend, priority, detach } = said;
    // SAFETY: the compiler passes the list of dependences if this flag is set.
    let depends = if flags & DEPEND == 0 { Vec::new() } else { unsafe { depends(depend.cast()) } };
    let kind = if flags & DETACH == 0 { Kind::Plain } else { Kind::Detached };
    let at_once = !deferred || begins_at_once(place, kind, &depends);
    let event = (flags & DETACH != 0).then(|| {
        let (event, handle) = events::make(place);
        // SAFETY: the compiler passes a word for the event's handle; the first word of the data is
        // the task's own copy of the handle.
        unsafe {
            detach.cast::<usize>().write(handle);
            if !source.data.is_null() {
                source.data.cast::<usize>().write(handle);
            }
        }
        event
    });
    if at_once {
        place.await_dependences(&depends);
        // SAFETY: the compiler outlined the function for these data.
        unsafe { source.run_at_once(place, is_final, function) };
        if let Some(event) = event {
            place.await_event(&event);
        }
        return;
    }
    let priority = if flags & PRIORITY == 0 { 0 } else { priority.min(environment().priority) };
    let clauses = Clauses { is_final, priority, depends, event, constructed: source.copy.is_some() };
    // SAFETY: as above.
    place.defer(function, unsafe { source.layout() }, |own| unsafe { source.fill(own) }, clauses);
}

/// Whether the creating thread runs a task with these dependences at once, after the tasks that it
/// depends on.
pub(crate) fn begins_at_once(place: &Context<Native>, kind: Kind, depends: &[Depend]) -> bool {
    place.is_inline(kind) && (place.is_final() || !place.follows(depends))
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskwait() {
    let place = place();
    ompt::sync(place, ompt::Sync::Taskwait, || place.taskwait());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_taskwait_depend(depend: *mut *mut c_void) {
    let place = place();
    if !place.task_cancelled() {
        // SAFETY: the compiler built the list of dependences.
        let (depends, listed) = unsafe { (depends(depend.cast()), || dependences(depend.cast())) };
        ompt::constructs::taskwait_on(place, listed, || place.await_dependences(&depends));
    }
}

/// A point at which a thread may switch to another task; it never does here.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskyield() {}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_start() {
    let place = place();
    ompt::constructs::group_begins(place);
    place.begin_group(false);
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_end() {
    let place = place();
    ompt::sync(place, ompt::Sync::Taskgroup, || place.end_group());
}
