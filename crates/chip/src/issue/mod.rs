//! Cores at work: what each operation of a guest thread does in its core.
//!
//! | file | holds |
//! | --- | --- |
//! | [`drain`] | stores leave the buffer; threads that wait for that |
//! | [`requests`] | requests to devices leave the buffer |
//! | [`stall`] | threads that wait for their buffers, or for devices |
//! | [`walk`] | loads that do not depend on each other |
//! | [`hints`] | prefetches and pushes |
//! | [`atomics`] | far atomics, which homes perform |
//! | [`instructions`] | the algorithm's own instructions between accesses |
//! | [`locks`] | which words belong to locks |

pub(crate) mod atomics;
pub(crate) mod drain;
pub(crate) mod hints;
pub(crate) mod instructions;
pub(crate) mod locks;
pub(crate) mod requests;
pub(crate) mod stall;
pub(crate) mod walk;
