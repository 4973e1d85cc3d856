//! Parallel regions and the barriers in them, recorded: each hook calls the runtime's own function
//! between its events.

use super::late;
use super::team;
use crate::events;
use crate::hooks::{Code, slot};
use crate::thread::{self, Function, Region};
use baton_trace::Construct;
use core::ffi::{c_uint, c_void};

/// Points the slots of regions and barriers to the functions of this file.
pub(super) fn install() {
    slot::GOMP_parallel.set(parallel as Code);
    slot::GOMP_parallel_reductions.set(parallel_reductions as Code);
    slot::GOMP_parallel_sections.set(parallel_sections as Code);
    loops::install();
    slot::GOMP_barrier.set(barrier as Code);
    slot::GOMP_barrier_cancel.set(barrier_cancel as Code);
    slot::GOMP_loop_end.set(loop_end as Code);
    slot::GOMP_loop_end_cancel.set(loop_end_cancel as Code);
    slot::GOMP_sections_end.set(sections_end as Code);
    slot::GOMP_sections_end_cancel.set(sections_end_cancel as Code);
    slot::GOMP_single_copy_start.set(single_copy_start as Code);
    slot::GOMP_single_copy_end.set(single_copy_end as Code);
}

type Data = *mut c_void;

/// Opens a recorded region: `fork` calls the runtime, with [`team::member`] and the record of the
/// region in place of the program's function and data.
fn region<T>(run: Function, data: Data, site: usize, fork: impl FnOnce(usize, Function, Data) -> T) -> T {
    let site = team::site(site);
    let region = Region::open(run, data, site);
    let answer = fork(site, team::member, (&raw const region).cast_mut().cast());
    region.close();
    answer
}

unsafe extern "C-unwind" fn parallel(run: Function, data: Data, threads: c_uint, flags: c_uint, site: usize) {
    // SAFETY: passed on.
    region(run, data, site, |site, run, data| unsafe { late::GOMP_parallel.at(site)(run, data, threads, flags) });
}

unsafe extern "C-unwind" fn parallel_reductions(
    run: Function,
    data: Data,
    threads: c_uint,
    flags: c_uint,
    site: usize,
) -> c_uint {
    // Passed on unrecorded, because the data cannot be replaced: the runtime finds the reductions
    // in the first word of the region's data, and writes into what that word points to.
    // SAFETY: passed on, untouched.
    unsafe { late::GOMP_parallel_reductions.at(site)(run, data, threads, flags) }
}

unsafe extern "C-unwind" fn parallel_sections(
    run: Function,
    data: Data,
    threads: c_uint,
    count: c_uint,
    flags: c_uint,
    site: usize,
) {
    // SAFETY: passed on.
    region(run, data, site, |site, run, data| unsafe {
        late::GOMP_parallel_sections.at(site)(run, data, threads, count, flags);
    });
}

/// Regions that consist of one loop (`GOMP_parallel_loop_*`). Their arguments do not fit into
/// registers: the stub leaves the call site in rax, and a shim pushes the call site and then the
/// arguments from the stack once more. So this module's function, which the shim calls, gets the
/// call site as its last argument.
mod loops {
    use super::*;

    macro_rules! shim {
        ($name:ident, $function:path) => {
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "push rax",
                    ".cfi_adjust_cfa_offset 8",
                    // Pushes the argument on the stack at the eighth place, or whatever lies there,
                    // and then the seventh.
                    "push qword ptr [rsp + 24]",
                    ".cfi_adjust_cfa_offset 8",
                    "push qword ptr [rsp + 24]",
                    ".cfi_adjust_cfa_offset 8",
                    "call {function}",
                    "add rsp, 24",
                    ".cfi_adjust_cfa_offset -24",
                    "ret",
                    ".cfi_endproc",
                    function = sym $function,
                );
            }
        };
    }

    /// Declares the hooks of loops with a chunk size.
    macro_rules! chunked {
        ($($shim:ident $function:ident $name:ident;)*) => {
            $(
                shim!($shim, $function);

                #[allow(clippy::too_many_arguments, reason = "the runtime's interface, and the call site")]
                unsafe extern "C-unwind" fn $function(
                    run: Function,
                    data: Data,
                    threads: c_uint,
                    start: i64,
                    end: i64,
                    step: i64,
                    chunk: i64,
                    flags: c_uint,
                    site: usize,
                ) {
                    // SAFETY: passed on.
                    region(run, data, site, |site, run, data| unsafe {
                        late::$name.at(site)(run, data, threads, start, end, step, chunk, flags);
                    });
                }
            )*
            fn install_chunked() {
                $(slot::$name.set($shim as Code);)*
            }
        };
    }

    /// Declares the hooks of loops without a chunk size: the flags stand in its place, and the
    /// argument behind them is ignored.
    macro_rules! by_runtime {
        ($($shim:ident $function:ident $name:ident;)*) => {
            $(
                shim!($shim, $function);

                #[allow(clippy::too_many_arguments, reason = "the runtime's interface, and the call site")]
                unsafe extern "C-unwind" fn $function(
                    run: Function,
                    data: Data,
                    threads: c_uint,
                    start: i64,
                    end: i64,
                    step: i64,
                    flags: c_uint,
                    _: usize,
                    site: usize,
                ) {
                    // SAFETY: passed on.
                    region(run, data, site, |site, run, data| unsafe {
                        late::$name.at(site)(run, data, threads, start, end, step, flags);
                    });
                }
            )*
            fn install_by_runtime() {
                $(slot::$name.set($shim as Code);)*
            }
        };
    }

    chunked! {
        static_shim static_loop GOMP_parallel_loop_static;
        dynamic_shim dynamic_loop GOMP_parallel_loop_dynamic;
        guided_shim guided_loop GOMP_parallel_loop_guided;
        any_dynamic_shim any_dynamic_loop GOMP_parallel_loop_nonmonotonic_dynamic;
        any_guided_shim any_guided_loop GOMP_parallel_loop_nonmonotonic_guided;
    }

    by_runtime! {
        runtime_shim runtime_loop GOMP_parallel_loop_runtime;
        any_runtime_shim any_runtime_loop GOMP_parallel_loop_nonmonotonic_runtime;
        maybe_runtime_shim maybe_runtime_loop GOMP_parallel_loop_maybe_nonmonotonic_runtime;
    }

    pub(super) fn install() {
        install_chunked();
        install_by_runtime();
    }
}

/// Calls `wait`, the barrier of a construct at `site`, between its events; outside of regions
/// without events.
pub(super) fn at_barrier<T>(site: usize, of: Construct, wait: impl FnOnce(usize) -> T) -> T {
    let site = team::site(site);
    match team::barrier(thread::current(), site) {
        Some(barrier) => events::team_barrier(barrier, site, of, || wait(site)),
        None => wait(site),
    }
}

unsafe extern "C-unwind" fn barrier(site: usize) {
    // SAFETY: passed on.
    at_barrier(site, Construct::Barrier, |site| unsafe { late::GOMP_barrier.at(site)() });
}

unsafe extern "C-unwind" fn barrier_cancel(site: usize) -> bool {
    // SAFETY: passed on.
    at_barrier(site, Construct::Barrier, |site| unsafe { late::GOMP_barrier_cancel.at(site)() })
}

unsafe extern "C-unwind" fn loop_end(site: usize) {
    // SAFETY: passed on.
    at_barrier(site, Construct::Loop, |site| unsafe { late::GOMP_loop_end.at(site)() });
}

unsafe extern "C-unwind" fn loop_end_cancel(site: usize) -> bool {
    // SAFETY: passed on.
    at_barrier(site, Construct::Loop, |site| unsafe { late::GOMP_loop_end_cancel.at(site)() })
}

unsafe extern "C-unwind" fn sections_end(site: usize) {
    // SAFETY: passed on.
    at_barrier(site, Construct::Sections, |site| unsafe { late::GOMP_sections_end.at(site)() });
}

unsafe extern "C-unwind" fn sections_end_cancel(site: usize) -> bool {
    // SAFETY: passed on.
    at_barrier(site, Construct::Sections, |site| unsafe { late::GOMP_sections_end_cancel.at(site)() })
}

/// `single copyprivate` begins. One thread of the team gets null and goes on to compute the values;
/// the other threads wait in this call for them.
unsafe extern "C-unwind" fn single_copy_start(site: usize) -> Data {
    let site = team::site(site);
    let thread = thread::current();
    // SAFETY: passed on.
    let start = || unsafe { late::GOMP_single_copy_start.at(site)() };
    let Some(barrier) = team::barrier(thread, site) else { return start() };
    let values = events::perhaps_team_barrier(barrier, site, Construct::Single, || {
        let values = start();
        (values, !values.is_null())
    });
    if values.is_null() {
        thread.teams.single.store(site, core::sync::atomic::Ordering::Relaxed);
    }
    values
}

/// The thread that got null has computed the values, and arrives at the barrier at which the others
/// wait for them. Events name that barrier by the call site of the construct's beginning, from
/// which the others called, so this thread names the barrier by that site too.
unsafe extern "C-unwind" fn single_copy_end(values: Data, site: usize) {
    let site = team::site(site);
    let thread = thread::current();
    let entered = thread.teams.single.swap(0, core::sync::atomic::Ordering::Relaxed);
    // SAFETY: passed on.
    let end = || unsafe { late::GOMP_single_copy_end.at(site)(values) };
    match team::barrier(thread, if entered == 0 { site } else { entered }) {
        Some(barrier) => events::team_barrier(barrier, site, Construct::Single, end),
        None => end(),
    }
}
