//! The machine that Baton runs on: what things cost on it, and programs that are started with the preload library. The
//! command line uses this crate, and so can a daemon.
//!
//! | module | holds |
//! | --- | --- |
//! | [`costs`] | what each thing that synchronization is made of costs here, measured |
//! | [`launch`] | a program started under the preload library and seen through to its end |
//! | [`describe`] | the machine in words, for the record |
//! | [`neighbours`] | CPU time that other processes used meanwhile |
//! | [`error`] | a request that its author can mend, and an attempt that failed |

pub mod costs;
pub mod describe;
pub mod error;
pub mod launch;
pub mod neighbours;

pub use error::{BadInput, Failed, closest_first, nearest};
