//! Futexes: which threads sleep on which cell.
//!
//! Futexes have two forms, chosen by `os.futex_home`. Without this key a call costs its price and
//! the queues are the simulator's own ([`fixed`]). With the key the kernel's hash buckets, their
//! locks and the queues lie in guest memory ([`layout`]), and the protocol ([`protocol`]) reaches
//! them by accesses of the calling thread (`machine::futex_kernel`), on top of the code's price.
//!
//! | file | holds |
//! | --- | --- |
//! | [`fixed`] | queues at fixed prices |
//! | [`protocol`] | wait, wake and requeue, for any machine: simulated here, explored by a checker in the tests |
//! | [`layout`] | where the kernel's memory is, and the bucket of each cell |
//!
//! Sleepers of a cell are woken in the order in which they came.

pub(crate) mod fixed;
pub(crate) mod layout;
pub mod protocol;

pub(crate) use fixed::Futexes;

/// The number of buckets in the sleepers' table; the native table has as many. A waker looks at the
/// count of one bucket before it enters the kernel.
pub(crate) const BUCKETS: usize = 256;
/// Each bucket has its pair of lines to itself, as in the native table.
pub(crate) const BUCKET_BYTES: usize = 128;

fn hash(offset: usize) -> u64 {
    (offset as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The bucket of the cell at `offset` in guest memory.
pub(crate) fn bucket(offset: usize) -> usize {
    (hash(offset) >> 56) as usize % BUCKETS
}
