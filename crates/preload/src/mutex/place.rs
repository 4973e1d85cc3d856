//! The lock inside the mutex.

use super::Mutex;
use baton_machine::Native;
use baton_sync::lock::{RawLock, ZeroInit};
use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::Ordering;

/// Whether an `L` fits into the mutex's own words; else a pointer to one stands there.
const fn fits<L>() -> bool {
    size_of::<L>() <= size_of::<[usize; 2]>() && align_of::<L>() <= align_of::<usize>()
}

/// The lock of `mutex`.
#[inline(always)]
pub fn lock_of<L: RawLock<Native> + ZeroInit>(mutex: &Mutex) -> &L {
    if const { fits::<L>() } {
        // SAFETY: the words are atomic cells that only `L` uses; it fits and zero is a free one.
        unsafe { &*(&raw const mutex.words).cast::<L>() }
    } else {
        // Acquire: find the lock as its maker left it.
        let at = mutex.words[0].load(Ordering::Acquire);
        if at == 0 {
            return install(mutex);
        }
        // SAFETY: `install` put it there, and only `remove` takes it away, when nobody uses the mutex.
        unsafe { &*core::ptr::with_exposed_provenance::<L>(at) }
    }
}

/// Gives the mutex its lock at first use.
#[cold]
fn install<L: RawLock<Native> + ZeroInit>(mutex: &Mutex) -> &L {
    let layout = Layout::new::<L>();
    // SAFETY: a lock that does not fit is not empty.
    let new = unsafe { crate::alloc::PRIVATE.alloc(layout) }.cast::<L>();
    if new.is_null() {
        crate::message::die("no memory for a lock");
    }
    // SAFETY: fresh memory for one `L`.
    unsafe { new.write(L::new()) };
    // Release: who finds the pointer finds the lock. Acquire: find another thread's.
    let found = mutex.words[0].compare_exchange(0, new.expose_provenance(), Ordering::AcqRel, Ordering::Acquire);
    let at = match found {
        Ok(_) => new.cast_const(),
        Err(theirs) => {
            // SAFETY: nobody has seen ours.
            unsafe { crate::alloc::PRIVATE.dealloc(new.cast(), layout) };
            core::ptr::with_exposed_provenance(theirs)
        }
    };
    // SAFETY: as in `lock_of`.
    unsafe { &*at }
}

/// Takes the lock out of a mutex that is destroyed.
///
/// # Safety
/// Nobody uses the mutex any more.
pub unsafe fn remove<L: RawLock<Native> + ZeroInit>(mutex: &Mutex) {
    if const { !fits::<L>() } {
        let at = mutex.words[0].swap(0, Ordering::Relaxed);
        if at != 0 {
            // SAFETY: `install` made it, and the caller says that nobody uses it.
            unsafe {
                core::ptr::with_exposed_provenance_mut::<L>(at).drop_in_place();
                crate::alloc::PRIVATE.dealloc(core::ptr::with_exposed_provenance_mut(at), Layout::new::<L>());
            }
        }
    }
}

/// Makes the lock free, whatever stood in it: in a fork's child, where those who waited do not exist.
///
/// # Safety
/// No thread of this process uses the lock.
pub unsafe fn reset<L: RawLock<Native> + ZeroInit>(mutex: &Mutex) {
    let lock: *const L = lock_of(mutex);
    // SAFETY: nobody else uses the lock. What it pointed to stays: queue nodes of threads that are gone.
    unsafe { lock.cast_mut().write(L::new()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Wait;
    use baton_sync::lock::{LOCKS, Posix, PosixVisitor, TimedLock, TryLock, visit_posix};

    struct Use;
    impl PosixVisitor<Native> for Use {
        type Out = ();
        fn timed<L: TimedLock<Native> + ZeroInit>(self) {
            self.polled::<L>();
        }
        fn polled<L: TryLock<Native> + ZeroInit>(self) {
            // SAFETY: an all-zero mutex is what static initialisers make.
            let mutex: Mutex = unsafe { core::mem::zeroed() };
            let lock: &L = lock_of(&mutex);
            let token = lock.lock(Wait::Pause);
            assert!(lock.try_lock().is_none());
            // SAFETY: nobody else has the mutex.
            unsafe { reset::<L>(&mutex) };
            let _ = token;
            let token = lock_of::<L>(&mutex).try_lock().expect("free after the reset");
            // SAFETY: locked by this token.
            unsafe { lock_of::<L>(&mutex).unlock(token, Wait::Pause) };
            // SAFETY: done.
            unsafe { remove::<L>(&mutex) };
        }
    }

    #[test]
    fn every_lock_finds_its_place_in_zeroed_memory() {
        for lock in LOCKS.iter().filter(|lock| lock.posix == Posix::Yes) {
            visit_posix::<Native, _>(lock.name, Use).unwrap();
        }
    }
}
