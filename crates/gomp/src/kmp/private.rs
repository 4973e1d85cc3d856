//! Copies of threadprivate variables, for programs that clang compiled with `-fnoopenmp-use-tls`.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::kmp::ident::{Ident, number};
use core::cell::RefCell;
use core::ffi::c_void;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

type Construct = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type ConstructFrom = unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void;
type Destroy = unsafe extern "C" fn(*mut c_void);

/// How a variable's copies are made and destroyed.
#[derive(Clone, Copy, Default)]
struct Made {
    construct: Option<Construct>,
    construct_from: Option<ConstructFrom>,
    destroy: Option<Destroy>,
}

/// What was registered for the variable at each address.
static MADE: Mutex<Option<HashMap<usize, Made>>> = Mutex::new(None);

/// A thread's copy of a variable.
struct Copy {
    words: Box<[u128]>,
    destroy: Option<Destroy>,
}

impl Copy {
    /// Makes a copy of the variable at `original`, of `bytes` bytes.
    ///
    /// # Safety
    /// The variable has `bytes` bytes, and the functions registered for its address are its own.
    unsafe fn new(original: *mut c_void, bytes: usize) -> Copy {
        // The lock is free again when the constructor runs, which may ask for another variable.
        let found = |all: &Option<HashMap<usize, Made>>| all.as_ref()?.get(&original.addr()).copied();
        let made = found(&MADE.lock().unwrap_or_else(PoisonError::into_inner)).unwrap_or_default();
        let mut words = vec![0u128; bytes.div_ceil(16)].into_boxed_slice();
        let at: *mut c_void = words.as_mut_ptr().cast();
        // SAFETY: by contract; the copy has as many bytes.
        unsafe {
            match made {
                Made { construct_from: Some(construct), .. } => drop(construct(at, original)),
                Made { construct: Some(construct), .. } => drop(construct(at)),
                _ => core::ptr::copy_nonoverlapping(original.cast::<u8>(), at.cast(), bytes),
            }
        }
        Copy { words, destroy: made.destroy }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            // SAFETY: the compiler registered the function for such a variable.
            unsafe { destroy(self.words.as_mut_ptr().cast()) };
        }
    }
}

thread_local! {
    /// The thread's copies, by the variables' addresses.
    static COPIES: RefCell<HashMap<usize, Copy>> = RefCell::default();
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_threadprivate_register(
    _at: *const Ident,
    original: *mut c_void,
    construct: Option<Construct>,
    construct_from: Option<ConstructFrom>,
    destroy: Option<Destroy>,
) {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let made = made.get_or_insert_default();
    made.insert(original.addr(), Made { construct, construct_from, destroy });
}

/// The calling thread's copy of a variable. The initial thread has the variable itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_threadprivate(
    _at: *const Ident,
    _thread: i32,
    original: *mut c_void,
    bytes: usize,
) -> *mut c_void {
    if number() == 0 {
        return original;
    }
    // SAFETY: the compiler says how many bytes the variable has. The closure that makes a copy runs
    // without a borrow of the map, as a constructor may ask for other variables.
    unsafe {
        if !COPIES.with_borrow(|copies| copies.contains_key(&original.addr())) {
            let copy = Copy::new(original, bytes);
            COPIES.with_borrow_mut(|copies| copies.insert(original.addr(), copy));
        }
    }
    COPIES.with_borrow_mut(|copies| {
        copies.get_mut(&original.addr()).map_or(original, |copy| copy.words.as_mut_ptr().cast())
    })
}

/// Does the same; the cache, which would have a word for each thread, is not used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_threadprivate_cached(
    at: *const Ident,
    thread: i32,
    original: *mut c_void,
    bytes: usize,
    _cache: *mut *mut *mut c_void,
) -> *mut c_void {
    // SAFETY: by contract.
    unsafe { __kmpc_threadprivate(at, thread, original, bytes) }
}
