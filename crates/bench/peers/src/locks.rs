//! Locks: each thread takes the lock, counts, releases it, and computes for a while.

use crate::Subject;
use crate::window::{Apart, Guarded, Load, Stop, run, stand_still};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Native, Wait};
use baton_sync::lock::{self, LOCKS, LockVisitor, RawLock, Waits, ZeroInit};
use baton_sync::{Adaptive, FairMutex, Mutex, Park};
use std::cell::UnsafeCell;

/// What a thread computes between two critical sections.
const OUTSIDE: Cycles = Cycles(100);

/// A subject whose `section` calls a function with the lock held.
fn subject<L: Sync + 'static>(name: &str, new: fn() -> L, section: impl Fn(&L, &dyn Fn()) + Sync + 'static) -> Subject {
    Subject::new(name, move |load| {
        let both = Apart((new(), Guarded::default()));
        let Apart((lock, guarded)) = &both;
        let load =
            Load { threads: load.threads, window: load.window, pins: load.pins.clone(), stops: Some(Stop::Holder) };
        run(
            &load,
            || guarded.handovers(),
            || {},
            |worker| {
                while worker.goes_on() {
                    let me = worker.number;
                    // SAFETY: `section` calls the function with the lock held.
                    worker.operation(|| section(lock, &|| unsafe { guarded.enter(me) }));
                    if worker.is_to_stop() {
                        section(lock, &stand_still);
                    }
                    Native::work(OUTSIDE);
                }
            },
        )
    })
}

struct Named(&'static str, Wait);

impl LockVisitor<Native> for Named {
    type Out = Subject;
    fn visit<L: RawLock<Native> + ZeroInit>(self) -> Subject {
        let Named(name, wait) = self;
        subject(&format!("baton {name} {wait}"), L::new, move |lock, f| {
            // SAFETY: the lock is held from `lock` to `unlock`, by its token.
            unsafe {
                let token = lock.lock(wait);
                f();
                lock.unlock(token, wait);
            }
        })
    }
}

struct Pthread(UnsafeCell<libc::pthread_mutex_t>);
// SAFETY: a mutex of glibc is made to be shared.
unsafe impl Sync for Pthread {}

struct Spinlock(UnsafeCell<libc::pthread_spinlock_t>);
// SAFETY: a spinlock of glibc is made to be shared.
unsafe impl Sync for Spinlock {}

pub fn subjects() -> Vec<Subject> {
    let mut subjects = vec![
        subject(
            "std::sync::Mutex",
            || std::sync::Mutex::new(()),
            |lock, f| {
                let _held = lock.lock().expect("no thread panics");
                f();
            },
        ),
        subject(
            "parking_lot::Mutex",
            || parking_lot::Mutex::new(()),
            |lock, f| {
                let _held = lock.lock();
                f();
            },
        ),
        subject(
            "spin::Mutex",
            || spin::mutex::SpinMutex::<()>::new(()),
            |lock, f| {
                let _held = lock.lock();
                f();
            },
        ),
        // SAFETY, here and below: the lock is initialised, does not move, and is released by its holder.
        subject(
            "glibc mutex",
            || Pthread(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)),
            |lock, f| unsafe {
                libc::pthread_mutex_lock(lock.0.get());
                f();
                libc::pthread_mutex_unlock(lock.0.get());
            },
        ),
        subject("glibc spinlock", spinlock, |lock, f| unsafe {
            libc::pthread_spin_lock(lock.0.get());
            f();
            libc::pthread_spin_unlock(lock.0.get());
        }),
        subject(
            "baton::Mutex",
            || Mutex::<(), Adaptive>::new(()),
            |lock, f| {
                let _held = lock.lock();
                f();
            },
        ),
        subject(
            "baton::Mutex that sleeps",
            || Mutex::<(), Park>::new(()),
            |lock, f| {
                let _held = lock.lock();
                f();
            },
        ),
        subject(
            "baton::FairMutex",
            || FairMutex::<()>::new(()),
            |lock, f| {
                let _held = lock.lock();
                f();
            },
        ),
    ];
    for info in LOCKS.iter().filter(|info| info.general) {
        let wait = match info.waits {
            Waits::Fixed(own) => own,
            Waits::Spinning => Wait::Pause,
            Waits::Any => Wait::SpinPark(baton_machine::wait::SPIN_TRIES),
        };
        let named = lock::visit::<Native, _>(info.name, Named(info.name, wait));
        subjects.push(named.expect("the registry knows its own locks"));
    }
    subjects
}

fn spinlock() -> Spinlock {
    let lock = Spinlock(UnsafeCell::new(0));
    // SAFETY: the lock is a local of the right type.
    unsafe { libc::pthread_spin_init(lock.0.get(), libc::PTHREAD_PROCESS_PRIVATE) };
    lock
}
