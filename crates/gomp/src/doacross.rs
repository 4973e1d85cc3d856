//! Doacross loops, whose iterations wait for earlier ones. `nest` has the record of such a loop.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::loops::{enter_with, give_next, numbered, of, runtime_schedule, tell};
use crate::nest::{Nest, record};
use crate::ompt::{self, BEGIN};
use crate::process::place;
use baton_omp::share::Work;
use baton_omp::{Schedule, ScheduleKind, Space};
use core::ffi::c_void;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_doacross_post(at: *const u64) {
    let record = record();
    // SAFETY: the compiler passes a number for each loop of the nest.
    let at = unsafe { core::slice::from_raw_parts(at, record.loops) };
    record.post(at);
    if ompt::is_on() {
        ompt::constructs::doacross(ompt::constructs::SOURCE, at.iter().copied());
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_doacross_ull_post(at: *const u64) {
    // SAFETY: as above.
    unsafe { GOMP_doacross_post(at) };
}

/// The interface is variadic: it takes a number for each loop. On x86-64 and on 64-bit Arm,
/// variadic numbers lie where the parameters of a function with as many parameters lie: in
/// registers, and then on the stack. Numbers that the caller did not pass are read from the
/// caller's frames, and are not used.
macro_rules! waits {
    ($($name:ident)* : $($n:ident)*) => {
        waits! { @each [$($name)*] [$($n: u64),*] [$($n),*] }
    };
    (@each [$($name:ident)*] $parameters:tt $numbers:tt) => {
        $(waits! { @one $name $parameters $numbers })*
    };
    (@one $name:ident [$($parameter:tt)*] $numbers:tt) => {
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
        pub extern "C" fn $name($($parameter)*) {
            let record = record();
            let at = &$numbers[..record.loops];
            record.wait(at);
            if ompt::is_on() {
                ompt::constructs::doacross(ompt::constructs::SINK, at.iter().copied());
            }
        }
    };
}

waits! {
    GOMP_doacross_wait GOMP_doacross_ull_wait:
    n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 n13 n14 n15
    n16 n17 n18 n19 n20 n21 n22 n23 n24 n25 n26 n27 n28 n29 n30 n31
    n32 n33 n34 n35 n36 n37 n38 n39 n40 n41 n42 n43 n44 n45 n46 n47
    n48 n49 n50 n51 n52 n53 n54 n55 n56 n57 n58 n59 n60 n61 n62 n63
}

/// Begins a doacross loop, and writes the bounds of the thread's first chunk to `from` and `to`.
/// Returns whether there is a chunk; always true if `from` is null, as then no chunk is taken.
unsafe fn begin(
    (count, counts): (u32, *const u64),
    schedule: Schedule,
    (from, to): (*mut u64, *mut u64),
    reductions: *mut usize,
    memory: *mut *mut c_void,
) -> bool {
    // SAFETY: the compiler passes a count for each loop of the nest, which has at least one, and
    // pointers to its own words.
    unsafe {
        let counts = core::slice::from_raw_parts(counts, count as usize);
        let (nest, schedule) = Nest::new(counts, schedule);
        let loops = Work { space: Space::unsigned(true, 0, counts[0], 1), schedule, ..Work::default() };
        enter_with(loops, reductions, memory, Some(nest));
        tell(place(), BEGIN);
        from.is_null() || give_next(from, to)
    }
}

macro_rules! starts {
    ($($name:ident ($($chunk:ident: u64)?) $schedule:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(n: u32, counts: *const u64, $($chunk: u64,)? from: *mut u64, to: *mut u64) -> bool {
            // SAFETY: the compiler passes counts and words as `begin` demands.
            unsafe { begin((n, counts), $schedule, (from, to), core::ptr::null_mut(), core::ptr::null_mut()) }
        }
    )*};
}

starts! {
    GOMP_loop_doacross_static_start (chunk: u64) of(ScheduleKind::Static, chunk);
    GOMP_loop_doacross_dynamic_start (chunk: u64) of(ScheduleKind::Dynamic, chunk);
    GOMP_loop_doacross_guided_start (chunk: u64) of(ScheduleKind::Guided, chunk);
    GOMP_loop_doacross_runtime_start () runtime_schedule();
    GOMP_loop_ull_doacross_static_start (chunk: u64) of(ScheduleKind::Static, chunk);
    GOMP_loop_ull_doacross_dynamic_start (chunk: u64) of(ScheduleKind::Dynamic, chunk);
    GOMP_loop_ull_doacross_guided_start (chunk: u64) of(ScheduleKind::Guided, chunk);
    GOMP_loop_ull_doacross_runtime_start () runtime_schedule();
}

macro_rules! with_memory {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
        pub unsafe extern "C" fn $name(
            n: u32, counts: *const u64, schedule: i64, chunk: u64, from: *mut u64, to: *mut u64,
            reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            // SAFETY: the compiler passes counts and words as `begin` demands.
            unsafe { begin((n, counts), numbered(schedule, chunk), (from, to), reductions, memory) }
        }
    )*};
}

with_memory! { GOMP_loop_doacross_start GOMP_loop_ull_doacross_start }
