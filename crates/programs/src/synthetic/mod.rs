//! Profiles: synthetic programs that stand in for real programs of which only a few figures are
//! printed.
//!
//! A profile file has the printed figures of a program, the ranges from which stand-ins are drawn,
//! and the stand-ins themselves: its draws. The draws were found on the baseline alone
//! (`docs/reference/workloads.md` says how); a file that is frozen is not fitted again.
//!
//! | file | holds |
//! | --- | --- |
//! | `profile` | what a profile and a draw are |
//! | [`keys`] | the keys of a profile file, and what each may be |
//! | [`read`] | a file's text to a profile; every problem with file, line, key and what was expected |
//! | [`set`] | all profiles of a folder, and one hash over them |
//! | [`team`] | a draw's threads |
//! | `named` | a draw as a workload, with a lock by name |
//! | [`fit`] | from what is printed to draws that show it |
//! | `dice` | draws a candidate's parameters from the ranges |
//! | `solver` | how a candidate is moved towards the printed figures |

mod dice;
pub mod fit;
pub(crate) mod keys;
mod named;
mod profile;
pub mod read;
pub mod set;
mod solver;
mod team;

pub use keys::Limits;
pub use named::StandIn;
pub use profile::{Class, Draw, Numbered, Printed, Profile, Range, Ranges};
pub use read::ProfileError;
pub use team::SyntheticRun;
