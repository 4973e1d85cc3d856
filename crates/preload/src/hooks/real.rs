//! glibc's own functions, to which this library's functions go on.
//!
//! All are looked up once, at start, in the order in which they stand here: mutexes first, so that
//! an allocator that the look-up itself may call finds them. Where glibc keeps several versions of
//! a symbol, the version is named: a plain look-up of `pthread_cond_wait` may give the function of
//! 2002, whose condition variable has another layout.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};
use libc::{clockid_t, pthread_t, timespec};

/// A function of glibc, of type `F`.
pub struct Real<F> {
    at: AtomicPtr<()>,
    name: &'static CStr,
    /// The version of the symbol that is looked up first.
    version: Option<&'static CStr>,
    function: PhantomData<F>,
}

impl<F: Copy> Real<F> {
    const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Real<F> {
        const { assert!(size_of::<F>() == size_of::<*mut ()>()) };
        Real { at: AtomicPtr::new(core::ptr::null_mut()), name, version, function: PhantomData }
    }

    /// The function. May be called only after [`resolve`], and only for a function that this glibc
    /// has.
    #[inline(always)]
    pub fn get(&self) -> F {
        let at = self.at.load(Ordering::Relaxed);
        debug_assert!(!at.is_null(), "glibc has no {:?}", self.name);
        // SAFETY: `at` is the address that the loader gave for the name; `F` is that function's
        // type, a pointer in size.
        unsafe { core::mem::transmute_copy(&at) }
    }

    /// The function's address, for a slot; null if this glibc does not have it.
    pub fn code(&self) -> *const () {
        self.at.load(Ordering::Relaxed)
    }
}

/// A function of glibc, without its type.
pub trait Resolve: Sync {
    /// Looks the function up, and keeps its address.
    fn resolve(&self);
    /// The function's name.
    fn name(&self) -> &'static CStr;
    /// The function's address; 0 if this glibc does not have it.
    fn address(&self) -> usize;
}

impl<F: Sync> Resolve for Real<F> {
    fn resolve(&self) {
        let mut at = core::ptr::null_mut();
        if let Some(version) = self.version {
            // SAFETY: both strings that `dlvsym` gets end with a zero byte.
            at = unsafe { libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()) };
        }
        if at.is_null() {
            // SAFETY: as above.
            at = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        }
        self.at.store(at.cast(), Ordering::Relaxed);
    }
    fn name(&self) -> &'static CStr {
        self.name
    }
    fn address(&self) -> usize {
        self.at.load(Ordering::Relaxed).expose_provenance()
    }
}

/// Looks up all of glibc's functions.
pub fn resolve() {
    for real in ALL {
        real.resolve();
    }
}

/// The address of `name` in the objects loaded behind this library; null if none of them has it.
pub fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the string ends with a zero byte.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// The address of `name` in a loaded object file; null if the file is not loaded or lacks the name. The handle is not
/// given back, as what it leads to stays in use.
pub fn find_in(file: &CStr, name: &CStr) -> *mut c_void {
    // SAFETY: with NOLOAD, `dlopen` only finds a loaded object; both names are strings.
    unsafe {
        let handle = libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() { core::ptr::null_mut() } else { libc::dlsym(handle, name.as_ptr()) }
    }
}

macro_rules! version {
    () => {
        None
    };
    ($version:literal) => {
        Some($version)
    };
}

macro_rules! reals {
    ($($name:ident ($($argument:ty),*) -> $answer:ty $(, $version:literal)?;)*) => {
        $(
            #[allow(non_upper_case_globals, missing_docs)]
            pub static $name: Real<unsafe extern "C-unwind" fn($($argument),*) -> $answer> = Real::new(
                // SAFETY: the literal ends with its only zero byte.
                unsafe { CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
                version!($($version)?),
            );
        )*
        /// All of glibc's functions that are listed here, in the list's order.
        pub static ALL: &[&dyn Resolve] = &[$(&$name),*];
    };
}

/// A pointer to a pthread object, which is only passed on.
type Object = *mut c_void;
/// An absolute time.
type Until = *const timespec;
/// The function that a thread runs.
pub type Routine = unsafe extern "C-unwind" fn(Object) -> Object;

reals! {
    pthread_mutex_lock(Object) -> c_int;
    pthread_mutex_unlock(Object) -> c_int;
    pthread_mutex_trylock(Object) -> c_int;
    pthread_mutex_init(Object, *const c_void) -> c_int;
    pthread_mutex_destroy(Object) -> c_int;
    pthread_mutex_timedlock(Object, Until) -> c_int;
    pthread_mutex_clocklock(Object, clockid_t, Until) -> c_int;
    mtx_init(Object, c_int) -> c_int;
    mtx_destroy(Object) -> ();
    mtx_lock(Object) -> c_int;
    mtx_trylock(Object) -> c_int;
    mtx_timedlock(Object, Until) -> c_int;
    mtx_unlock(Object) -> c_int;
    pthread_cond_init(Object, *const c_void) -> c_int, c"GLIBC_2.3.2";
    pthread_cond_destroy(Object) -> c_int, c"GLIBC_2.3.2";
    pthread_cond_wait(Object, Object) -> c_int, c"GLIBC_2.3.2";
    pthread_cond_timedwait(Object, Object, Until) -> c_int, c"GLIBC_2.3.2";
    pthread_cond_clockwait(Object, Object, clockid_t, Until) -> c_int;
    pthread_cond_signal(Object) -> c_int, c"GLIBC_2.3.2";
    pthread_cond_broadcast(Object) -> c_int, c"GLIBC_2.3.2";
    cnd_init(Object) -> c_int;
    cnd_destroy(Object) -> ();
    cnd_wait(Object, Object) -> c_int;
    cnd_timedwait(Object, Object, Until) -> c_int;
    cnd_signal(Object) -> c_int;
    cnd_broadcast(Object) -> c_int;
    pthread_rwlock_init(Object, *const c_void) -> c_int;
    pthread_rwlock_destroy(Object) -> c_int;
    pthread_rwlock_rdlock(Object) -> c_int;
    pthread_rwlock_wrlock(Object) -> c_int;
    pthread_rwlock_tryrdlock(Object) -> c_int;
    pthread_rwlock_trywrlock(Object) -> c_int;
    pthread_rwlock_timedrdlock(Object, Until) -> c_int;
    pthread_rwlock_timedwrlock(Object, Until) -> c_int;
    pthread_rwlock_clockrdlock(Object, clockid_t, Until) -> c_int;
    pthread_rwlock_clockwrlock(Object, clockid_t, Until) -> c_int;
    pthread_rwlock_unlock(Object) -> c_int;
    pthread_spin_init(Object, c_int) -> c_int;
    pthread_spin_destroy(Object) -> c_int;
    pthread_spin_lock(Object) -> c_int;
    pthread_spin_trylock(Object) -> c_int;
    pthread_spin_unlock(Object) -> c_int;
    pthread_barrier_init(Object, *const c_void, c_uint) -> c_int;
    pthread_barrier_destroy(Object) -> c_int;
    pthread_barrier_wait(Object) -> c_int;
    sem_init(Object, c_int, c_uint) -> c_int, c"GLIBC_2.2.5";
    sem_destroy(Object) -> c_int, c"GLIBC_2.2.5";
    sem_wait(Object) -> c_int, c"GLIBC_2.2.5";
    sem_trywait(Object) -> c_int, c"GLIBC_2.2.5";
    sem_timedwait(Object, Until) -> c_int, c"GLIBC_2.2.5";
    sem_clockwait(Object, clockid_t, Until) -> c_int;
    sem_post(Object) -> c_int, c"GLIBC_2.2.5";
    pthread_create(*mut pthread_t, *const c_void, Routine, Object) -> c_int;
    pthread_join(pthread_t, *mut Object) -> c_int;
    pthread_tryjoin_np(pthread_t, *mut Object) -> c_int;
    pthread_timedjoin_np(pthread_t, *mut Object, Until) -> c_int;
    pthread_clockjoin_np(pthread_t, *mut Object, clockid_t, Until) -> c_int;
    pthread_cancel(pthread_t) -> c_int;
    pthread_testcancel() -> ();
    _pthread_cleanup_push(*mut Cleanup, CleanupRoutine, Object) -> ();
    _pthread_cleanup_pop(*mut Cleanup, c_int) -> ();
    thrd_create(*mut pthread_t, ThreadStart, Object) -> c_int;
    thrd_join(pthread_t, *mut c_int) -> c_int;
    pthread_setname_np(pthread_t, *const c_char) -> c_int;
    pthread_setaffinity_np(pthread_t, usize, *const c_void) -> c_int, c"GLIBC_2.3.4";
    sched_setaffinity(c_int, usize, *const c_void) -> c_int, c"GLIBC_2.3.4";
    pthread_getaffinity_np(pthread_t, usize, Object) -> c_int, c"GLIBC_2.3.4";
    sched_getaffinity(c_int, usize, Object) -> c_int, c"GLIBC_2.3.4";
    sysconf(c_int) -> c_long;
    get_nprocs() -> c_int;
    pthread_setcanceltype(c_int, *mut c_int) -> c_int;
    __sigsetjmp(Object, c_int) -> c_int;
    __register_atfork(Option<unsafe extern "C" fn()>, Option<unsafe extern "C" fn()>, Option<unsafe extern "C" fn()>, Object) -> c_int;
    _Fork() -> c_int;
    _exit(c_int) -> c_long;
    _Exit(c_int) -> c_long;
    dlclose(Object) -> c_int;
    dlsym(Object, *const c_char) -> Object;
    dlvsym(Object, *const c_char, *const c_char) -> Object;
    dlopen(*const c_char, c_int) -> Object;
    sleep(c_uint) -> c_uint;
    usleep(c_uint) -> c_int;
    nanosleep(Until, Object) -> c_int;
    clock_nanosleep(clockid_t, c_int, Until, Object) -> c_int;
    sched_yield() -> c_int;
    thrd_yield() -> c_int;
    poll(Object, c_ulong, c_int) -> c_int;
    select(c_int, Object, Object, Object, Object) -> c_int;
    epoll_wait(c_int, Object, c_int, c_int) -> c_int;
    read(c_int, Object, usize) -> isize;
    write(c_int, *const c_void, usize) -> isize;
    recv(c_int, Object, usize, c_int) -> isize;
    send(c_int, *const c_void, usize, c_int) -> isize;
    accept(c_int, Object, Object) -> c_int;
    fsync(c_int) -> c_int;
    fdatasync(c_int) -> c_int;
    msync(Object, usize, c_int) -> c_int;
    pread(c_int, Object, usize, c_long) -> isize;
    pread64(c_int, Object, usize, c_long) -> isize;
    pwrite(c_int, *const c_void, usize, c_long) -> isize;
    pwrite64(c_int, *const c_void, usize, c_long) -> isize;
    readv(c_int, *const c_void, c_int) -> isize;
    writev(c_int, *const c_void, c_int) -> isize;
    recvmsg(c_int, Object, c_int) -> isize;
    sendmsg(c_int, *const c_void, c_int) -> isize;
    connect(c_int, *const c_void, c_uint) -> c_int;
    ppoll(Object, c_ulong, Until, *const c_void) -> c_int;
    epoll_pwait(c_int, Object, c_int, c_int, *const c_void) -> c_int;
    flock(c_int, c_int) -> c_int;
    waitpid(c_int, Object, c_int) -> c_int;
    wait(Object) -> c_int;
    wait4(c_int, Object, c_int, Object) -> c_int;
    // Declared without glibc's ellipsis: integer arguments are passed in the same registers either
    // way.
    syscall(c_long, usize, usize, usize, usize, usize, usize) -> c_long;
    recvfrom(c_int, Object, usize, c_int, Object, Object) -> isize;
    sendto(c_int, *const c_void, usize, c_int, *const c_void, c_uint) -> isize;
    sendfile(c_int, c_int, Object, usize) -> isize;
    accept4(c_int, Object, Object, c_int) -> c_int;
    pselect(c_int, Object, Object, Object, Until, *const c_void) -> c_int;
    recvmmsg(c_int, Object, c_uint, c_int, Object) -> c_int;
    sendmmsg(c_int, Object, c_uint, c_int) -> c_int;
    __read_chk(c_int, Object, usize, usize) -> isize;
    __recv_chk(c_int, Object, usize, usize, c_int) -> isize;
    __poll_chk(Object, c_ulong, c_int, usize) -> c_int;
    __register_frame(Object) -> ();
    __register_frame_info(*const c_void, Object) -> ();
    __register_frame_info_bases(*const c_void, Object, Object, Object) -> ();
    __register_frame_table(Object) -> ();
    close(c_int) -> c_int;
    pipe(*mut c_int) -> c_int;
    pipe2(*mut c_int, c_int) -> c_int;
    socketpair(c_int, c_int, c_int, *mut c_int) -> c_int;
    eventfd(c_uint, c_int) -> c_int;
    eventfd_read(c_int, *mut u64) -> c_int;
    eventfd_write(c_int, u64) -> c_int;
    dup2(c_int, c_int) -> c_int;
    dup3(c_int, c_int, c_int) -> c_int;
}

/// The function that a C11 thread runs.
pub type ThreadStart = unsafe extern "C-unwind" fn(Object) -> c_int;

/// The function of a clean-up handler.
pub type CleanupRoutine = unsafe extern "C-unwind" fn(Object);

/// glibc's `struct _pthread_cleanup_buffer`, which `_pthread_cleanup_push` fills.
#[repr(C)]
pub struct Cleanup {
    routine: *const (),
    argument: Object,
    cancel_type: c_int,
    previous: *mut Cleanup,
}

impl Cleanup {
    /// A buffer that is not filled yet.
    pub fn new() -> Cleanup {
        Cleanup {
            routine: core::ptr::null(),
            argument: core::ptr::null_mut(),
            cancel_type: 0,
            previous: core::ptr::null_mut(),
        }
    }
}
