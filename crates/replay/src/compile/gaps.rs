//! What a thread did between two events: it computed, it slept, or it waited for a core.
//!
//! Where the trace has the kernel's context switches, they say it. Else the thread's CPU time, read around contended
//! waits, says how much of a stretch it was off its CPU; the longest gaps of the stretch take that, and it was waiting
//! for a core if more threads were running than there are CPUs, else asleep. Time waiting for a core is left out: the
//! simulated scheduler makes its own.

use super::lines::after_foreign;
use super::stalls::Usual;
use super::stores::{self, Mark, Steps};
use super::walk::Gap;
use super::{Probes, Raw, RawThread, Scale};
use crate::program::{Lines, Op};
use baton_chip::{Chip, Prices};

/// How ticks become cycles of work.
pub(crate) struct Measures {
    pub(crate) scale: Scale,
    /// Cycles that recording an event takes.
    pub(crate) probe: f64,
    pub(crate) probes: Probes,
    pub(crate) cpus: u32,
    /// By class of holds; empty: they stay as they were.
    pub(crate) usual: Vec<Usual>,
}

/// Off-CPU time below this is noise of the clocks: 20 µs.
const NOISE_NS: f64 = 20_000.0;

/// How many threads did not wait, over time.
pub(crate) struct Crowd {
    /// From this time on, so many; with the integral up to it.
    steps: Vec<(u64, i64, i128)>,
}

impl Crowd {
    pub(crate) fn of(changes: &[(u64, i32)], threads: usize) -> Crowd {
        let mut steps = Vec::with_capacity(changes.len() + 1);
        let (mut count, mut integral, mut last) = (0i64, 0i128, 0u64);
        for &(time, change) in changes {
            integral += i128::from(count) * i128::from(time.saturating_sub(last));
            last = last.max(time);
            count = (count + i64::from(change)).clamp(0, threads as i64);
            steps.push((last, count, integral));
        }
        Crowd { steps }
    }

    fn integral(&self, time: u64) -> i128 {
        match self.steps.partition_point(|&(from, ..)| from <= time).checked_sub(1) {
            None => 0,
            Some(at) => {
                let (from, count, integral) = self.steps[at];
                integral + i128::from(count) * i128::from(time - from)
            }
        }
    }

    /// How many on average between two times.
    fn average(&self, from: u64, to: u64) -> f64 {
        if to <= from { 0.0 } else { (self.integral(to) - self.integral(from)) as f64 / (to - from) as f64 }
    }
}

/// How gaps were classified, for the notes.
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

/// Fills in how much of each gap the thread was off its CPU.
pub(crate) fn classify(thread: &mut RawThread, measures: &Measures, crowd: &Crowd, grounds: &mut Grounds) {
    if !thread.off.is_empty() {
        grounds.switches = true;
        by_switches(thread, measures, crowd);
    } else if thread.cpu.len() >= 2 {
        grounds.cpu_times = true;
        by_cpu_time(thread, measures, crowd);
    } else if !thread.steps.is_empty() {
        grounds.nothing += 1;
    }
}

fn crowded(measures: &Measures, crowd: &Crowd, from: u64, to: u64) -> bool {
    crowd.average(from, to) > f64::from(measures.cpus) + 0.5
}

fn by_switches(thread: &mut RawThread, measures: &Measures, crowd: &Crowd) {
    let mut at = 0;
    for step in &mut thread.steps {
        let Raw::Gap(gap) = step else { continue };
        while thread.off.get(at).is_some_and(|&(_, on, _)| on <= gap.from) {
            at += 1;
        }
        for &(off, on, blocked) in thread.off[at..].iter().take_while(|&&(off, ..)| off < gap.to) {
            let ticks = on.min(gap.to) - off.max(gap.from);
            if blocked.unwrap_or_else(|| !crowded(measures, crowd, off, on)) {
                gap.asleep += ticks;
            } else {
                gap.ready += ticks;
            }
        }
    }
}

fn by_cpu_time(thread: &mut RawThread, measures: &Measures, crowd: &Crowd) {
    for pair in 0..thread.cpu.len() - 1 {
        let ((from, before), (to, after)) = (thread.cpu[pair], thread.cpu[pair + 1]);
        let mut gaps: Vec<&mut Gap> = thread.steps[from..to.max(from)]
            .iter_mut()
            .filter_map(|step| if let Raw::Gap(gap) = step { Some(gap) } else { None })
            .collect();
        let wall: u64 = gaps.iter().map(|gap| gap.to - gap.from).sum();
        let used = after.saturating_sub(before) as f64;
        let mut off = wall as f64 - measures.scale.ticks_of_ns(used);
        if off < measures.scale.ticks_of_ns(NOISE_NS) {
            continue;
        }
        gaps.sort_by_key(|gap| std::cmp::Reverse((gap.to - gap.from, gap.from)));
        for gap in gaps {
            if off < 1.0 {
                break;
            }
            let length = (gap.to - gap.from) as f64;
            let part = off.min(length);
            off -= part;
            if crowded(measures, crowd, gap.from, gap.to) {
                gap.ready += part as u64;
            } else {
                gap.asleep += part as u64;
            }
        }
    }
}

/// The steps in cycles, and which of them are acquisitions at known places in the code.
pub(crate) fn ops(
    thread: &RawThread,
    measures: &Measures,
    lines: &[Lines],
    (chip, prices): (&Chip, &Prices),
    stalls: &mut Vec<u64>,
) -> Steps {
    let mut ops = Vec::with_capacity(thread.steps.len());
    let (mut marks, mut asked) = (Vec::new(), None);
    // Steps that other threads' depend on, and those of them whose time is not known yet: the gap behind begins there.
    let (mut syncs, mut timeless) = (Vec::new(), Vec::new());
    let mut work = 0u64;
    let put = |ops: &mut Vec<Op>, work: &mut u64, op: Op| {
        if *work != 0 {
            ops.push(Op::Work(std::mem::take(work)));
        }
        ops.push(op);
    };
    for step in &thread.steps {
        match *step {
            Raw::Gap(gap) => {
                syncs.extend(timeless.drain(..).map(|at| (gap.from, at)));
                work += measures.work(&gap, lines, prices, stalls);
                let asleep = measures.scale.cycles(gap.asleep as f64) as u64;
                if asleep != 0 {
                    // Waking up is the simulated system's, too.
                    put(&mut ops, &mut work, Op::Delay(asleep.saturating_sub(chip.os.idle.wake.0).max(1)));
                }
            }
            Raw::Op(op) => {
                put(&mut ops, &mut work, op);
                if stores::depends(op) {
                    timeless.push(ops.len() - 1);
                }
                // The acquisition itself comes behind the work up to it. One of a lock that the thread has is none.
                if let (Op::Lock(taken), Some((lock, site, time))) = (op, asked)
                    && taken == lock
                {
                    marks.push(Mark { at: ops.len() - 1, lock, site, time });
                    asked = None;
                }
            }
            Raw::Site(lock, site, time) => asked = Some((lock, site, time)),
            Raw::Away(ticks) => {
                let away = measures.scale.cycles(ticks as f64) as u64;
                put(&mut ops, &mut work, Op::Delay(away.saturating_sub(chip.os.idle.wake.0).max(1)));
            }
            // Resolved when the walk ended.
            Raw::Signal(_) | Raw::Take(_) | Raw::Post(_) => {}
        }
    }
    if work != 0 {
        ops.push(Op::Work(work));
    }
    syncs.extend(timeless.drain(..).map(|at| (thread.last, at)));
    Steps { ops, marks, syncs, life: (thread.first, thread.last.max(thread.joined)) }
}

impl Measures {
    /// Cycles of the program's own work in a gap.
    fn work(&self, gap: &Gap, lines: &[Lines], prices: &Prices, stalls: &mut Vec<u64>) -> u64 {
        let ticks = (gap.to - gap.from).saturating_sub(gap.asleep + gap.ready + gap.read);
        let (ticks, probe) = match self.probes {
            // What writes a release down still holds the lock.
            Probes::Kept => (ticks, self.probe * (f64::from(gap.from_release) - f64::from(gap.to_release))),
            Probes::Subtracted => (ticks.saturating_sub(gap.pause), self.probe),
        };
        let ticks = match gap.class.and_then(|class| self.usual.get(class as usize)) {
            Some(usual) if ticks > usual.most => {
                stalls.push(self.scale.cycles((ticks - usual.ticks) as f64) as u64);
                usual.ticks
            }
            _ => ticks,
        };
        let moved = gap.after_foreign.map_or(0, |lock| after_foreign(&lines[lock as usize], prices));
        let cycles = self.scale.cycles(ticks as f64) - probe - gap.priced as f64 - moved as f64;
        // A gap that is shorter than a wake-up shows that none was in it: the waiter was not asleep.
        let woke = if cycles > gap.woke as f64 { gap.woke as f64 } else { 0.0 };
        (cycles - woke).max(0.0) as u64
    }
}
