//! What recording cost the run: the recorder's own time along the critical path.
//!
//! The trace tells what this time consists of: what an event costs on this machine
//! ([`What::ProbeCost`]), how many events and CPU times each thread recorded, the recorder's pauses
//! in the thread ([`What::Pause`]), and its context switches, each of which the kernel writes down.
//! Only time on the critical path counts: what a thread records beside the path does not make the
//! run longer. The figure leaves out two costs: cache lines that the recorded events displace, and
//! that a recorded program may run in another order.

use super::path::CriticalPath;
use crate::clock::Ticks;
use crate::event::What;
use crate::trace::Trace;
use baton_units::Nanos;

/// What the kernel adds, in nanoseconds, to a switch away from a CPU and back when it records both:
/// 600 ns, measured with two threads that take turns on one CPU, less the cost of two events.
pub const SWITCH_NS: f64 = 550.0;

/// What recording cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recording {
    /// Cost of one recorded event in nanoseconds; `None` if it was not measured.
    pub event_ns: Option<f64>,
    /// Cost in nanoseconds of the two events around a contended wait, with the thread's CPU times
    /// if they were read; `None` if it was not measured.
    pub contended_ns: Option<f64>,
    /// The recorder's time on the critical path.
    pub on_path: Nanos,
}

impl Recording {
    /// Computes what recording the trace cost along `path`, in one walk over its events.
    pub fn of(trace: &Trace, path: &CriticalPath) -> Recording {
        let mut costs = Recording::default();
        let mut seen = Seen::default();
        let mut at = 0;
        for event in trace.events() {
            if let What::ProbeCost { probe, picoseconds } = event.what {
                let cost = Some(picoseconds as f64 / 1000.0);
                match probe {
                    0 => costs.event_ns = cost,
                    1 => costs.contended_ns = cost,
                    _ => {}
                }
            }
            while path.segments.get(at).is_some_and(|segment| segment.end < event.time) {
                at += 1;
            }
            let segment = path.segments.get(at).filter(|segment| segment.begin <= event.time);
            if segment.is_some_and(|segment| segment.thread == event.thread) {
                seen.count(&event.what);
            }
        }
        costs.on_path = costs.price(trace, &seen);
        costs
    }

    fn price(&self, trace: &Trace, seen: &Seen) -> Nanos {
        let event = self.event_ns.unwrap_or(0.0);
        let cpu_time = self.contended_ns.map_or(0.0, |two| (two / 2.0 - event).max(0.0));
        let counted = seen.events as f64 * event + seen.cpu_times as f64 * cpu_time + seen.switches as f64 * SWITCH_NS;
        Nanos(counted as u64 + trace.clock.nanos(seen.pauses.0).0)
    }
}

/// The greatest dilation that is estimated. An event's cost is a mean, so that a run that is events
/// and little else may seem to have no time of its own.
const MOST: u64 = 20;

/// Returns how many times as long the run took as it would have without the recorder's time on the
/// critical path; at most 20 times.
pub fn dilation(recorded: Nanos, recorder: Nanos) -> f64 {
    let alone = recorded.0.saturating_sub(recorder.0).max(recorded.0 / MOST).max(1);
    recorded.0.max(1) as f64 / alone as f64
}

#[derive(Default)]
struct Seen {
    events: u64,
    cpu_times: u64,
    switches: u64,
    pauses: Ticks,
}

impl Seen {
    fn count(&mut self, what: &What) {
        // Does not count the events that measure the cost of an event, and a pause's own event: its
        // cost lies inside the pause.
        match what {
            What::Pause { ticks } => self.pauses += Ticks(*ticks),
            What::ProbeCost { .. } => {}
            What::OnCpu { .. } => {
                self.switches += 1;
                self.events += 1;
            }
            What::CpuTime { .. } => {
                self.cpu_times += 1;
                self.events += 1;
            }
            _ => self.events += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_events_alone_has_a_bounded_dilation() {
        assert_eq!(dilation(Nanos(300), Nanos(100)), 1.5);
        assert_eq!(dilation(Nanos(36_800_000), Nanos(40_000_000)), 20.0);
        assert_eq!(dilation(Nanos(0), Nanos(0)), 1.0);
    }
}
