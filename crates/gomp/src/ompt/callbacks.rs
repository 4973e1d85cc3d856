//! The callbacks of the tool: which there are, whether each is called always, and how.

use core::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// OMPT's `ompt_data_t`: a word of the tool.
pub(crate) type Data = *mut c_void;

/// The numbers of `ompt_scope_endpoint_t`.
pub(crate) const BEGIN: i32 = 1;
/// See [`BEGIN`].
pub(crate) const END: i32 = 2;

/// The greatest number of a callback in OpenMP 5.1.
const LAST: usize = 37;

/// The tool's callbacks by their numbers.
static TABLE: [AtomicPtr<c_void>; LAST + 1] = [const { AtomicPtr::new(core::ptr::null_mut()) }; LAST + 1];

/// The numbers of `ompt_set_result_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Calls {
    /// There is no such callback.
    Error = 0,
    /// It is never called.
    Never = 1,
    /// It is not called where the compiler's code does the work without a call.
    Sometimes = 3,
    /// It is called both for a begin and for its end, or for neither.
    SometimesPaired = 4,
    /// It is always called.
    Always = 5,
}

macro_rules! callbacks {
    ($($name:ident $number:literal $calls:ident ($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*) => {
        $(
            #[doc = concat!("Calls `ompt_callback_", stringify!($name), "`, if the tool has set it.")]
            #[allow(clippy::too_many_arguments, reason = "the interface is OMPT's")]
            pub(crate) fn $name($($arg: $type),*) $(-> Option<$out>)? {
                // Acquire: the thread sees what the tool did before it set the callback.
                let at = TABLE[$number].load(Ordering::Acquire);
                callbacks!(call at ($($arg: $type),*) $(-> $out)?)
            }
        )*

        /// How often the runtime calls a callback of this number.
        pub(crate) fn calls(number: i32) -> Calls {
            match number {
                $($number => Calls::$calls,)*
                // Devices and target regions, of which there are none.
                8..=10 | 12..=15 | 22 | 33..=36 => Calls::Never,
                _ => Calls::Error,
            }
        }
    };
    (call $at:ident ($($arg:ident: $type:ty),*)) => {
        if !$at.is_null() {
            // SAFETY: the tool set a function of this type under this number.
            unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*)>($at)($($arg),*) };
        }
    };
    (call $at:ident ($($arg:ident: $type:ty),*) -> $out:ty) => {
        // SAFETY: as above.
        (!$at.is_null()).then(|| unsafe {
            core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $out>($at)($($arg),*)
        })
    };
}

callbacks! {
    thread_begin 1 Always (kind: i32, thread: Data);
    thread_end 2 Always (thread: Data);
    parallel_begin 3 Always
        (task: Data, frame: *const c_void, region: Data, asked: u32, flags: i32, code: *const c_void);
    parallel_end 4 Always (region: Data, task: Data, flags: i32, code: *const c_void);
    task_create 5 Always
        (by: Data, frame: *const c_void, made: Data, flags: i32, has_dependences: i32, code: *const c_void);
    task_schedule 6 Always (prior: Data, why: i32, next: Data);
    implicit_task 7 Always (end: i32, region: Data, task: Data, threads: u32, index: u32, flags: i32);
    control_tool 11 Always (command: u64, modifier: u64, argument: *mut c_void, code: *const c_void) -> i32;
    sync_region_wait 16 Always (kind: i32, end: i32, region: Data, task: Data, code: *const c_void);
    mutex_released 17 SometimesPaired (kind: i32, wait: u64, code: *const c_void);
    dependences 18 Always (task: Data, list: *const c_void, count: i32);
    task_dependence 19 Always (earlier: Data, later: Data);
    work 20 SometimesPaired (kind: i32, end: i32, region: Data, task: Data, count: u64, code: *const c_void);
    masked 21 SometimesPaired (end: i32, region: Data, task: Data, code: *const c_void);
    sync_region 23 Always (kind: i32, end: i32, region: Data, task: Data, code: *const c_void);
    lock_init 24 Always (kind: i32, hint: u32, implementation: u32, wait: u64, code: *const c_void);
    lock_destroy 25 Always (kind: i32, wait: u64, code: *const c_void);
    mutex_acquire 26 SometimesPaired (kind: i32, hint: u32, implementation: u32, wait: u64, code: *const c_void);
    mutex_acquired 27 SometimesPaired (kind: i32, wait: u64, code: *const c_void);
    nest_lock 28 Always (end: i32, wait: u64, code: *const c_void);
    flush 29 Sometimes (thread: Data, code: *const c_void);
    cancel 30 Always (task: Data, flags: i32, code: *const c_void);
    reduction 31 SometimesPaired (kind: i32, end: i32, region: Data, task: Data, code: *const c_void);
    dispatch 32 Sometimes (region: Data, task: Data, kind: i32, instance: *mut c_void);
    error 37 Always (severity: i32, message: *const c_char, length: usize, code: *const c_void);
}

/// `ompt_set_callback`.
pub(crate) unsafe extern "C" fn set(number: i32, callback: *mut c_void) -> i32 {
    let calls = calls(number);
    if let Some(at) = usize::try_from(number).ok().and_then(|number| TABLE.get(number))
        && !matches!(calls, Calls::Error | Calls::Never)
    {
        // Release: a thread that sees the callback sees what the tool did before.
        at.store(callback, Ordering::Release);
    }
    calls as i32
}

/// `ompt_get_callback`. Returns 1 if the callback is set, and stores it.
pub(crate) unsafe extern "C" fn get(number: i32, callback: *mut *mut c_void) -> i32 {
    let known = usize::try_from(number).ok().and_then(|number| TABLE.get(number));
    // Acquire: as above.
    let set = known.map_or(core::ptr::null_mut(), |at| at.load(Ordering::Acquire));
    if !callback.is_null() {
        // SAFETY: the tool passes a variable of its own, or null.
        unsafe { callback.write(set) };
    }
    i32::from(!set.is_null())
}

/// Forgets all callbacks.
pub(crate) fn clear() {
    TABLE.iter().for_each(|at| at.store(core::ptr::null_mut(), Ordering::Release));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_that_is_never_called_cannot_be_set() {
        let (mut at, mut got) = (0, core::ptr::null_mut());
        let callback: *mut c_void = (&raw mut at).cast();
        // SAFETY: nothing calls the callbacks meanwhile, as no tool is started.
        unsafe {
            assert_eq!((set(8, callback), get(8, &raw mut got)), (Calls::Never as i32, 0));
            assert_eq!((set(0, callback), set(38, callback), set(-1, callback)), (0, 0, 0));
            assert_eq!((set(20, callback), get(20, &raw mut got), got), (Calls::SometimesPaired as i32, 1, callback));
            assert_eq!((set(20, core::ptr::null_mut()), get(20, &raw mut got)), (Calls::SometimesPaired as i32, 0));
        }
        assert!((1..=37).all(|number| calls(number) != Calls::Error));
    }
}
