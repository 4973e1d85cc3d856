//! `libbaton_gomp.so`: programs that `gcc -fopenmp` or `clang -fopenmp` compiled call these
//! functions.
//!
//! The crate is a static library; `scripts/link-gomp` links it with the version nodes of libgomp
//! and libomp, which rustc's own version script would leave out. It is one shared object for both
//! interfaces, so that GCC's and clang's objects in a process share its threads and locks.
//! `symbols.txt` declares every symbol of GCC's once, `kmp.txt` those of LLVM's; `libgomp.map`,
//! `libomp.ld` and the tables of `docs/reference/omp.md` are made from both. A function that is not
//! implemented ends the program with a message that names it.
//!
//! | room | holds |
//! | --- | --- |
//! | [`process`] | the process's one runtime, and how it is set up before `main` |
//! | [`parallel`] | regions, barriers, single, ordered |
//! | [`critical`] | locks of the program, critical and atomic sections |
//! | [`loops`] | loops, sections and scopes |
//! | [`cancel`] | cancellation |
//! | [`doacross`] | doacross loops |
//! | `nest` | the record of a doacross loop |
//! | [`fortran`] | Fortran forms of functions with arguments |
//! | [`locks`] | `omp_*_lock` |
//! | [`queries`] | `omp_get_*` and `omp_set_*` |
//! | [`tasks`] | tasks |
//! | [`taskloop`] | loops that are cut into tasks |
//! | [`reductions`] | reductions over tasks |
//! | [`events`] | events of detached tasks |
//! | [`teams`] | leagues of teams |
//! | [`later`] | copies and waits that become tasks |
//! | [`target`] | target regions, on the host |
//! | [`memory`] | allocators |
//! | [`display`] | what a program asks to be shown |
//! | `shown` | settings and affinity as text |
//! | `environment` | variables that matter to the interface alone |
//! | `variables` | variables under OpenMP's names, also those of LLVM |
//! | `ompt` | tools that follow the program |
//! | [`missing`] | what is not implemented |
//! | [`kmp`] | what clang calls of LLVM's interface: `__kmpc_*` |
//! | [`kmp_api`] | what programs call of LLVM's interface: `kmp_*` |

pub mod cancel;
pub mod critical;
pub mod display;
pub mod doacross;
mod environment;
pub mod events;
pub mod fortran;
pub mod kmp;
pub mod kmp_api;
pub mod later;
pub mod locks;
pub mod loops;
pub mod memory;
pub mod missing;
mod nest;
mod ompt;
pub mod parallel;
pub mod process;
pub mod queries;
pub mod reductions;
mod shown;
pub mod target;
pub mod taskloop;
pub mod tasks;
pub mod teams;
mod variables;
