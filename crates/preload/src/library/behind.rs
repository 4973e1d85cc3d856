//! The C library's own functions, looked up at their first use: the library may be loaded late.

use crate::base::time;
use crate::events;
use crate::hooks::{self, Code, slot};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use libc::{clockid_t, timespec};

/// A pointer to an object of the library.
pub(super) type Object = *mut c_void;

/// A function of the library, of type `F`.
pub(super) struct Behind<F> {
    at: AtomicPtr<()>,
    name: &'static CStr,
    function: PhantomData<F>,
}

impl<F: Copy> Behind<F> {
    const fn new(name: &'static CStr) -> Behind<F> {
        const { assert!(size_of::<F>() == size_of::<*mut ()>()) };
        Behind { at: AtomicPtr::new(core::ptr::null_mut()), name, function: PhantomData }
    }

    /// The function. Ends the process if no loaded library has it.
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
}

/// The names of the library's file: with the number of versions that fit one another, and without.
const FILES: [&CStr; 2] = {
    const NUMBERED: &str =
        concat!("libbaton.so.", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"), "\0");
    match CStr::from_bytes_with_nul(NUMBERED.as_bytes()) {
        Ok(numbered) => [numbered, c"libbaton.so"],
        Err(_) => panic!("the name ends with its only zero byte"),
    }
};

/// The function of this name behind this library, else in a library that was loaded into a scope of
/// its own.
#[cold]
fn find(name: &CStr) -> *mut () {
    let mut at = hooks::real::find(name);
    for file in FILES {
        if at.is_null() {
            at = hooks::real::find_in(file, name);
        }
    }
    if at.is_null() {
        crate::base::message::say(format_args!("no loaded library has {}", name.to_string_lossy()));
        crate::base::message::die("the program calls Baton's C library, which is not loaded");
    }
    at.cast()
}

/// Makes a call of the library. Futex calls inside of it are not recorded: what the call does is.
pub(super) fn within<T>(call: impl FnOnce() -> T) -> T {
    let Some(thread) = events::recorded_thread() else { return call() };
    let outer = thread.library.calls.swap(true, Relaxed);
    let answer = call();
    thread.library.calls.store(outer, Relaxed);
    answer
}

/// Calls a function of the program from inside of a call of the library.
pub(super) fn outside<T>(call: impl FnOnce() -> T) -> T {
    let Some(thread) = events::recorded_thread() else { return call() };
    let outer = thread.library.calls.swap(false, Relaxed);
    let answer = call();
    thread.library.calls.store(outer, Relaxed);
    answer
}

/// Whether the library takes this time. It refuses an invalid time or clock even where it need not wait, so
/// that no try may be made then.
///
/// # Safety
/// `until` is null or points to a time.
pub(super) unsafe fn is_time(clock: clockid_t, until: Until) -> bool {
    // SAFETY: guaranteed by the caller.
    !until.is_null() && unsafe { time::is_valid(clock, until) }
}

macro_rules! behind {
    ($($name:ident ($($argument:ident: $type:ty),*) $(-> $answer:ty)?;)*) => {
        $(
            #[allow(non_upper_case_globals, missing_docs)]
            pub(super) static $name: Behind<unsafe extern "C-unwind" fn($($type),*) $(-> $answer)?> = Behind::new(
                // SAFETY: the literal ends with its only zero byte.
                unsafe { CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
            );
        )*

        /// Functions that go on to the library's. The call site, which follows the arguments, is not
        /// looked at.
        mod pass {
            use crate::library::behind::*;
            $(
                pub(super) unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $answer)? {
                    // SAFETY: passed on.
                    unsafe { crate::library::behind::$name.get()($($argument),*) }
                }
            )*
        }

        /// Points the slots to functions that go on to the library's.
        pub fn pass_through() {
            $(slot::$name.set(pass::$name as Code);)*
        }
    };
}

/// An absolute time.
pub(super) type Until = *const timespec;
/// An item, or several.
type Items = *const c_void;
/// Where the library writes which places it lends.
type Places = *mut c_void;
/// Moves an item into a place or out of it.
pub(super) type Move = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

behind! {
    baton_mutex_lock(mutex: Object);
    baton_mutex_trylock(mutex: Object) -> c_int;
    baton_mutex_timedlock(mutex: Object, clock: clockid_t, until: Until) -> c_int;
    baton_mutex_unlock(mutex: Object);
    baton_rwlock_rdlock(lock: Object);
    baton_rwlock_tryrdlock(lock: Object) -> c_int;
    baton_rwlock_timedrdlock(lock: Object, clock: clockid_t, until: Until) -> c_int;
    baton_rwlock_rdlock_recursive(lock: Object);
    baton_rwlock_rdunlock(lock: Object);
    baton_rwlock_wrlock(lock: Object);
    baton_rwlock_trywrlock(lock: Object) -> c_int;
    baton_rwlock_timedwrlock(lock: Object, clock: clockid_t, until: Until) -> c_int;
    baton_rwlock_wrunlock(lock: Object);
    baton_rwlock_uplock(lock: Object);
    baton_rwlock_tryuplock(lock: Object) -> c_int;
    baton_rwlock_upunlock(lock: Object);
    baton_rwlock_upgrade(lock: Object);
    baton_rwlock_tryupgrade(lock: Object) -> c_int;
    baton_rwlock_downgrade(lock: Object);
    baton_rwlock_downgrade_up(lock: Object);
    baton_lock_new(kind: c_int, wait: *const c_char) -> Object;
    baton_lock_new_named(name: *const c_char, wait: *const c_char) -> Object;
    baton_lock_free(lock: Object);
    baton_lock_lock(lock: Object);
    baton_lock_trylock(lock: Object) -> c_int;
    baton_lock_timedlock(lock: Object, clock: clockid_t, until: Until) -> c_int;
    baton_lock_unlock(lock: Object);
    baton_once_call(once: Object, init: unsafe extern "C-unwind" fn(*mut c_void), argument: *mut c_void);
    baton_once_done(once: Object) -> c_int;
    baton_cond_wait(cond: Object, mutex: Object);
    baton_cond_timedwait(cond: Object, mutex: Object, clock: clockid_t, until: Until) -> c_int;
    baton_cond_signal(cond: Object);
    baton_cond_broadcast(cond: Object);
    baton_semaphore_take(semaphore: Object);
    baton_semaphore_trytake(semaphore: Object) -> c_int;
    baton_semaphore_timedtake(semaphore: Object, clock: clockid_t, until: Until) -> c_int;
    baton_semaphore_post(semaphore: Object) -> c_int;
    baton_meeting_wait(meeting: Object) -> c_int;
    baton_barrier_wait(barrier: Object, index: u32) -> c_int;
    baton_queue_put(queue: Object, item: Items) -> c_int;
    baton_queue_tryput(queue: Object, item: Items) -> c_int;
    baton_queue_timedput(queue: Object, item: Items, clock: clockid_t, until: Until) -> c_int;
    baton_queue_put_all(queue: Object, items: Items, count: usize, done: *mut usize) -> c_int;
    baton_queue_get(queue: Object, item: Object) -> c_int;
    baton_queue_tryget(queue: Object, item: Object) -> c_int;
    baton_queue_timedget(queue: Object, item: Object, clock: clockid_t, until: Until) -> c_int;
    baton_queue_get_some(queue: Object, items: Object, count: usize, done: *mut usize) -> c_int;
    baton_queue_close(queue: Object) -> c_int;
    baton_queue_length(queue: Object) -> usize;
    baton_queue_closed(queue: Object) -> c_int;
    baton_queue_put_by(queue: Object, item: Object, by: Move) -> c_int;
    baton_queue_tryput_by(queue: Object, item: Object, by: Move) -> c_int;
    baton_queue_timedput_by(queue: Object, item: Object, by: Move, clock: clockid_t, until: Until) -> c_int;
    baton_queue_get_by(queue: Object, item: Object, by: Move) -> c_int;
    baton_queue_tryget_by(queue: Object, item: Object, by: Move) -> c_int;
    baton_queue_timedget_by(queue: Object, item: Object, by: Move, clock: clockid_t, until: Until) -> c_int;
    baton_queue_end(queue: Object);
    baton_spsc_new(item_size: usize, capacity: usize) -> Object;
    baton_spsc_free(queue: Object);
    baton_spsc_put(queue: Object, item: Items) -> c_int;
    baton_spsc_tryput(queue: Object, item: Items) -> c_int;
    baton_spsc_timedput(queue: Object, item: Items, clock: clockid_t, until: Until) -> c_int;
    baton_spsc_get(queue: Object, item: Object) -> c_int;
    baton_spsc_tryget(queue: Object, item: Object) -> c_int;
    baton_spsc_timedget(queue: Object, item: Object, clock: clockid_t, until: Until) -> c_int;
    baton_spsc_reserve(queue: Object, most: usize, places: Places) -> c_int;
    baton_spsc_tryreserve(queue: Object, most: usize, places: Places) -> c_int;
    baton_spsc_timedreserve(queue: Object, most: usize, places: Places, clock: clockid_t, until: Until) -> c_int;
    baton_spsc_commit(queue: Object, count: usize) -> c_int;
    baton_spsc_peek(queue: Object, most: usize, places: Places) -> c_int;
    baton_spsc_trypeek(queue: Object, most: usize, places: Places) -> c_int;
    baton_spsc_timedpeek(queue: Object, most: usize, places: Places, clock: clockid_t, until: Until) -> c_int;
    baton_spsc_release(queue: Object, count: usize) -> c_int;
    baton_spsc_close(queue: Object) -> c_int;
    baton_unbounded_new(item_size: usize) -> Object;
    baton_unbounded_free(queue: Object);
    baton_unbounded_put(queue: Object, item: Items) -> c_int;
    baton_unbounded_get(queue: Object, item: Object) -> c_int;
    baton_unbounded_tryget(queue: Object, item: Object) -> c_int;
    baton_unbounded_timedget(queue: Object, item: Object, clock: clockid_t, until: Until) -> c_int;
    baton_unbounded_close(queue: Object) -> c_int;
    baton_choice_new(kind: c_int, item_size: usize, capacity: usize) -> Object;
    baton_choice_free(queue: Object);
    baton_choice_put(queue: Object, item: Items) -> c_int;
    baton_choice_tryput(queue: Object, item: Items) -> c_int;
    baton_choice_timedput(queue: Object, item: Items, clock: clockid_t, until: Until) -> c_int;
    baton_choice_get(queue: Object, item: Object) -> c_int;
    baton_choice_tryget(queue: Object, item: Object) -> c_int;
    baton_choice_timedget(queue: Object, item: Object, clock: clockid_t, until: Until) -> c_int;
    baton_choice_close(queue: Object) -> c_int;
    baton_choice_capacity(queue: Object) -> usize;
    baton_process_sender_open(path: *const c_char) -> Object;
    baton_process_sender_close(sender: Object);
    baton_process_sender_capacity(sender: Object) -> usize;
    baton_process_sender_id(sender: Object) -> u64;
    baton_process_send(sender: Object, item: Items, size: usize) -> c_int;
    baton_process_trysend(sender: Object, item: Items, size: usize) -> c_int;
    baton_process_timedsend(sender: Object, item: Items, size: usize, clock: clockid_t, until: Until) -> c_int;
    baton_process_receiver_open(path: *const c_char) -> Object;
    baton_process_receiver_close(receiver: Object);
    baton_process_receiver_capacity(receiver: Object) -> usize;
    baton_process_receiver_id(receiver: Object) -> u64;
    baton_process_receive(receiver: Object, item: Object, size: usize) -> c_int;
    baton_process_tryreceive(receiver: Object, item: Object, size: usize) -> c_int;
    baton_process_timedreceive(receiver: Object, item: Object, size: usize, clock: clockid_t, until: Until) -> c_int;
}
