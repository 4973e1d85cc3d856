//! Barriers of all algorithms behind one type.

use crate::{error, first_wait, text};
use baton_machine::{Native, Wait};
use baton_sync::barrier::{self, BarrierVisitor, RawBarrier};
use std::ffi::{c_char, c_int};
use std::num::NonZeroU32;

/// What a barrier can do, whatever its algorithm.
trait AnyBarrier: Send + Sync {
    /// Waits as participant `index`. Returns whether this participant was chosen as the last, or
    /// `None` if there is no such participant.
    fn wait(&self, index: u32) -> Option<bool>;
    /// Drops participant `index` out. The error says why it cannot.
    fn drop_out(&self, index: u32) -> Result<(), String>;
}

/// A barrier with its wait policy.
struct With<B> {
    raw: B,
    wait: Wait,
}

impl<B: RawBarrier<Native>> AnyBarrier for With<B> {
    fn wait(&self, index: u32) -> Option<bool> {
        (index < self.raw.participants()).then(|| self.raw.wait(index, self.wait))
    }

    fn drop_out(&self, index: u32) -> Result<(), String> {
        if index >= self.raw.participants() {
            return Err(no_participant(index));
        }
        self.raw.drop_out(index, self.wait).map_err(|error| error.to_string())
    }
}

/// A barrier of any algorithm with its wait policy: `struct baton_barrier` in C.
pub struct BatonBarrier(Box<dyn AnyBarrier>);

/// Makes a barrier of the algorithm that it is called with, for a number of participants and a wait
/// policy.
struct Make(NonZeroU32, Wait);

impl BarrierVisitor<Native> for Make {
    type Out = Box<dyn AnyBarrier>;
    fn visit<B: RawBarrier<Native>>(self) -> Box<dyn AnyBarrier> {
        Box::new(With { raw: B::new(self.0), wait: self.1 })
    }
}

fn make(name: &str, participants: u32, waits: Option<&str>) -> Result<BatonBarrier, String> {
    let participants = NonZeroU32::new(participants).ok_or("a barrier needs at least one participant")?;
    let wait = first_wait(waits, |asked| Ok(asked.unwrap_or_default()))?;
    let made = barrier::visit::<Native, _>(name, Make(participants, wait));
    made.map(BatonBarrier).map_err(|unknown| unknown.to_string())
}

/// Makes a barrier of the algorithm `name` for `participants` threads; `wait` is a list of wait
/// policies as in `baton_lock_new`. Returns null on failure, and [`error::baton_last_error`] then
/// says why.
///
/// # Safety
/// `name` and `wait` are each null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_barrier_new(
    name: *const c_char,
    participants: u32,
    wait: *const c_char,
) -> *mut BatonBarrier {
    // SAFETY: the caller promises that `name` and `wait` are each null or a string.
    let (name, wait) = unsafe { (text(name).unwrap_or_default(), text(wait)) };
    match make(name, participants, wait) {
        Ok(barrier) => Box::into_raw(Box::new(barrier)),
        Err(why) => {
            error::set(why);
            std::ptr::null_mut()
        }
    }
}

/// Frees a barrier. A null pointer is allowed.
///
/// # Safety
/// `barrier` is null, or it came from this library and no thread uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_barrier_free(barrier: *mut BatonBarrier) {
    if !barrier.is_null() {
        // SAFETY: the barrier was made by `Box::into_raw`, and the caller frees it once.
        drop(unsafe { Box::from_raw(barrier) });
    }
}

/// Arrives at a barrier and waits for the other participants. Returns 1 for the one thread that is
/// chosen, 0 for the others, and -1 if there is no participant `index`.
///
/// # Safety
/// `barrier` came from this library and is alive; no other thread uses it as `index` at the same
/// time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_barrier_wait(barrier: *mut BatonBarrier, index: u32) -> c_int {
    // SAFETY: the caller promises that the barrier is alive.
    match unsafe { &*barrier }.0.wait(index) {
        Some(last) => c_int::from(last),
        None => {
            error::set(no_participant(index));
            -1
        }
    }
}

fn no_participant(index: u32) -> String {
    format!("the barrier has no participant {index}")
}

/// Arrives at a barrier without waiting and takes no part in later episodes. Returns 0, or -1 on
/// failure, and [`error::baton_last_error`] then says why.
///
/// # Safety
/// `barrier` came from this library and is alive; no other thread uses it as `index`, and `index`
/// has not dropped out before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_barrier_drop(barrier: *mut BatonBarrier, index: u32) -> c_int {
    // SAFETY: the caller promises that the barrier is alive.
    match unsafe { &*barrier }.0.drop_out(index) {
        Ok(()) => 0,
        Err(why) => {
            error::set(why);
            -1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last_error() -> String {
        // SAFETY: the string belongs to this thread and is valid until the thread's next failed
        // call.
        unsafe { CStr::from_ptr(crate::error::baton_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn participants_drop_out_until_there_is_none() {
        // SAFETY: the names are strings, and only this thread uses the barriers.
        unsafe {
            let barrier = baton_barrier_new(c"levels".as_ptr(), 2, std::ptr::null());
            assert_eq!(baton_barrier_drop(barrier, 2), -1);
            assert_eq!(last_error(), "the barrier has no participant 2");
            assert_eq!((baton_barrier_drop(barrier, 1), baton_barrier_wait(barrier, 0)), (0, 1));
            // The other participant has dropped out, so each of these calls is an episode of its
            // own.
            assert_eq!((baton_barrier_wait(barrier, 0), baton_barrier_drop(barrier, 0)), (1, 0));
            assert_eq!(baton_barrier_drop(barrier, 0), -1);
            assert!(last_error().contains("all 2 participants of a barrier"), "{}", last_error());
            baton_barrier_free(barrier);
            let tree = baton_barrier_new(c"tree".as_ptr(), 2, std::ptr::null());
            assert_eq!(baton_barrier_drop(tree, 0), -1);
            assert!(last_error().contains("participants cannot drop out of a barrier `tree`"), "{}", last_error());
            baton_barrier_free(tree);
        }
    }
}
