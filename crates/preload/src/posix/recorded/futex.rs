//! Futex calls that the program makes itself, through glibc's `syscall`. The standard library of
//! Rust makes such calls, as do the atomic waits of C++20, and many locks that programs make of
//! their own. All other system calls go straight to glibc.
//!
//! `syscall` is no cancellation point, and may be called in a signal handler, before anything is
//! initialised, and by a thread that the library does not know. Nothing here has a destructor, and
//! the events leave `errno` alone.

use crate::events;
use crate::hooks::real;
use crate::hooks::{Code, lookup, slot};
use baton_trace::FutexEnd;
use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};
use libc::{FUTEX_CLOCK_REALTIME, FUTEX_CMP_REQUEUE, FUTEX_PRIVATE_FLAG, FUTEX_REQUEUE};
use libc::{FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAKE, FUTEX_WAKE_BITSET, SYS_futex};

/// glibc's `syscall`.
static REAL: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
/// The addresses of Baton's own OpenMP runtime, if the program runs on it. Futex calls from there
/// are not recorded here, because the runtime's waits are recorded at its entry points.
static RUNTIME: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

pub(super) fn install() {
    REAL.store(real::syscall.code().cast_mut(), Relaxed);
    if let Some(place) = lookup::place_of(b"libbaton_gomp.so") {
        RUNTIME[0].store(place.start, Relaxed);
        RUNTIME[1].store(place.end, Relaxed);
    }
    slot::syscall.set(syscall as Code);
}

/// `syscall`, which gets the call site in rax. For a futex call, the site takes the place of the
/// call's number; the other arguments stay where they are, the last one on the stack.
#[unsafe(naked)]
unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        "cmp rdi, {number}",
        "jne 2f",
        "mov rdi, rax",
        "jmp {futex}",
        "2:",
        "jmp qword ptr [rip + {real}]",
        number = const SYS_futex,
        futex = sym futex,
        real = sym REAL,
    );
}

/// The arguments of a futex call behind its number, as the program passed them.
type Arguments = [usize; 6];

unsafe extern "C-unwind" fn futex(
    site: usize,
    word: usize,
    operation: usize,
    value: usize,
    limit: usize,
    other: usize,
    last: usize,
) -> c_long {
    let arguments = [word, operation, value, limit, other, last];
    match operation as c_int & !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME) {
        // SAFETY: passed on.
        FUTEX_WAIT | FUTEX_WAIT_BITSET => unsafe { wait(site, &arguments) },
        // SAFETY: passed on.
        FUTEX_WAKE | FUTEX_WAKE_BITSET | FUTEX_REQUEUE | FUTEX_CMP_REQUEUE => unsafe { wake(site, &arguments) },
        // SAFETY: passed on.
        _ => unsafe { call(&arguments) },
    }
}

/// Makes the system call.
///
/// # Safety
/// The arguments are those that the program gave to `syscall`, and fit its number.
#[inline(always)]
unsafe fn call(&[word, operation, value, limit, other, last]: &Arguments) -> c_long {
    // SAFETY: the caller says that the arguments are the program's own for this system call.
    unsafe { real::syscall.get()(SYS_futex, word, operation, value, limit, other, last) }
}

fn is_of_runtime(site: usize) -> bool {
    (RUNTIME[0].load(Relaxed)..RUNTIME[1].load(Relaxed)).contains(&site)
}

/// Makes a futex call that waits, between its events.
///
/// # Safety
/// The arguments are those that the program gave to `syscall`, and fit its number.
unsafe fn wait(site: usize, arguments: &Arguments) -> c_long {
    let recorded = events::recorded_thread().filter(|thread| !events::is_inside(thread) && !is_of_runtime(site));
    let Some(thread) = recorded else {
        // SAFETY: the caller says that the arguments are the program's own for this system call.
        return unsafe { call(arguments) };
    };
    events::futex_wait(thread, arguments[0], site, arguments[3] != 0);
    // SAFETY: the caller says that the arguments are the program's own for this system call.
    let answer = unsafe { call(arguments) };
    events::futex_wait_ended(thread, arguments[0], end(answer));
    answer
}

fn end(answer: c_long) -> FutexEnd {
    if answer == 0 {
        return FutexEnd::Woken;
    }
    match crate::base::errno::get() {
        libc::EAGAIN => FutexEnd::Changed,
        libc::ETIMEDOUT => FutexEnd::TimedOut,
        libc::EINTR => FutexEnd::Interrupted,
        _ => FutexEnd::Failed,
    }
}

/// Makes a futex call that wakes or requeues waiters, and records how many it woke.
///
/// # Safety
/// The arguments are those that the program gave to `syscall`, and fit its number.
unsafe fn wake(site: usize, arguments: &Arguments) -> c_long {
    let recorded = events::recorded_thread().filter(|thread| {
        !events::is_inside(thread) && !events::is_release(thread, arguments[0]) && !is_of_runtime(site)
    });
    let Some(thread) = recorded else {
        // SAFETY: the caller says that the arguments are the program's own for this system call.
        return unsafe { call(arguments) };
    };
    let moment = events::before_wake();
    // SAFETY: the caller says that the arguments are the program's own for this system call.
    let answer = unsafe { call(arguments) };
    if let Ok(answer) = u32::try_from(answer) {
        // The answer of a requeue also counts the waiters that it moved, so the count of woken
        // waiters is at most the count asked for.
        let asked = arguments[2] as c_int as u32;
        events::futex_woke(thread, arguments[0], site, moment, [asked, answer.min(asked)]);
    }
    answer
}
