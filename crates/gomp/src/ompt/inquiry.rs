//! What a tool asks: the functions that it looks up by name.

use super::thread::{self, state, task, with};
use super::{callbacks, running, start};
use baton_omp::tool::{RegionRecord, TaskRecord};
use core::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A function of any type.
type Any = *const c_void;

macro_rules! functions {
    ($($name:ident => $function:path;)*) => {
        /// The function of this name; null if there is none.
        pub(super) unsafe extern "C" fn lookup(name: *const c_char) -> Any {
            // SAFETY: the tool passes a string.
            match unsafe { CStr::from_ptr(name) }.to_bytes() {
                $(name if name == stringify!($name).as_bytes() => $function as *const () as Any,)*
                _ => core::ptr::null(),
            }
        }
    };
}

functions! {
    ompt_enumerate_states => enumerate_states;
    ompt_enumerate_mutex_impls => enumerate_mutexes;
    ompt_set_callback => callbacks::set;
    ompt_get_callback => callbacks::get;
    ompt_get_state => get_state;
    ompt_get_parallel_info => get_parallel_info;
    ompt_get_task_info => get_task_info;
    ompt_get_task_memory => get_task_memory;
    ompt_get_thread_data => get_thread_data;
    ompt_get_unique_id => get_unique_id;
    ompt_finalize_tool => start::finalize;
    ompt_get_num_procs => get_num_procs;
    ompt_get_num_places => get_num_places;
    ompt_get_place_proc_ids => get_place_proc_ids;
    ompt_get_place_num => get_place_num;
    ompt_get_partition_place_nums => get_partition_place_nums;
    ompt_get_proc_id => get_proc_id;
    ompt_get_target_info => get_target_info;
    ompt_get_num_devices => get_num_devices;
}

/// The states that a thread may have, and their names.
const STATES: [(i32, &CStr); 16] = [
    (state::UNDEFINED, c"ompt_state_undefined"),
    (state::WORK_SERIAL, c"ompt_state_work_serial"),
    (state::WORK_PARALLEL, c"ompt_state_work_parallel"),
    (state::WORK_REDUCTION, c"ompt_state_work_reduction"),
    (state::WAIT_IMPLICIT_PARALLEL, c"ompt_state_wait_barrier_implicit_parallel"),
    (state::WAIT_IMPLICIT_WORKSHARE, c"ompt_state_wait_barrier_implicit_workshare"),
    (state::WAIT_EXPLICIT, c"ompt_state_wait_barrier_explicit"),
    (state::WAIT_IMPLEMENTATION, c"ompt_state_wait_barrier_implementation"),
    (state::WAIT_TASKWAIT, c"ompt_state_wait_taskwait"),
    (state::WAIT_TASKGROUP, c"ompt_state_wait_taskgroup"),
    (state::WAIT_LOCK, c"ompt_state_wait_lock"),
    (state::WAIT_CRITICAL, c"ompt_state_wait_critical"),
    (state::WAIT_ATOMIC, c"ompt_state_wait_atomic"),
    (state::WAIT_ORDERED, c"ompt_state_wait_ordered"),
    (state::IDLE, c"ompt_state_idle"),
    (state::OVERHEAD, c"ompt_state_overhead"),
];

/// The implementations of locks, from the one by which a tool begins to ask.
const MUTEXES: [(i32, &CStr); 2] =
    [(0, c"ompt_mutex_impl_none"), (super::locks::BY_SETTING as i32, c"baton_mutex_impl_by_setting")];

/// Stores the entry of `list` behind `current`. Returns whether there is one.
unsafe fn behind(list: &[(i32, &'static CStr)], current: i32, next: *mut c_int, name: *mut *const c_char) -> c_int {
    let at = list.iter().position(|(number, _)| *number == current);
    let Some((number, text)) = at.and_then(|at| list.get(at + 1)) else { return 0 };
    // SAFETY: the tool passes two variables of its own.
    unsafe {
        next.write(*number);
        name.write(text.as_ptr());
    }
    1
}

unsafe extern "C" fn enumerate_states(current: c_int, next: *mut c_int, name: *mut *const c_char) -> c_int {
    // SAFETY: by contract.
    unsafe { behind(&STATES, current, next, name) }
}

unsafe extern "C" fn enumerate_mutexes(current: c_int, next: *mut c_int, name: *mut *const c_char) -> c_int {
    // SAFETY: by contract.
    unsafe { behind(&MUTEXES, current, next, name) }
}

unsafe extern "C" fn get_state(wait: *mut u64) -> c_int {
    with(|thread| {
        if !wait.is_null() {
            // SAFETY: the tool passes a variable of its own, or null.
            unsafe { wait.write(thread.wait.get()) };
        }
        thread.state.get()
    })
}

extern "C" fn get_thread_data() -> *mut c_void {
    with(|thread| if thread.known.get() { thread.word() } else { core::ptr::null_mut() })
}

/// Stores `value`, if the tool wants it.
unsafe fn give<T>(at: *mut T, value: T) {
    if !at.is_null() {
        // SAFETY: the tool passes a variable of its own, or null.
        unsafe { at.write(value) };
    }
}

/// The values of the functions below: it is there, or there is none.
const THERE: c_int = 2;
const NONE: c_int = 0;

unsafe extern "C" fn get_parallel_info(level: c_int, data: *mut *mut c_void, size: *mut c_int) -> c_int {
    let around = |region: &&'static RegionRecord| region.outer();
    let of = |task: &'static TaskRecord| task.region.as_deref();
    let mut regions = std::iter::successors(task().and_then(|task| of(task)), around);
    let Some(region) = usize::try_from(level).ok().and_then(|level| regions.nth(level)) else { return NONE };
    // SAFETY: by contract.
    unsafe {
        give(data, region.word.address());
        give(size, region.threads.load(Relaxed) as c_int);
    }
    THERE
}

unsafe extern "C" fn get_task_info(
    level: c_int,
    flags: *mut c_int,
    data: *mut *mut c_void,
    frame: *mut *const c_void,
    region: *mut *mut c_void,
    number: *mut c_int,
) -> c_int {
    let around = |task: &&'static TaskRecord| task.parent.as_deref();
    let mut tasks = std::iter::successors(task().map(|task| &**task), around);
    let Some(task) = usize::try_from(level).ok().and_then(|level| tasks.nth(level)) else { return NONE };
    // SAFETY: by contract.
    unsafe {
        give(flags, task.flags.load(Relaxed));
        give(data, task.word.address());
        give(frame, thread::frame(task));
        give(region, task.region_word());
        give(number, task.thread.load(Relaxed) as c_int);
    }
    THERE
}

/// The memory of a task's data is not told.
extern "C" fn get_task_memory(_address: *mut *mut c_void, _size: *mut usize, _block: c_int) -> c_int {
    0
}

extern "C" fn get_unique_id() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Relaxed) + 1
}

extern "C" fn get_num_procs() -> c_int {
    running::runtime().map_or(1, |runtime| runtime.cpus as c_int)
}

fn places() -> &'static [Vec<u32>] {
    running::runtime().map_or(&[], |runtime| &runtime.settings.places)
}

extern "C" fn get_num_places() -> c_int {
    places().len() as c_int
}

/// Stores as many numbers as there is room for. Returns how many there are.
unsafe fn store(numbers: impl ExactSizeIterator<Item = i32>, room: c_int, at: *mut c_int) -> c_int {
    let count = numbers.len() as c_int;
    // SAFETY: the tool passes an array with that room.
    numbers.take(room.max(0) as usize).enumerate().for_each(|(n, number)| unsafe { at.add(n).write(number) });
    count
}

unsafe extern "C" fn get_place_proc_ids(place: c_int, room: c_int, ids: *mut c_int) -> c_int {
    let Some(cpus) = usize::try_from(place).ok().and_then(|place| places().get(place)) else { return 0 };
    // SAFETY: by contract.
    unsafe { store(cpus.iter().map(|cpu| *cpu as i32), room, ids) }
}

extern "C" fn get_place_num() -> c_int {
    thread::context().and_then(|place| place.seat).map_or(-1, |seat| seat.place as c_int)
}

unsafe extern "C" fn get_partition_place_nums(room: c_int, numbers: *mut c_int) -> c_int {
    let Some(seat) = thread::context().and_then(|place| place.seat) else { return 0 };
    let (first, count) = (seat.first as i32, seat.count as i32);
    // SAFETY: by contract.
    unsafe { store(first..first + count, room, numbers) }
}

extern "C" fn get_proc_id() -> c_int {
    if get_thread_data().is_null() {
        return -1;
    }
    // SAFETY: takes no argument.
    unsafe { libc::sched_getcpu() }
}

/// No target region is run on a device.
extern "C" fn get_target_info(_device: *mut u64, _target: *mut u64, _operation: *mut u64) -> c_int {
    0
}

extern "C" fn get_num_devices() -> c_int {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_functions_of_the_interface_are_found_and_no_others() {
        for name in [c"ompt_set_callback", c"ompt_get_task_info", c"ompt_finalize_tool", c"ompt_get_num_devices"] {
            // SAFETY: a string.
            assert!(!unsafe { lookup(name.as_ptr()) }.is_null(), "{name:?}");
        }
        // SAFETY: as above.
        assert!(unsafe { lookup(c"ompt_set_trace_ompt".as_ptr()) }.is_null());
        assert_ne!(get_unique_id(), get_unique_id());
    }

    #[test]
    fn states_are_enumerated_from_the_undefined_one() {
        let (mut now, mut count, mut name) = (state::UNDEFINED, 1, core::ptr::null());
        // SAFETY: both variables are local.
        while unsafe { enumerate_states(now, &raw mut now, &raw mut name) } != 0 {
            count += 1;
        }
        assert_eq!(count, STATES.len());
    }
}
