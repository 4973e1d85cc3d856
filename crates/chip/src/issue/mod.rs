//! Cores at work: what a guest thread's operations ask of its core, one access after another.
//!
//! | file | holds |
//! | --- | --- |
//! | [`access`] | one access of the running thread |
//! | [`drain`] | stores leave the buffer, and who waits until they have |
//! | [`requests`] | requests to devices leave the buffer |
//! | [`stall`] | threads that wait for their buffers, or for devices |
//! | [`walk`] | loads that do not depend on each other |
//! | [`hints`] | prefetches and pushes |
//! | [`atomics`] | far atomics, performed at their homes |
//! | [`instructions`] | the algorithm's own instructions between accesses |
//! | [`locks`] | which words are locks |

pub(crate) mod access;
pub(crate) mod atomics;
pub(crate) mod drain;
pub(crate) mod hints;
pub(crate) mod instructions;
pub(crate) mod locks;
pub(crate) mod requests;
pub(crate) mod stall;
pub(crate) mod walk;
