//! Questions about threads, and the settings that a program changes by `kmp_set_*`.
//!
//! A setting that means nothing here is kept, so that the program reads back what it set.
#![allow(clippy::missing_safety_doc, reason = "programs call these; LLVM documents the interface")]

use crate::cancel::GOMP_cancellation_point;
use crate::environment::{environment, stack};
use crate::kmp::cancel;
use crate::kmp::ident::{Ident, error, number};
use crate::ompt;
use crate::process::{has_tool, place, runtime};
use crate::target;
use crate::variables::{WARNINGS, variable, warn};
use core::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_begin(_at: *const Ident, _flags: i32) {}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end(_at: *const Ident) {}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_global_thread_num(_at: *const Ident) -> i32 {
    number()
}

/// The threads of the calling thread's team. LLVM's counts those of the process.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_global_num_threads(at: *const Ident) -> i32 {
    __kmpc_bound_num_threads(at)
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_bound_thread_num(_at: *const Ident) -> i32 {
    place().id as i32
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_bound_num_threads(_at: *const Ident) -> i32 {
    place().team().size as i32
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_ok_to_fork(_at: *const Ident) -> i32 {
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_in_parallel(_at: *const Ident) -> i32 {
    i32::from(place().region.active > 0)
}

/// The value of OMP_TARGET_OFFLOAD in LLVM's order: disabled, default, mandatory.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_get_target_offload() -> i32 {
    [1, 2, 0][environment().offload()]
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_pause_resource(kind: i32) -> i32 {
    target::omp_pause_resource_all(kind)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_error(at: *const Ident, severity: i32, message: *const c_char) {
    // SAFETY: the compiler passes its own description, or null, and a string, or null.
    unsafe { error(at, severity, message) };
}

/// `omp_get_schedule` at LLVM's version. If OMP_SCHEDULE is static without a modifier, GCC's says that
/// the schedule is monotonic, and LLVM's does not.
///
/// # Safety
/// `kind` and `chunk` point to variables of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_llvm_get_schedule(kind: *mut u32, chunk: *mut i32) {
    const MONOTONIC: u32 = 1 << 31;
    // SAFETY: by contract.
    unsafe { crate::queries::omp_get_schedule(kind, chunk) };
    let is_said = || variable("OMP_SCHEDULE").is_some_and(|text| text.to_ascii_lowercase().contains("monotonic"));
    if place().icv.get().schedule == runtime().settings.icv.schedule && !is_said() {
        // SAFETY: by contract.
        unsafe { kind.write(kind.read() & !MONOTONIC) };
    }
}

/// Hands a command to the tool.
#[unsafe(no_mangle)]
pub extern "C" fn omp_control_tool(command: i32, modifier: i32, argument: *mut core::ffi::c_void) -> i32 {
    has_tool();
    ompt::constructs::control(command, modifier, argument)
}

/// What `kmp_set_blocktime` set; -1: nothing.
static BLOCKTIME: AtomicI32 = AtomicI32::new(-1);
/// The milliseconds that LLVM's library returns if nothing is set.
const LLVM_BLOCKTIME: i32 = 200;
/// Bytes of a worker's stack; 0: as the environment says.
static STACK: AtomicUsize = AtomicUsize::new(0);
const SERIAL: i32 = 1;
const TURNAROUND: i32 = 2;
const THROUGHPUT: i32 = 3;
static LIBRARY: AtomicI32 = AtomicI32::new(THROUGHPUT);

/// Workers wait as the environment says.
#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_blocktime(milliseconds: i32) {
    BLOCKTIME.store(milliseconds.max(0), Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_blocktime() -> i32 {
    let (set, settings) = (BLOCKTIME.load(Relaxed), &runtime().settings);
    match (settings.spin, settings.block_ns) {
        _ if set >= 0 => set,
        (Some(0), _) => 0,
        (Some(_), _) => i32::MAX,
        (None, Some(nanoseconds)) => (nanoseconds / 1_000_000) as i32,
        (None, None) => LLVM_BLOCKTIME,
    }
}

/// Workers' stacks are as the environment says.
#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_stacksize_s(bytes: usize) {
    warn("kmp_set_stacksize has no effect: set OMP_STACKSIZE");
    STACK.store(bytes, Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_stacksize(bytes: i32) {
    kmp_set_stacksize_s(bytes.max(0) as usize);
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_stacksize_s() -> usize {
    match STACK.load(Relaxed) {
        0 => stack().unwrap_or(8 << 20),
        bytes => bytes,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_stacksize() -> i32 {
    i32::try_from(kmp_get_stacksize_s()).unwrap_or(i32::MAX)
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_library(kind: i32) {
    if (SERIAL..=THROUGHPUT).contains(&kind) {
        LIBRARY.store(kind, Relaxed);
        if kind == SERIAL {
            crate::queries::omp_set_num_threads(1);
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_library() -> i32 {
    LIBRARY.load(Relaxed)
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_library_serial() {
    kmp_set_library(SERIAL);
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_library_turnaround() {
    kmp_set_library(TURNAROUND);
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_library_throughput() {
    kmp_set_library(THROUGHPUT);
}

/// Sets variables as if the environment had them: a text of `NAME=VALUE`, or several with `|`
/// between them. It does so for OMP_TARGET_OFFLOAD; of other variables it says that they are to be
/// set in the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kmp_set_defaults(text: *const c_char) {
    // SAFETY: the program passes a string.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    for part in text.split('|') {
        match part.split_once('=').map(|(name, value)| (name.trim(), value)) {
            Some(("OMP_TARGET_OFFLOAD" | "KMP_TARGET_OFFLOAD", value)) => environment().set_offload(value),
            _ => warn(&format!("kmp_set_defaults has no effect: set `{part}` in the environment")),
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_disp_num_buffers(_buffers: i32) {}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_warnings_on() {
    WARNINGS.store(true, Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_warnings_off() {
    WARNINGS.store(false, Relaxed);
}

/// Whether a construct of that kind is cancelled: 1 for regions, 2 for loops, 3 for sections, 4 for
/// taskgroups.
#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_cancellation_status(kind: i32) -> i32 {
    i32::from(GOMP_cancellation_point(cancel::kind(kind)))
}

#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_num_known_threads() -> i32 {
    runtime().settings.icv.threads.max(place().team().size) as i32
}
