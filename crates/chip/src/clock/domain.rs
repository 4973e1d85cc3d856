//! The clocks of the cores, and conversions between their cycles and cycles of the reference clock.

use crate::base::ratio::Ratio;
use crate::contexts::share::ONE;
use baton_chipfile::config::{Chip, CoresByKind};
use baton_units::{CoreId, Hertz};
use std::collections::BTreeMap;

/// The rest of a computation, in core cycles times the reference's hertz, so that it is a whole
/// number for any sequence of clocks. For a phase, the unit is the phase's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remaining(u128);

impl Remaining {
    /// The rest of a phase, in the units of its rate.
    pub(crate) fn of_phase(units: u128) -> Remaining {
        Remaining(units)
    }

    /// The rest of a phase in its own units, the inverse of [`Remaining::of_phase`].
    pub(crate) fn units(self) -> u128 {
        self.0
    }
}

pub(crate) struct Clocks {
    reference: u64,
    /// The clock of each core, in hertz.
    pub(crate) clocks: Vec<u64>,
    /// For each core, the work that it computes in a cycle of the reference, in the unit of
    /// [`Remaining`]. This is the core's clock if no computing waits for memory.
    computing: Vec<u64>,
    /// The share of computing that waits for memory at the reference clock, in 2^20ths.
    memory_bound: u64,
    /// For each CPU, the unused rest of the last reference cycle of its computations, in the unit
    /// of [`Remaining`].
    left: Vec<u64>,
    /// For each CPU, the share of its core's speed that its siblings leave it, in 2^20ths.
    speeds: Vec<u64>,
    /// For each CPU, the units of its phase that pass in a cycle of the reference; 0 outside of a
    /// phase.
    phases: Vec<u64>,
    /// Whether every core runs at the reference clock.
    uniform: bool,
    /// Future changes of clocks, in the order of time.
    pub(crate) changes: BTreeMap<(u64, u64), (CoreId, Hertz)>,
    pub(crate) scheduled: u64,
}

impl Clocks {
    /// The clocks that the chip file states.
    pub(crate) fn of(chip: &Chip, cores: &CoresByKind) -> Clocks {
        let reference = chip.core.clock.0;
        let clocks: Vec<u64> = (0..chip.core.count).map(|core| cores.clock(CoreId(core)).0).collect();
        let uniform = clocks.iter().all(|&clock| clock == reference);
        let cpus = chip.cpus() as usize;
        let (left, speeds, phases) = (vec![0; cpus], vec![ONE; cpus], vec![0; cpus]);
        Clocks {
            reference,
            computing: clocks.clone(),
            memory_bound: 0,
            clocks,
            left,
            speeds,
            phases,
            uniform,
            changes: BTreeMap::new(),
            scheduled: u64::MAX,
        }
    }

    /// Sets the share of computing (0 to 1) that waits for memory at the reference clock and takes
    /// as long at any clock.
    pub(crate) fn set_memory_bound(&mut self, share: f64) {
        self.memory_bound = (share.clamp(0.0, 1.0) * ONE as f64).round() as u64;
        for core in 0..self.clocks.len() {
            self.computing[core] = self.computes(self.clocks[core]);
        }
    }

    /// Whether some computing takes as long at any clock.
    #[inline(always)]
    pub(crate) fn has_memory_bound(&self) -> bool {
        self.memory_bound != 0
    }

    /// The work that a core at `clock` computes in a cycle of the reference. The share of a cycle's
    /// work that waits for memory takes as long at any clock; the rest takes time by the core's
    /// clock.
    fn computes(&self, clock: u64) -> u64 {
        if self.memory_bound == 0 || clock == self.reference {
            return clock;
        }
        let (one, waits, clock) = (u128::from(ONE), u128::from(self.memory_bound), u128::from(clock));
        let reference = u128::from(self.reference);
        (reference * clock * one / ((one - waits) * reference + waits * clock)).max(1) as u64
    }

    pub(crate) fn clock(&self, core: CoreId) -> Hertz {
        Hertz(self.clocks[core.0 as usize])
    }

    /// The core's clock as a fraction of the reference.
    pub(crate) fn ratio(&self, core: CoreId) -> Ratio {
        Ratio::of(self.clock(core), Hertz(self.reference))
    }

    /// Whether every core runs at the reference clock.
    #[inline(always)]
    pub(crate) fn is_uniform(&self) -> bool {
        self.uniform
    }

    pub(crate) fn set(&mut self, core: CoreId, clock: Hertz) {
        self.clocks[core.0 as usize] = clock.0;
        self.computing[core.0 as usize] = self.computes(clock.0);
        self.uniform = self.clocks.iter().all(|&clock| clock == self.reference);
    }

    /// The end of `cycles` of a CPU that begin now. The unused rest of the last reference cycle is
    /// kept for the CPU's next computation.
    #[inline(always)]
    pub(crate) fn after(&mut self, (cpu, core): (u32, CoreId), now: u64, cycles: u64) -> u64 {
        if self.uniform {
            return now + cycles;
        }
        let work = self.computation(cycles);
        self.end_at(self.clocks[core.0 as usize], cpu, now, work)
    }

    /// The computation that takes `cycles` cycles on a core at the reference clock that no sibling
    /// shares.
    pub(crate) fn computation(&self, cycles: u64) -> Remaining {
        Remaining(u128::from(cycles) * u128::from(self.reference))
    }

    /// The share of its core's speed that a CPU computes at, in 2^20ths.
    pub(crate) fn speed(&self, cpu: u32) -> u64 {
        self.speeds[cpu as usize]
    }

    /// Sets a CPU's speed. No computation may be under way on it.
    pub(crate) fn set_speed(&mut self, cpu: u32, speed: u64) {
        self.speeds[cpu as usize] = speed;
    }

    /// The units of a CPU's phase that pass in a cycle of the reference; 0 outside of a phase.
    pub(crate) fn phase_rate(&self, cpu: u32) -> u64 {
        self.phases[cpu as usize]
    }

    /// Sets the rate of a CPU's phase, or 0 at the end of the phase. No part of a phase may be
    /// under way.
    pub(crate) fn set_phase_rate(&mut self, cpu: u32, rate: u64) {
        (self.phases[cpu as usize], self.left[cpu as usize]) = (rate, 0);
    }

    /// The work that a CPU computes in a cycle of the reference, in the unit of [`Remaining`].
    fn rate(&self, (cpu, core): (u32, CoreId)) -> u64 {
        if self.phases[cpu as usize] != 0 {
            return self.phases[cpu as usize];
        }
        match self.speeds[cpu as usize] {
            ONE => self.computing[core.0 as usize],
            speed => ((u128::from(self.computing[core.0 as usize]) * u128::from(speed)) >> ONE.trailing_zeros()).max(1)
                as u64,
        }
    }

    /// The end of a computation of size `work` that begins now.
    pub(crate) fn end(&mut self, place: (u32, CoreId), now: u64, work: Remaining) -> u64 {
        self.end_at(self.rate(place), place.0, now, work)
    }

    fn end_at(&mut self, rate: u64, cpu: u32, now: u64, work: Remaining) -> u64 {
        let (clock, left) = (u128::from(rate), &mut self.left[cpu as usize]);
        let Some(rest) = work.0.checked_sub(u128::from(*left)) else {
            *left -= work.0 as u64;
            return now;
        };
        let ticks = rest.div_ceil(clock);
        *left = (ticks * clock - rest) as u64;
        now + ticks as u64
    }

    /// Interrupts a computation that would end at `until`. Returns the rest of it.
    pub(crate) fn rest(&mut self, place: (u32, CoreId), now: u64, until: u64) -> Remaining {
        let whole = u128::from(until - now) * u128::from(self.rate(place));
        if until == now {
            return Remaining(0);
        }
        Remaining(whole - u128::from(std::mem::take(&mut self.left[place.0 as usize])))
    }

    /// Converts `cycles` of a core to cycles of the reference, rounding up.
    #[inline(always)]
    pub(crate) fn whole(&self, core: CoreId, cycles: u64) -> u64 {
        if self.uniform {
            return cycles;
        }
        whole(cycles, self.reference, self.clocks[core.0 as usize])
    }
}

/// Converts core cycles to reference cycles, rounding up: `cycles * reference / core`.
pub(crate) fn whole(cycles: u64, reference: u64, core: u64) -> u64 {
    (u128::from(cycles) * u128::from(reference)).div_ceil(u128::from(core)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chip() -> Chip {
        let text = include_str!("../../../../chips/sample-host.toml");
        Chip::from_toml(text, "sample").expect("reads").resized(4).expect("four cores")
    }

    #[test]
    fn what_waits_for_memory_takes_as_long_at_any_clock() {
        let chip = chip();
        let reference = chip.core.clock.0;
        for (share, ticks) in [(0.0, 2_000_000), (0.25, 1_750_000), (0.5, 1_500_000), (1.0, 1_000_000)] {
            let mut clocks = Clocks::of(&chip, &CoresByKind::new(&chip));
            clocks.set_memory_bound(share);
            clocks.set(CoreId(1), Hertz(reference / 2));
            let [fast, slow] = [0, 1].map(|core| {
                let work = clocks.computation(1_000_000);
                clocks.end((core, CoreId(core)), 0, work)
            });
            assert!(fast == 1_000_000 && slow.abs_diff(ticks) <= 2, "{share}: {fast}, {slow}");
            // Cycles outside of a computation take time by the core's clock alone, whatever the
            // share.
            assert_eq!(clocks.whole(CoreId(1), 1_000), 2_000);
        }
    }

    proptest! {
        #![proptest_config(baton_needs::property!(256))]
        /// A computation that is cut anywhere, over any cores at any clocks, ends where the sum of
        /// its parts says. No part of a cycle is lost or counted twice.
        #[test]
        fn nothing_drifts(cycles in 1u64..1 << 40, cuts in prop::collection::vec((0u32..4, 1u64..1 << 34, 1u64..3_000_000_000), 1..20)) {
            let chip = chip();
            let reference = chip.core.clock.0;
            let mut clocks = Clocks::of(&chip, &CoresByKind::new(&chip));
            let whole = u128::from(cycles) * u128::from(reference);
            let (mut now, mut done) = (17, 0u128);
            let mut work = Remaining(whole);
            for (core, run, clock) in cuts {
                let here = (core, CoreId(core));
                clocks.set(CoreId(core), Hertz(clock.min(reference)));
                let until = clocks.end(here, now, work);
                // The exact end: the rest over the clock, rounded up.
                let left = whole - done;
                prop_assert_eq!(u128::from(until - now), left.div_ceil(u128::from(clock.min(reference))));
                if now + run >= until {
                    return Ok(());
                }
                work = clocks.rest(here, now + run, until);
                now += run;
                done += u128::from(run) * u128::from(clock.min(reference));
            }
        }

        /// Computations one after the other take as long as one computation of their total size.
        #[test]
        fn remainders_are_kept(parts in prop::collection::vec(1u64..100_000, 1..200), clock in 1u64..3_000_000_000) {
            let chip = chip();
            let mut clocks = Clocks::of(&chip, &CoresByKind::new(&chip));
            clocks.set(CoreId(0), Hertz(clock.min(chip.core.clock.0)));
            let here = (0, CoreId(0));
            let end = parts.iter().fold(0, |now, &cycles| clocks.after(here, now, cycles));
            let sum: u64 = parts.iter().sum();
            prop_assert_eq!(end, clocks.whole(CoreId(0), sum));
        }
    }
}
