//! The CPUs that a thread may run on.

use baton_units::CpuId;

/// A set of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinity(Option<Box<[CpuId]>>);

impl Affinity {
    /// All CPUs, also ones that are switched on later.
    pub const ALL: Affinity = Affinity(None);

    /// These; none given: all.
    pub fn to(cpus: impl IntoIterator<Item = CpuId>) -> Affinity {
        let mut cpus: Vec<CpuId> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        Affinity((!cpus.is_empty()).then(|| cpus.into()))
    }

    /// Whether the CPU is one of them.
    #[inline]
    pub fn has(&self, cpu: CpuId) -> bool {
        self.0.as_ref().is_none_or(|cpus| cpus.binary_search(&cpu).is_ok())
    }

    /// The CPUs by number, in rising order; `None`: all.
    pub fn list(&self) -> Option<&[CpuId]> {
        self.0.as_deref()
    }
}
