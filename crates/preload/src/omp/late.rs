//! The OpenMP runtime's own functions, looked up at first use.
//!
//! A process can have several runtimes, because Python's wheels bring one each. So each function of
//! regions, barriers and tasks is looked up for each call site, in the object file of that call and
//! in the objects that this file needs ([`Late::at`]).

use super::runtimes;
use crate::hooks::lookup::found;
use crate::hooks::real::{self, find_in};
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, Ordering::Relaxed};

/// Number of call sites that each function remembers, and of cells in which a call site is looked
/// for.
const SITES: usize = 256;
const PROBES: usize = 8;

/// One function of the runtime, of type `F`.
#[repr(C)]
pub(super) struct Late<F> {
    at: AtomicPtr<()>,
    name: &'static CStr,
    /// Call sites, each with the function that it reaches.
    sites: [(AtomicUsize, AtomicPtr<()>); SITES],
    function: PhantomData<F>,
}

impl<F: Copy> Late<F> {
    const fn new(name: &'static CStr) -> Late<F> {
        const { assert!(size_of::<F>() == size_of::<*mut ()>()) };
        let sites = [const { (AtomicUsize::new(0), AtomicPtr::new(core::ptr::null_mut())) }; SITES];
        Late { at: AtomicPtr::new(core::ptr::null_mut()), name, sites, function: PhantomData }
    }

    /// The function that the first call of this finds for the whole process. Ends the process if
    /// no runtime has it.
    #[inline]
    pub(super) fn get(&self) -> F {
        let mut at = self.at.load(Relaxed);
        if at.is_null() {
            at = find(self.name);
            self.at.store(at, Relaxed);
        }
        // SAFETY: `at` is the address that the loader gave for the name; `F` is that function's
        // type, a pointer in size.
        unsafe { core::mem::transmute_copy(&at) }
    }

    /// The function that a call from `site` reaches in the program: a process may have several
    /// runtimes.
    #[inline]
    pub(super) fn at(&self, site: usize) -> F {
        let at = self.address_at(site);
        // SAFETY: as above.
        unsafe { core::mem::transmute_copy(&at) }
    }

    /// Like [`Late::at`]; also tells whether the call comes from a runtime, which does a part of
    /// another construct by it.
    #[inline]
    pub(super) fn called(&self, site: usize) -> (F, bool) {
        let function = self.at(site);
        // The look-up above has noted the runtime.
        (function, runtimes::contain(site))
    }

    fn address_at(&self, site: usize) -> *mut () {
        let first = site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        for step in 0..PROBES {
            let (known, address) = &self.sites[(first + step) % SITES];
            // Acquire: the address that was stored before the site is seen with it.
            match known.load(Ordering::Acquire) {
                0 => return self.look_up(site, known, address),
                there if there == site => return address.load(Relaxed),
                _ => {}
            }
        }
        find_from(self.name, site)
    }

    /// Looks up the function for a call site that is seen for the first time, and keeps it in the
    /// free cell `known`. A cell never changes its site.
    #[cold]
    fn look_up(&self, site: usize, known: &AtomicUsize, address: &AtomicPtr<()>) -> *mut () {
        let at = find_from(self.name, site);
        runtimes::note(at);
        if known.compare_exchange(0, TAKEN, Relaxed, Relaxed).is_ok() {
            address.store(at, Relaxed);
            // Release: a thread that finds the site finds the function's address too.
            known.store(site, Ordering::Release);
        }
        at
    }
}

/// In place of a call site: the cell is being filled.
const TAKEN: usize = 1;

/// The address to which an unrecorded call from `site` goes on. The jumps of [`super::pass`] call
/// this.
pub(super) unsafe extern "C" fn resolve(late: *const Late<Nothing>, site: usize) -> *mut () {
    // SAFETY: `late` is a static of this module, and its layout does not depend on the function's
    // type.
    unsafe { (*late).address_at(site) }
}

/// A function without arguments and result: stands for any function's type.
pub(super) type Nothing = unsafe extern "C-unwind" fn();

/// The function that the object file around `site` reaches by this name: its own, or that of an
/// object that it needs. For the program's own file, and where there is no such function, what
/// [`find`] returns.
#[cold]
fn find_from(name: &'static CStr, site: usize) -> *mut () {
    let object = found::at(site as u64).filter(|object| {
        // SAFETY: the object file stays loaded, as one of its functions is making this call.
        !unsafe { object.path() }.is_empty()
    });
    let Some(object) = object else { return find(name) };
    // SAFETY: with NOLOAD, `dlopen` only finds a loaded object. The handle may be given back at
    // once, as the calling function keeps its object loaded.
    let at = unsafe {
        let handle = libc::dlopen(object.name, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            core::ptr::null_mut()
        } else {
            let at = libc::dlsym(handle, name.as_ptr());
            real::dlclose.get()(handle);
            at
        }
    };
    // Whether the function that was found is this library's hook, because the object was linked
    // with this library.
    let ours = || found::at(at.addr() as u64).map(|f| f.bias) == found::at(find as *const () as u64).map(|f| f.bias);
    if at.is_null() || ours() { find(name) } else { at.cast() }
}

/// The function of this name behind this library, else in a runtime that was loaded into a scope of
/// its own. Ends the process if there is none.
#[cold]
fn find(name: &'static CStr) -> *mut () {
    let at = real::find(name);
    if !at.is_null() {
        return at.cast();
    }
    for file in [c"libgomp.so.1", c"libomp.so.5", c"libomp.so", c"libiomp5.so"] {
        let at = find_in(file, name);
        if !at.is_null() {
            return at.cast();
        }
    }
    let at = in_any_runtime(name);
    if !at.is_null() {
        return at.cast();
    }
    crate::base::message::say(format_args!("no OpenMP runtime has {}", name.to_string_lossy()));
    crate::base::message::die("the program calls OpenMP, but no runtime for it is loaded");
}

/// The function of this name in a loaded file whose name begins like a runtime's: Python's wheels
/// put a checksum into the file's name. Files that lack the function are passed over.
fn in_any_runtime(name: &CStr) -> *mut c_void {
    (0..).map_while(|number| in_runtime(number, name)).find(|at| !at.is_null()).unwrap_or(core::ptr::null_mut())
}

/// The function of this name, or null, in the loaded file with this number, counted from 0, among
/// those whose name begins like a runtime's; `None` if there are fewer such files.
fn in_runtime(number: usize, name: &CStr) -> Option<*mut c_void> {
    let mut path = [0u8; 1024];
    let mut length = 0;
    let mut left = number;
    let mut each = |object: &libc::dl_phdr_info| {
        if object.dlpi_name.is_null() {
            return false;
        }
        // SAFETY: the loader's name is a string, of an object that stays loaded during the call.
        let at = unsafe { CStr::from_ptr(object.dlpi_name) }.to_bytes_with_nul();
        let file = at.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_runtime = [&b"libgomp"[..], b"libomp", b"libiomp5"].iter().any(|runtime| file.starts_with(runtime));
        if !is_runtime || at.len() > path.len() {
            return false;
        }
        if left > 0 {
            left -= 1;
            return false;
        }
        path[..at.len()].copy_from_slice(at);
        length = at.len();
        true
    };
    each_object(&mut each);
    // Nothing was copied: there is no such file.
    CStr::from_bytes_until_nul(&path[..length]).ok().map(|path| find_in(path, name))
}

/// Calls `f` on each loaded object until `f` returns true.
fn each_object<F: FnMut(&libc::dl_phdr_info) -> bool>(f: &mut F) {
    unsafe extern "C" fn listed<F: FnMut(&libc::dl_phdr_info) -> bool>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        f: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes an object that stays loaded during the call, and the pointer to
        // `f` that is given below.
        unsafe { c_int::from((*f.cast::<F>())(&*info)) }
    }
    // SAFETY: the callback fits the type of `f`, and keeps no pointer.
    crate::base::errno::kept(|| unsafe { libc::dl_iterate_phdr(Some(listed::<F>), core::ptr::from_mut(f).cast()) });
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

/// A function of a member of a team; the runtime is told that it takes one word.
type Member = unsafe extern "C-unwind" fn(*const i32, *const i32, *const c_void);

#[allow(non_upper_case_globals, missing_docs)]
pub(super) static __kmpc_fork_call: Late<unsafe extern "C" fn(*const Ident, c_int, Member, ...)> =
    Late::new(c"__kmpc_fork_call");

/// A pointer to an `omp_lock_t` or `omp_nest_lock_t`.
pub(super) type OmpLock = *mut u32;
/// The function of a region or a task, and a pointer to its data.
use crate::thread::Function;
type Data = *mut c_void;
use super::interface::{Entry, Ident, Task};
/// The function that copies a task's data; `None`: byte by byte.
pub(super) type Copier = Option<unsafe extern "C-unwind" fn(Data, Data)>;

lates! {
    GOMP_critical_start() -> ();
    GOMP_critical_end() -> ();
    GOMP_critical_name_start(*mut *mut ()) -> ();
    GOMP_critical_name_end(*mut *mut ()) -> ();
    GOMP_barrier() -> ();
    GOMP_barrier_cancel() -> bool;
    GOMP_loop_end() -> ();
    GOMP_loop_end_cancel() -> bool;
    GOMP_sections_end() -> ();
    GOMP_sections_end_cancel() -> bool;
    GOMP_single_copy_start() -> Data;
    GOMP_single_copy_end(Data) -> ();
    GOMP_parallel(Function, Data, c_uint, c_uint) -> ();
    GOMP_parallel_reductions(Function, Data, c_uint, c_uint) -> c_uint;
    GOMP_parallel_sections(Function, Data, c_uint, c_uint, c_uint) -> ();
    GOMP_parallel_loop_static(Function, Data, c_uint, i64, i64, i64, i64, c_uint) -> ();
    GOMP_parallel_loop_dynamic(Function, Data, c_uint, i64, i64, i64, i64, c_uint) -> ();
    GOMP_parallel_loop_guided(Function, Data, c_uint, i64, i64, i64, i64, c_uint) -> ();
    GOMP_parallel_loop_nonmonotonic_dynamic(Function, Data, c_uint, i64, i64, i64, i64, c_uint) -> ();
    GOMP_parallel_loop_nonmonotonic_guided(Function, Data, c_uint, i64, i64, i64, i64, c_uint) -> ();
    GOMP_parallel_loop_runtime(Function, Data, c_uint, i64, i64, i64, c_uint) -> ();
    GOMP_parallel_loop_nonmonotonic_runtime(Function, Data, c_uint, i64, i64, i64, c_uint) -> ();
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(Function, Data, c_uint, i64, i64, i64, c_uint) -> ();
    GOMP_taskwait() -> ();
    GOMP_taskwait_depend(*mut Data) -> ();
    GOMP_taskgroup_end() -> ();
    GOMP_task(Function, Data, Copier, i64, i64, bool, c_uint, *mut Data, c_int, Data) -> ();
    __kmpc_barrier(*const Ident, c_int) -> ();
    __kmpc_cancel_barrier(*const Ident, c_int) -> c_int;
    __kmpc_copyprivate(*const Ident, c_int, usize, Data, usize, c_int) -> ();
    __kmpc_critical(*const Ident, c_int, *mut *mut ()) -> ();
    __kmpc_critical_with_hint(*const Ident, c_int, *mut *mut (), c_uint) -> ();
    __kmpc_end_critical(*const Ident, c_int, *mut *mut ()) -> ();
    __kmpc_omp_task_alloc(*const Ident, c_int, c_int, usize, usize, Entry) -> *mut Task;
    __kmpc_omp_task(*const Ident, c_int, *mut Task) -> c_int;
    __kmpc_omp_task_with_deps(*const Ident, c_int, *mut Task, c_int, Data, c_int, Data) -> c_int;
    __kmpc_taskloop() -> ();
    __kmpc_taskloop_5() -> ();
    __kmpc_omp_taskwait(*const Ident, c_int) -> c_int;
    __kmpc_end_taskgroup(*const Ident, c_int) -> ();
    omp_get_num_threads() -> c_int;
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

/// How many threads the calling thread's team has, according to the runtime that a call from `site`
/// reaches.
pub(super) fn threads(site: usize) -> u32 {
    // SAFETY: `omp_get_num_threads` takes no argument and may be called anywhere.
    let threads = unsafe { omp_get_num_threads.at(site)() };
    u32::try_from(threads).unwrap_or(1)
}
