//! Records what the program does, as events of `baton-trace`.
//!
//! A hook that is also used without recording is compiled twice ([`Probe`]); its version without
//! recording has no code of this room. An event of an act that gives something to other threads
//! gets its time before the act, an event of an act that takes something gets it afterwards: so no
//! effect seems to come before its cause.
//!
//! | file | holds |
//! | --- | --- |
//! | `session` | the process's trace, and whether a hook records |
//! | `life` | a recording from its first event to its last: the process, threads, forks |
//! | `post` | writing an event down |
//! | `locks`, `objects`, `futexes`, `outside`, `threads`, `teams` | one function for each thing that happens |
//! | `sites` | call sites, and the stacks of contended ones |
//! | `queues`, `library_locks`, `library_objects` | objects of `baton-sync`, and who waits at them |
//! | [`choices`] | queues of `baton-sync` that the user of the program chooses |
//! | `markers` | the program's own markers and regions of interest |
//! | [`affinity`] | on which CPUs threads may run |
//! | `told` | objects of which the trace says something already |
//! | `cost` | what recording costs, measured |
//! | `streams` | which files are sockets, pipes or eventfds, and the streams that they are ends of |
//! | `unix_peers` | which Unix sockets with a name belong together |
//! | `switches` | when the kernel took the CPU away, and gave it back |
//! | `libc_locks` | locks inside of glibc, by breakpoints |
//! | `yields` | loops in which a thread yields its CPU |
//! | `perf` | events of the kernel about a thread, and the rings that they come in |
//! | `modules` | which object files are loaded where |

pub mod affinity;
pub mod choices;
mod cost;
mod futexes;
mod libc_locks;
pub mod library_locks;
pub mod library_objects;
mod life;
mod locks;
mod markers;
mod modules;
mod objects;
mod outside;
mod perf;
mod post;
pub mod queues;
mod session;
mod sites;
pub mod streams;
mod switches;
mod teams;
mod threads;
mod told;
mod unix_peers;
mod yields;

pub use baton_trace::WakeReason;
pub use futexes::*;
pub use life::{CALLBACKS, begin, finish, say_unrecorded, start};
pub use locks::*;
pub use modules::list as list_modules;
pub use objects::*;
pub use outside::{About, UNTOLD, called, closes, on_cpu, put};
pub use post::{bounded, moment, post, post_ordered};
pub use queues::{is_inside, is_release};
pub use session::{Probe, Quiet, Recorded, is_recording};
pub use teams::*;
pub use threads::*;
pub use yields::{before_yield, yielded};
