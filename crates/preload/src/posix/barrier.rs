//! Barriers of `sync` in the 32 bytes of a `pthread_barrier_t`, with `BATON_BARRIER`.
//!
//! A pthread barrier must be initialised, so a barrier of all zeros need not work: the first word
//! holds a pointer. The word at offset 12 keeps glibc's mark of a process-shared barrier, which is
//! passed on.
//!
//! POSIX's barrier knows no participants, only their number; any thread may come to any episode,
//! and more threads may use the barrier than take part in an episode. The barriers of `sync` want a
//! place for each participant. So arrivals are numbered: the number gives the episode and the place
//! in it, and no thread enters an episode before all threads of the episode before have left. This
//! costs a shared counter that the barrier alone would not need.

use crate::events::{self, Probe};
use crate::hooks::real;
use crate::hooks::{Code, slot};
use crate::thread;
use baton_machine::native::cell::NativeAtomic;
use baton_machine::native::policy::Policy;
use baton_machine::{Atomic, Machine, Native, Ordering, Wait, WaitResult};
use baton_sync::barrier::{BarrierVisitor, RawBarrier};
use baton_trace::{Address, Waitable, What};
use core::ffi::{c_int, c_uint, c_void};
use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicPtr, AtomicU32};

/// The contents of a `pthread_barrier_t` that this library serves.
#[repr(C)]
struct ServedBarrier<B> {
    barrier: AtomicPtr<Posix<B>>,
    unused: u32,
    /// glibc's mark: not zero if another process may use the barrier.
    shared: AtomicU32,
}

const _: () = assert!(core::mem::offset_of!(ServedBarrier<()>, shared) == 12);
const _: () = assert!(size_of::<ServedBarrier<()>>() <= size_of::<libc::pthread_barrier_t>());

/// A barrier of `sync` behind POSIX's interface.
struct Posix<B> {
    barrier: B,
    arrived: Alone,
    left: Alone,
}

/// A counter on a cache line of its own. At 64 bits it does not overflow.
#[repr(align(128))]
struct Alone(NativeAtomic<u64>);

/// How threads wait at the barriers that this library serves.
pub static WAIT: Policy = Policy::new(Wait::Pause);

/// Points the barrier slots to the functions of the barrier type that it visits.
pub struct Choice<P>(pub Wait, pub PhantomData<P>);

impl<P: Probe> BarrierVisitor<Native> for Choice<P> {
    type Out = ();
    fn visit<B: RawBarrier<Native>>(self) {
        WAIT.set(self.0);
        slot::pthread_barrier_init.set(init::<B, P> as Code);
        slot::pthread_barrier_destroy.set(destroy::<B, P> as Code);
        slot::pthread_barrier_wait.set(wait::<B, P> as Code);
    }
}

impl<B: RawBarrier<Native>> Posix<B> {
    /// Waits until at least `n` threads have left the barrier, counted from its initialisation.
    fn await_left(&self, n: u64, wait: Wait) {
        // Acquire: this thread sees what threads did before they left.
        let mut left = self.left.0.load(Ordering::Acquire);
        while left < n {
            if let WaitResult::Changed(now) = Native::wait_while(&self.left.0, left, wait, None) {
                left = now;
            }
        }
    }

    /// Takes the thread through one episode. Returns true in one thread of each episode.
    fn pass(&self, wait: Wait) -> bool {
        let participants = u64::from(self.barrier.participants());
        // Relaxed: only the number counts; the barrier itself orders the threads' accesses.
        let ticket = self.arrived.0.fetch_add(1, Ordering::Relaxed);
        self.await_left(ticket / participants * participants, wait);
        let last = self.barrier.wait((ticket % participants) as u32, wait);
        // Release: pairs with the loads in `await_left`. After the addition the barrier may be
        // destroyed, so the wake uses only the counter's address.
        let left: *const NativeAtomic<u64> = &self.left.0;
        self.left.0.fetch_add(1, Ordering::Release);
        Native::wake::<u64>(left, u32::MAX, wait);
        last
    }
}

/// The barrier of `sync` behind `place`; `None` if `place` is process-shared, and so glibc's.
///
/// # Safety
/// `place` is an initialised barrier.
unsafe fn ours<'a, B>(place: *mut ServedBarrier<B>) -> Option<&'a Posix<B>> {
    // SAFETY: the caller says that `place` is initialised: `init` stored the pointer there, and
    // `destroy` removes it only when no thread uses the barrier.
    unsafe {
        let place = &*place;
        (place.shared.load(Ordering::Relaxed) == 0).then(|| &*place.barrier.load(Ordering::Relaxed))
    }
}

unsafe extern "C-unwind" fn init<B: RawBarrier<Native>, P: Probe>(
    place: *mut ServedBarrier<B>,
    attributes: *const c_void,
    count: c_uint,
    site: usize,
) -> c_int {
    // SAFETY: passed on; glibc checks the count and writes its own form of a barrier.
    let error = unsafe { real::pthread_barrier_init.get()(place.cast(), attributes, count) };
    let Some(participants) = NonZeroU32::new(count).filter(|_| error == 0) else { return error };
    // SAFETY: the program passes memory for a barrier, which glibc has filled.
    unsafe {
        if (*place).shared.load(Ordering::Relaxed) == 0 {
            let new = |value| Alone(NativeAtomic::new(value));
            let posix = Posix { barrier: B::new(participants), arrived: new(0), left: new(0) };
            (*place).barrier.store(Box::into_raw(Box::new(posix)), Ordering::Relaxed);
        }
    }
    events::waitable_init::<P>(Waitable::Barrier, place.addr(), site);
    events::attribute::<P>(place.addr(), count);
    0
}

unsafe extern "C-unwind" fn destroy<B: RawBarrier<Native>, P: Probe>(place: *mut ServedBarrier<B>, _: usize) -> c_int {
    events::waitable_destroy::<P>(Waitable::Barrier, place.addr());
    // SAFETY: the program passes an initialised barrier.
    let Some(posix) = (unsafe { ours(place) }) else {
        // SAFETY: passed on.
        return unsafe { real::pthread_barrier_destroy.get()(place.cast()) };
    };
    let wait = WAIT.get();
    // Waits, as glibc does, for threads whose episode has ended but which have not left the barrier
    // yet.
    posix.await_left(posix.arrived.0.load(Ordering::Relaxed), wait);
    // SAFETY: all threads have left, and POSIX forbids a later use of the barrier; `init` made the
    // box.
    unsafe { drop(Box::from_raw((*place).barrier.swap(core::ptr::null_mut(), Ordering::Relaxed))) };
    0
}

unsafe extern "C-unwind" fn wait<B: RawBarrier<Native>, P: Probe>(place: *mut ServedBarrier<B>, site: usize) -> c_int {
    events::barrier_arrive::<P>(place.addr(), site);
    // SAFETY: the program passes an initialised barrier.
    let serial = match unsafe { ours(place) } {
        Some(posix) => {
            thread::current().counts.barrier_waits.add_one();
            posix.pass(WAIT.get())
        }
        None => {
            // SAFETY: passed on.
            let answer = unsafe { real::pthread_barrier_wait.get()(place.cast()) };
            answer == libc::PTHREAD_BARRIER_SERIAL_THREAD
        }
    };
    events::post_ordered::<P>(|_| What::BarrierLeave { barrier: place.addr() as Address, serial });
    events::waited::<P>();
    if serial { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_sync::barrier::{BARRIERS, visit};

    /// Six threads pass a barrier of three participants, 900 times in all. Each episode lets three
    /// threads pass and returns true to one of them: 300 times true.
    struct Crowd;
    impl BarrierVisitor<Native> for Crowd {
        type Out = ();
        fn visit<B: RawBarrier<Native>>(self) {
            let new = || Alone(NativeAtomic::new(0));
            let posix = Posix { barrier: B::new(NonZeroU32::new(3).unwrap()), arrived: new(), left: new() };
            // All threads draw their passes from one counter, so that at its end, too, a waiting
            // thread finds two others.
            let pot = core::sync::atomic::AtomicU64::new(0);
            let told: usize = std::thread::scope(|s| {
                let run = || {
                    let turns = || pot.fetch_add(1, Ordering::Relaxed) < 900;
                    core::iter::from_fn(|| turns().then(|| posix.pass(Wait::Futex))).filter(|told| *told).count()
                };
                let threads: Vec<_> = (0..6).map(|_| s.spawn(run)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            assert_eq!(told, 900 / 3);
            assert_eq!(posix.left.0.load(Ordering::Relaxed), 900);
        }
    }

    #[test]
    fn any_thread_may_come_to_any_episode() {
        for barrier in BARRIERS {
            visit::<Native, _>(barrier.name, Crowd).unwrap();
        }
    }
}
