//! Starting a program under the preload library.
//!
//! | file | holds |
//! | --- | --- |
//! | [`program`] | finds the command and says, before anything runs, why it could not be preloaded |
//! | `elf` | what an executable's headers say |
//! | [`library`] | finds `libbaton_preload.so` beside `baton` |
//! | [`openmp`] | finds the folder of the OpenMP library, and checks that a program loads the library from there |
//! | [`choice`] | the lock, wait policy and barrier that are to serve the program |
//! | [`exec`] | the program with its arguments and environment |
//! | [`child`] | starts the program, waits for its end, keeps its exit code |
//! | [`signals`] | survives Ctrl-C, passes other signals on |
//! | [`last_words`] | says what is left behind when a signal ends Baton |
//! | [`crowd`] | warns when spinning waiters outnumber the CPUs |
//! | [`still`] | how long no thread of a running program has run |
//! | [`messages`] | messages of the preload library: printed once each, and counted |
//! | [`counts`] | calls that the program counts while it runs |
//! | [`entries`] | how often the program enters functions of its own |
//! | [`family`] | the processes of a server |
//! | [`clients`] | load generators: processes that talk to the program, or that the user names |
//! | [`listening`] | the sockets that processes listen at |
//! | [`stats`] | the counters that the preload library writes when a process ends |

pub mod child;
pub mod choice;
pub mod clients;
pub mod counts;
pub mod crowd;
mod elf;
pub mod entries;
pub mod exec;
pub mod family;
pub mod last_words;
pub mod library;
pub mod listening;
pub mod messages;
pub mod openmp;
pub mod program;
pub mod signals;
pub mod stats;
pub mod still;
