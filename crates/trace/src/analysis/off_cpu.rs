//! When threads were off their CPUs although they waited for no object that the trace shows. Such a
//! thread was ready to run, or blocked in the kernel: in a recorded call for I/O or sleep, in the
//! recorder, or for an unknown reason.
//!
//! There are two sources; the first that a thread has counts. **Context switches**
//! ([`What::OffCpu`], [`What::OnCpu`]) tell when and why a thread was off; all switches of a thread
//! are recorded or none. Without them, **CPU times** ([`What::CpuTime`]) tell how much CPU time the
//! thread did not use between two records; exactly when and why it was off is unknown, so the
//! unused time is put into the longest gaps between the thread's events there. A thread with
//! neither source is assumed to have run, and [`Known::Nothing`] says so.
//!
//! The kernel's reports of a thread's switches may have been lost for a while, in which the trace has
//! the thread off its CPU for an unknown reason ([`OffReason::Unknown`]). Recorded calls in that time
//! count as blocked. The CPU times around it tell how much of the rest counts as off the CPU; where in
//! the rest that was is unknown ([`Known::HowMuch`]).
//!
//! Time inside a wait that the trace shows belongs to that wait, and is not counted here.
//!
//! After a thread's last event there is neither source. If the launcher saw that no thread of the
//! program ran any more ([`LastLook`]), the thread was blocked to the end.

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
    /// The thread was ready to run, and had no CPU.
    Ready,
    /// The thread blocked in the kernel, for a reason that the trace does not show. Includes the
    /// time from its wake-up until it got a CPU.
    Blocked,
    /// The thread blocked in a call for input, output or sleep ([`What::Blocked`]).
    Call,
    /// The thread blocked in the recorder, which made room for events ([`What::Pause`]).
    Recorder,
    /// Why the thread was off its CPU is unknown.
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
    /// Call site of the recorded call in which the thread was off its CPU; outside of such a call,
    /// that of the thread's last act before the interval that has a call site. `None` if there is
    /// no such act since the thread's start.
    pub after: Option<SiteId>,
    /// Call site of the thread's next act after the interval, or, if that act has none, the last
    /// known one. `None` if the thread ended without another act, or no call site was known yet.
    pub before: Option<SiteId>,
}

/// What the trace tells about a thread's time off the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    /// Neither context switches nor CPU times of the thread were recorded.
    #[default]
    Nothing,
    /// CPU times tell how much time the thread was off, but not why, and not exactly when.
    HowMuch,
    /// Context switches tell when and why the thread was off.
    All,
}

/// The intervals in which a thread was off the CPU, in order and without overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadOffCpu {
    /// What the trace tells about the intervals.
    pub known: Known,
    /// The intervals.
    pub stretches: Vec<OffStretch>,
}

impl ThreadOffCpu {
    /// Returns the time that the thread was off the CPU for reason `why` inside the window.
    pub fn time(&self, why: OffCpu, window: &Window) -> Ticks {
        self.stretches.iter().filter(|s| s.why == why).map(|s| window.overlap(s.begin, s.end)).sum()
    }

    /// Returns the intervals off the CPU that overlap `begin..end`.
    pub fn within(&self, begin: Ticks, end: Ticks) -> impl Iterator<Item = &OffStretch> {
        let from = self.stretches.partition_point(|s| s.end <= begin);
        self.stretches[from..].iter().take_while(move |s| s.begin < end)
    }
}

/// Finds the intervals off the CPU of all threads in one walk; the result is in the order of
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

/// The last part of a process's life, in which none of its threads ran, as the launcher saw.
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

/// Number of gaps between two CPU times that are kept: the longest ones, because the others hold
/// little of the time.
const GAPS: usize = 16;
/// Unused time is ignored if it is below this many nanoseconds, or below 1/`LEAST_SHARE` of the
/// gaps' time: the two clocks may differ by as much.
const LEAST: u64 = 2_000;
const LEAST_SHARE: u64 = 100;

/// What is known of the times in which the kernel's reports of a thread's switches were lost.
#[derive(Default)]
struct Lost {
    /// Whether they are lost at present.
    open: bool,
    /// Whether they have ever been lost.
    any: bool,
    /// The intervals in `seen` since the last record of CPU time.
    stretches: Vec<usize>,
    /// Number of intervals in `seen` at that record.
    settled: usize,
}

#[derive(Default)]
struct ThreadState {
    switched: bool,
    /// Intervals off the CPU according to context switches.
    seen: Vec<OffStretch>,
    /// Intervals off the CPU according to CPU times.
    inferred: Vec<OffStretch>,
    off: Option<(Ticks, OffReason)>,
    lost: Lost,
    /// Number of waits that the thread is in.
    waits: u32,
    /// For each task that the thread runs inside of a wait, the number of waits that are suspended
    /// meanwhile.
    stopped: Vec<u32>,
    /// Call site of the thread's last act that has one.
    site: Option<SiteId>,
    /// Index in `seen` of the first interval after which the thread has not acted yet.
    unfinished: usize,
    /// Time of the thread's last act, from which the gap to the next act counts; `None` inside a
    /// wait.
    gap_since: Option<Ticks>,
    /// The longest gaps between acts since the last CPU time. `between` is the sum of all gaps.
    gaps: Vec<OffStretch>,
    between: Ticks,
    clocked: Option<u64>,
    /// Whether at least two CPU times of the thread are known.
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
                self.lost.open |= reason == OffReason::Unknown;
                return;
            }
            What::OnCpu { .. } => {
                self.switched = true;
                self.back(now);
                self.lost.open = false;
                return;
            }
            // None of these events is an act of the program.
            What::Cpu { .. }
            | What::Affinity { .. }
            | What::Construct { .. }
            | What::Sample { .. }
            | What::Yielded { .. }
            | What::ProbeCost { .. }
            | What::Unloaded { .. }
            | What::Bounded { .. } => return,
            What::Pause { ticks } => {
                self.explain(now, ticks, OffCpu::Recorder, None);
                return;
            }
            What::CpuTime { ns } => {
                self.cut_lost(now);
                self.close_gap(now, self.site);
                self.settle_lost(ns, clock);
                self.clocked(ns, clock);
                self.gap_since = (self.waits == 0).then_some(now);
                return;
            }
            _ => {}
        }
        // A thread's CPU time counts from the thread's start.
        if let What::ThreadStart { .. } = event.what {
            self.clocked = Some(0);
        }
        // Intervals off the CPU inside of the call get the call's site.
        if let (What::Blocked { ticks, .. }, Some(site)) = (event.what, event.what.site()) {
            self.explain(now, ticks, OffCpu::Call, Some(site));
            self.called(now, ticks, site);
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
            Some(true) => {
                if self.lost.open {
                    self.back(now);
                }
                self.waits += 1;
            }
            Some(false) => {
                self.waits = self.waits.saturating_sub(1);
                if self.lost.open && self.waits == 0 {
                    self.off = Some((now, OffReason::Unknown));
                }
            }
            None => {}
        }
        match event.what {
            What::TaskBegin { .. } => self.stopped.push(std::mem::take(&mut self.waits)),
            What::TaskEnd { .. } => self.waits = self.stopped.pop().unwrap_or(0),
            _ => {}
        }
        self.gap_since = (self.waits == 0).then_some(now);
    }

    /// The interval off the CPU that the thread is in ends, if it is in one.
    fn back(&mut self, now: Ticks) {
        let Some((begin, reason)) = self.off.take().filter(|(begin, _)| *begin < now) else { return };
        let why = match reason {
            OffReason::Blocked => OffCpu::Blocked,
            OffReason::Preempted => OffCpu::Ready,
            OffReason::Unknown => OffCpu::Unknown,
        };
        if why == OffCpu::Unknown {
            self.lost.stretches.push(self.seen.len());
        }
        self.seen.push(OffStretch { begin, end: now, why, after: self.site, before: None });
    }

    /// A call of this length has ended at `now` while the thread's switches were lost.
    fn called(&mut self, now: Ticks, ticks: u64, site: SiteId) {
        let Some((since, OffReason::Unknown)) = self.off else { return };
        let begin = Ticks(now.0.saturating_sub(ticks)).max(since);
        if begin < now {
            self.back(begin);
            self.seen.push(OffStretch { begin, end: now, why: OffCpu::Call, after: Some(site), before: None });
            self.off = Some((now, OffReason::Unknown));
        }
    }

    /// Ends the interval without reports that the thread is in, and begins another: at a thread's end the
    /// switches may be lost before and after a record of CPU time.
    fn cut_lost(&mut self, now: Ticks) {
        if let Some((_, OffReason::Unknown)) = self.off {
            self.back(now);
            self.off = Some((now, OffReason::Unknown));
        }
    }

    /// Cuts the intervals in which the switches were lost since the last record of CPU time, so that
    /// the thread was off its CPU for as long as its CPU time `ns` tells. Called before
    /// [`ThreadState::clocked`].
    fn settle_lost(&mut self, ns: u64, clock: &Clock) {
        let length = |stretch: &OffStretch| stretch.end.since(stretch.begin).0;
        let from = self.seen.len().min(self.lost.settled);
        let known: u64 = self.seen[from..].iter().filter(|s| s.why != OffCpu::Unknown).map(length).sum();
        self.lost.settled = self.seen.len();
        let stretches = std::mem::take(&mut self.lost.stretches);
        let Some(before) = self.clocked.filter(|_| !stretches.is_empty()) else { return };
        self.lost.any = true;
        let used = clock.ticks(Nanos(ns.saturating_sub(before)));
        let off = self.between.0.saturating_sub(used).saturating_sub(known);
        let all: u64 = stretches.iter().map(|at| length(&self.seen[*at])).sum();
        for at in stretches {
            let stretch = &mut self.seen[at];
            let kept = u128::from(length(stretch)) * u128::from(off.min(all)) / u128::from(all.max(1));
            stretch.begin = Ticks(stretch.end.0 - kept as u64);
        }
    }

    /// Notes why the thread blocked in the intervals that began in the last `ticks` before `now`:
    /// `why`, and the call `site` that blocked, if there is one.
    fn explain(&mut self, now: Ticks, ticks: u64, why: OffCpu, site: Option<SiteId>) {
        for stretch in self.seen[self.unfinished..].iter_mut().filter(|s| s.begin.0 + ticks >= now.0) {
            stretch.after = site.or(stretch.after);
            if stretch.why == OffCpu::Blocked {
                stretch.why = why;
            }
        }
    }

    /// Ends the gap that began at the thread's last act. `before` is the call site of the act that
    /// ends it.
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

    /// Processes a record of CPU time: assigns the time that the thread did not use since the last
    /// record to the longest gaps.
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

    fn finish(mut self, rest: Option<Rest>) -> ThreadOffCpu {
        let known = match self.lost.any || !self.lost.stretches.is_empty() {
            true => Known::HowMuch,
            false => Known::All,
        };
        self.seen.retain(|stretch| stretch.begin < stretch.end);
        let last = rest.filter(|_| !self.ended).and_then(|rest| self.rested(rest));
        let mut off = match (self.switched, self.timed) {
            (true, _) => ThreadOffCpu { known, stretches: self.seen },
            (false, true) => ThreadOffCpu { known: Known::HowMuch, stretches: self.inferred },
            (false, false) => ThreadOffCpu::default(),
        };
        off.stretches.extend(last);
        off
    }

    /// Returns the interval from the thread's last act to the end of the process, as far as no
    /// thread of the process ran in it.
    fn rested(&self, rest: Rest) -> Option<OffStretch> {
        let awake = self.seen.last().map_or(Ticks(0), |stretch| stretch.end);
        let begin = rest.begin.max(self.gap_since?).max(awake);
        let stretch = OffStretch { begin, end: rest.end, why: OffCpu::Blocked, after: self.site, before: None };
        (begin < rest.end).then_some(stretch)
    }
}
