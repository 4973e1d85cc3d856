//! OpenMP, as programs call it by the names of GCC's libgomp: parallel regions, the barriers at the
//! ends of constructs, tasks, critical sections, locks. LLVM's libomp offers the same names to
//! programs that GCC compiled, and so does Baton's own runtime. Programs of clang call other names
//! ([`clang`]).
//!
//! The runtime may be loaded late, or into a scope of its own; so its functions are looked up at
//! their first use ([`late`]). With `BATON_LOCK`, critical sections and locks are served by the
//! named lock ([`replace`]); else by the runtime, recorded or not ([`forward`]). Regions and their
//! barriers ([`regions`], [`team`]) and tasks ([`tasks`]) are recorded, or passed on ([`pass`]).
//! Not recorded are waits for `ordered` and `doacross`, task loops and reductions over tasks,
//! `atomic` without a lock, and calls by Fortran's own names.

mod clang;
mod forward;
mod interface;
mod late;
mod pass;
mod regions;
mod replace;
mod runtimes;
mod tasks;
mod team;

pub use replace::Inner;
pub use team::{CALLBACKS, finish};

use crate::events::Probe;

/// Points the slots to the runtime's functions.
pub fn pass_through() {
    // If this fails, calls from all places of the process reach the same runtime, even if the
    // process has several.
    let _ = crate::hooks::lookup::found::start();
    forward::install::<crate::events::Quiet>();
    clang::critical::forwarded::<crate::events::Quiet>();
    pass::install();
}

/// Points the slots to functions that record, if `P` does, and those of critical sections and locks
/// to functions of the named lock, if there is one.
pub fn install<P: Probe>(inner: Option<Inner>) {
    forward::install::<P>();
    clang::critical::forwarded::<P>();
    if P::ON {
        regions::install();
        tasks::install();
        // If the object file of a call cannot be found, calls inside of a runtime cannot be told from
        // the program's.
        if crate::hooks::lookup::found::is_ready() {
            clang::regions::install();
            clang::tasks::install();
        }
    }
    if let Some(inner) = inner {
        replace::install::<P>(inner);
        clang::critical::replaced::<P>();
    }
}
