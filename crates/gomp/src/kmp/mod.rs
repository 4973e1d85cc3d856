//! The interface of LLVM's runtime: programs that `clang -fopenmp` compiled call these functions.
//!
//! Each function is thin: it turns what clang says into what `crates/omp` does. The `omp_*`
//! functions are the crate's own, at a second version. `kmp.txt` declares every symbol that Debian's
//! `libomp.so.5` exports, served or absent.
//!
//! | room | holds |
//! | --- | --- |
//! | [`ident`] | what most calls begin with: the place in the source, the thread's number |
//! | [`fork`] | regions, leagues of teams, calls of outlined functions |
//! | [`pushed`] | what a thread was told about its next region |
//! | [`bounds`] | the bounds of loops of the four types of numbers |
//! | [`statics`] | loops whose iterations are divided beforehand |
//! | [`dispatch`] | loops whose chunks are asked for, and sections |
//! | [`doacross`] | doacross loops |
//! | [`sync`] | barriers, single, critical, ordered |
//! | [`reduce`] | reductions at the end of a construct |
//! | [`cancel`] | cancellation |
//! | [`task`] | tasks |
//! | `framed` | a call of a task's function, for tools |
//! | [`depends`] | dependences of tasks |
//! | [`taskloop`] | loops that are cut into tasks |
//! | [`reductions`] | reductions over tasks |
//! | [`private`] | copies of threadprivate variables |
//! | [`atomic`] | atomic updates by a function of the compiler's |
//! | [`atomic_types`] | atomic updates by type |
//! | [`atomic_complex`] | atomic updates of complex numbers |
//! | [`atomic_x87`] | atomic updates of `long double`, and of complex numbers of two |
//! | [`atomic_swaps`] | compare-and-swap by type |

pub mod atomic;
pub mod atomic_complex;
pub mod atomic_swaps;
pub mod atomic_types;
#[cfg(target_arch = "x86_64")]
pub mod atomic_x87;
pub mod bounds;
pub mod cancel;
pub mod depends;
pub mod dispatch;
pub mod doacross;
pub mod fork;
mod framed;
pub mod ident;
pub mod private;
pub mod pushed;
pub mod reduce;
pub mod reductions;
pub mod statics;
pub mod sync;
pub mod task;
pub mod taskloop;
