//! The interface of a kernel, and the entries of the reorder buffer that a load of a sparse kernel
//! takes.

/// A kernel, whose work consists of quanta.
pub(in crate::mwmon) trait Kernel {
    fn quanta(&self) -> usize;
    /// Does the worker's part of a quantum.
    fn compute(&self, quantum: usize);
    /// Loads the data that a quantum needs.
    fn prefetch(&self, quantum: usize);
    /// Whether all results are those of a plain computation.
    fn is_right(&self) -> bool;
}

/// The entries of the reorder buffer that a load takes: nine instructions for a number, three of
/// them loads.
pub(super) const SPARSE_ENTRIES: u32 = 3;
