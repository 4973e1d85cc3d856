//! Baton's C library (`baton.h`), recorded: each of its functions between events. The library itself
//! has no code for that, so that a program which is not recorded pays nothing. A program that is
//! linked with the static form of the library calls it directly, and is not seen.
//!
//! | file | holds |
//! | --- | --- |
//! | `behind` | the library's own functions, to which the hooks go on, and calls of them |
//! | `locks` | mutexes, reader-writer locks, initializations, locks by name |
//! | `objects` | condition variables, semaphores, barriers |
//! | `queues` | queues |

mod behind;
mod locks;
mod objects;
mod queues;

pub use behind::pass_through;

/// Points the slots to functions that record.
pub fn install() {
    locks::install();
    objects::install();
    queues::install();
}
