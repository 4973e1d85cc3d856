//! When threads were off their CPUs although they waited for nothing that the trace shows: ready to run, or blocked in the
//! kernel by input, output, sleep or a futex of the program's own.
//!
//! Two sources, in this order. **Context switches** ([`What::OffCpu`], [`What::OnCpu`]) say when and why; a thread that has one
//! had them recorded. Without them, **CPU times** ([`What::CpuTime`]) say how much of the stretch between two of them was not
//! used; when exactly and why is not known, and the time is put into the longest gaps between the thread's events there. A
//! thread with neither is taken to have run, and [`Known::Nothing`] says so.
//!
//! What lies inside of a wait that the trace shows is that wait's, not counted here.

use super::window::Window;
use crate::clock::{Clock, Ticks};
use crate::event::{Event, OffReason, SiteId, What};
use crate::trace::Trace;
use baton_units::Nanos;

/// Why a thread was off its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OffCpu {
    /// It could run, and had no CPU.
    Ready,
    /// It blocked in the kernel. Contains the time from its wake-up until it got a CPU.
    Blocked,
    /// Not known.
    Unknown,
}

/// A stretch off the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffStretch {
    /// From here …
    pub begin: Ticks,
    /// … to here.
    pub end: Ticks,
    /// Why.
    pub why: OffCpu,
    /// The call site of the thread's last act before it; none: since its start.
    pub after: Option<SiteId>,
    /// The call site of its next act; none: to its end.
    pub before: Option<SiteId>,
}

/// What is known of a thread's time off the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    /// Neither context switches nor CPU times.
    #[default]
    Nothing,
    /// How much, by its CPU times: not why, and not exactly when.
    HowMuch,
    /// When and why, by its context switches.
    All,
}

/// A thread's stretches off the CPU, in order and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadOffCpu {
    /// What is known.
    pub known: Known,
    /// The stretches.
    pub stretches: Vec<OffStretch>,
}

impl ThreadOffCpu {
    /// Time off the CPU for this reason, inside the window.
    pub fn time(&self, why: OffCpu, window: &Window) -> Ticks {
        self.stretches.iter().filter(|s| s.why == why).map(|s| window.overlap(s.begin, s.end)).sum()
    }

    /// The stretches that lie at least in part in `begin..end`.
    pub fn within(&self, begin: Ticks, end: Ticks) -> impl Iterator<Item = &OffStretch> {
        let from = self.stretches.partition_point(|s| s.end <= begin);
        self.stretches[from..].iter().take_while(move |s| s.begin < end)
    }
}

/// Goes over the trace once; gives each thread's stretches, the threads as in [`Trace::threads`].
pub fn off_cpu(trace: &Trace) -> Vec<ThreadOffCpu> {
    let mut threads: Vec<ThreadState> = trace.threads.iter().map(|_| ThreadState::default()).collect();
    for event in trace.complete_events() {
        if let Some(state) = threads.get_mut(event.thread.index()) {
            state.step(&event, &trace.clock);
        }
    }
    threads.into_iter().map(ThreadState::finish).collect()
}

/// Gaps of a stretch between two CPU times that are kept, the longest: more than these hold little of it.
const GAPS: usize = 16;
/// Less than this (ns), or than this share of the stretch, is within what the two clocks differ by.
const LEAST: u64 = 2_000;
const LEAST_SHARE: u64 = 100;

#[derive(Default)]
struct ThreadState {
    switched: bool,
    /// By its context switches.
    seen: Vec<OffStretch>,
    /// By its CPU times.
    inferred: Vec<OffStretch>,
    off: Option<(Ticks, OffReason)>,
    /// Waits that have begun and not ended.
    waits: u32,
    /// Those that stand still while the thread runs a task, by task.
    stopped: Vec<u32>,
    /// The call site of its last act.
    site: Option<SiteId>,
    /// Stretches of `seen` whose next act is not known yet begin here.
    unfinished: usize,
    /// Its last act, of which the gap to the next one is measured; none inside of a wait.
    gap_since: Option<Ticks>,
    /// The longest gaps since the last CPU time, and the sum of all.
    gaps: Vec<OffStretch>,
    between: Ticks,
    clocked: Option<u64>,
    /// There was a second CPU time.
    timed: bool,
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
            // These are no acts of the program.
            What::Cpu { .. }
            | What::Affinity { .. }
            | What::Construct { .. }
            | What::Pause { .. }
            | What::ProbeCost { .. }
            | What::Unloaded { .. } => return,
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
        // What of the time off the CPU lies inside of the call is the call's own.
        if let (What::Blocked { ticks, .. }, Some(site)) = (event.what, event.what.site()) {
            let inside = self.seen[self.unfinished..].iter_mut().filter(|s| s.begin.0 + ticks >= now.0);
            inside.for_each(|stretch| stretch.after = Some(site));
        }
        let site = match event.what {
            What::ThreadEnd { .. } => None,
            _ => event.what.site().or(self.site),
        };
        self.seen[self.unfinished..].iter_mut().for_each(|stretch| stretch.before = site);
        self.unfinished = self.seen.len();
        self.close_gap(now, site);
        self.site = site;
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

    /// An act ends the gap since the one before.
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

    /// A CPU time: what of the gaps since the last one was not used is put into the longest of them.
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

    fn finish(self) -> ThreadOffCpu {
        match (self.switched, self.timed) {
            (true, _) => ThreadOffCpu { known: Known::All, stretches: self.seen },
            (false, true) => ThreadOffCpu { known: Known::HowMuch, stretches: self.inferred },
            (false, false) => ThreadOffCpu::default(),
        }
    }
}
