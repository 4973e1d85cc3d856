//! The same constructs as programs of clang call them: `__kmpc_*` of LLVM's libomp, of Intel's
//! libiomp5 or of Baton's own runtime.
//!
//! | file | holds |
//! | --- | --- |
//! | [`regions`] | parallel regions, and barriers in them |
//! | [`tasks`] | tasks, and waits for them |
//! | [`critical`] | critical sections |
//!
//! LLVM's runtime serves programs of GCC by functions that call `__kmpc_*` in their turn. Such an
//! inner call is passed on unrecorded, since its outer call is recorded already
//! ([`Late::called`](super::late::Late::called)).

pub(super) mod critical;
pub(super) mod regions;
pub(super) mod tasks;
