//! What `baton sched` is told of locks and barriers, and the masks of CPUs that it answers.
//!
//! `baton sched` names a page of memory in the environment ([`baton_machine::native::notices`]). If
//! its policy listens to locks, functions of this room stand in the slots of mutexes, condition
//! variables, barriers and spin locks, and call the functions that stood there before. Without
//! `baton sched` no slot points here, so nothing is paid.
//!
//! Recursive and robust mutexes, reader-writer locks and semaphores are not told of.
//!
//! | file | holds |
//! | --- | --- |
//! | [`mutexes`] | mutexes, and condition variables, which release a mutex while they wait |
//! | [`others`] | barriers and spin locks |
//! | [`affinity`] | functions that return a thread's CPUs: they return the user's |

mod affinity;
mod mutexes;
mod others;

use crate::thread::callbacks::Callbacks;
use baton_machine::native::notices;
use core::ffi::CStr;

/// Gives a fork's child rows of its own.
pub static CALLBACKS: Callbacks = Callbacks { after_fork_in_child: notices::forked, ..Callbacks::NONE };

/// Opens the page. Returns whether there is one.
pub fn start(page: &CStr) -> bool {
    notices::open(page)
}

/// Points slots to the functions of this room, once all others point to where they should.
pub fn install() {
    if notices::are_heard() {
        mutexes::install();
        others::install();
    }
    if notices::answers_masks() {
        affinity::install();
    }
}

/// Declares the functions to which slots pointed before, and points the slots to the functions of the
/// same names that stand beside the macro.
macro_rules! stand_before {
    ($($name:ident ($($t:ty),*) -> $answer:ty;)*) => {
        /// The functions to which the slots pointed before.
        mod before {
            #[allow(unused_imports)]
            use super::*;

            /// Their addresses; null until `install`.
            #[allow(non_upper_case_globals)]
            pub(super) mod at {
                use core::sync::atomic::AtomicPtr;
                $(pub(in super::super) static $name: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());)*
            }

            $(
                pub(super) fn $name() -> unsafe extern "C-unwind" fn($($t,)* usize) -> $answer {
                    let at = at::$name.load(core::sync::atomic::Ordering::Relaxed);
                    // SAFETY: the slot pointed to glibc's function or to a hook of this shape; glibc's
                    // function ignores the extra argument, the site.
                    unsafe { core::mem::transmute(at) }
                }
            )*
        }

        pub(super) fn install() {
            $(
                let code = $crate::hooks::slot::$name.get().cast_mut();
                // A function that this glibc does not have stays away.
                if !code.is_null() {
                    before::at::$name.store(code, core::sync::atomic::Ordering::Relaxed);
                    $crate::hooks::slot::$name.set($name as $crate::hooks::Code);
                }
            )*
        }
    };
}
use stand_before;
