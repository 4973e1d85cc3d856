//! Records parallel regions and the barriers in them. Clang turns a region into a function of the thread's
//! number, its number in the team, and as many words as the region uses variables of the program;
//! the words are variable arguments of the call that opens the region.

use super::super::interface::Ident;
use super::super::regions::at_barrier;
use super::super::{late, team};
use crate::hooks::{Code, slot, with_site};
use crate::thread::{Function, Region};
use baton_trace::Construct;
use core::ffi::{c_int, c_void};

/// A function that clang made of a region; only [`call`] calls it.
pub(in super::super) type Outlined = unsafe extern "C-unwind" fn();

/// Points the slots of regions and barriers to the functions of this file.
pub(in super::super) fn install() {
    slot::__kmpc_fork_call.set(fork_shim as Code);
    slot::__kmpc_barrier.set(barrier as Code);
    slot::__kmpc_cancel_barrier.set(cancel_barrier as Code);
    slot::__kmpc_copyprivate.set(copyprivate_shim as Code);
}

/// What the runtime hands to each member of a recorded region, in place of the region's words.
struct Fork {
    region: Region,
    function: Outlined,
    count: usize,
    /// The first three words, and those that follow.
    registers: *const usize,
    stack: *const usize,
}

/// Calls [`fork`] with the address of the three words in registers, the address of those on the
/// stack, and the call site.
#[unsafe(naked)]
unsafe extern "C-unwind" fn fork_shim() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 32",
        "mov [rsp], rcx",
        "mov [rsp + 8], r8",
        "mov [rsp + 16], r9",
        "mov rcx, rsp",
        "lea r8, [rbp + 16]",
        "mov r9, rax",
        "call {fork}",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        fork = sym fork,
    );
}

unsafe extern "C-unwind" fn fork(
    place: *const Ident,
    count: c_int,
    function: Outlined,
    registers: *const usize,
    stack: *const usize,
    site: usize,
) {
    let site = team::site(site);
    // SAFETY: the region's record holds the function for its address alone: `member` calls it by `call`.
    let named = unsafe { core::mem::transmute::<Outlined, Function>(function) };
    let region = Region::open(named, core::ptr::null_mut(), site);
    let fork = Fork { region, function, count: count.max(0) as usize, registers, stack };
    // SAFETY: `member` takes the one word that is passed. `fork` lives until the runtime returns, and it
    // returns when all members have left.
    unsafe { late::__kmpc_fork_call.at(site)(place, 1, member, &raw const fork) };
    fork.region.close();
}

/// What every thread of the team runs in place of the region's function.
pub(in super::super) unsafe extern "C-unwind" fn member(number: *const i32, in_team: *const i32, fork: *const c_void) {
    // SAFETY: the record lies on the stack of the master, which waits until all have arrived.
    let fork = unsafe { &*fork.cast::<Fork>() };
    // SAFETY: the region's function gets the words that the program passed for it.
    let run = || unsafe { call(fork.function, number, in_team, fork.count, fork.registers, fork.stack) };
    // SAFETY: as above.
    unsafe { team::member_that(&fork.region, run) };
}

/// Calls `function` with two addresses and `count` words, of which three lie at `registers` and the
/// others at `stack`. At least one word can be read at `stack`, whatever it is: that place is in the
/// frame of a function of the program.
#[unsafe(naked)]
unsafe extern "C-unwind" fn call(
    function: Outlined,
    number: *const i32,
    in_team: *const i32,
    count: usize,
    registers: *const usize,
    stack: *const usize,
) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov r10, r9",
        "mov r11, rcx",
        "mov rdx, [r8]",
        "mov rcx, [r8 + 8]",
        "mov r9, [r10]",
        "mov r8, [r8 + 16]",
        // Words beyond the fourth go to the stack, the last one first, and the stack is aligned to
        // 16 bytes at the call.
        "sub r11, 4",
        "jle 4f",
        "test r11, 1",
        "jz 3f",
        "sub rsp, 8",
        "3:",
        "push qword ptr [r10 + r11 * 8]",
        "dec r11",
        "jnz 3b",
        "4:",
        "call rax",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    );
}

/// The bits of [`Ident::flags`] that say at the end of which construct a barrier is.
const ENDS: i32 = 0x1c0;
const LOOP: i32 = 0x40;
const SECTIONS: i32 = 0xc0;
const SINGLE: i32 = 0x140;

/// The construct to which a barrier at a place belongs.
fn construct(place: *const Ident) -> Construct {
    // SAFETY: the compiler passes its own description, or null.
    match unsafe { place.as_ref() }.map_or(0, |place| place.flags & ENDS) {
        LOOP => Construct::Loop,
        SECTIONS => Construct::Sections,
        SINGLE => Construct::Single,
        _ => Construct::Barrier,
    }
}

unsafe extern "C-unwind" fn barrier(place: *const Ident, number: c_int, site: usize) {
    let (runtime, inner) = late::__kmpc_barrier.called(team::site(site));
    // SAFETY: passed on.
    let wait = || unsafe { runtime(place, number) };
    if inner { wait() } else { at_barrier(site, construct(place), |_| wait()) }
}

unsafe extern "C-unwind" fn cancel_barrier(place: *const Ident, number: c_int, site: usize) -> c_int {
    let (runtime, inner) = late::__kmpc_cancel_barrier.called(team::site(site));
    // SAFETY: passed on.
    let wait = || unsafe { runtime(place, number) };
    if inner { wait() } else { at_barrier(site, construct(place), |_| wait()) }
}

with_site! { copyprivate_shim copyprivate }

/// The end of a `single` that hands out its values: all threads of the team wait here for each
/// other, and copy.
unsafe extern "C-unwind" fn copyprivate(
    place: *const Ident,
    number: c_int,
    bytes: usize,
    data: *mut c_void,
    copy: usize,
    did_it: c_int,
    site: usize,
) {
    // SAFETY: passed on.
    let wait = |site: usize| unsafe { late::__kmpc_copyprivate.at(site)(place, number, bytes, data, copy, did_it) };
    at_barrier(site, Construct::Single, wait);
}
