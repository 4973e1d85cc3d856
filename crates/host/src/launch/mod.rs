//! Starting a program under the preload library.
//!
//! | file | holds |
//! | --- | --- |
//! | [`program`] | finds the command and says, before anything runs, why it could not be preloaded |
//! | `elf` | what an executable's headers say |
//! | [`library`] | finds `libbaton_preload.so` beside `baton` |
//! | [`openmp`] | finds the folder of the OpenMP library, and checks that a program loads the
//! library from there |

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
