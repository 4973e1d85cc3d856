//! A coherent chip whose latencies are the measured ones. The network and its flits are as short as
//! they can be; the rest of each measured latency goes into the one key that the formula for that
//! latency (`docs/reference/chip.md`) has for it: the level's own latency, the directory's latency
//! for a line in another core's cache, a row miss for memory. Virtual machines often say that CPUs
//! share a last level although their lines travel much further than that level. Therefore the
//! directory may be further away than the bank.

use super::super::findings::{Apart, Levels};
use super::Sheet;
use anyhow::Context;
use baton_chip::Prices;
use baton_chip::config::keys::Value;
use baton_host::costs::Spread;
use baton_machine::discover::Topology;
use baton_units::Cycles;

/// One step of the solution: `key` is set so that the formula `price` gives the `measured`
/// nanoseconds. `how` is the key's comment.
struct Solve {
    key: &'static str,
    measured: f64,
    price: fn(&Prices) -> Option<Cycles>,
    how: String,
}

impl Sheet<'_> {
    pub(super) fn coherent(&mut self) -> anyhow::Result<()> {
        let topology = Topology::discover();
        self.levels(&topology);
        self.places();
        self.latencies()
    }

    /// Writes the sizes of caches, as `/sys` gives them.
    fn levels(&mut self, topology: &Topology) {
        let levels = Levels::of(&topology.caches, topology.threads_per_core());
        let line = u64::from(self.chip.cache.line_bytes);
        let size = |sheet: &mut Self, keys: [&'static str; 2], bytes: u64, least_ways: u64| {
            let ways = ways(bytes / line, least_ways);
            sheet.put(keys[0], Value::Whole(bytes), "/sys/devices/system/cpu");
            let how = "not measured: the least that gives a power of two of sets";
            sheet.put(keys[1], Value::Whole(ways), how);
        };
        if let Some(first) = levels.first {
            size(self, ["l1.size_bytes", "l1.ways"], first.bytes, 8);
        }
        match levels.second {
            Some(second) => size(self, ["l2.size_bytes", "l2.ways"], second.bytes, 8),
            None => self.coherent_mut().l2 = None,
        }
        match levels.last {
            Some(last) => size(self, ["shared.size_bytes", "shared.ways"], last.bytes, 16),
            None => self.coherent_mut().shared = None,
        }
    }

    fn coherent_mut(&mut self) -> &mut baton_chip::config::Coherent {
        self.chip.coherent.as_mut().expect("the sample is a coherent chip")
    }

    /// Writes one home and one memory controller for each group of cores under one last level; each
    /// group has a crossbar. Also writes the depth of the store buffer and the bandwidth of memory.
    fn places(&mut self) {
        let core = &self.chip.core;
        let (dies, hz) = (core.count / core.per_cluster.max(1), self.hz);
        let per_die = |what: &str| format!("not measured: one {what} a group under one last-level cache");
        self.put("home.banks", Value::Whole(dies.into()), per_die("home"));
        self.put("dram.controllers", Value::Whole(dies.into()), per_die("controller"));
        self.put("network.clock_hz", Value::Whole(hz), "the cores'");
        if dies > 1 {
            let pairs = (0..dies).flat_map(|a| (a + 1..dies).map(move |b| format!("{a}-{b}:1")));
            let links = pairs.collect::<Vec<_>>().join(" ");
            let how = "groups under one last-level cache, each linked with each; lengths are not measured";
            self.put("network.topology", Value::Text("dies".into()), "a crossbar in each such group");
            self.put("network.links", Value::Text(links), how);
            self.put("network.routing", Value::Text("up-down".into()), "cannot deadlock among linked groups");
        } else {
            let how = "one router: what is far stands in the latencies of caches, directory and memory";
            self.put("network.topology", Value::Text("crossbar".into()), how);
        }
        let how = "stores that a core takes in while the first of them misses, middle of the passes";
        match self.found.store_buffer {
            Some(depth) => self.put("core.store_buffer", Value::Whole(depth.into()), how),
            None => {
                let why = self.found.why_not("store-buffer").unwrap_or("not measured");
                self.comments.insert("core.store_buffer", format!("{why}: the sample host's"));
            }
        }
        if let Some(rate) = self.found.figure("line-rate") {
            let (line, how) = (f64::from(self.chip.cache.line_bytes), rate.how);
            let all = line / (rate.spread.median * self.hz as f64 / 1e9);
            let each = (all / f64::from(dies) * 1000.0).round() / 1000.0;
            let comment = format!("{:.1} GB/s in all: all CPUs read {how}", line / rate.spread.median);
            self.put("dram.bytes_per_cycle", Value::Share(each), comment);
        }
    }

    /// Solves the formulas for one key after the other.
    fn latencies(&mut self) -> anyhow::Result<()> {
        let words = |s: &Spread, how: &str| {
            format!(
                "{:.1} ns in all, four fifths of {} within {:.1} – {:.1}: {how}",
                s.median, s.samples, s.low, s.high
            )
        };
        let figure = |sheet: &Self, id| sheet.found.figure(id).map(|f| (f.spread.median, words(&f.spread, f.how)));
        let mut steps = Vec::new();
        let mut step = |key, found: Option<(f64, String)>, price: fn(&Prices) -> Option<Cycles>| {
            steps.extend(found.map(|(measured, how)| Solve { key, measured, price, how }));
        };
        step("l1.latency", figure(self, "hit"), |p| Some(p.hit));
        step("l2.latency", figure(self, "l2"), |p| p.l2);
        step("shared.latency", figure(self, "last-level"), |p| p.bank);
        // The latency of a hot line, as for fixed latencies, because locks are hot. A load of a
        // line that has long been in the other core's cache takes longer.
        let transfer = self.pairs(Apart::SameCluster, |p| p.round_trip).map(|s| s.times(0.25));
        let how = "a quarter of a line's round trip, median of the pairs";
        step("directory.latency", transfer.map(|s| (s.median, words(&s, how))), |p| Some(p.transfer.same_cluster));
        step("dram.row_miss", figure(self, "memory"), |p| Some(p.memory));
        for Solve { key, measured, price, how } in steps {
            self.put(key, Value::Whole(u64::from(key == "l1.latency")), "");
            let rest = price(&Prices::of(&self.chip).context("the calibrated chip's network")?);
            let Some(rest) = rest else { continue };
            let whole = self.cycles(measured);
            // All of a hit's latency goes into the key of the hit.
            let (own, rest) =
                if key == "l1.latency" { (whole.max(1), 0) } else { (whole.saturating_sub(rest.0), rest.0) };
            let note = match rest {
                0 => String::new(),
                _ if rest > whole => format!("\nThe other parts of its way take longer by themselves: {rest} cycles"),
                _ => format!("\nLess the other parts of its way, {rest} cycles"),
            };
            self.put(key, Value::Whole(own), format!("{how}{note}"));
        }
        let miss = self.coherent_mut().dram.row_miss.0;
        let how = "not measured: six tenths of a row miss";
        self.put("dram.row_hit", Value::Whole(miss * 6 / 10), how);
        Ok(())
    }
}

/// Returns the least number of ways, from `least` on, that gives a power of two of sets; all lines
/// if there are fewer than `least`.
fn ways(lines: u64, least: u64) -> u64 {
    let mut ways = lines.max(1);
    while ways.is_multiple_of(2) && ways / 2 >= least {
        ways /= 2;
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::ways;

    #[test]
    fn sets_are_a_power_of_two() {
        for (kib, least, expected) in
            [(32, 8, 8), (48, 8, 12), (1024, 8, 8), (1280, 8, 10), (32_768, 16, 16), (36_608, 16, 18)]
        {
            let lines = kib * 1024 / 64;
            let ways = ways(lines, least);
            assert!((lines / ways).is_power_of_two() || ways > 128, "{kib}: {ways}");
            if kib != 36_608 {
                assert_eq!(ways, expected, "{kib} KiB");
            }
        }
    }
}
