//! The OpenMP runtime's own functions, looked up at first use.

use core::ffi::{CStr, c_int, c_uint};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// One function of the runtime, of type `F`.
pub(super) struct Late<F> {
    at: AtomicPtr<()>,
    name: &'static CStr,
    function: PhantomData<F>,
}

impl<F: Copy> Late<F> {
    const fn new(name: &'static CStr) -> Late<F> {
        const { assert!(size_of::<F>() == size_of::<*mut ()>()) };
        Late { at: AtomicPtr::new(core::ptr::null_mut()), name, function: PhantomData }
    }

    /// The function.
    #[inline]
    pub(super) fn get(&self) -> F {
        let mut at = self.at.load(Relaxed);
        if at.is_null() {
            at = find(self.name);
            self.at.store(at, Relaxed);
        }
        // SAFETY: `at` is what the loader gave for the name; F is its type, a pointer in size.
        unsafe { core::mem::transmute_copy(&at) }
    }
}

/// The function behind ours, else in a runtime that was loaded into a scope of its own.
#[cold]
fn find(name: &'static CStr) -> *mut () {
    let at = crate::real::find(name);
    if !at.is_null() {
        return at.cast();
    }
    for file in [c"libgomp.so.1", c"libomp.so.5", c"libomp.so", c"libiomp5.so"] {
        // SAFETY: NOLOAD only finds what is there. The handle is kept, as the runtime stays in use.
        let at = unsafe {
            let handle = libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if handle.is_null() { core::ptr::null_mut() } else { libc::dlsym(handle, name.as_ptr()) }
        };
        if !at.is_null() {
            return at.cast();
        }
    }
    crate::message::say(format_args!("no OpenMP runtime has {}", name.to_string_lossy()));
    crate::message::die("the program calls OpenMP, but no runtime for it is loaded");
}

macro_rules! lates {
    ($($name:ident ($($argument:ty),*) -> $answer:ty;)*) => {
        $(
            #[allow(non_upper_case_globals, missing_docs)]
            pub(super) static $name: Late<unsafe extern "C-unwind" fn($($argument),*) -> $answer> = Late::new(
                // SAFETY: the literal ends with its only zero byte.
                unsafe { CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
            );
        )*
    };
}

/// An `omp_lock_t` or `omp_nest_lock_t`.
pub(super) type OmpLock = *mut u32;

lates! {
    GOMP_critical_start() -> ();
    GOMP_critical_end() -> ();
    GOMP_critical_name_start(*mut *mut ()) -> ();
    GOMP_critical_name_end(*mut *mut ()) -> ();
    GOMP_barrier() -> ();
    omp_init_lock(OmpLock) -> ();
    omp_init_lock_with_hint(OmpLock, c_uint) -> ();
    omp_destroy_lock(OmpLock) -> ();
    omp_set_lock(OmpLock) -> ();
    omp_unset_lock(OmpLock) -> ();
    omp_test_lock(OmpLock) -> c_int;
    omp_init_nest_lock(OmpLock) -> ();
    omp_init_nest_lock_with_hint(OmpLock, c_uint) -> ();
    omp_destroy_nest_lock(OmpLock) -> ();
    omp_set_nest_lock(OmpLock) -> ();
    omp_unset_nest_lock(OmpLock) -> ();
    omp_test_nest_lock(OmpLock) -> c_int;
}
