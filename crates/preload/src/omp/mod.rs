//! OpenMP: critical sections, locks, and the barrier directive, in the names that GCC's libgomp has for them. LLVM's libomp
//! offers the same names to programs that GCC compiled.
//!
//! The runtime may be loaded late, or into a scope of its own; so its functions are looked up at their first use ([`late`]).
//! With `BATON_LOCK`, critical sections and locks are served by the named lock ([`replace`]); else by the runtime, recorded or not
//! ([`forward`]). What cannot be seen: barriers that a construct implies, `atomic` without a lock, Fortran's own names.

mod forward;
mod late;
mod replace;

pub use replace::Inner;

use crate::capture::Probe;

/// Points the slots to the runtime's functions.
pub fn pass_through() {
    forward::install::<crate::capture::Quiet>();
}

/// Points the slots to recording functions, and to the named lock if there is one.
pub fn install<P: Probe>(inner: Option<Inner>) {
    forward::install::<P>();
    if let Some(inner) = inner {
        replace::install::<P>(inner);
    }
}
