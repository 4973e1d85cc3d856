//! The machine that Baton runs on: what operations cost on it, and how programs are started with
//! the preload library. The command line uses this crate, and a daemon could.
//!
//! | module | holds |
//! | --- | --- |
//! | [`costs`] | measures what the building blocks of synchronization cost here |
//! | [`launch`] | starts a program under the preload library and waits for its end |
//! | [`describe`] | describes the machine in words, for the record |
//! | [`neighbours`] | CPU time that other processes used meanwhile |
//! | [`cpu_limit`] | the limit on the CPU time of this process's group, and what it held back meanwhile |
//! | [`error`] | requests that their author can correct, and attempts that failed |

pub mod costs;
pub mod cpu_limit;
pub mod describe;
pub mod error;
pub mod launch;
pub mod neighbours;

pub use error::{BadInput, Failed, Place, closest_first, nearest};
