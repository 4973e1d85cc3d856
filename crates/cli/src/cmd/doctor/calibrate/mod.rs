//! The findings as a chip file (`docs/reference/chip-file.md`). Each number has a comment that says where it comes from: measured,
//! worked out from what was measured, or not measurable here and taken from the sample host.
//!
//! | file | holds |
//! | --- | --- |
//! | [`prices`] | prices of a core, of waiting, of futexes and switches; fixed latencies |
//! | [`system`] | the kernel's other prices, and its policy |
//! | [`idle`] | idle states, by how long wake-ups take |
//! | [`coherent`] | caches, home, memory and network, solved so that the latencies come out as measured |
//! | [`mod@verify`] | the chip simulated, beside what was measured |

mod coherent;
mod idle;
mod prices;
mod system;
mod verify;

pub(super) use verify::verify;

use super::findings::Findings;
use anyhow::Context;
use baton_chip::Chip;
use baton_chip::config::keys::{self, Value, ValueKind};
use baton_host::costs::Spread;
use baton_replay::doubt::THIS_HOST;
use std::collections::BTreeMap;

/// The text of the sample chip, whose values stand in for what cannot be measured.
const SAMPLE: &str = include_str!("../../../../../../chips/sample-host-coherent.toml");
/// The text of the sample chip with fixed latencies.
const FIXED: &str = include_str!("../../../../../../chips/sample-host.toml");
/// Without a time-stamp counter a cycle is a nanosecond.
const NO_COUNTER: u64 = 1_000_000_000;

/// The chip file of this machine: with coherent caches, or of fixed latencies.
pub(crate) fn chip_file(findings: &Findings, fixed: bool) -> anyhow::Result<String> {
    let (text, name) = if fixed { (FIXED, "sample-host.toml") } else { (SAMPLE, "sample-host-coherent.toml") };
    let sample = Chip::from_toml(text, name).context("the sample host")?;
    let mut sheet = Sheet::new(findings, sample);
    sheet.machine();
    sheet.one_core();
    match fixed {
        true => sheet.fixed(),
        false => sheet.coherent()?,
    }
    sheet.waits();
    sheet.kernel();
    sheet.system();
    sheet.policy();
    sheet.wakes();
    sheet.noise();
    let text = sheet.chip.to_toml_with(|key| sheet.comment(key.path));
    // The written file must be one that every reader accepts.
    Chip::from_toml(&text, "the calibrated chip").context("the measured numbers make no valid chip")?;
    Ok(text)
}

/// The comment of a key that nothing was measured for.
fn not_measured() -> String {
    "not measured: the sample host's".to_owned()
}

/// The chip file under construction.
struct Sheet<'a> {
    found: &'a Findings,
    chip: Chip,
    hz: u64,
    comments: BTreeMap<&'static str, String>,
}

impl<'a> Sheet<'a> {
    fn new(found: &'a Findings, chip: Chip) -> Sheet<'a> {
        Sheet { found, chip, hz: found.tsc_hz.unwrap_or(NO_COUNTER), comments: BTreeMap::new() }
    }

    fn comment(&self, path: &str) -> String {
        self.comments.get(path).cloned().unwrap_or_else(not_measured)
    }

    fn put(&mut self, path: &'static str, value: Value, comment: impl Into<String>) {
        let key = keys::find(path).unwrap_or_else(|| panic!("`{path}` is a key of chip files"));
        let value = match (key.kind, value) {
            (ValueKind::Count(least, most), Value::Whole(n)) => Value::Whole(n.clamp(least, most)),
            (ValueKind::Share(least, most), Value::Share(x)) => Value::Share(x.clamp(least, most)),
            (_, value) => value,
        };
        key.set(&mut self.chip, value);
        self.comments.insert(path, comment.into());
    }

    fn cycles(&self, ns: f64) -> u64 {
        (ns * self.hz as f64 / 1e9).round() as u64
    }

    /// Writes a price in cycles, computed from the median of `s`, which is in nanoseconds. Its
    /// comment says where it comes from.
    fn price(&mut self, path: &'static str, s: &Spread, how: &str) {
        let comment =
            format!("{:.1} ns, four fifths of {} within {:.1} – {:.1}: {how}", s.median, s.samples, s.low, s.high);
        self.put(path, Value::Whole(self.cycles(s.median)), comment);
    }

    /// Writes a price that is computed from low ends of samples.
    fn low(&mut self, path: &'static str, ns: f64, how: &str) {
        self.put(path, Value::Whole(self.cycles(ns)), format!("{ns:.1} ns: {how}"));
    }

    /// Writes the price of the figure `id`, less `less` nanoseconds; writes nothing if that figure
    /// was not measured.
    fn figure(&mut self, path: &'static str, id: &str, less: f64, less_what: &str) {
        let Some(figure) = self.found.figure(id) else { return };
        let how =
            if less_what.is_empty() { figure.how.to_owned() } else { format!("{}, less {less_what}", figure.how) };
        let spread = figure.spread.less(less);
        self.price(path, &spread, &how);
    }

    fn median(&self, id: &str) -> f64 {
        self.found.figure(id).map_or(0.0, |f| f.spread.median)
    }

    fn machine(&mut self) {
        let p = &self.found.processor;
        let under = p.hypervisor.as_ref().map_or(String::new(), |h| format!(", in a virtual machine ({h})"));
        let from = format!(
            "Written by `baton doctor --calibrate`, baton {}.\n{} ({}){under}.\n{}, {}.",
            env!("CARGO_PKG_VERSION"),
            p.model,
            p.architecture,
            self.found.kernel.name,
            self.found.kernel.libc
        );
        self.put("chip.name", Value::Text(THIS_HOST.into()), from);
        let cpus = &self.found.cpus;
        let allowed = cpus.allowed.len() as u64;
        let (cores, contexts, how) = cores(allowed, cpus.contexts);
        self.put("core.count", Value::Whole(cores), how);
        if contexts > 1 {
            let how = "CPUs of a core (/sys: thread_siblings). CPU n of the chip is on core n mod core.count";
            self.put("core.contexts", Value::Whole(contexts), how);
            let how = "not measured, and only asked for with core.contexts: the latency of most additions and shifts";
            self.put("core.result_latency", Value::Share(1.0), how);
        }
        let clusters = cpus.clusters.max(1) as u64;
        let per_cluster = cores.div_ceil(clusters);
        self.put("core.per_cluster", Value::Whole(per_cluster), "cores by groups under one last-level cache (/sys)");
        let sockets = cpus.sockets.max(1) as u64;
        self.put("core.clusters_per_socket", Value::Whole(clusters.div_ceil(sockets)), "such groups by sockets (/sys)");
        let clock = match self.found.tsc_hz {
            Some(_) => "the invariant time-stamp counter against the steady clock; cycles below are its ticks",
            None => "no invariant time-stamp counter: a cycle is a nanosecond",
        };
        self.put("core.clock_hz", Value::Whole(self.hz), clock);
        self.put("cache.line_bytes", Value::Whole(u64::from(cpus.line_bytes)), "/sys/devices/system/cpu");
    }
}

/// The number of cores, the contexts of each, and the comment of `core.count`, for `allowed` CPUs
/// of which each core has `of_a_core`.
fn cores(allowed: u64, of_a_core: Option<u32>) -> (u64, u64, String) {
    let what = "CPUs that this process may run on (sched_getaffinity)";
    match of_a_core.map(u64::from) {
        Some(n) if n > 1 && n.is_power_of_two() => (allowed / n, n, format!("{what}, by core.contexts")),
        Some(1) => (allowed, 1, what.into()),
        _ => (allowed, 1, format!("{what}; cores have unequal numbers of them, so each is taken as a core")),
    }
}

#[cfg(test)]
mod tests {
    use super::cores;

    #[test]
    fn siblings_make_contexts() {
        assert_eq!(cores(8, Some(1)).0, 8);
        let (count, contexts, how) = cores(8, Some(2));
        assert_eq!((count, contexts), (4, 2));
        assert!(how.contains("core.contexts"), "{how}");
        for odd in [None, Some(3)] {
            let (count, contexts, how) = cores(6, odd);
            assert_eq!((count, contexts), (6, 1));
            assert!(how.contains("unequal") || odd.is_some(), "{how}");
        }
    }
}
