//! Classifies what a thread did between two events: it computed, slept, or waited for a core.
//!
//! If the trace has the kernel's context switches, they decide. Otherwise the thread's CPU times,
//! which are read around contended waits, say for how much of the time between two readings (a
//! stretch) the thread was off its CPU. The longest gaps of a stretch are taken to be off the CPU
//! first. If nothing says why the thread was off its CPU, the time counts as waiting for a core if
//! more threads were running than there are CPUs, else as sleep. Time spent waiting for a core is
//! dropped, because the simulated scheduler adds its own.

use super::crowd::Crowd;
use super::gap::Gap;
use super::lines::after_foreign;
use super::scale::{Probes, Scale};
use super::stalls::Usual;
use super::stores::{self, Mark, Sharing, Steps};
use super::thread::{Off, RawThread};
use super::track::Raw;
use super::wakes::Wakes;
use crate::ops::{Gathered, push};
use crate::program::{Lines, Op};
use baton_chip::{Chip, Prices};
use std::cmp::Ordering;

/// The figures that turn ticks into cycles of work.
pub(crate) struct Measures<'a> {
    pub(crate) chip: &'a Chip,
    pub(crate) prices: &'a Prices,
    pub(crate) crowd: &'a Crowd,
    /// The number of data lines that move with each lock.
    pub(crate) lines: &'a [Lines],
    pub(crate) scale: Scale,
    /// The cycles that recording an event takes.
    pub(crate) probe_cycles: f64,
    pub(crate) probes: Probes,
    pub(crate) cpus: u32,
    /// The usual length of holds, by class; empty if stalls stay where they were recorded.
    pub(crate) usual: Vec<Usual>,
    /// What wake-ups cost the threads that released a lock, by lock, where the recording shows it.
    pub(crate) wakes: Vec<Option<Wakes>>,
}

/// Off-CPU time below this limit, 20 µs, counts as difference between the clocks, and is ignored.
const NOISE_NS: f64 = 20_000.0;

/// How the gaps of the threads were classified, for the notes.
#[derive(Default)]
pub(crate) struct Grounds {
    switches: bool,
    cpu_times: bool,
    nothing: u64,
}

impl Grounds {
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.cpu_times && !self.switches {
            notes.push(
                "computing and sleeping are told apart by threads' CPU times: no context switches in the trace".into(),
            );
        }
        if self.nothing != 0 && !self.switches {
            notes.push(format!(
                "{} threads have no CPU times: all their time between events counts as computing",
                self.nothing
            ));
        }
        notes
    }
}

/// The source from which a thread's time off its CPU is known.
enum Means<'a> {
    Switches { off: &'a [(u64, u64, Off)], at: usize },
    CpuTimes(ByCpuTime),
    Nothing,
}

impl<'a> Means<'a> {
    fn of(thread: &'a RawThread, grounds: &mut Grounds) -> Means<'a> {
        if thread.switched {
            grounds.switches = true;
            Means::Switches { off: &thread.off, at: 0 }
        } else if thread.cpu_times >= 2 {
            grounds.cpu_times = true;
            Means::CpuTimes(ByCpuTime { cut: None, gaps: Vec::new() })
        } else {
            grounds.nothing += u64::from(thread.track.iter().any(|step| !matches!(step, Raw::CpuTime(_))));
            Means::Nothing
        }
    }

    /// Determines how much of a gap the thread was off its CPU. Must be called for each step in
    /// order; `ahead` yields the steps that follow.
    fn classify(&mut self, step: &mut Raw, ahead: &(impl Iterator<Item = Raw> + Clone), measures: &Measures<'_>) {
        match (step, self) {
            (Raw::Gap(gap), Means::Switches { off, at }) => by_switches(gap, off, at),
            (Raw::Gap(gap), Means::CpuTimes(times)) => times.gap(gap, measures),
            (&mut Raw::CpuTime(ns), Means::CpuTimes(times)) => times.stretch(ns, ahead.clone(), measures),
            _ => {}
        }
    }
}

fn crowded(measures: &Measures<'_>, from: u64, to: u64) -> bool {
    measures.crowd.average(from, to) > f64::from(measures.cpus) + 0.5
}

fn by_switches(gap: &mut Gap, off: &[(u64, u64, Off)], at: &mut usize) {
    while off.get(*at).is_some_and(|&(_, on, _)| on <= gap.from) {
        *at += 1;
    }
    for &(off, on, why) in off[*at..].iter().take_while(|&&(off, ..)| off < gap.to) {
        let ticks = on.min(gap.to) - off.max(gap.from);
        match why {
            Off::Ready => gap.ready += ticks,
            Off::Blocked => gap.asleep += ticks,
            Off::Recorder => {
                gap.asleep += ticks;
                gap.recorder += ticks;
            }
        }
    }
}

/// Classifies the gaps of a thread of which the CPU time is known at some moments.
struct ByCpuTime {
    /// In the stretch up to the next known CPU time, the shortest gap that counts as off the CPU:
    /// its length, its beginning, and the part of it that does. All longer gaps of the stretch
    /// count in full.
    cut: Option<(u64, u64, u64)>,
    /// The gaps of the stretch, as lengths and beginnings; kept so that its memory can be used
    /// again.
    gaps: Vec<(u64, u64)>,
}

impl ByCpuTime {
    /// Begins a stretch, at the start of which the CPU time is `before`; `ahead` yields the steps
    /// from there on.
    fn stretch(&mut self, before: u64, ahead: impl Iterator<Item = Raw>, measures: &Measures<'_>) {
        self.cut = None;
        self.gaps.clear();
        let mut after = None;
        for step in ahead {
            match step {
                Raw::Gap(gap) => push(&mut self.gaps, (gap.to - gap.from, gap.from)),
                Raw::CpuTime(ns) => {
                    after = Some(ns);
                    break;
                }
                _ => {}
            }
        }
        let Some(after) = after else { return };
        let wall: u64 = self.gaps.iter().map(|gap| gap.0).sum();
        let mut off = wall as f64 - measures.scale.ticks_of_ns(after.saturating_sub(before) as f64);
        if off < measures.scale.ticks_of_ns(NOISE_NS) {
            return;
        }
        self.gaps.sort_unstable_by_key(|&gap| std::cmp::Reverse(gap));
        for &(length, from) in &self.gaps {
            if off < 1.0 {
                break;
            }
            let part = off.min(length as f64);
            off -= part;
            self.cut = Some((length, from, part as u64));
        }
    }

    fn gap(&self, gap: &mut Gap, measures: &Measures<'_>) {
        let Some((length, from, part)) = self.cut else { return };
        let all = gap.to - gap.from;
        let part = match (all, gap.from).cmp(&(length, from)) {
            Ordering::Greater => all as f64 as u64,
            Ordering::Equal => part,
            Ordering::Less => return,
        };
        if crowded(measures, gap.from, gap.to) {
            gap.ready += part;
        } else {
            gap.asleep += part;
        }
    }
}

/// Converts the steps of a thread into steps in cycles, and collects the acquisitions at places
/// where threads share out work.
pub(crate) fn ops(
    thread: &RawThread,
    measures: &Measures<'_>,
    sharing: &Sharing,
    grounds: &mut Grounds,
    stalls: &mut Vec<u64>,
) -> Steps {
    let mut ops = Gathered::default();
    let (mut marks, mut asked) = (Vec::new(), None);
    // Steps that other threads depend on, with their times. `timeless` holds those that came after
    // the last gap: their time is the beginning of the next gap.
    let (mut syncs, mut timeless) = (Vec::new(), Vec::new());
    let mut work = 0u64;
    let put = |ops: &mut Gathered, work: &mut u64, op: Op| {
        if *work != 0 {
            ops.push(Op::Work(std::mem::take(work)));
        }
        ops.push(op);
    };
    // The simulated system adds its own cost of a wake-up, so sleeps are shortened by that cost.
    let wake = measures.chip.os.idle.wake.0;
    let (mut means, mut steps) = (Means::of(thread, grounds), thread.track.iter());
    let mut released = None;
    while let Some(mut step) = steps.next() {
        means.classify(&mut step, &steps, measures);
        match step {
            Raw::Gap(gap) => {
                if !timeless.is_empty() {
                    timeless.drain(..).for_each(|at| push(&mut syncs, (gap.from, at)));
                }
                work += measures.work(&gap, released.take(), stalls);
                let asleep = measures.asleep(&gap);
                if asleep != 0 {
                    put(&mut ops, &mut work, Op::Delay(asleep.saturating_sub(wake).max(1)));
                }
            }
            Raw::Op(op) => {
                released = if let Op::Unlock(lock) = op { Some(lock) } else { None };
                put(&mut ops, &mut work, op);
                if !sharing.is_empty() && stores::depends(op) {
                    timeless.push(ops.len() - 1);
                }
                // Marks the acquisition that `Raw::Site` announced. A recursive acquisition is
                // announced, too, but has no step of its own.
                if let (Op::Lock(taken), Some((lock, place, time))) = (op, asked)
                    && taken == lock
                {
                    if let Some(&place) = sharing.get(&(lock, place)) {
                        push(&mut marks, Mark { at: ops.len() - 1, place, time });
                    }
                    asked = None;
                }
            }
            Raw::Site(lock, place, time) => asked = Some((lock, place, time)),
            Raw::Away(ticks) => {
                let away = measures.scale.cycles(ticks as f64) as u64;
                put(&mut ops, &mut work, Op::Delay(away.saturating_sub(wake).max(1)));
            }
            // These steps were replaced when the walk ended, or evaluated by `classify` above.
            Raw::Signal(_) | Raw::Take(_) | Raw::Post(_) | Raw::Later(_) | Raw::CpuTime(_) => {}
        }
    }
    if work != 0 {
        ops.push(Op::Work(work));
    }
    timeless.drain(..).for_each(|at| push(&mut syncs, (thread.last, at)));
    Steps { ops: ops.done(), marks, syncs, life: (thread.first, thread.last.max(thread.joined)) }
}

impl Measures<'_> {
    /// The chip's price of a wake-up, in cycles.
    fn price(&self) -> u64 {
        self.chip.os.futex.wake.0
    }

    /// Returns the cycles of a gap in which the program's thread slept.
    fn asleep(&self, gap: &Gap) -> u64 {
        let recorder = if self.probes == Probes::Subtracted { gap.recorder } else { 0 };
        self.scale.cycles((gap.asleep - recorder) as f64) as u64
    }

    /// Returns the cycles of the program's own work in a gap, which began at the release of the lock
    /// `released`.
    fn work(&self, gap: &Gap, released: Option<u32>, stalls: &mut Vec<u64>) -> u64 {
        let ticks = (gap.to - gap.from).saturating_sub(gap.asleep + gap.ready + gap.read);
        let (ticks, probe) = match self.probes {
            // A release is stamped, then written down, and only then carried out. So the cost of
            // writing it down is moved from the gap behind the stamp to the gap before: the lock is
            // still held meanwhile.
            Probes::Kept => (ticks, self.probe_cycles * (f64::from(gap.from_release) - f64::from(gap.to_release))),
            Probes::Subtracted => (ticks.saturating_sub(gap.pause.saturating_sub(gap.recorder)), self.probe_cycles),
        };
        let ticks = match gap.class.and_then(|class| self.usual.get(class as usize)) {
            Some(usual) if ticks > usual.most => {
                stalls.push(self.scale.cycles((ticks - usual.ticks) as f64) as u64);
                usual.ticks
            }
            _ => ticks,
        };
        let moved = gap.after_foreign.map_or(0, |lock| after_foreign(&self.lines[lock as usize], self.prices));
        let cycles = self.scale.cycles(ticks as f64) - probe - gap.priced as f64 - moved as f64;
        let wakes = released.and_then(|lock| self.wakes[lock as usize]).filter(|_| gap.woke == self.price());
        let (above, cost) = match wakes {
            Some(wakes) => (self.scale.cycles(wakes.above as f64), self.scale.cycles(wakes.cost as f64)),
            // A gap that is shorter than the cost of a wake-up cannot contain that cost, so no waiter
            // was asleep.
            None => (gap.woke as f64, gap.woke as f64),
        };
        let woke = if cycles > above { cost } else { 0.0 };
        (cycles - woke).max(0.0) as u64
    }
}
