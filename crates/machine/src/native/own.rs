//! One word of each thread: where its storage is.
//!
//! In a program Rust's `thread_local!` is one load. In a shared library it asks the loader, by a call that costs as much as an uncontended
//! lock. So with the feature `shared-library` the word stands in the static thread-local block on x86-64, and a read is two loads. A library
//! has these eight bytes of the block's reserve even where a program opens it late, as libgomp has its own.

#[cfg(all(target_arch = "x86_64", feature = "shared-library"))]
pub(super) use fixed::{get, set};
#[cfg(not(all(target_arch = "x86_64", feature = "shared-library")))]
pub(super) use plain::{get, set};

#[cfg(all(target_arch = "x86_64", feature = "shared-library"))]
mod fixed {
    use core::arch::{asm, global_asm};

    // Zero in a new thread, and hidden: each library that has this code has a word of its own.
    global_asm!(
        ".pushsection .tbss.baton_thread_storage, \"awT\", @nobits",
        ".globl baton_thread_storage",
        ".hidden baton_thread_storage",
        ".type baton_thread_storage, @object",
        ".size baton_thread_storage, 8",
        ".p2align 3",
        "baton_thread_storage:",
        ".zero 8",
        ".popsection",
    );

    /// The calling thread's word.
    #[inline(always)]
    pub(in super::super) fn get<T>() -> *const T {
        let word: *const T;
        // SAFETY: reads the thread's own word, which only `set` writes: it clobbers memory, so no read is taken past it.
        unsafe {
            asm!("mov {word}, qword ptr [rip + baton_thread_storage@GOTTPOFF]", "mov {word}, qword ptr fs:[{word}]",
                word = out(reg) word, options(pure, readonly, nostack, preserves_flags));
        }
        word
    }

    /// Sets it.
    pub(in super::super) fn set<T>(word: *const T) {
        // SAFETY: writes the thread's own word.
        unsafe {
            asm!("mov {at}, qword ptr [rip + baton_thread_storage@GOTTPOFF]", "mov qword ptr fs:[{at}], {word}",
                at = out(reg) _, word = in(reg) word, options(nostack, preserves_flags));
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", feature = "shared-library")))]
mod plain {
    use core::cell::Cell;
    use core::ptr::null;

    thread_local! {
        static WORD: Cell<*const ()> = const { Cell::new(null()) };
    }

    /// The calling thread's word.
    #[inline(always)]
    pub(in super::super) fn get<T>() -> *const T {
        WORD.with(Cell::get).cast()
    }

    /// Sets it.
    pub(in super::super) fn set<T>(word: *const T) {
        WORD.with(|mine| mine.set(word.cast()));
    }
}
