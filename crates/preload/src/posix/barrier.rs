//! Barriers of `sync` in the 32 bytes of a `pthread_barrier_t`, with `BATON_BARRIER`.
//!
//! A pthread barrier must be initialised, so there is no zeroed one to care for: a pointer stands in its first word. The word at
//! offset 12 keeps glibc's mark of a process-shared barrier, which is passed on.
//!
//! POSIX's barrier knows no participants, only a number; any thread may come to any episode, even more threads than take part.
//! The barriers of `sync` want a place for each participant. So arrivals are numbered: the number gives the episode and the
//! place in it, and nobody enters an episode before all of the one before have left. That is a shared counter more than the
//! barrier itself needs.

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

/// What stands in a `pthread_barrier_t` that we serve.
#[repr(C)]
struct Place<B> {
    barrier: AtomicPtr<Posix<B>>,
    unused: u32,
    /// glibc's mark: not zero if another process may use it.
    shared: AtomicU32,
}

const _: () = assert!(core::mem::offset_of!(Place<()>, shared) == 12);
const _: () = assert!(size_of::<Place<()>>() <= size_of::<libc::pthread_barrier_t>());

/// A barrier as POSIX has it.
struct Posix<B> {
    barrier: B,
    arrived: Alone,
    left: Alone,
}

/// A counter on a line of its own. 64 bits do not wrap.
#[repr(align(128))]
struct Alone(NativeAtomic<u64>);

/// How waiters wait.
pub static WAIT: Policy = Policy::new(Wait::Pause);

/// Points the slots to the barrier that is visited.
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
    /// Waits while fewer than `n` have left.
    fn await_left(&self, n: u64, wait: Wait) {
        // Acquire: what the last episode's threads did comes before this one's.
        let mut left = self.left.0.load(Ordering::Acquire);
        while left < n {
            if let WaitResult::Changed(now) = Native::wait_while(&self.left.0, left, wait, None) {
                left = now;
            }
        }
    }

    /// One thread's episode; true for one of them.
    fn pass(&self, wait: Wait) -> bool {
        let participants = u64::from(self.barrier.participants());
        // Relaxed: a number is a number; the barrier orders.
        let ticket = self.arrived.0.fetch_add(1, Ordering::Relaxed);
        self.await_left(ticket / participants * participants, wait);
        let last = self.barrier.wait((ticket % participants) as u32, wait);
        // Release: see `await_left`. Afterwards the barrier may be gone: only the address is used.
        let left: *const NativeAtomic<u64> = &self.left.0;
        self.left.0.fetch_add(1, Ordering::Release);
        Native::wake::<u64>(left, u32::MAX, wait);
        last
    }
}

/// The barrier that is ours in `place`; `None` for a process-shared one.
///
/// # Safety
/// `place` is an initialised barrier.
unsafe fn ours<'a, B>(place: *mut Place<B>) -> Option<&'a Posix<B>> {
    // SAFETY: as the caller says; `init` put the pointer there, `destroy` takes it away when nobody uses it.
    unsafe {
        let place = &*place;
        (place.shared.load(Ordering::Relaxed) == 0).then(|| &*place.barrier.load(Ordering::Relaxed))
    }
}

unsafe extern "C-unwind" fn init<B: RawBarrier<Native>, P: Probe>(
    place: *mut Place<B>,
    attributes: *const c_void,
    count: c_uint,
    site: usize,
) -> c_int {
    // SAFETY: glibc looks the count over and writes its own form.
    let error = unsafe { real::pthread_barrier_init.get()(place.cast(), attributes, count) };
    let Some(participants) = NonZeroU32::new(count).filter(|_| error == 0) else { return error };
    // SAFETY: the caller hands us memory for a barrier, which glibc has filled.
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

unsafe extern "C-unwind" fn destroy<B: RawBarrier<Native>, P: Probe>(place: *mut Place<B>, _: usize) -> c_int {
    events::waitable_destroy::<P>(Waitable::Barrier, place.addr());
    // SAFETY: the caller hands us a barrier.
    let Some(posix) = (unsafe { ours(place) }) else {
        // SAFETY: passed on.
        return unsafe { real::pthread_barrier_destroy.get()(place.cast()) };
    };
    let wait = WAIT.get();
    // As glibc does: those who were let go may not have left yet.
    posix.await_left(posix.arrived.0.load(Ordering::Relaxed), wait);
    // SAFETY: all have left, and the caller says that nobody comes any more.
    unsafe { drop(Box::from_raw((*place).barrier.swap(core::ptr::null_mut(), Ordering::Relaxed))) };
    0
}

unsafe extern "C-unwind" fn wait<B: RawBarrier<Native>, P: Probe>(place: *mut Place<B>, site: usize) -> c_int {
    events::barrier_arrive::<P>(place.addr(), site);
    // SAFETY: the caller hands us a barrier.
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

    /// More threads than take part, in as many episodes as come out: in each, as many pass as take part, and one is told.
    struct Crowd;
    impl BarrierVisitor<Native> for Crowd {
        type Out = ();
        fn visit<B: RawBarrier<Native>>(self) {
            let new = || Alone(NativeAtomic::new(0));
            let posix = Posix { barrier: B::new(NonZeroU32::new(3).unwrap()), arrived: new(), left: new() };
            // Drawn from one pot, so that at its end, too, others come to meet those who wait.
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
