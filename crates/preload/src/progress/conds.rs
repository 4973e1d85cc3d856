//! Counts waits for condition variables that a signal or broadcast ended, whether glibc or Baton
//! serves the variable.

use super::waited;
use crate::hooks::{Code, slot};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use libc::{clockid_t, timespec};

/// Declares hooks that count a wait if its answer is 0.
macro_rules! counted {
    ($($name:ident ($($argument:ident : $t:ty),*);)*) => {
        /// The functions that serve the waits: those to which the slots pointed before.
        #[allow(non_upper_case_globals)]
        mod served {
            use super::*;
            $(pub(super) static $name: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());)*
        }

        /// Points the slots of the waits to the hooks, and notes where the slots pointed before.
        pub fn install() {
            $(
                served::$name.store(slot::$name.get().cast_mut(), Relaxed);
                slot::$name.set($name as Code);
            )*
        }

        $(unsafe extern "C-unwind" fn $name(cond: *mut c_void, $($argument: $t,)* site: usize) -> c_int {
            // SAFETY: the slot pointed to glibc's function or to a hook of this shape; glibc's
            // function ignores the extra argument, the site.
            let answer = unsafe {
                let serve: unsafe extern "C-unwind" fn(*mut c_void, $($t,)* usize) -> c_int =
                    core::mem::transmute(served::$name.load(Relaxed));
                serve(cond, $($argument,)* site)
            };
            if answer == 0 {
                waited(cond.addr(), site);
            }
            answer
        })*
    };
}

counted! {
    pthread_cond_wait (mutex: *mut c_void);
    pthread_cond_timedwait (mutex: *mut c_void, until: *const timespec);
    pthread_cond_clockwait (mutex: *mut c_void, clock: clockid_t, until: *const timespec);
    cnd_wait (mutex: *mut c_void);
    cnd_timedwait (mutex: *mut c_void, until: *const timespec);
}
