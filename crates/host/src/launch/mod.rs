//! Starting a program under the preload library.
//!
//! | file | holds |
//! | --- | --- |
//! | [`program`] | finds the command and says, before anything runs, why it could not be preloaded |
//! | `elf` | what an executable's headers say |
//! | [`library`] | finds `libbaton_preload.so` beside `baton` |
//! | [`openmp`] | finds the folder of the OpenMP library, and whether a program loads it from there |
//! | [`choice`] | the lock, wait policy and barrier that shall serve it |
//! | [`exec`] | the program with its arguments and environment |
//! | [`child`] | starts it, sees it through, keeps its exit code |
//! | [`signals`] | outlives Ctrl-C, passes other signals on |
//! | [`crowd`] | warns when spinning waiters outnumber the CPUs |
//! | [`messages`] | what the library says meanwhile: once, and counted |
//! | [`stats`] | the counters that it leaves at its end |

pub mod child;
pub mod choice;
pub mod crowd;
mod elf;
pub mod exec;
pub mod library;
pub mod messages;
pub mod openmp;
pub mod program;
pub mod signals;
pub mod stats;
