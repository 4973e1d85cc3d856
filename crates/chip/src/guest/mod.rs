//! Guest memory: one reserved arena that holds the heap and the stacks of the coroutines.
//!
//! Guest data has the layout that it has on the host, so padding and false sharing are real. An
//! address is counted from the start of the arena, so that results do not depend on the host's
//! address randomisation.
//!
//! | file | holds |
//! | --- | --- |
//! | [`arena`] | the reservation, and the address of each byte |
//! | [`heap`] | a deterministic allocator |
//! | [`memory`] | addresses and lines, and the threads that watch and write them |
//! | [`stack`] | stacks of coroutines, each behind a guard page |

pub(crate) mod arena;
pub(crate) mod heap;
pub(crate) mod memory;
pub(crate) mod stack;
