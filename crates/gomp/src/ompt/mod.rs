//! OMPT: the interface by which a tool follows an OpenMP program, for programs of GCC and of clang.
//!
//! A tool has the function `ompt_start_tool`. It is found in the process, or in a library that
//! OMP_TOOL_LIBRARIES names, and started before the first thread calls the runtime. `crates/omp` tells
//! of threads, regions and tasks (`baton_omp::tool`); the constructs of the interface tell the rest
//! through [`constructs`]. Without a tool each place has one load and a branch that is never taken.
//!
//! | file | holds |
//! | --- | --- |
//! | [`start`] | a tool found and started |
//! | [`running`] | the tool that runs |
//! | [`callbacks`] | the callbacks of the tool, and how each is called |
//! | [`thread`] | what is kept of each thread |
//! | [`callers`] | the program's frame that called the runtime |
//! | [`tasks`] | threads, regions and tasks, as `crates/omp` tells of them |
//! | [`constructs`] | work-shares, waits, and what else the interface tells |
//! | [`locks`] | locks, critical, atomic and ordered sections |
//! | [`inquiry`] | what a tool asks |

mod callbacks;
mod callers;
pub(crate) mod constructs;
mod inquiry;
pub(crate) mod locks;
mod running;
pub(crate) mod start;
pub(crate) mod tasks;
pub(crate) mod thread;

pub(crate) use callbacks::{BEGIN, END};
pub(crate) use constructs::{Sync, WorkKind, sync, work};
pub(crate) use locks::LockKind;
pub(crate) use running::is_on;
