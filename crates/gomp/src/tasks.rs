//! Tasks.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]
#![allow(missing_docs, reason = "the names are GCC's")]

use crate::environment::environment;
use crate::events;
use crate::process::place;
use baton_machine::Native;
use baton_omp::tasks::{Clauses, Data, Depend};
use baton_omp::team::{Context, Function};
use core::ffi::c_void;

pub(crate) const FINAL: u32 = 1 << 1;
const DEPEND: u32 = 1 << 3;
const PRIORITY: u32 = 1 << 4;
const DETACH: u32 = 1 << 13;

/// What an `omp_depend_t` says in its second word.
const IN: usize = 1;

/// Copies a task's data from where they are to the task's own.
pub(crate) type Copy = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Where a task's data are, and how it gets its own.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) data: *mut c_void,
    pub(crate) copy: Option<Copy>,
    pub(crate) bytes: i64,
    pub(crate) align: i64,
}

impl Source {
    /// The task's own data.
    ///
    /// # Safety
    /// The compiler tells the size of its data, and how they are copied.
    pub(crate) unsafe fn own(self) -> Data {
        let bytes = self.bytes.max(0) as usize;
        let align = self.align.max(1) as usize;
        // What is constructed there may know its own address.
        let mut own = if self.copy.is_some() { Data::new(bytes, align) } else { Data::movable(bytes, align) };
        // SAFETY: by contract.
        unsafe {
            match self.copy {
                Some(copy) => copy(own.as_ptr(), self.data),
                None => core::ptr::copy_nonoverlapping(self.data.cast::<u8>(), own.as_ptr().cast(), bytes),
            }
        }
        own
    }

    /// Runs a task on its data, or on a copy where they must be copied, at once.
    ///
    /// # Safety
    /// As [`own`](Source::own); the compiler outlined `function` for these data.
    pub(crate) unsafe fn run_at_once(self, place: &Context<Native>, is_final: bool, function: Function) {
        // SAFETY: by contract.
        unsafe {
            if self.copy.is_none() {
                return place.run_at_once(is_final, || function(self.data));
            }
            let mut own = self.own();
            place.run_at_once(is_final, || function(own.as_ptr()));
        }
    }
}

/// The dependences of a task. Two forms: count, count of those that write, addresses; or 0, count, counts of `out` and `inout`, of
/// `mutexinoutset`, of `in`, addresses, and then the addresses of `omp_depend_t` objects.
///
/// # Safety
/// The compiler built the list.
pub(crate) unsafe fn depends(list: *const usize) -> Vec<Depend> {
    // SAFETY: by contract, here and below.
    let word = |at: usize| unsafe { list.add(at).read() };
    let plain = |at: usize, reads: bool| Depend { address: word(at), reads };
    if word(0) != 0 {
        let (count, writes) = (word(0), word(1));
        return (0..count).map(|n| plain(2 + n, n >= writes)).collect();
    }
    let (count, writes, reads) = (word(1), word(2) + word(3), word(4));
    let object = |at: usize| {
        let object = core::ptr::with_exposed_provenance::<usize>(word(at));
        // SAFETY: the compiler filled the two words of the object.
        unsafe { Depend { address: object.read(), reads: object.add(1).read() == IN } }
    };
    let one = |n: usize| if n < writes + reads { plain(5 + n, n >= writes) } else { object(5 + n) };
    (0..count).map(one).collect()
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
    let plain = flags & (DEPEND | DETACH) == 0;
    if plain && copy.is_none() && (!deferred || place.is_inline(1, false)) {
        let is_final = flags & FINAL != 0 || place.task.borrow().is_final;
        // SAFETY: the compiler outlined the function for these data.
        return place.run_at_once(is_final, || unsafe { function(data) });
    }
    // SAFETY: the compiler passes the list with the flag.
    let depends = if flags & DEPEND == 0 { Vec::new() } else { unsafe { depends(depend.cast()) } };
    let is_final = flags & FINAL != 0 || place.task.borrow().is_final;
    let at_once = !deferred || place.is_inline(1, flags & DETACH != 0);
    let event = (flags & DETACH != 0).then(|| {
        let (event, handle) = events::make(place);
        // SAFETY: the compiler passes a word for the handle; the first of the data is the task's own copy of it.
        unsafe {
            detach.cast::<usize>().write(handle);
            if !data.is_null() {
                data.cast::<usize>().write(handle);
            }
        }
        event
    });
    let source = Source { data, copy, bytes, align };
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
    // SAFETY: as above.
    place.defer(
        function,
        unsafe { source.own() },
        Clauses { is_final, priority, depends, event, constructed: copy.is_some() },
    );
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskwait() {
    place().taskwait();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_taskwait_depend(depend: *mut *mut c_void) {
    let place = place();
    if !place.task_cancelled() {
        // SAFETY: the compiler built the list.
        place.await_dependences(&unsafe { depends(depend.cast()) });
    }
}

/// A scheduling point that takes no task.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskyield() {}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_start() {
    place().begin_group(false);
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_end() {
    place().end_group();
}
