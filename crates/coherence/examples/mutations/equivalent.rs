//! Mutants that make no difference, and why.

/// One reason, for the mutants whose row and change it names.
#[derive(Debug)]
pub(crate) struct Reason {
    /// The rows, as `controller state event`; a state may be several, split by `|`.
    rows: &'static [&'static str],
    /// The changes.
    changes: &'static [&'static str],
    /// Why nothing can be noticed.
    pub(crate) why: &'static str,
}

impl Reason {
    /// Whether it is about this mutant.
    pub(crate) fn covers(&self, row: &str, change: &str) -> bool {
        self.rows.contains(&row) && self.changes.contains(&change)
    }
}

/// All of them.
pub(crate) const REASONS: &[Reason] = &[];
