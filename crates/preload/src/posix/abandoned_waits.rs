//! Threads that may leave a wait at any instruction: by a cancellation of asynchronous type, or by
//! a jump out of a signal handler (`siglongjmp`). POSIX allows neither while a thread waits for a
//! mutex, but with glibc's mutexes both work.
//!
//! Such a thread would leave its place in a queue behind, and the queue would stop there. So the
//! spare lock (`mutex::spare_lock`) serves the thread from the moment when it says that it may
//! leave: by setting its cancellation type, or by a `sigsetjmp` that saves the signal mask, which a
//! jump out of a handler needs.

use crate::base::message::{self, Subject};
use crate::hooks::real;
use crate::hooks::{Code, slot};
use crate::thread::{self, Thread};
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

/// Bit: the thread may be cancelled at any instruction.
const CANCELLED: u32 = 1;
/// Bit: the thread may jump out of a signal handler.
const JUMPS: u32 = 2;

/// glibc's `PTHREAD_CANCEL_ASYNCHRONOUS`.
const ASYNCHRONOUS: c_int = 1;

/// Points the slots of `pthread_setcanceltype` and `__sigsetjmp` to this file's functions. Called
/// for a lock whose waiters may stand in a queue.
pub fn install() {
    SIGSETJMP.store(real::__sigsetjmp.code().cast_mut(), Relaxed);
    slot::pthread_setcanceltype.set(setcanceltype as Code);
    slot::__sigsetjmp.set(sigsetjmp as Code);
}

unsafe extern "C-unwind" fn setcanceltype(new: c_int, old: *mut c_int, _: usize) -> c_int {
    let leaves = &thread::current().leaves;
    // Notes it before glibc learns of the new type, because a pending cancellation then acts at
    // once.
    if new == ASYNCHRONOUS {
        leaves.fetch_or(CANCELLED, Relaxed);
    }
    // SAFETY: passed on.
    let error = unsafe { real::pthread_setcanceltype.get()(new, old) };
    if error == 0 && new != ASYNCHRONOUS {
        leaves.fetch_and(!CANCELLED, Relaxed);
    }
    error
}

/// glibc's function, to which `sigsetjmp` jumps on.
static SIGSETJMP: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Notes a `sigsetjmp` that saves the signal mask. Jumps to glibc's function instead of calling it,
/// because that function remembers the frame of its caller.
#[unsafe(naked)]
unsafe extern "C" fn sigsetjmp() {
    core::arch::naked_asm!(
        "test esi, esi",
        "jz 2f",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {note}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "2:",
        "jmp qword ptr [rip + {real}]",
        note = sym may_jump,
        real = sym SIGSETJMP,
    );
}

extern "C" fn may_jump() {
    crate::base::errno::kept(|| thread::current().leaves.fetch_or(JUMPS, Relaxed));
}

/// Says, once in a process, why the spare lock serves this thread. Called when the thread has to
/// wait.
#[cold]
pub fn say_why(thread: &Thread) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Relaxed) {
        return;
    }
    let leaves = thread.leaves.load(Relaxed);
    let why = match leaves {
        0 => "there is no memory for a place in the lock's queue",
        _ if leaves & CANCELLED != 0 => "a thread may be cancelled at any instruction (pthread_setcanceltype)",
        _ => "a thread may jump out of a signal handler (sigsetjmp)",
    };
    let text = format_args!("{why}: a plain lock serves it where it would wait in a queue");
    message::tell(Subject::Spare, format_args!(""), text);
}
