//! What programs themselves call of LLVM's interface, beside OpenMP's own functions.
//!
//! | room | holds |
//! | --- | --- |
//! | [`queries`] | questions about threads, and what a program sets by `kmp_set_*` |
//! | [`locks`] | locks with hints |
//! | [`memory`] | allocators |
//! | [`affinity`] | masks of CPUs |
//! | [`fortran`] | Fortran forms of functions with arguments |

pub mod affinity;
pub mod fortran;
pub mod locks;
pub mod memory;
pub mod queries;
