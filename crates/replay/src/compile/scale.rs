//! Ticks of a trace as cycles of a chip, and whether the cost of recording counts.

use baton_chip::Chip;
use baton_trace::Trace;

/// Whether the cost of recording is taken out of the threads' computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probes {
    /// The cost of recording stays in, as in the recorded run, so that the replay's time compares
    /// with the recorded time.
    Kept,
    /// The cost of recording is taken out, so that the replay predicts a run without recording.
    Subtracted,
}

/// Converts ticks of a trace into cycles of a chip, so that a computation takes as long as it did.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    cycles_a_tick: f64,
    ticks_a_ns: f64,
}

impl Scale {
    pub(super) fn new(trace: &Trace, chip: &Chip) -> Scale {
        let ns_a_tick = trace.clock.span_ns as f64 / trace.clock.span_ticks.max(1) as f64;
        Scale { cycles_a_tick: ns_a_tick * chip.core.clock.0 as f64 * 1e-9, ticks_a_ns: 1.0 / ns_a_tick }
    }

    pub(super) fn cycles(self, ticks: f64) -> f64 {
        ticks * self.cycles_a_tick
    }

    pub(super) fn ticks(self, cycles: f64) -> f64 {
        cycles / self.cycles_a_tick
    }

    pub(super) fn ticks_of_ns(self, ns: f64) -> f64 {
        ns * self.ticks_a_ns
    }
}
