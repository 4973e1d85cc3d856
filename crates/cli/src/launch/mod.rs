//! Starting a program under the preload library: `run` and `profile` share this room.
//!
//! | file | holds |
//! | --- | --- |
//! | [`program`] | finds the command and says, before anything runs, why it could not be preloaded |
//! | [`elf`] | what an executable's headers say |
//! | [`library`] | finds `libbaton_preload.so` beside `baton` |
//! | [`child`] | starts the program, passes signals on, keeps its exit code |

pub(crate) mod child;
pub(crate) mod elf;
pub(crate) mod library;
pub(crate) mod program;
