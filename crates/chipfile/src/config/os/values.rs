//! Values of the operating system's keys that are more than a number.

use crate::config::choice::choice;
use crate::config::limits::MOST_CYCLES;
use crate::config::texts::core_list;
use baton_sched::{POLICIES, Policy};

choice! {
    /// The home of a futex's hash bucket.
    FutexHome {
        /// The home of the bucket's address, as in Linux.
        #[default] Bucket = "bucket",
        /// The home of the cell on which threads wait (OCOR, section 4.1).
        Lock = "lock",
    }
}

choice! {
    /// What a futex wake-up does if no thread sleeps.
    WakeEntry {
        /// The program counts its sleepers, and calls only if there are some.
        #[default] Program = "program",
        /// Each wake-up is a call, which finds in the bucket's counter that no thread sleeps, as in
        /// Linux since 3.14.
        Call = "call",
        /// Each wake-up is a call, which takes the bucket's lock, as in Linux before 3.14.
        Lock = "lock",
    }
}

/// The name of a scheduling policy in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerName(&'static str);

impl SchedulerName {
    /// The names of all policies.
    pub fn names() -> &'static [&'static str] {
        baton_sched::names()
    }

    /// Returns the policy of that name; `None` if there is none.
    pub fn named(name: &str) -> Option<SchedulerName> {
        baton_sched::find(name).map(|policy| SchedulerName(policy.name))
    }

    /// Returns the name of the policy in a chip file.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// The policy.
    pub fn policy(self) -> &'static Policy {
        baton_sched::find(self.0).unwrap_or(&POLICIES[0])
    }
}

impl Default for SchedulerName {
    fn default() -> Self {
        SchedulerName(POLICIES[0].name)
    }
}

choice! {
    /// How an interrupt travels from CPU to CPU.
    Ipi {
        /// The price of a wake-up includes the interrupt.
        #[default] Price = "price",
        /// The interrupt is a packet of the chip's network, whose time is added.
        Packet = "packet",
        /// The interrupt is a packet; in addition, a wake-up from a futex goes to the home of the
        /// futex's bucket, which sends another packet to the sleeper (OCOR, sections 4.1 and 3.3),
        /// whether the sleeper's CPU has halted or polls.
        Home = "home",
    }
}

/// An idle state: the idle time after which a CPU enters it, and the latency of leaving it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// The idle cycles before the state.
    pub after: u64,
    /// The cycles from a wake-up to the thread's first instruction.
    pub exit: u64,
}

/// The idle states beyond halting, each deeper than the previous one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleStates(pub Vec<IdleState>);

impl IdleStates {
    /// A description of the texts that the key accepts.
    pub const EXPECTED: &str =
        "states as in \"200000:40000 2000000:150000\": idle cycles before it, then cycles to leave it, both rising";

    /// Reads `200000:40000 2000000:150000`.
    pub fn parse(text: &str) -> Option<IdleStates> {
        let state = |word: &str| {
            let (after, exit) = word.split_once(':')?;
            let state = IdleState { after: after.parse().ok()?, exit: exit.parse().ok()? };
            (state.after.max(state.exit) <= MOST_CYCLES).then_some(state)
        };
        let states: Vec<IdleState> = text.split_whitespace().map(state).collect::<Option<_>>()?;
        let rising = states.windows(2).all(|pair| pair[0].after < pair[1].after && pair[0].exit <= pair[1].exit);
        (rising && !states.is_empty()).then_some(IdleStates(states))
    }

    /// The text that [`IdleStates::parse`] reads.
    pub fn text(&self) -> String {
        self.0.iter().map(|state| format!("{}:{}", state.after, state.exit)).collect::<Vec<_>>().join(" ")
    }
}

/// A percentile of the latency of wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile {
    /// The percentage of wake-ups with at most this latency.
    pub percent: u32,
    /// The latency, in thousandths of the price.
    pub thousandths: u32,
}

/// How the latency of wake-ups varies. Without percentiles it does not vary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WakeSpread(pub Vec<Percentile>);

impl WakeSpread {
    /// A description of the texts that the key accepts.
    pub const EXPECTED: &str = "percentiles as in \"1:300 10:600 50:1000 90:1600 99:3000\": percent from 0 to 100, rising, then \
                                thousandths of the latency's price, rising, at most 1000000";
    /// Random draws lie between 0 and this number, exclusive.
    pub const DRAWS: u64 = 100 * Self::STEPS;
    /// The number of draws per percent.
    const STEPS: u64 = 100;

    /// Reads texts like `1:300 50:1000 99:3000`.
    pub fn parse(text: &str) -> Option<WakeSpread> {
        let percentile = |word: &str| {
            let (percent, thousandths) = word.split_once(':')?;
            let percentile = Percentile { percent: percent.parse().ok()?, thousandths: thousandths.parse().ok()? };
            (percentile.percent <= 100 && percentile.thousandths <= 1_000_000).then_some(percentile)
        };
        let all: Vec<Percentile> = text.split_whitespace().map(percentile).collect::<Option<_>>()?;
        let rising =
            all.windows(2).all(|pair| pair[0].percent < pair[1].percent && pair[0].thousandths <= pair[1].thousandths);
        (rising && !all.is_empty()).then_some(WakeSpread(all))
    }

    /// The text that [`WakeSpread::parse`] reads.
    pub fn text(&self) -> String {
        self.0.iter().map(|p| format!("{}:{}", p.percent, p.thousandths)).collect::<Vec<_>>().join(" ")
    }

    /// The latency for a draw, in thousandths of its price: interpolated linearly between
    /// percentiles, and constant beyond the outermost ones.
    pub fn thousandths(&self, draw: u64) -> u64 {
        let at = |p: &Percentile| u64::from(p.percent) * Self::STEPS;
        let above = self.0.partition_point(|p| at(p) <= draw);
        match (self.0[..above].last(), self.0.get(above)) {
            (Some(low), Some(high)) => {
                let rise = u64::from(high.thousandths - low.thousandths);
                u64::from(low.thousandths) + rise * (draw - at(low)) / (at(high) - at(low))
            }
            (Some(one), None) | (None, Some(one)) => u64::from(one.thousandths),
            (None, None) => 1000,
        }
    }
}

/// The cores that are off when a run begins, and the place in the chip file that says so.
#[derive(Clone, Debug, Default)]
pub struct OffCores {
    /// By number, rising.
    pub cores: Vec<u32>,
    /// The place of the text as `file:line`, or `--set`; empty for a chip that was not read from a
    /// file.
    pub place: String,
}

/// Two chips with the same cores off are equal, whatever place of the files switches them off.
impl PartialEq for OffCores {
    fn eq(&self, other: &OffCores) -> bool {
        self.cores == other.cores
    }
}

impl OffCores {
    /// A description of the texts that the key accepts.
    pub const EXPECTED: &str = "the cores as in \"1 4-7\"";

    /// Reads `1 4-7`.
    pub fn parse(text: &str) -> Option<OffCores> {
        core_list(text).map(|cores| OffCores { cores, place: String::new() })
    }

    /// The text that [`OffCores::parse`] reads.
    pub fn text(&self) -> String {
        self.cores.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
    }
}
