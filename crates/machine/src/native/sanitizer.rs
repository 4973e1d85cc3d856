//! ThreadSanitizer checks a program for races, but does not follow the atomics of code that was
//! compiled without it. If it is in the process, Baton's code tells it which accesses are ordered.

use core::ffi::{CStr, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, Ordering};

/// `__tsan_acquire` and `__tsan_release`, which get the address of what orders two threads.
type Tell = unsafe extern "C" fn(*mut c_void);

static ACQUIRE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static RELEASE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Looks for ThreadSanitizer in the process. Until the first call it is told nothing.
pub fn find() {
    // SAFETY: `dlsym` with a name that ends with a zero byte.
    let symbol = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let (acquire, release) = (symbol(c"__tsan_acquire"), symbol(c"__tsan_release"));
    if !acquire.is_null() && !release.is_null() {
        ACQUIRE.store(acquire, Ordering::Relaxed);
        // Release: a thread that sees this function sees the other one.
        RELEASE.store(release, Ordering::Release);
    }
}

/// Whether the process has ThreadSanitizer.
#[inline(always)]
pub fn is_there() -> bool {
    // Relaxed: `find` is called before threads are started that have something to tell.
    !RELEASE.load(Ordering::Relaxed).is_null()
}

#[inline(always)]
pub(super) fn happens_before(at: *const ()) {
    if is_there() {
        tell(&RELEASE, at);
    }
}

#[inline(always)]
pub(super) fn happens_after(at: *const ()) {
    if is_there() {
        tell(&ACQUIRE, at);
    }
}

#[cold]
#[inline(never)]
fn tell(function: &AtomicPtr<c_void>, at: *const ()) {
    // Acquire: see `find`.
    let function = function.load(Ordering::Acquire);
    if !function.is_null() {
        // SAFETY: `find` stored a function of this type. It takes the address of any memory of the
        // process, and does not access that memory.
        unsafe { transmute::<*mut c_void, Tell>(function)(at.cast_mut().cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_it_is_told_nothing() {
        find();
        assert!(!is_there());
        // Would call a function at no address.
        happens_before(core::ptr::null());
        happens_after(core::ptr::null());
    }
}
