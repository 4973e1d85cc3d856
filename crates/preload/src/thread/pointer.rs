//! The calling thread's identity, and its two words of thread-local storage.

use super::record::Thread;

// Two words of thread-local storage: the record, and whether the thread has left its record for
// good. Rust's own thread-local storage would be reached by a call to `__tls_get_addr`; a library
// that is preloaded always has room in the static block, so the offset is a constant of the process
// (the initial-exec model).
core::arch::global_asm!(
    ".pushsection .tbss.baton_preload,\"awT\",@nobits",
    ".balign 8",
    ".type baton_preload_thread,@object",
    ".size baton_preload_thread,16",
    ".globl baton_preload_thread",
    ".hidden baton_preload_thread",
    "baton_preload_thread:",
    ".zero 16",
    ".popsection",
);

/// The calling thread's thread pointer: a number that no other live thread has, and that the thread
/// keeps in a fork's child.
#[inline(always)]
pub fn pointer() -> usize {
    let pointer: usize;
    // SAFETY: on x86-64 Linux the word at offset 0 of the thread's block holds the thread pointer
    // itself.
    unsafe {
        core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly, pure));
    }
    pointer
}

/// The calling thread's first word: its record, or null.
#[inline(always)]
pub(super) fn word() -> *mut Thread {
    let word: *mut Thread;
    // SAFETY: the loader puts the word's offset into the GOT, and the word lives as long as the
    // thread.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + baton_preload_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) word,
            options(nostack, preserves_flags, readonly),
        );
    }
    word
}

pub(super) fn set_word(thread: *const Thread) {
    // SAFETY: the word lives as long as the thread, as in `word`; only this thread writes it.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + baton_preload_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) thread,
            options(nostack, preserves_flags),
        );
    }
}

/// Whether the calling thread has left its record for good, in the destructors of its keys.
pub(super) fn has_left() -> bool {
    let left: usize;
    // SAFETY: the second of the two words lives as long as the thread, as in `word`.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + baton_preload_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0} + 8]",
            out(reg) left,
            options(nostack, preserves_flags, readonly),
        );
    }
    left != 0
}

pub(super) fn set_left() {
    // SAFETY: the second word lives as long as the thread, as in `has_left`; only this thread
    // writes it.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + baton_preload_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0} + 8], {1}",
            out(reg) _,
            in(reg) 1usize,
            options(nostack, preserves_flags),
        );
    }
}
