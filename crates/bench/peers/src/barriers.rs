//! Barriers: all threads meet again and again.

use crate::Subject;
use crate::window::{Load, Outcome, Worker, run};
use baton_machine::{Native, Wait};
use baton_sync::barrier::{self, BARRIERS, BarrierVisitor, RawBarrier};
use std::cell::UnsafeCell;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Lets all threads meet by `meet`, which the thread of number 0 stops: all leave after the same meeting.
fn time(load: &Load, meet: impl Fn(u32) + Sync) -> Outcome {
    let (meetings, last) = (AtomicU64::new(0), AtomicBool::new(false));
    run(
        load,
        || meetings.load(Relaxed),
        || {},
        |worker: &mut Worker<'_>| {
            let me = worker.number as u32;
            loop {
                if me == 0 {
                    meetings.fetch_add(1, Relaxed);
                    last.store(!worker.goes_on(), Relaxed);
                }
                worker.operation(|| meet(me));
                // The barrier orders this load behind the store above; the second meeting keeps the next
                // store behind the load.
                let ends = last.load(Relaxed);
                meet(me);
                if ends {
                    return;
                }
            }
        },
    )
}

struct Named(&'static str, Wait);

impl BarrierVisitor<Native> for Named {
    type Out = Subject;
    fn visit<B: RawBarrier<Native>>(self) -> Subject {
        let Named(name, wait) = self;
        Subject::new(format!("baton {name} {wait}"), move |load| {
            let barrier = B::new(NonZeroU32::new(load.threads as u32).expect("a barrier has threads"));
            time(load, |me| {
                barrier.wait(me, wait);
            })
        })
    }
}

struct Pthread(UnsafeCell<libc::pthread_barrier_t>);
// SAFETY: a barrier of glibc is made to be shared.
unsafe impl Sync for Pthread {}

pub fn subjects() -> Vec<Subject> {
    let mut subjects = vec![
        Subject::new("std::sync::Barrier", |load| {
            let barrier = std::sync::Barrier::new(load.threads);
            time(load, |_| {
                barrier.wait();
            })
        }),
        Subject::new("glibc barrier", |load| {
            // SAFETY: zeroes are overwritten by the initialisation, and the barrier does not move.
            let barrier = Box::new(Pthread(UnsafeCell::new(unsafe { std::mem::zeroed() })));
            // SAFETY: as above.
            unsafe { libc::pthread_barrier_init(barrier.0.get(), std::ptr::null(), load.threads as u32) };
            let shared = &*barrier;
            // SAFETY: the barrier is initialised, and each thread calls this as often.
            time(load, |_| unsafe {
                libc::pthread_barrier_wait(shared.0.get());
            })
        }),
    ];
    for info in BARRIERS {
        for wait in [Wait::Adaptive(10_000), Wait::Futex, Wait::Pause] {
            let named = barrier::visit::<Native, _>(info.name, Named(info.name, wait));
            subjects.push(named.expect("the registry knows its own barriers"));
        }
    }
    subjects
}
