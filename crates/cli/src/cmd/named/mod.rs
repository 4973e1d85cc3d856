//! Locks by name, in options: `--lock cache_lock=mcs,default=glibc`, `--shrink`, `--split`, `--rw`.
//!
//! | file | holds |
//! | --- | --- |
//! | [`name`] | what the user types, and what it stands for |
//! | [`recorded`] | the locks of a profile by their names, and where a later run finds them |
//! | [`program`] | the locks of a program that was not recorded, by their names in its files |
//! | [`queues`] | `--queue`: other queues for the recorded ones, by name or for all |
//! | [`changes`] | the options as changes of a replay |

pub(super) mod changes;
mod name;
pub(super) mod program;
pub(super) mod queues;
pub(super) mod recorded;
