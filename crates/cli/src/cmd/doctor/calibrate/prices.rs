//! The measured figures as prices: of a core by itself, of lines between cores at fixed latencies,
//! of waiting, and of futexes and switches.

use super::super::findings::{Apart, Pair};
use super::super::show;
use super::Sheet;
use baton_chip::config::keys::Value;
use baton_host::costs::{Spread, lines};
use baton_machine::{Native, Wait};
use std::time::Duration;

impl Sheet<'_> {
    pub(super) fn one_core(&mut self) {
        let hit = self.median("hit");
        self.figure("core.clock_read", "clock", 0.0, "");
        self.figure("core.fence", "fence", 0.0, "");
        self.figure("cache.atomic", "atomic", hit, "a cache hit");
        self.figure("wait.spin", "spin-turn", hit, "a cache hit (the turns overlap, so nothing may be left)");
        self.figure("wait.pause", "pause", 0.0, "");
    }

    /// Writes the accesses of a chip with fixed latencies.
    pub(super) fn fixed(&mut self) {
        self.figure("cache.hit", "hit", 0.0, "");
        self.figure("cache.memory", "memory", 0.0, "");
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

    /// A figure of the pairs at that distance: the spread of the pairs' medians or, for a single
    /// pair, its own spread.
    pub(super) fn pairs(&self, apart: Apart, figure: fn(&Pair) -> Option<Spread>) -> Option<Spread> {
        let of: Vec<Spread> =
            self.found.line_round_trips.iter().filter(|p| p.apart == apart).filter_map(figure).collect();
        match of[..] {
            [only] => Some(only),
            _ => Spread::of(of.iter().map(|s| s.median).collect()),
        }
    }

    /// Writes the prices of wait instructions, from the time by which a line's round trip is longer
    /// than when spinning. A monitor's enter and exit each get a quarter of it; a timed rest
    /// (TPAUSE) gets all of it.
    pub(super) fn waits(&mut self) {
        let Some(two) = self.found.cpus.two else { return };
        let trip = |wait| lines::round_trip(two, wait, Duration::from_millis(100)).map(|s| s.median);
        let spinning = trip(Wait::Spin);
        for (wait, enter, exit) in [
            (Wait::Umwait, "wait.umwait.enter", "wait.umwait.exit"),
            (Wait::UmwaitC02, "wait.umwait_c02.enter", "wait.umwait_c02.exit"),
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
        for (wait, key) in [(Wait::Tpause, "wait.tpause"), (Wait::TpauseC02, "wait.tpause_c02")] {
            if Native::check(wait).is_err() {
                continue;
            }
            let Some((with, spinning)) = trip(wait).zip(spinning) else { continue };
            let more = Spread::of(vec![(with - spinning).max(0.0)]).expect("one sample");
            self.price(key, &more, "what a line's round trip takes longer than when spinning: half a rest each way");
        }
    }

    pub(super) fn kernel(&mut self) {
        self.figure("os.futex_wait_changed", "futex-wait-changed", 0.0, "");
        self.figure("os.futex_wake_none", "futex-wake-none", 0.0, "");
        self.figure("os.futex_wake", "futex-wake", 0.0, "");
        if let (Some(one), Some(eight)) = (self.found.figure("futex-wake"), self.found.figure("futex-wake-8")) {
            let more = ((eight.spread.low - one.spread.low) / 7.0).max(0.0);
            let how = "a seventh of what a wake of 8 sleepers takes longer than of one, low ends of both";
            self.low("os.futex_wake_more", more, how);
        }
        // The upper part of these samples includes other threads that had the CPU meanwhile.
        let switch = self.found.figure("context-switch");
        if let Some(switch) = switch {
            self.low("os.context_switch", switch.spread.low, &format!("low end: {}", switch.how));
        }
        // A round trip on one CPU consists of two wake-ups, two waits and two switches; such a
        // wake-up sends no interrupt.
        if let Some(trip) = self.found.figure("futex-round-trip-one") {
            let more = self.chip.os.futex.wake_more.0 as f64 * 1e9 / self.hz as f64;
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

    pub(super) fn noise(&mut self) {
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
