//! Kinds of cores: `[[core.kind]]`. A kind has a name, a list of cores, and values for some keys of
//! `[core]` and of the private caches. For all other keys, and for cores that no kind names, the
//! values of the chip apply.

use super::texts::{core_list, core_ranges};
use crate::value::Value;

/// The keys for which a kind may give values; `core.width` of the chip is `width` of a kind. Other
/// keys cannot differ between kinds.
pub const OWN: &[&str] = &[
    "core.clock_hz",
    "core.clock_read",
    "core.fence",
    "core.store_buffer",
    "core.rob",
    "core.load_queue",
    "core.store_queue",
    "core.width",
    "core.flush",
    "core.result_latency",
    "core.mode_change",
    "l1.size_bytes",
    "l1.latency",
    "l2.size_bytes",
    "l2.latency",
];

/// The name of a key of [`OWN`] within a kind.
pub fn own_name(path: &str) -> &str {
    path.trim_start_matches("core.")
}

/// The kinds of a chip; empty on a chip whose cores are all alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kinds(pub Vec<CoreKind>);

/// A kind of cores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoreKind {
    /// The name of the kind.
    pub name: String,
    /// The cores of the kind.
    pub cores: KindCores,
    /// The kind's own values for keys in [`OWN`], in that order.
    pub own: Vec<(&'static str, Value)>,
}

/// The cores of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindCores {
    /// This many cores: the first that no earlier kind has.
    Count(u32),
    /// The cores with these numbers, in rising order.
    Named(Vec<u32>),
}

impl Default for KindCores {
    fn default() -> KindCores {
        KindCores::Count(0)
    }
}

impl CoreKind {
    /// What a name may be, for messages.
    pub const NAME: &str = "a name of letters, digits, `-` and `_`";
    /// What the key `cores` of a kind may be, for messages: numbers of cores and ranges of them.
    pub const CORES: &str = "the cores as in \"0-3 8\"";

    /// Returns whether a text is a valid name ([`CoreKind::NAME`]).
    pub fn is_name(text: &str) -> bool {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    }

    /// Reads [`CoreKind::CORES`].
    pub fn parse_cores(text: &str) -> Option<Vec<u32>> {
        core_list(text)
    }

    /// Sets an own value of the kind, replacing an earlier one.
    pub fn set(&mut self, path: &'static str, value: Value) {
        self.own.retain(|(own, _)| *own != path);
        self.own.push((path, value));
        self.own.sort_by_key(|(own, _)| OWN.iter().position(|path| path == own));
    }

    /// Returns every key that the kind gives, under its name in the kind's table of a chip file:
    /// without `core.`.
    pub fn given(&self) -> Vec<(&'static str, Value)> {
        let cores = match &self.cores {
            KindCores::Count(n) => ("count", Value::Whole((*n).into())),
            KindCores::Named(cores) => ("cores", Value::Text(core_ranges(cores))),
        };
        let own = self.own.iter().map(|(path, value)| (own_name(path), value.clone()));
        [("name", Value::Text(self.name.clone())), cores].into_iter().chain(own).collect()
    }
}

impl Kinds {
    /// The kind of each of `count` cores: its position in the chip file, from 1, or 0 for a core
    /// without a kind.
    pub fn of_cores(&self, count: u32) -> Vec<u32> {
        let mut of = vec![0; count as usize];
        for (number, kind) in (1..).zip(&self.0) {
            match &kind.cores {
                KindCores::Named(cores) => {
                    for &core in cores.iter().filter(|&&core| core < count) {
                        of[core as usize] = number;
                    }
                }
                KindCores::Count(n) => {
                    of.iter_mut().filter(|of| **of == 0).take(*n as usize).for_each(|of| *of = number);
                }
            }
        }
        of
    }

    /// Adapts the kinds when a chip with `was` cores is scaled to `cores`. Named cores that still
    /// exist stay; counts scale with the cores, rounded down but to no less than 1. A kind without
    /// a core is removed.
    pub(super) fn resize(&mut self, was: u32, cores: u32) {
        for kind in &mut self.0 {
            match &mut kind.cores {
                KindCores::Named(named) => named.retain(|&core| core < cores),
                KindCores::Count(n) => {
                    *n = (u64::from(*n) * u64::from(cores) / u64::from(was.max(1))).max(1) as u32;
                }
            }
        }
        self.0.retain(|kind| kind.cores != KindCores::Named(Vec::new()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(cores: KindCores) -> CoreKind {
        CoreKind { name: "k".into(), cores, own: Vec::new() }
    }

    #[test]
    fn counts_take_the_cores_that_are_left() {
        let kinds =
            Kinds(vec![kind(KindCores::Named(vec![1, 4])), kind(KindCores::Count(2)), kind(KindCores::Count(1))]);
        assert_eq!(kinds.of_cores(6), [2, 1, 2, 3, 1, 0]);
        assert_eq!(Kinds::default().of_cores(3), [0, 0, 0]);
    }

    #[test]
    fn kinds_shrink_with_the_cores() {
        let mut kinds =
            Kinds(vec![kind(KindCores::Named(vec![6, 7])), kind(KindCores::Count(4)), kind(KindCores::Count(1))]);
        kinds.resize(8, 4);
        assert_eq!(kinds, Kinds(vec![kind(KindCores::Count(2)), kind(KindCores::Count(1))]));
    }
}
