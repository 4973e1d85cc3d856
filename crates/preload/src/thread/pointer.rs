//! The calling thread's identity, and its two words of thread-local storage.

use super::record::Thread;

// Two words: the record, and whether the thread has left it for good. Rust's own thread-local storage would be reached by a
// call to `__tls_get_addr`; a library that is preloaded always has room in the static block, so the offset is a constant of the process (the initial-exec model).
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

/// A number of the calling thread that no other live thread has, and that it keeps in a fork's child: its thread pointer.
#[inline(always)]
pub fn pointer() -> usize {
    let pointer: usize;
    // SAFETY: the x86-64 ABI keeps the thread pointer at offset 0 of the block that it points to.
    unsafe {
        core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly, pure));
    }
    pointer
}

/// The calling thread's word.
#[inline(always)]
pub(super) fn word() -> *mut Thread {
    let word: *mut Thread;
    // SAFETY: the loader puts the word's offset into the GOT; the word lives as long as the thread.
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
    // SAFETY: as in `word`; only this thread writes it.
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

/// Whether the calling thread has left its record, after the destructors of its keys.
pub(super) fn has_left() -> bool {
    let left: usize;
    // SAFETY: as in `word`; the second of the two words.
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
    // SAFETY: as in `has_left`; only this thread writes it.
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
