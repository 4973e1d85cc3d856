//! The interface of a kernel, and the width of a load of the sparse ones.

/// Work in quanta.
pub(in crate::mwmon) trait Kernel {
    fn quanta(&self) -> usize;
    /// The worker's part of a quantum.
    fn compute(&self, quantum: usize);
    /// Loads what a quantum will need.
    fn prefetch(&self, quantum: usize);
    /// Whether all results are those of a plain computation.
    fn is_right(&self) -> bool;
}

/// Entries of the reorder buffer a load: nine instructions a number, of which three are loads.
pub(super) const SPARSE_ENTRIES: u32 = 3;
