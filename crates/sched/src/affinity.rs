//! The CPUs on which a thread may run.

use baton_units::CpuId;

/// A set of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinity(Option<Box<[CpuId]>>);

impl Affinity {
    /// All CPUs, including those that are switched on later.
    pub const ALL: Affinity = Affinity(None);

    /// Returns the set of these CPUs, or of all CPUs if none is given.
    pub fn to(cpus: impl IntoIterator<Item = CpuId>) -> Affinity {
        let mut cpus: Vec<CpuId> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        Affinity((!cpus.is_empty()).then(|| cpus.into()))
    }

    #[inline]
    pub fn has(&self, cpu: CpuId) -> bool {
        self.0.as_ref().is_none_or(|cpus| cpus.binary_search(&cpu).is_ok())
    }

    /// Returns the CPUs in rising order, or `None` for all CPUs.
    pub fn list(&self) -> Option<&[CpuId]> {
        self.0.as_deref()
    }
}
