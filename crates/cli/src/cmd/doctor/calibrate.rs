//! The findings as a chip file (`docs/chip-file.md`). Each number has a comment that says where it comes from: measured,
//! worked out from what was measured, or not measurable here and taken from the sample host.

use super::findings::{Apart, Findings, Pair};
use super::show;
use crate::measure::{Spread, lines};
use anyhow::Context;
use baton_chip::Chip;
use baton_chip::config::keys::{self, Kind, Value};
use baton_machine::{Native, Wait};
use std::collections::BTreeMap;
use std::time::Duration;

/// What stands where a thing cannot be measured.
const SAMPLE: &str = include_str!("../../../../../chips/sample-host.toml");
/// Without a time-stamp counter a cycle is a nanosecond.
const NO_COUNTER: u64 = 1_000_000_000;

/// The chip file of this machine.
pub(crate) fn chip_file(findings: &Findings) -> anyhow::Result<String> {
    let sample = Chip::from_toml(SAMPLE, "chips/sample-host.toml").context("the sample host")?;
    let mut sheet = Sheet::new(findings, sample);
    sheet.machine();
    sheet.one_core();
    sheet.two_cores();
    sheet.waits();
    sheet.kernel();
    sheet.wakes();
    sheet.noise();
    let text = sheet.chip.to_toml_with(|key| sheet.comment(key.path));
    // What we write, everyone must be able to read.
    Chip::from_toml(&text, "the calibrated chip").context("the measured numbers make no valid chip")?;
    Ok(text)
}

/// The chip in the making.
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
        let not_measured = || "not measured: the sample host's".to_owned();
        self.comments.get(path).cloned().unwrap_or_else(not_measured)
    }

    fn put(&mut self, path: &'static str, value: Value, comment: impl Into<String>) {
        let key = keys::find(path).unwrap_or_else(|| panic!("`{path}` is a key of chip files"));
        let value = match (key.kind, value) {
            (Kind::Count(least, most), Value::Whole(n)) => Value::Whole(n.clamp(least, most)),
            (Kind::Share(least, most), Value::Share(x)) => Value::Share(x.clamp(least, most)),
            (_, value) => value,
        };
        (key.set)(&mut self.chip, value);
        self.comments.insert(path, comment.into());
    }

    fn cycles(&self, ns: f64) -> u64 {
        (ns * self.hz as f64 / 1e9).round() as u64
    }

    /// A price in nanoseconds, with where it comes from.
    fn price(&mut self, path: &'static str, s: &Spread, how: &str) {
        let comment =
            format!("{:.1} ns, four fifths of {} within {:.1} – {:.1}: {how}", s.median, s.samples, s.low, s.high);
        self.put(path, Value::Whole(self.cycles(s.median)), comment);
    }

    /// A price that is worked out of low ends.
    fn low(&mut self, path: &'static str, ns: f64, how: &str) {
        self.put(path, Value::Whole(self.cycles(ns)), format!("{ns:.1} ns: {how}"));
    }

    /// A price that is one figure, less something.
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
        self.put("chip.name", Value::Text("this-host".into()), from);
        let cpus = &self.found.cpus;
        let allowed = cpus.allowed.len() as u64;
        self.put("core.count", Value::Whole(allowed), "CPUs that this process may run on (sched_getaffinity)");
        let clusters = cpus.clusters.max(1) as u64;
        let per_cluster = allowed.div_ceil(clusters);
        self.put("core.per_cluster", Value::Whole(per_cluster), "CPUs by groups under one last-level cache (/sys)");
        let sockets = cpus.sockets.max(1) as u64;
        self.put("core.clusters_per_socket", Value::Whole(clusters.div_ceil(sockets)), "such groups by sockets (/sys)");
        let clock = match self.found.tsc_hz {
            Some(_) => "the invariant time-stamp counter against the steady clock; cycles below are its ticks",
            None => "no invariant time-stamp counter: a cycle is a nanosecond",
        };
        self.put("core.clock_hz", Value::Whole(self.hz), clock);
        self.put("cache.line_bytes", Value::Whole(u64::from(cpus.line_bytes)), "/sys/devices/system/cpu");
    }

    fn one_core(&mut self) {
        let hit = self.median("hit");
        self.figure("core.clock_read", "clock", 0.0, "");
        self.figure("core.fence", "fence", 0.0, "");
        self.figure("cache.hit", "hit", 0.0, "");
        self.figure("cache.memory", "memory", 0.0, "");
        self.figure("cache.atomic", "atomic", hit, "a cache hit");
        self.figure("wait.spin", "spin-turn", hit, "a cache hit (the turns overlap, so nothing may be left)");
        self.figure("wait.pause", "pause", 0.0, "");
    }

    fn two_cores(&mut self) {
        let classes = [
            ("cache.transfer.same_cluster", "cache.upgrade.same_cluster", Apart::SameCluster),
            ("cache.transfer.same_socket", "cache.upgrade.same_socket", Apart::SameSocket),
            ("cache.transfer.cross_socket", "cache.upgrade.cross_socket", Apart::CrossSocket),
        ];
        for (transfer, upgrade, apart) in classes {
            let absent =
                format!("not measured: no two CPUs here are apart {}; the sample host's, unused", show::words(apart));
            match self.pairs(apart, |p| p.round_trip) {
                Some(s) => {
                    self.price(transfer, &s.times(0.25), "a quarter of a line's round trip, median of the pairs")
                }
                None => drop(self.comments.insert(transfer, absent.clone())),
            }
            match self.pairs(apart, |p| p.upgrade) {
                Some(s) => self.price(
                    upgrade,
                    &s,
                    "atomic writes to 64 lines of which the other core has copies, less to own lines",
                ),
                None => drop(self.comments.insert(upgrade, absent)),
            }
        }
        let why = "not measured (it takes many readers of one line): the sample host's";
        self.comments.insert("cache.occupancy", why.into());
    }

    /// A figure of the pairs that far apart: the spread of their medians; of a single pair, its own spread.
    fn pairs(&self, apart: Apart, figure: fn(&Pair) -> Option<Spread>) -> Option<Spread> {
        let of: Vec<Spread> =
            self.found.line_round_trips.iter().filter(|p| p.apart == apart).filter_map(figure).collect();
        match of[..] {
            [only] => Some(only),
            _ => Spread::of(of.iter().map(|s| s.median).collect()),
        }
    }

    /// Monitors: what a call costs by its trial, and what waking takes by round trips beside spinning.
    fn waits(&mut self) {
        let [one, other, ..] = *self.found.cpus.allowed else { return };
        let trip = |wait| lines::round_trip((one, other), wait, Duration::from_millis(100)).map(|s| s.median);
        let spinning = trip(Wait::Spin);
        for (wait, enter, exit) in [
            (Wait::Umwait, "wait.umwait.enter", "wait.umwait.exit"),
            (Wait::Mwaitx, "wait.mwaitx.enter", "wait.mwaitx.exit"),
            (Wait::Wfe, "wait.wfe.enter", "wait.wfe.exit"),
        ] {
            if Native::check(wait).is_err() {
                continue;
            }
            let Some((with, spinning)) = trip(wait).zip(spinning) else { continue };
            let more = Spread::of(vec![((with - spinning) / 2.0).max(0.0)]).expect("one sample");
            self.price(
                enter,
                &more.times(0.5),
                "half of what a way of a line's round trip takes longer than when spinning",
            );
            self.price(exit, &more.times(0.5), "the other half");
        }
        if Native::check(Wait::Tpause).is_ok()
            && let Some((with, spinning)) = trip(Wait::Tpause).zip(spinning)
        {
            let more = Spread::of(vec![(with - spinning).max(0.0)]).expect("one sample");
            self.price(
                "wait.tpause",
                &more,
                "what a line's round trip takes longer than when spinning: half a rest each way",
            );
        }
    }

    fn kernel(&mut self) {
        self.figure("os.futex_wait_changed", "futex-wait-changed", 0.0, "");
        self.figure("os.futex_wake_none", "futex-wake-none", 0.0, "");
        self.figure("os.futex_wake", "futex-wake", 0.0, "");
        if let (Some(one), Some(eight)) = (self.found.figure("futex-wake"), self.found.figure("futex-wake-8")) {
            let more = ((eight.spread.low - one.spread.low) / 7.0).max(0.0);
            let how = "a seventh of what a wake of 8 sleepers takes longer than of one, low ends of both";
            self.low("os.futex_wake_more", more, how);
        }
        // Whoever else had the CPU meanwhile is in the upper part of these samples.
        let switch = self.found.figure("context-switch");
        if let Some(switch) = switch {
            self.low("os.context_switch", switch.spread.low, &format!("low end: {}", switch.how));
        }
        // A round trip on one CPU is two wakes, two waits and two switches; such a wake sends no interrupt.
        if let Some(trip) = self.found.figure("futex-round-trip-one") {
            let more = self.chip.os.futex_wake_more.0 as f64 * 1e9 / self.hz as f64;
            let wake = self.median("futex-wake-none") + more;
            let least = self.median("futex-wait-changed");
            let half = trip.spread.low / 2.0 - wake - switch.map_or(0.0, |s| s.spread.low);
            let how = match half < least {
                true => "a wait whose value changed: half a round trip on one CPU less wake and switch was below it",
                false => "half a round trip on one CPU (low end), less a wake without interrupt and a switch",
            };
            self.low("os.futex_wait", half.max(least), how);
        }
        self.figure("os.time_slice", "time-slice", 0.0, "");
        if let Some(run) = self.found.figure("preemption") {
            let s = run.spread;
            let comment = format!(
                "the low end, {:.1} µs (median {:.1} µs) of: {}, {}",
                s.low / 1e3,
                s.median / 1e3,
                run.what,
                run.how
            );
            self.put("os.wakeup_granularity", Value::Whole(self.cycles(s.low)), comment);
        }
        self.figure("os.thread_create", "thread-create", 0.0, "");
    }

    /// Wake-ups of CPUs that still poll for work, and of halted ones.
    fn wakes(&mut self) {
        let call = self.median("futex-wake-none");
        let by_sleep = &self.found.wake_by_sleep;
        let (Some(short), Some(long)) = (by_sleep.first(), by_sleep.last()) else { return };
        let (polling, halted) = (short.latency.less(call), long.latency.less(call));
        self.price("os.wake_polling", &polling, "wake of a sleeper that has just gone to sleep, less the call");
        self.price("os.wake_idle", &halted, "wake of a sleeper after 5 ms, less the call");
        let middle = (polling.median + halted.median) / 2.0;
        // Noise alone makes some difference; below a quarter there is no polling to speak of.
        let (ns, how) = if halted.median < polling.median * 1.25 {
            (0, "wake-ups take as long after a short sleep as after a long one: no polling seen".to_owned())
        } else {
            let last = by_sleep.iter().take_while(|w| w.latency.less(call).median < middle).last().unwrap_or(short);
            let how = format!("the longest of the sleeps {} whose wake-up was still fast", steps(self.found));
            (last.slept_ns, how)
        };
        self.put("os.idle_poll", Value::Whole(self.cycles(ns as f64)), how);
    }

    fn noise(&mut self) {
        if let Some(s) = [Apart::SameCluster, Apart::SameSocket, Apart::CrossSocket]
            .iter()
            .find_map(|a| self.pairs(*a, |p| p.round_trip))
        {
            let share = ((s.high - s.low) / 2.0 / s.median.max(1.0)).min(0.25);
            let share = (share * 1000.0).round() / 1000.0;
            let how = "half the range of four fifths of a line's round trips, by their median, at most a quarter";
            self.put("noise.latency", Value::Share(share), how);
        }
        if let Some(create) = self.found.figure("thread-create") {
            let how = "creating a thread takes up to this long (nine tenths)";
            self.put("noise.start", Value::Whole(self.cycles(create.spread.high)), how);
        }
    }
}

/// How long the sleeps were, as text.
fn steps(found: &Findings) -> String {
    let all: Vec<String> = found.wake_by_sleep.iter().map(|w| format!("{}", w.slept_ns / 1_000)).collect();
    format!("{} µs", all.join(", "))
}
