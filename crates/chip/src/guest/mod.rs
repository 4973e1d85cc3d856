//! Guest memory: one reserved arena that holds the heap and the stacks of the coroutines.
//!
//! A guest's data has the layout that it has on the host, so padding and false sharing are real.
//! The simulation uses the distance of an address from the arena's start, which does not depend on
//! the host's address randomisation.
//!
//! | file | holds |
//! | --- | --- |
//! | [`arena`] | the reservation, and where a byte of it is |
//! | [`heap`] | a deterministic allocator |
//! | [`memory`] | addresses and lines, and which threads watch and wrote them |
//! | [`stack`] | stacks of coroutines, each behind a guard page |

pub(crate) mod arena;
pub(crate) mod heap;
pub(crate) mod memory;
pub(crate) mod stack;
