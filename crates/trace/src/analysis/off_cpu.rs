//! When threads were off their CPUs although they waited for no object that the trace shows: ready
//! to run, or blocked in the kernel: in a recorded call for I/O or sleep, or for an unknown reason.
//!
//! There are two sources, in this order. **Context switches** ([`What::OffCpu`], [`What::OnCpu`])
//! tell when and why; a thread with one of them had all of them recorded. Without them, **CPU
//! times** ([`What::CpuTime`]) tell how much of the time between two of them was not used; exactly
//! when and why is unknown, so the time is put into the longest gaps between the thread's events
//! there. A thread with neither is assumed to have run, and [`Known::Nothing`] says so.
//!
//! Time inside a wait that the trace shows belongs to that wait, and is not counted here.
//!
//! After a thread's last event there is neither. If the launcher saw that no thread of the program
//! ran any more ([`LastLook`]), the thread was blocked to the end.

use super::window::Window;
use crate::clock::{Clock, Ticks};
use crate::event::{Event, OffReason, SiteId, What};
use crate::last_look::LastLook;
use crate::process::ProcessIndex;
use crate::trace::Trace;
use baton_units::Nanos;

/// Why a thread was off its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OffCpu {
    /// It was ready to run, and had no CPU.
    Ready,
    /// It blocked in the kernel, for a reason that the trace does not show. Includes the time from
    /// its wake-up until it got a CPU.
    Blocked,
    /// It blocked in a call for input, output or sleep ([`What::Blocked`]).
    Call,
    /// It blocked in the recorder, which was making room for events ([`What::Pause`]).
    Recorder,
    /// The reason is unknown.
    Unknown,
}

/// An interval in which a thread was off its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffStretch {
    /// When the interval begins.
    pub begin: Ticks,
    /// When the interval ends.
    pub end: Ticks,
    /// Why the thread was off its CPU.
    pub why: OffCpu,
    /// Call site of the thread's last act before the interval; `None` if there was none since its
    /// start.
    pub after: Option<SiteId>,
    /// Call site of the thread's next act; `None` if there was none until its end.
    pub before: Option<SiteId>,
}

/// What the trace tells about a thread's time off the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    /// Neither context switches nor CPU times were recorded.
    #[default]
    Nothing,
    /// CPU times tell how much, but not why, and not exactly when.
    HowMuch,
    /// Context switches tell when and why.
    All,
}

/// The intervals in which a thread was off the CPU, in order and without overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadOffCpu {
    /// How much is known about them.
    pub known: Known,
    /// The intervals.
    pub stretches: Vec<OffStretch>,
}

impl ThreadOffCpu {
    /// Returns the time off the CPU for reason `why` inside the window.
    pub fn time(&self, why: OffCpu, window: &Window) -> Ticks {
        self.stretches.iter().filter(|s| s.why == why).map(|s| window.overlap(s.begin, s.end)).sum()
    }

    /// Returns the intervals that overlap `begin..end`.
    pub fn within(&self, begin: Ticks, end: Ticks) -> impl Iterator<Item = &OffStretch> {
        let from = self.stretches.partition_point(|s| s.end <= begin);
        self.stretches[from..].iter().take_while(move |s| s.begin < end)
    }
}

/// Finds the intervals of all threads in one walk; the result is in the order of
/// [`Trace::threads`].
pub fn off_cpu(trace: &Trace) -> Vec<ThreadOffCpu> {
    let mut threads: Vec<ThreadState> = trace.threads.iter().map(|_| ThreadState::default()).collect();
    for event in trace.complete_events() {
        if let Some(state) = threads.get_mut(event.thread.index()) {
            state.step(&event, &trace.clock);
        }
    }
    let rest = rest(trace);
    let threads = threads.into_iter().zip(&trace.threads);
    threads.map(|(state, thread)| state.finish(rest.filter(|rest| rest.process == thread.process))).collect()
}

/// The end of a process, in which none of its threads ran.
#[derive(Clone, Copy)]
struct Rest {
    process: ProcessIndex,
    begin: Ticks,
    end: Ticks,
}

fn rest(trace: &Trace) -> Option<Rest> {
    let look = LastLook::of(trace.meta.as_ref()?).filter(|look| look.still_ns > 0)?;
    let at = trace.processes.iter().position(|process| process.pid == look.pid)?;
    let end = trace.processes[at].end?;
    let still = Ticks(trace.clock.ticks(Nanos(look.still_ns)));
    Some(Rest { process: ProcessIndex(at as u32), begin: Ticks(end.0.saturating_sub(still.0)), end })
}

/// Number of gaps between two CPU times that are kept, the longest ones: further gaps would hold
/// little of the time.
const GAPS: usize = 16;
/// Unused time below this many nanoseconds, or below 1/`LEAST_SHARE` of the interval, is within the
/// difference of the two clocks.
const LEAST: u64 = 2_000;
const LEAST_SHARE: u64 = 100;

#[derive(Default)]
struct ThreadState {
    switched: bool,
    /// Intervals according to context switches.
    seen: Vec<OffStretch>,
    /// Intervals according to CPU times.
    inferred: Vec<OffStretch>,
    off: Option<(Ticks, OffReason)>,
    /// Number of waits in progress.
    waits: u32,
    /// Numbers of waits that are suspended while the thread runs tasks, one for each task.
    stopped: Vec<u32>,
    /// Call site of the thread's last act.
    site: Option<SiteId>,
    /// Index in `seen` of the first interval whose next act is not known yet.
    unfinished: usize,
    /// Time of the last act, where the gap to the next one begins; `None` inside a wait.
    gap_since: Option<Ticks>,
    /// The longest gaps since the last CPU time; `between` sums all gaps.
    gaps: Vec<OffStretch>,
    between: Ticks,
    clocked: Option<u64>,
    /// Whether two CPU times were recorded.
    timed: bool,
    ended: bool,
}

impl ThreadState {
    fn step(&mut self, event: &Event, clock: &Clock) {
        let now = event.time;
        match event.what {
            What::OffCpu { reason, .. } => {
                self.switched = true;
                self.off = (self.waits == 0).then_some((now, reason));
                return;
            }
            What::OnCpu { .. } => {
                self.switched = true;
                if let Some((begin, reason)) = self.off.take().filter(|(begin, _)| *begin < now) {
                    let why = match reason {
                        OffReason::Blocked => OffCpu::Blocked,
                        OffReason::Preempted => OffCpu::Ready,
                        OffReason::Unknown => OffCpu::Unknown,
                    };
                    self.seen.push(OffStretch { begin, end: now, why, after: self.site, before: None });
                }
                return;
            }
            // These events are not acts of the program.
            What::Cpu { .. }
            | What::Affinity { .. }
            | What::Construct { .. }
            | What::Sample { .. }
            | What::ProbeCost { .. }
            | What::Unloaded { .. }
            | What::Bounded { .. } => return,
            What::Pause { ticks } => {
                self.explain(now, ticks, OffCpu::Recorder, None);
                return;
            }
            What::CpuTime { ns } => {
                self.close_gap(now, self.site);
                self.clocked(ns, clock);
                self.gap_since = (self.waits == 0).then_some(now);
                return;
            }
            _ => {}
        }
        // A thread's CPU time counts from its start.
        if let What::ThreadStart { .. } = event.what {
            self.clocked = Some(0);
        }
        // Intervals inside the call belong to the call's site.
        if let (What::Blocked { ticks, .. }, Some(site)) = (event.what, event.what.site()) {
            self.explain(now, ticks, OffCpu::Call, Some(site));
        }
        let site = match event.what {
            What::ThreadEnd { .. } => None,
            _ => event.what.site().or(self.site),
        };
        self.seen[self.unfinished..].iter_mut().for_each(|stretch| stretch.before = site);
        self.unfinished = self.seen.len();
        self.close_gap(now, site);
        self.site = site;
        self.ended |= matches!(event.what, What::ThreadEnd { .. });
        match event.what.wait_edge() {
            Some(true) => self.waits += 1,
            Some(false) => self.waits = self.waits.saturating_sub(1),
            None => {}
        }
        match event.what {
            What::TaskBegin { .. } => self.stopped.push(std::mem::take(&mut self.waits)),
            What::TaskEnd { .. } => self.waits = self.stopped.pop().unwrap_or(0),
            _ => {}
        }
        self.gap_since = (self.waits == 0).then_some(now);
    }

    /// Says of the intervals that began in the last `ticks` before `now` that the thread blocked for
    /// the reason `why`, after its act at `site`, if there is one.
    fn explain(&mut self, now: Ticks, ticks: u64, why: OffCpu, site: Option<SiteId>) {
        for stretch in self.seen[self.unfinished..].iter_mut().filter(|s| s.begin.0 + ticks >= now.0) {
            stretch.after = site.or(stretch.after);
            if stretch.why == OffCpu::Blocked {
                stretch.why = why;
            }
        }
    }

    /// Ends the gap since the last act.
    fn close_gap(&mut self, now: Ticks, before: Option<SiteId>) {
        let Some(begin) = self.gap_since.take().filter(|begin| *begin < now) else { return };
        self.between += now.since(begin);
        let gap = OffStretch { begin, end: now, why: OffCpu::Unknown, after: self.site, before };
        if self.gaps.len() < GAPS {
            self.gaps.push(gap);
            return;
        }
        let shortest = self.gaps.iter_mut().min_by_key(|gap| gap.end.since(gap.begin));
        if let Some(shortest) = shortest.filter(|shortest| shortest.end.since(shortest.begin) < now.since(begin)) {
            *shortest = gap;
        }
    }

    /// Processes a CPU time: assigns the unused time since the last one to the longest gaps.
    fn clocked(&mut self, ns: u64, clock: &Clock) {
        let mut gaps = std::mem::take(&mut self.gaps);
        let all = clock.nanos(std::mem::take(&mut self.between).0).0;
        let Some(before) = self.clocked.replace(ns) else { return };
        self.timed = true;
        let missing = all.saturating_sub(ns.saturating_sub(before));
        if missing < LEAST || missing < all / LEAST_SHARE {
            return;
        }
        let mut left = Ticks(clock.ticks(Nanos(missing)));
        gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.end.since(gap.begin)), gap.begin));
        let from = self.inferred.len();
        for gap in gaps {
            let length = left.min(gap.end.since(gap.begin));
            if length > Ticks(0) {
                self.inferred.push(OffStretch { begin: Ticks(gap.end.0 - length.0), ..gap });
            }
            left = left.since(length);
        }
        self.inferred[from..].sort_by_key(|stretch| stretch.begin);
    }

    fn finish(self, rest: Option<Rest>) -> ThreadOffCpu {
        let last = rest.filter(|_| !self.ended).and_then(|rest| self.rested(rest));
        let mut off = match (self.switched, self.timed) {
            (true, _) => ThreadOffCpu { known: Known::All, stretches: self.seen },
            (false, true) => ThreadOffCpu { known: Known::HowMuch, stretches: self.inferred },
            (false, false) => ThreadOffCpu::default(),
        };
        off.stretches.extend(last);
        off
    }

    /// Returns the stretch from the thread's last act to the end in which no thread ran.
    fn rested(&self, rest: Rest) -> Option<OffStretch> {
        let awake = self.seen.last().map_or(Ticks(0), |stretch| stretch.end);
        let begin = rest.begin.max(self.gap_since?).max(awake);
        let stretch = OffStretch { begin, end: rest.end, why: OffCpu::Blocked, after: self.site, before: None };
        (begin < rest.end).then_some(stretch)
    }
}
