//! What the functions of C have in common: how they are defined, how long they wait, and what they
//! return.

use baton_machine::Deadline;
use baton_sync::queue::channel::{NotReceived, NotSent};
use std::ffi::c_int;

/// How long a call waits.
#[derive(Clone, Copy)]
pub(crate) enum Patience {
    Try,
    Until(Option<Deadline>),
}

pub(crate) fn not_sent<T>(why: &NotSent<T>) -> c_int {
    match why {
        NotSent::Full(_) => libc::EAGAIN,
        NotSent::Closed(_) => libc::EPIPE,
        NotSent::Expired(_) => libc::ETIMEDOUT,
    }
}

pub(crate) fn not_received(why: NotReceived) -> c_int {
    match why {
        NotReceived::Empty => libc::EAGAIN,
        NotReceived::Closed => libc::EPIPE,
        NotReceived::Expired => libc::ETIMEDOUT,
    }
}

/// Defines functions of C on an object. Each is unsafe for the same reason, which the text says.
macro_rules! calls {
    ($safety:literal $($(#[$doc:meta])* $name:ident($object:ident: $type:ty $(, $argument:ident: $is:ty)*)
        $(-> $result:ty)? $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        #[doc = $safety]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($object: *const $type $(, $argument: $is)*) $(-> $result)? {
            // SAFETY: guaranteed by the caller, here and in the body.
            unsafe {
                let $object = &*$object;
                $body
            }
        }
    )*};
}
pub(crate) use calls;

/// Defines the three functions of a call on a queue that may wait: one waits, one tries, and one has a
/// deadline.
macro_rules! thrice {
    ($safety:literal $type:ty: $call:ident $wait:ident $try:ident $timed:ident ($($argument:ident: $is:ty),*) =>
        $what:literal) => { $crate::calls::calls! {
        $safety
        #[doc = $what]
        $wait(queue: $type $(, $argument: $is)*) -> std::ffi::c_int {
            queue.$call($($argument,)* $crate::calls::Patience::Until(None))
        }
        #[doc = $what]
        /// Does not wait.
        $try(queue: $type $(, $argument: $is)*) -> std::ffi::c_int {
            queue.$call($($argument,)* $crate::calls::Patience::Try)
        }
        #[doc = $what]
        /// Gives up at a time.
        $timed(queue: $type $(, $argument: $is)*, clock: libc::clockid_t, until: *const libc::timespec) -> std::ffi::c_int {
            let Some(deadline) = $crate::time::deadline(clock, until) else { return libc::EINVAL };
            queue.$call($($argument,)* $crate::calls::Patience::Until(Some(deadline)))
        }
    } };
}
pub(crate) use thrice;
