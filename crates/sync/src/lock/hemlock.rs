//! HemLock: a queue lock of one word, and one grant cell for each thread, however many locks the
//! thread holds.
//!
//! A waiter watches the grant cell of the thread in front until the cell holds the address of
//! *this* lock, because the same cell grants every lock that its thread releases. The waiter then
//! clears the cell, so that the owner may reuse it.
//!
//! Unlike with MCS, an unlock therefore waits for the next holder to notice. Waiters for different
//! locks may watch the same cell, so every change of it wakes all of them.

use super::{Counted, Fifo, LockInfo, Posix, RawLock, Token, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::local::Use;
use baton_machine::{Atomic, Machine, Wait, WaitResult};
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

/// A thread's grant cell, alone in its pair of cache lines.
#[repr(C, align(128))]
pub struct Grant<M: Machine> {
    /// Address of the lock that the thread is releasing; 0 if none.
    lock: M::Atomic<usize>,
    /// Number of HemLocks that the thread holds or waits for; only the thread itself accesses it.
    held: Cell<usize>,
}

// SAFETY: only the grant's own thread accesses `held`, because the thread that locked a lock
// unlocks it.
unsafe impl<M: Machine> Sync for Grant<M> {}
// SAFETY: only the grant's own thread accesses `held`.
unsafe impl<M: Machine> Send for Grant<M> {}

/// A HemLock: the grant cell of the last thread in the queue, null when free.
#[repr(transparent)]
pub struct Hemlock<M: Machine> {
    tail: M::Atomic<Ptr<Grant<M>>>,
}

/// The holder's token: its thread's grant cell. (Looking the cell up at the unlock could find
/// another one, in a destructor that runs after the thread's storage has ended.)
pub struct Held<M: Machine>(NonNull<Grant<M>>);

impl<M: Machine> Clone for Held<M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M: Machine> Copy for Held<M> {}

impl<M: Machine> Token for Held<M> {
    #[inline(always)]
    fn to_word(self) -> usize {
        self.0.as_ptr().expose_provenance()
    }
    #[inline(always)]
    fn from_word(word: usize) -> Self {
        Held(NonNull::new(core::ptr::with_exposed_provenance_mut(word)).expect("HemLock is unlocked by its grant cell"))
    }
}

/// Returns the calling thread's grant cell, allocating it at first use.
#[inline]
fn own<M: Machine>() -> NonNull<Grant<M>> {
    match NonNull::new(core::ptr::with_exposed_provenance_mut(M::local().get(Use::HemGrant))) {
        Some(grant) => grant,
        None => allocate::<M>(),
    }
}

#[cold]
fn allocate<M: Machine>() -> NonNull<Grant<M>> {
    let grant = install::<M>(M::alloc(Layout::new::<Grant<M>>()).cast().as_ptr());
    grant.expect("`alloc` returns memory")
}

/// Creates the calling thread's cell in `memory`. Returns `None` if that is null.
fn install<M: Machine>(memory: *mut Grant<M>) -> Option<NonNull<Grant<M>>> {
    let grant = NonNull::new(memory)?;
    // SAFETY: the memory was allocated for one cell.
    unsafe { grant.write(Grant { lock: M::Atomic::new(0), held: Cell::new(0) }) };
    M::local().set(Use::HemGrant, grant.as_ptr().expose_provenance());
    M::local().at_end(Use::HemGrant, end::<M>);
    Some(grant)
}

/// Frees the cell of a thread that ends. If the thread still holds a lock, the cell stays for ever,
/// like the lock itself, because others wait on it.
fn end<M: Machine>(grant: usize) {
    let Some(grant) = NonNull::new(core::ptr::with_exposed_provenance_mut::<Grant<M>>(grant)) else { return };
    // SAFETY: the cell came from `install`. A thread that holds nothing is in no queue, so no
    // other thread knows its cell.
    unsafe {
        if grant.as_ref().held.get() == 0 {
            grant.drop_in_place();
            M::dealloc(grant.cast(), Layout::new::<Grant<M>>());
        }
    }
}

impl<M: Machine> Hemlock<M> {
    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    #[cold]
    fn queue(&self, front: &Grant<M>, wait: Wait) {
        let me = self.address();
        // Acquire: see the last holder's writes, if the grant is already there.
        let mut granted = front.lock.load(Acquire);
        while granted != me {
            granted = match M::wait_while(&front.lock, granted, wait, None) {
                WaitResult::Changed(now) => now,
                WaitResult::Expired => unreachable!("no deadline was given"),
            };
        }
        let cell: *const M::Atomic<usize> = &front.lock;
        // Release: the owner reuses or frees the cell only after this thread has read it. This is
        // this thread's last access to the cell.
        front.lock.store(0, Release);
        // Wakes all: the owner waits for the clearing, and waiters for other locks of the owner may
        // sleep on the same cell.
        M::wake::<usize>(cell, u32::MAX, wait);
    }
}

// SAFETY: the lock is one pointer, free when null.
unsafe impl<M: Machine> ZeroInit for Hemlock<M> {}

/// Threads arrive in the order of their swaps on the tail.
impl<M: Machine> Fifo for Hemlock<M> {
    fn is_free(&self) -> bool {
        // Acquire: if the lock is free, the last holder's accesses to it come before this call
        // returns.
        self.tail.load(Acquire).is_null()
    }
}

// SAFETY: a thread enters if it found no cell in front, or when the cell in front held this lock's
// address. The cell's thread stores it once, on leaving, and only the thread behind it for this
// lock clears it.
unsafe impl<M: Machine> RawLock<M> for Hemlock<M> {
    type Token = Held<M>;
    const INFO: LockInfo = LockInfo {
        name: "hemlock",
        what: "queue lock of one word; each thread grants all of its locks by one cell of its own",
        source: "Dice and Kogan, SPAA 2021",
        limits: "unlock waits until the next holder has noticed; a preempted waiter holds up those behind it",
        fifo: true,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 19.1, accesses: 2 },
        c_number: 9,
    };

    fn new() -> Self {
        Hemlock { tail: M::Atomic::new(Ptr::NULL) }
    }

    #[inline]
    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        M::local().get(Use::HemGrant) != 0 || install::<M>(memory(Layout::new::<Grant<M>>()).cast()).is_some()
    }

    #[inline]
    fn lock(&self, wait: Wait) -> Held<M> {
        let grant = own::<M>();
        // SAFETY: a thread's own cell is alive while the thread runs.
        let held = unsafe { &grant.as_ref().held };
        held.set(held.get() + 1);
        // Release: at its first use the cell is initialised. Acquire: likewise for the cell in
        // front; with none in front, see the last holder's writes.
        let front = self.tail.swap(Ptr(grant.as_ptr()), AcqRel);
        if !front.is_null() {
            // SAFETY: the thread in front cannot leave before this thread has cleared its grant.
            self.queue(unsafe { &*front.0 }, wait);
        }
        Held(grant)
    }

    #[inline]
    unsafe fn unlock(&self, token: Held<M>, wait: Wait) {
        // SAFETY: the cell of a thread that holds a lock is alive.
        let grant = unsafe { token.0.as_ref() };
        // Release: the next holder sees this thread's writes. Relaxed on failure: it says only that
        // another thread came.
        if self.tail.compare_exchange(Ptr(token.0.as_ptr()), Ptr::NULL, Release, Relaxed).is_err() {
            let me = self.address();
            // Release: the next holder sees this thread's writes. From here on the lock may be
            // gone; the cell still belongs to this thread.
            grant.lock.store(me, Release);
            M::wake::<usize>(&grant.lock, u32::MAX, wait);
            // Waits until the next holder has noticed, so that the cell may be reused.
            let _ = M::wait_while(&grant.lock, me, wait, None);
        }
        grant.held.set(grant.held.get() - 1);
    }
}

// SAFETY: like `lock`, entering only if no thread is in front; a failed try published nothing.
unsafe impl<M: Machine> TryLock<M> for Hemlock<M> {
    #[inline]
    fn try_lock(&self) -> Option<Held<M>> {
        let grant = own::<M>();
        // AcqRel for the reasons in `lock`. Relaxed on failure: nothing is read through it.
        self.tail.compare_exchange(Ptr::NULL, Ptr(grant.as_ptr()), AcqRel, Relaxed).ok()?;
        // SAFETY: a thread's own cell is alive while the thread runs.
        let held = unsafe { &grant.as_ref().held };
        held.set(held.get() + 1);
        Some(Held(grant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;

    fn held() -> usize {
        // SAFETY: a thread's own cell is alive.
        unsafe { own::<Native>().as_ref() }.held.get()
    }

    #[test]
    fn one_cell_grants_many_locks_to_many_waiters() {
        for wait in [Wait::Futex, Wait::SpinPark(16)] {
            let locks: [Hemlock<Native>; 4] = core::array::from_fn(|_| Hemlock::new());
            for _ in 0..50 {
                let tokens = locks.each_ref().map(|lock| lock.lock(wait));
                assert_eq!(held(), 4);
                std::thread::scope(|s| {
                    for lock in &locks {
                        s.spawn(move || {
                            let token = lock.lock(wait);
                            // SAFETY: the lock is held by `token`.
                            unsafe { lock.unlock(token, wait) };
                            assert_eq!(held(), 0);
                        });
                    }
                    // Unlocks in another order than it locked, while some of the waiters have not
                    // joined their queue yet.
                    for i in [2, 0, 3, 1] {
                        // SAFETY: each lock is held by its token.
                        unsafe { locks[i].unlock(tokens[i], wait) };
                    }
                });
                assert_eq!(held(), 0);
            }
        }
    }

    #[test]
    fn a_thread_that_ends_with_a_lock_leaves_its_cell_to_the_waiters() {
        let lock = Hemlock::<Native>::new();
        let token = std::thread::scope(|s| s.spawn(|| lock.lock(Wait::Futex).to_word()).join().unwrap());
        assert!(lock.try_lock().is_none());
        // SAFETY: the cell was not freed with its thread, because the thread held a lock.
        let grant = unsafe { Held::<Native>::from_word(token).0.as_ref() };
        assert_eq!((grant.held.get(), grant.lock.load(Relaxed)), (1, 0));
    }
}
