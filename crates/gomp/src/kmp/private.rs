//! Copies of threadprivate variables, for programs that clang compiled with `-fnoopenmp-use-tls`.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::kmp::ident::{Ident, number};
use core::alloc::Layout;
use core::cell::RefCell;
use core::ffi::c_void;
use core::ptr::NonNull;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// What is known of a variable.
#[derive(Default)]
struct Variable {
    made: Made,
    /// The variable as it was at the first call that named it, from which copies are made.
    initial: Option<Arc<Object>>,
}

/// The variables by their addresses.
static VARIABLES: Mutex<BTreeMap<usize, Variable>> = Mutex::new(BTreeMap::new());

fn variables() -> MutexGuard<'static, BTreeMap<usize, Variable>> {
    VARIABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory for a copy of a variable.
struct Object {
    at: NonNull<u8>,
    layout: Layout,
    destroy: Option<Destroy>,
}

// SAFETY: one thread has the copy, or several only read it.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    /// Memory as well aligned as the variable at `original`, of `bytes` bytes: to a cache line at
    /// least, as under LLVM's library, and to a page at most.
    fn new(original: *const c_void, bytes: usize, destroy: Option<Destroy>) -> Object {
        let align = 1 << original.addr().trailing_zeros().clamp(6, 12);
        let layout = Layout::from_size_align(bytes.max(1), align).expect("a variable has a size that memory can have");
        // SAFETY: the layout has a size that is not 0.
        let Some(at) = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }) else {
            std::alloc::handle_alloc_error(layout)
        };
        Object { at, layout, destroy }
    }

    fn as_ptr(&self) -> *mut c_void {
        self.at.as_ptr().cast()
    }

    /// Copies the object at `from` here, by the function that was registered for that, or bytewise.
    ///
    /// # Safety
    /// `from` has as many bytes, and is such a variable.
    unsafe fn copy(&self, from: *mut c_void, made: Made) {
        // SAFETY: by contract.
        unsafe {
            match made.construct_from {
                Some(construct) => drop(construct(self.as_ptr(), from)),
                None => core::ptr::copy_nonoverlapping(from.cast::<u8>(), self.at.as_ptr(), self.layout.size()),
            }
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the compiler registered the function for such a variable; `new` took the memory.
        unsafe {
            self.destroy.iter().for_each(|destroy| destroy(self.as_ptr()));
            std::alloc::dealloc(self.at.as_ptr(), self.layout);
        }
    }
}

/// Keeps the value of the variable at `original` at the first call that names it. Returns how its
/// copies are made.
///
/// # Safety
/// The variable has `bytes` bytes, and the functions registered for its address are its own.
unsafe fn know(original: *mut c_void, bytes: usize) -> (Made, Option<Arc<Object>>) {
    let (made, initial) = {
        let mut variables = variables();
        let variable = variables.entry(original.addr()).or_default();
        (variable.made, variable.initial.clone())
    };
    if initial.is_some() || made.construct.is_some() {
        return (made, initial);
    }
    let image = Object::new(original, bytes, None);
    // SAFETY: by contract. The lock is free, because the function may ask for another variable.
    unsafe { image.copy(original, made) };
    let mut variables = variables();
    let kept = &mut variables.entry(original.addr()).or_default().initial;
    (made, Some(kept.get_or_insert_with(|| Arc::new(image)).clone()))
}

/// A thread's copy of a variable; `None`: the initial thread has the variable itself.
type Copy = Option<Object>;

/// Makes the calling thread's copy of a variable.
///
/// # Safety
/// As [`know`].
unsafe fn copy(original: *mut c_void, bytes: usize) -> Copy {
    // SAFETY: by contract.
    let (made, initial) = unsafe { know(original, bytes) };
    if number() == 0 {
        return None;
    }
    let copy = Object::new(original, bytes, made.destroy);
    // SAFETY: by contract; the kept value is such a variable too.
    unsafe {
        match (made.construct, &initial) {
            (Some(construct), _) if made.construct_from.is_none() => drop(construct(copy.as_ptr())),
            (_, initial) => copy.copy(initial.as_ref().map_or(original, |initial| initial.as_ptr()), made),
        }
    }
    Some(copy)
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
    variables().entry(original.addr()).or_default().made = Made { construct, construct_from, destroy };
}

/// The calling thread's copy of a variable. The initial thread has the variable itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_threadprivate(
    _at: *const Ident,
    _thread: i32,
    original: *mut c_void,
    bytes: usize,
) -> *mut c_void {
    // SAFETY: the compiler says how many bytes the variable has. The closure that makes a copy runs
    // without a borrow of the map, as a constructor may ask for other variables.
    unsafe {
        if !COPIES.with_borrow(|copies| copies.contains_key(&original.addr())) {
            let copy = copy(original, bytes);
            COPIES.with_borrow_mut(|copies| copies.insert(original.addr(), copy));
        }
    }
    let at = |copy: &Copy| copy.as_ref().map_or(original, Object::as_ptr);
    COPIES.with_borrow(|copies| copies.get(&original.addr()).map_or(original, at))
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
