//! Barriers, single and masked blocks, critical and ordered sections.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::critical::{GOMP_critical_name_end, GOMP_critical_name_start};
use crate::kmp::ident::{Ident, barrier_at};
use crate::ompt::{self, BEGIN, END, WorkKind, constructs};
use crate::parallel::{ordered, ordered_ends};
use crate::process::{has_tool, place};
use baton_machine::{Machine, Native, Ordering};
use baton_omp::Why;
use baton_omp::team::Context;
use core::ffi::c_void;

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_barrier(at: *const Ident, _thread: i32) {
    let place = place();
    ompt::sync(place, barrier_at(at), || place.barrier(Why::Barrier));
}

/// A barrier after which one thread runs a block before the others go on. Returns 1 to that thread.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_barrier_master(at: *const Ident, thread: i32) -> i32 {
    __kmpc_barrier(at, thread);
    if place().id == 0 {
        return 1;
    }
    __kmpc_barrier(at, thread);
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_barrier_master(at: *const Ident, thread: i32) {
    __kmpc_barrier(at, thread);
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_barrier_master_nowait(at: *const Ident, thread: i32) -> i32 {
    __kmpc_barrier(at, thread);
    __kmpc_master(at, thread)
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_flush(_at: *const Ident) {
    Native::fence(Ordering::SeqCst);
    if has_tool() {
        constructs::flush();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_single(at: *const Ident, _thread: i32) -> i32 {
    let place = place();
    let executes = place.single_at(at.addr());
    constructs::single(place, executes, true);
    i32::from(executes)
}

/// Hands the data of the thread that ran a single to the others, which copy them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_copyprivate(
    at: *const Ident,
    _thread: i32,
    _bytes: usize,
    data: *mut c_void,
    copy: unsafe extern "C" fn(*mut c_void, *mut c_void),
    ran: i32,
) {
    let place = place();
    let wait = || hand_to_others(place, at, data, copy, ran != 0);
    ompt::sync(place, ompt::Sync::Barrier, wait);
}

/// Hands the data of the thread that `ran` the single to the others.
fn hand_to_others(
    place: &Context<Native>,
    at: *const Ident,
    data: *mut c_void,
    copy: unsafe extern "C" fn(*mut c_void, *mut c_void),
    ran: bool,
) {
    let from = place.hand_out(at.addr(), ran.then(|| data.expose_provenance()));
    if !ran {
        // SAFETY: the compiler made `copy` for such data; the other thread's stay until the barrier
        // below.
        unsafe { copy(data, core::ptr::with_exposed_provenance_mut(from)) };
    }
    place.barrier(Why::Barrier);
}

/// Hands an address from the thread that passes it to those that pass null.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_copyprivate_light(at: *const Ident, _thread: i32, data: *mut c_void) -> *mut c_void {
    let own = (!data.is_null()).then(|| data.expose_provenance());
    let place = place();
    core::ptr::with_exposed_provenance_mut(ompt::sync(place, ompt::Sync::Barrier, || place.hand_out(at.addr(), own)))
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_master(_at: *const Ident, _thread: i32) -> i32 {
    masked(0)
}

/// Returns 1 to the thread whose number is `filter`.
fn masked(filter: i32) -> i32 {
    let place = place();
    let runs = place.id as i32 == filter;
    if runs {
        constructs::masked(place, BEGIN);
    }
    i32::from(runs)
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_masked(_at: *const Ident, _thread: i32, filter: i32) -> i32 {
    masked(filter)
}

/// Ends of blocks, of which only a tool is told.
macro_rules! ends {
    ($($name:ident $end:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_at: *const Ident, _thread: i32) {
            $end(place());
        }
    )*};
}

ends! {
    __kmpc_end_single |place| ompt::work(place, WorkKind::SingleExecutor, END, 1);
    __kmpc_end_master |place| constructs::masked(place, END);
    __kmpc_end_masked |place| constructs::masked(place, END);
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_scope(_at: *const Ident, _thread: i32, _reserved: *mut c_void) {
    ompt::work(place(), WorkKind::Scope, BEGIN, 1);
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_scope(_at: *const Ident, _thread: i32, _reserved: *mut c_void) {
    ompt::work(place(), WorkKind::Scope, END, 1);
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_ordered(_at: *const Ident, _thread: i32) {
    ordered(place());
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_ordered(_at: *const Ident, _thread: i32) {
    let place = place();
    ordered_ends(place);
    place.end_ordered();
}

/// The words that clang reserves for the name of a critical section, zero at first. The first two
/// hold what GCC's one word holds.
pub type Name = *mut [i32; 8];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_critical(_at: *const Ident, _thread: i32, name: Name) {
    // SAFETY: the compiler passes the section's words, which it aligns to 8 bytes.
    unsafe { GOMP_critical_name_start(name.cast()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_critical_with_hint(at: *const Ident, thread: i32, name: Name, _hint: u32) {
    // SAFETY: as above.
    unsafe { __kmpc_critical(at, thread, name) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_end_critical(_at: *const Ident, _thread: i32, name: Name) {
    // SAFETY: as above; the compiler ends each section in the thread that began it.
    unsafe { GOMP_critical_name_end(name.cast()) };
}
