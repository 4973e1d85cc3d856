//! A thread-local word that points to the thread's storage.
//!
//! In a program Rust's `thread_local!` costs one load. In a shared library it calls the loader,
//! which costs as much as an uncontended lock. With the feature `shared-library` the word therefore
//! lives in the static thread-local block on x86-64, and a read costs two loads. The loader
//! reserves some space in that block, so the eight bytes fit even if a program opens the library
//! late; libgomp relies on the same reserve.

#[cfg(all(target_arch = "x86_64", feature = "shared-library"))]
pub(super) use fixed::{get, set, set_first};
#[cfg(not(all(target_arch = "x86_64", feature = "shared-library")))]
pub(super) use plain::{get, set, set_first};

#[cfg(all(target_arch = "x86_64", feature = "shared-library"))]
mod fixed {
    use core::arch::{asm, global_asm};

    // The word is zero in a new thread. It is hidden, so that each library that contains this code
    // has a word of its own.
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

    /// Returns the calling thread's word.
    #[inline(always)]
    pub(in super::super) fn get<T>() -> *const T {
        let word: *const T;
        // SAFETY: reads the thread's own word. Only `set` writes it, and `set` clobbers memory, so
        // the compiler moves no read across it.
        unsafe {
            asm!("mov {word}, qword ptr [rip + baton_thread_storage@GOTTPOFF]", "mov {word}, qword ptr fs:[{word}]",
                word = out(reg) word, options(pure, readonly, nostack, preserves_flags));
        }
        word
    }

    /// Sets the calling thread's word.
    pub(in super::super) fn set<T>(word: *const T) {
        // SAFETY: writes the thread's own word.
        unsafe {
            asm!("mov {at}, qword ptr [rip + baton_thread_storage@GOTTPOFF]", "mov qword ptr fs:[{at}], {word}",
                at = out(reg) _, word = in(reg) word, options(nostack, preserves_flags));
        }
    }

    /// Sets the calling thread's word, if it is null. Returns whether it was. A signal handler of the
    /// thread comes before or after this, not in the middle.
    pub(in super::super) fn set_first<T>(word: *const T) -> bool {
        let was: usize;
        // SAFETY: reads and writes the thread's own word. One instruction does both, and no other
        // thread accesses the word, so the instruction needs no lock.
        unsafe {
            asm!("mov {at}, qword ptr [rip + baton_thread_storage@GOTTPOFF]", "cmpxchg qword ptr fs:[{at}], {word}",
                at = out(reg) _, word = in(reg) word, inout("rax") 0usize => was, options(nostack));
        }
        was == 0
    }
}

#[cfg(not(all(target_arch = "x86_64", feature = "shared-library")))]
mod plain {
    use core::cell::Cell;
    use core::ptr::{null, null_mut};
    use core::sync::atomic::AtomicPtr;
    use core::sync::atomic::Ordering::Relaxed;

    thread_local! {
        static WORD: Cell<*const ()> = const { Cell::new(null()) };
    }

    /// Returns the calling thread's word.
    #[inline(always)]
    pub(in super::super) fn get<T>() -> *const T {
        WORD.with(Cell::get).cast()
    }

    /// Sets the calling thread's word.
    pub(in super::super) fn set<T>(word: *const T) {
        WORD.with(|mine| mine.set(word.cast()));
    }

    /// Sets the calling thread's word, if it is null. Returns whether it was. A signal handler of the
    /// thread comes before or after this, not in the middle.
    pub(in super::super) fn set_first<T>(word: *const T) -> bool {
        WORD.with(|mine| {
            // SAFETY: the word is aligned and lives as long as the thread; only this thread accesses
            // it, so `get` and `set` do not overlap this access.
            let mine = unsafe { AtomicPtr::from_ptr(mine.as_ptr().cast::<*mut ()>()) };
            mine.compare_exchange(null_mut(), word.cast_mut().cast(), Relaxed, Relaxed).is_ok()
        })
    }
}
