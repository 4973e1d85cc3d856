//! Starting a program under the preload library: `run` and `profile` share this room.
//!
//! | file | holds |
//! | --- | --- |
//! | [`program`] | finds the command and says, before anything runs, why it could not be preloaded |
//! | [`elf`] | what an executable's headers say |
//! | [`library`] | finds `libbaton_preload.so` beside `baton` |
//! | [`choice`] | which lock and wait policy shall serve it |
//! | [`exec`] | the program with its arguments and environment |
//! | [`child`] | starts it, sees it through, keeps its exit code |
//! | [`signals`] | outlives Ctrl-C, passes other signals on |
//! | [`crowd`] | warns when spinning waiters outnumber the CPUs |
//! | [`folder`] | the directory of a profile, which has its name only when whole |
//! | [`host`] | the machine, for the record |
//! | [`neighbours`] | who else used the CPUs meanwhile |
//! | [`stats`] | the counters that it leaves at its end |

pub(crate) mod child;
pub(crate) mod choice;
pub(crate) mod crowd;
pub(crate) mod elf;
pub(crate) mod exec;
pub(crate) mod folder;
pub(crate) mod host;
pub(crate) mod library;
pub(crate) mod neighbours;
pub(crate) mod program;
pub(crate) mod signals;
pub(crate) mod stats;
