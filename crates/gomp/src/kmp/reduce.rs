//! Reductions at the end of a construct.
//!
//! The compiler has code for several ways to combine the threads' variables, and asks which one a
//! thread is to take:
//!
//! | way | when | what the compiler's code does |
//! | --- | --- | --- |
//! | alone | one thread | combines into the program's variables |
//! | atomic | up to four variables, with code for it | combines each by an atomic operation |
//! | tree | more than four threads, each with a CPU | the first thread combines what [`Context::gather`] has gathered |
//! | lock | else | combines under a lock |
//!
//! `KMP_FORCE_REDUCTION` names the way, where the compiler has code for it. A tree is taken only where
//! no region can be cancelled: a thread of a cancelled region does not come to its end.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::critical::{leave_named, take_named};
use crate::environment::{Reduction, environment};
use crate::kmp::ident::{Ident, barrier_at, number};
use crate::kmp::sync::{__kmpc_barrier, Name};
use crate::ompt::{self, BEGIN, END, constructs};
use crate::process::{place, runtime};
use baton_machine::Native;
use baton_omp::Why;
use baton_omp::team::Context;
use core::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The bit by which the compiler says that it has code for atomic operations.
const HAS_ATOMICS: i32 = 0x10;
/// The most variables that are combined by atomic operations: a critical section takes two.
const FEW: i32 = 4;
/// The most threads that combine under a lock; a tree serves more.
const FEW_THREADS: u32 = 4;

/// The answers on which the compiler's code branches.
const NOTHING: i32 = 0;
const COMBINE: i32 = 1;
const COMBINE_ATOMICALLY: i32 = 2;

/// Combines the variables to which the second list leads into those to which the first list leads.
type Combine = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// What the compiler says about a reduction.
struct Said {
    at: *const Ident,
    variables: i32,
    /// The list of the addresses of the thread's own variables.
    data: *mut c_void,
    combine: Option<Combine>,
    name: Name,
}

/// A way to combine variables.
#[derive(Clone, Copy)]
enum Way {
    Alone,
    Atomic,
    Tree(Combine),
    Lock,
}

impl Said {
    fn way(&self, place: &Context<Native>) -> Way {
        let size = place.team().size;
        if size == 1 {
            // The initial threads of a league's teams combine their variables too.
            return if place.league.get().teams > 1 { Way::Lock } else { Way::Alone };
        }
        // SAFETY: the compiler passes its own description, or null.
        let flags = unsafe { self.at.as_ref() }.map_or(0, |at| at.flags);
        let has_atomics = flags & HAS_ATOMICS != 0;
        let tree = self.combine.filter(|_| !self.data.is_null() && !place.team().cancel.is_on());
        // The answer must be the same in all threads of the team. With more threads than CPUs a tree
        // takes more changes of threads than a lock.
        let pays = size > FEW_THREADS && size <= runtime().cpus;
        match (environment().reduction, tree) {
            (Reduction::Tree, Some(combine)) => Way::Tree(combine),
            (Reduction::Atomic, _) if has_atomics => Way::Atomic,
            (Reduction::Any, _) if has_atomics && self.variables <= FEW => Way::Atomic,
            (Reduction::Any, Some(combine)) if pays => Way::Tree(combine),
            _ => Way::Lock,
        }
    }

    /// Answers a thread that comes to the reduction's end. If a barrier follows in any case, the thread
    /// passes it here unless it is to combine.
    ///
    /// # Safety
    /// The compiler made `combine` for the data; the data stay until the thread has passed the barrier
    /// of a tree. `name` has the words of the reduction's lock.
    unsafe fn answer(&self, barrier_follows: bool) -> i32 {
        let place = place();
        match self.way(place) {
            Way::Alone => constructs::reduction(place, BEGIN),
            Way::Atomic => return COMBINE_ATOMICALLY,
            Way::Tree(combine) => {
                place.gather(self.data.expose_provenance(), |other| {
                    constructs::reduction(place, BEGIN);
                    // SAFETY: by contract; the other thread has left its data to this one.
                    unsafe { combine(self.data, core::ptr::with_exposed_provenance_mut(other)) };
                    constructs::reduction(place, END);
                });
                let combines = place.id == 0;
                if !(combines && barrier_follows) {
                    ompt::sync(place, barrier_at(self.at), || place.barrier(Why::Barrier));
                }
                return if combines { COMBINE } else { NOTHING };
            }
            // SAFETY: by contract.
            Way::Lock => unsafe {
                constructs::reduction(place, BEGIN);
                take_named(self.name.cast());
                // Relaxed, here and below: only the thread itself finds its own number there.
                combiner(self.name).store(number() + 1, Relaxed);
            },
        }
        COMBINE
    }
}

/// The word, of a reduction's lock, that names the thread which combines under the lock: its number
/// and 1 more; 0 if there is none.
///
/// # Safety
/// `name` has the words of a reduction's lock.
unsafe fn combiner<'a>(name: Name) -> &'a AtomicI32 {
    // SAFETY: by contract; the lock itself takes the first two words.
    unsafe { AtomicI32::from_ptr(&raw mut (*name)[2]) }
}

unsafe fn end_reduce(name: Name) {
    // SAFETY: the compiler passes the words of the reduction's lock, which `answer` took in this
    // thread if the thread's number stands there.
    unsafe {
        if combiner(name).load(Relaxed) == number() + 1 {
            combiner(name).store(0, Relaxed);
            leave_named(name.cast());
            constructs::reduction(place(), END);
        } else if place().team().size == 1 {
            constructs::reduction(place(), END);
        }
    }
}

/// Defines the calls by which a thread comes to a reduction's end. `$barrier_follows`: whether the
/// call at the end of the combining is a barrier.
macro_rules! reduces {
    ($($name:ident $barrier_follows:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            at: *const Ident, _thread: i32, variables: i32, _bytes: usize, data: *mut c_void, combine: Option<Combine>, name: Name,
        ) -> i32 {
            // SAFETY: by contract.
            unsafe { Said { at, variables, data, combine, name }.answer($barrier_follows) }
        }
    )*};
}

reduces! {
    __kmpc_reduce true;
    __kmpc_reduce_nowait false;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_end_reduce(at: *const Ident, thread: i32, name: Name) {
    // SAFETY: by contract.
    unsafe { end_reduce(name) };
    __kmpc_barrier(at, thread);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_end_reduce_nowait(_at: *const Ident, _thread: i32, name: Name) {
    // SAFETY: by contract.
    unsafe { end_reduce(name) };
}
