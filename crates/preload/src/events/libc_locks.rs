//! Locks inside of glibc: those of `rand`, of its streams, of its allocator. glibc takes and
//! releases these locks without a call that could be interposed, but calls two internal functions
//! where threads meet at them: `__lll_lock_wait_private` by a thread that finds a lock taken, and
//! `__lll_lock_wake_private` by a thread that releases a lock with waiters.
//!
//! Up to 64 threads at a time have a breakpoint of the kernel's on each of the two
//! (PERF_TYPE_BREAKPOINT): an ordinary user may have them in the program's own code. A thread that
//! reaches a breakpoint leaves a record with the lock's address; the record of a wait also has the
//! top of the stack, where glibc's function and its caller are found. A lock that is free costs
//! nothing more than before. Each record costs microseconds. Each context switch costs more too, because
//! the kernel sets the processor's debug registers: a thread that switches often has its breakpoints
//! for a part of the time only (`switches::pace`).

use super::modules;
use super::perf::{Attributes, FLAGS, Record, TIME_AND_CPU};
use super::sites;
use crate::hooks::lookup::{self, found};
use crate::thread::Thread;
use baton_trace::SiteId;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The addresses of the two functions. `WAIT` is 0 if this glibc lacks one of them, the kernel
/// gives no breakpoints, or the user wants no context switches.
static WAIT: AtomicUsize = AtomicUsize::new(0);
static WAKE: AtomicUsize = AtomicUsize::new(0);
/// The addresses at which glibc's file begins and ends in memory.
static LIBC: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// PERF_TYPE_BREAKPOINT, HW_BREAKPOINT_X, and the length that a breakpoint on execution must have.
const BREAKPOINT: u32 = 5;
const EXECUTE: u32 = 4;
const LENGTH: u64 = size_of::<usize>() as u64;
/// PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER.
const REGISTERS: u64 = 1 << 12;
const STACK: u64 = 1 << 13;
/// The bit of the register that holds a function's first argument, as the kernel numbers registers.
const FIRST_ARGUMENT: u64 = 1 << 5;
/// Bytes from the top of the stack that a record holds.
const TOP: u32 = 128;

/// Looks up the addresses of the two functions in glibc.
pub(super) fn start() {
    let find = |name: &core::ffi::CStr| {
        // SAFETY: both strings that `dlvsym` gets end with a zero byte.
        unsafe { libc::dlvsym(libc::RTLD_DEFAULT, name.as_ptr(), c"GLIBC_PRIVATE".as_ptr()) }.expose_provenance()
    };
    let (wait, wake) = (find(c"__lll_lock_wait_private"), find(c"__lll_lock_wake_private"));
    if wait == 0 || wake == 0 {
        return;
    }
    let place = lookup::glibc();
    LIBC[0].store(place.start, Relaxed);
    LIBC[1].store(place.end, Relaxed);
    WAKE.store(wake, Relaxed);
    WAIT.store(wait, Relaxed);
}

/// Gives breakpoints up for all later threads, because the kernel gives none or the user wants no
/// context switches.
pub(super) fn refuse() {
    WAIT.store(0, Relaxed);
}

/// Whether threads ask the kernel for breakpoints.
pub(super) fn is_on() -> bool {
    WAIT.load(Relaxed) != 0
}

/// The perf event of a wait for one of glibc's locks.
pub(super) fn waits() -> Attributes {
    Attributes { sample_type: TIME_AND_CPU | REGISTERS | STACK, stack: TOP, ..breakpoint(WAIT.load(Relaxed)) }
}

/// The perf event of a wake of a waiter for one of glibc's locks.
pub(super) fn wakes() -> Attributes {
    breakpoint(WAKE.load(Relaxed))
}

fn breakpoint(at: usize) -> Attributes {
    Attributes {
        sort: BREAKPOINT,
        config: 0,
        sample_period: 1,
        sample_type: TIME_AND_CPU | REGISTERS,
        flags: FLAGS,
        breakpoint: EXECUTE,
        breakpoint_at: at as u64,
        breakpoint_length: LENGTH,
        registers: FIRST_ARGUMENT,
        ..Attributes::switches()
    }
}

/// Offsets in a record. Behind the time and the CPU stand the kind of the registers, the first
/// argument, and the length of the stack.
const KIND: u64 = 24;
const ARGUMENT: u64 = 32;
const DEPTH: u64 = 40;
const WORDS: u64 = 48;

/// The address of the lock that a wait or a wake is about; `None` if the record has no registers.
pub(super) fn lock(record: &Record) -> Option<u64> {
    (record.word(KIND) != 0).then(|| record.word(ARGUMENT) & 0xffff_ffff_ffff)
}

/// Most frames of a call site: the first in glibc, the others outside of it.
const FRAMES: usize = 3;

/// The call site of a wait: the return address in glibc, and then the return addresses outside of
/// glibc on the top of the stack. A word of the stack counts as a return address if a call
/// instruction stands before the place that it points to; so a stale address that an earlier
/// function left there may be taken for a caller.
pub(super) fn site(thread: &Thread, record: &Record) -> SiteId {
    let words = record.word(DEPTH).min(TOP.into()) / 8;
    if words == 0 {
        return SiteId::UNKNOWN;
    }
    let mut frames = [record.word(WORDS), 0, 0];
    let mut count = 1;
    for word in (1..words).map(|n| record.word(WORDS + 8 * n)) {
        if count < FRAMES && !is_glibc(word) && follows_a_call(word) {
            frames[count] = word;
            count += 1;
        }
    }
    sites::of_stack(thread, &frames[..count])
}

fn is_glibc(address: u64) -> bool {
    (LIBC[0].load(Relaxed) as u64..LIBC[1].load(Relaxed) as u64).contains(&address)
}

/// Whether `address` points into code, just behind a call instruction.
fn follows_a_call(address: u64) -> bool {
    let Some(loaded) = found::at(address) else { return false };
    // SAFETY: an object file that the stack points into stays loaded during the call.
    let Some(headers) = (unsafe { loaded.headers() }) else { return false };
    let code = headers.iter().any(|header| {
        let start = loaded.bias + header.p_vaddr;
        let is_code = header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
        is_code && (start + LONGEST as u64..start + header.p_memsz).contains(&address)
    });
    if !code || modules::know(address).is_none() {
        return false;
    }
    // SAFETY: the bytes lie in a code segment of a loaded object file.
    let before = unsafe { *((address as usize - LONGEST) as *const [u8; LONGEST]) };
    is_call(&before)
}

/// The longest call instruction that compilers write.
const LONGEST: usize = 7;

/// Whether the bytes before a return address end with a call instruction: `e8` and four bytes, or
/// `ff /2` with an operand of one, two, three, five or six bytes. Three bytes name the stack pointer
/// or an index register, and a short displacement.
fn is_call(before: &[u8; LONGEST]) -> bool {
    let by_register = |length: usize| {
        let [first, operand] = [before[LONGEST - length], before[LONGEST - length + 1]];
        first == 0xff && operand >> 3 & 7 == 2
    };
    before[2] == 0xe8 || [2, 3, 4, 6, 7].into_iter().any(by_register)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_by_the_bytes_before_the_return_address() {
        for call in [
            // In this order: call rel32; call rax; call [rax + 8]; call [rsp + 8]; call [rip +
            // 0x100]; call [rax + rax * 8 + 0x10].
            &[0xe8, 1, 2, 3, 4][..],
            &[0xff, 0xd0],
            &[0xff, 0x50, 8],
            &[0xff, 0x54, 0x24, 8],
            &[0xff, 0x15, 0, 1, 0, 0],
            &[0xff, 0x94, 0xc0, 0x10, 0, 0, 0],
        ] {
            let mut before = [0x90; LONGEST];
            before[LONGEST - call.len()..].copy_from_slice(call);
            assert!(is_call(&before), "{call:x?}");
        }
        // These bytes end with a jump, with nothing but no-ops, and with pushes.
        for other in [[0x90, 0x90, 0xe9, 1, 2, 3, 4], [0x90; LONGEST], [0x90, 0x55, 0x53, 0x41, 0x54, 0xff, 0xf0]] {
            assert!(!is_call(&other), "{other:x?}");
        }
    }
}
