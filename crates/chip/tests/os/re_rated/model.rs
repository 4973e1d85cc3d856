//! The arithmetic: how much each thread must have computed, given which thread had which CPU when.
//!
//! The arithmetic knows nothing of the simulator's own bookkeeping. It has the [`Stretch`]es of all
//! threads (which thread spent which time on which CPU, and why), the clocks, the ticks and the
//! moments at which interrupts were sent, and goes through them in order of time. A core does as
//! many cycles as its clock says, half of them for each of two siblings that compute; handlers take
//! theirs first; the part of its last cycle that an operation does not use stays with the CPU. From
//! this follows when each computation and each system call ends.

use baton_chip::{Reason, Stretch};

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Computes for this many cycles.
    Work(u64),
    /// Spends this many cycles in the kernel, which nothing re-rates.
    Call(u64),
    /// Sleeps for at least this many cycles.
    Sleep(u64),
}

/// The chip, as far as the arithmetic needs it.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The clock in which time is counted, in hertz.
    pub(crate) reference: u64,
    pub(crate) cores: u32,
    pub(crate) cpus: u32,
    /// Changes of a core's clock: when, which core, to how many hertz. In order of time.
    pub(crate) changes: Vec<(u64, u32, u64)>,
    /// The period of the tick (0 for none), and the core's cycles that its handler takes.
    pub(crate) tick: (u64, u64),
    /// The cycles that an interrupt's handler takes; and when threads were sent to other CPUs, and
    /// which.
    pub(crate) interrupt: (u64, Vec<(u64, usize)>),
}

impl Machine {
    fn clock(&self, core: u32, time: u64) -> u64 {
        let last = self.changes.iter().rev().find(|&&(at, other, _)| other == core && at <= time);
        last.map_or(self.reference, |change| change.2)
    }

    /// The cycles of the reference that a handler takes if it is called at the time `at`.
    fn handler(&self, core: u32, at: u64, cycles: u64) -> u64 {
        (u128::from(cycles) * u128::from(self.reference)).div_ceil(u128::from(self.clock(core, at))) as u64
    }

    fn ticks(&self, from: u64, to: u64) -> impl Iterator<Item = u64> + use<> {
        let period = self.tick.0;
        let turns = if period == 0 { 0..0 } else { from.div_ceil(period)..to.div_ceil(period) };
        turns.map(move |turn| turn * period)
    }

    /// Joins the two parts of a stretch that a change of clock has cut. (The log has them apart
    /// because their energy differs.)
    pub(crate) fn joined(&self, log: &[Stretch]) -> Vec<Stretch> {
        let mut all: Vec<Stretch> = Vec::new();
        for &next in log {
            let core = next.cpu.0 % self.cores;
            let is_cut = self.changes.iter().any(|&(at, other, _)| at == next.from.0 && other == core);
            match all.last_mut() {
                Some(last) if is_cut && (last.to, last.cpu, last.reason) == (next.from, next.cpu, next.reason) => {
                    last.to = next.to;
                }
                _ => all.push(next),
            }
        }
        all
    }

    /// Whether a tick comes at this time.
    pub(crate) fn is_tick(&self, time: u64) -> bool {
        self.tick.0 != 0 && time.is_multiple_of(self.tick.0)
    }
}

/// A thread on its way through its operations.
struct Thread<'a> {
    ops: &'a [Op],
    at: usize,
    /// The rest of the computation, in cycles times the reference's hertz; `None` before it has
    /// begun.
    left: Option<u128>,
    /// The cycles of handlers that the thread must still pay for.
    due: u64,
    /// Whether the thread has paid for handlers before its next operation.
    paid: bool,
}

/// An error says where a schedule is not what arithmetic says.
pub(crate) type Verdict = Result<(), String>;

/// The state of the arithmetic, which goes through the log's [`Stretch`]es of all threads in order
/// of time.
pub(crate) struct Model<'a> {
    machine: &'a Machine,
    threads: Vec<Thread<'a>>,
    log: &'a [Vec<Stretch>],
    /// For each CPU, when it computed.
    computing: Vec<Vec<(u64, u64)>>,
    /// For each CPU, the part of its last cycle that the operation did not use.
    kept: Vec<u128>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(machine: &'a Machine, log: &'a [Vec<Stretch>], ops: &'a [Vec<Op>]) -> Model<'a> {
        let mut computing = vec![Vec::new(); machine.cpus as usize];
        for stretch in log.iter().flatten().filter(|stretch| stretch.reason == Reason::Work) {
            computing[stretch.cpu.0 as usize].push((stretch.from.0, stretch.to.0));
        }
        computing.iter_mut().for_each(|stretches| stretches.sort_unstable());
        let thread = |ops: &'a Vec<Op>| Thread { ops, at: 0, left: None, due: 0, paid: false };
        let kept = vec![0; machine.cpus as usize];
        Model { machine, threads: ops.iter().map(thread).collect(), log, computing, kept }
    }

    /// Checks that every operation ended when it must have.
    pub(crate) fn check(mut self) -> Verdict {
        let mut order: Vec<(u64, u64, usize, usize)> = Vec::new();
        for (thread, log) in self.log.iter().enumerate() {
            // What a thread owed before its log began is not known. The thread pays for it by the
            // call before its first sleep, so the check begins there.
            let first = log.iter().position(|stretch| stretch.reason == Reason::Asleep).ok_or("never sleeps")?;
            order.extend((first - 1..log.len()).map(|at| (log[at].to.0, log[at].from.0, thread, at)));
        }
        order.sort_unstable();
        for (_, _, thread, at) in order {
            let said = self.step(thread, at);
            let last =
                |stretch: &Stretch| format!("{:?} on {} {}-{}", stretch.reason, stretch.cpu, stretch.from, stretch.to);
            let before: Vec<String> = self.log[thread][at.saturating_sub(4)..=at].iter().map(last).collect();
            said.map_err(|why| format!("thread {thread}, {}: {why}", before.join(", ")))?;
        }
        match self.threads.iter().position(|thread| thread.at != thread.ops.len()) {
            Some(thread) => Err(format!("thread {thread} has not done everything")),
            None => Ok(()),
        }
    }

    fn step(&mut self, id: usize, at: usize) -> Verdict {
        let stretch = self.log[id][at];
        let core = stretch.cpu.0 % self.machine.cores;
        let (from, to) = (stretch.from.0, stretch.to.0);
        match stretch.reason {
            // The tick at the first moment of the stretch belongs to the thread that had the CPU
            // before.
            Reason::Switch | Reason::Waking => {
                self.threads[id].due += self.ticks_due(core, from + 1, to + 1);
                // A thread that is sent away as it comes computes for no time, with what its CPU
                // had kept.
                let leaves = self.log[id].get(at + 1).is_some_and(|next| next.reason == Reason::Ready);
                if let (true, Some(left)) = (leaves, &mut self.threads[id].left) {
                    let kept = &mut self.kept[stretch.cpu.0 as usize];
                    let used = (*kept).min(*left);
                    (*left, *kept) = (*left - used, *kept - used);
                }
            }
            Reason::Work => return self.work(id, at),
            Reason::Kernel => return self.kernel(id, at),
            Reason::Asleep => {
                let thread = &mut self.threads[id];
                match thread.ops.get(thread.at) {
                    Some(&Op::Sleep(least)) if to - from >= least => thread.at += 1,
                    other => return Err(format!("{other:?} expected")),
                }
            }
            Reason::Ready => {}
            other => return Err(format!("nobody does {other:?}")),
        }
        Ok(())
    }

    fn ticks_due(&self, core: u32, from: u64, to: u64) -> u64 {
        self.machine.ticks(from, to).map(|at| self.machine.handler(core, at, self.machine.tick.1)).sum()
    }

    fn work(&mut self, id: usize, at: usize) -> Verdict {
        let stretch = self.log[id][at];
        let (from, to, cpu) = (stretch.from.0, stretch.to.0, stretch.cpu.0);
        let (machine, core) = (self.machine, cpu % self.machine.cores);
        let ends = self.log[id].get(at + 1).is_some_and(|next| next.reason == Reason::Kernel);
        let thread = &mut self.threads[id];
        let Some(&Op::Work(cycles)) = thread.ops.get(thread.at) else { return Err("no computation".into()) };
        // A thread that resumes pays first. A thread that begins has paid, and handlers that come
        // in the meantime wait.
        let pays = if thread.left.is_some() { std::mem::take(&mut thread.due) } else { 0 };
        let whole = u128::from(cycles) * u128::from(machine.reference);
        let left = thread.left.unwrap_or(whole);
        let mut still = vec![(from, from + pays)];
        for tick in machine.ticks(from + 1, to + u64::from(!ends)) {
            let begins = still.last().map_or(0, |last| last.1).max(tick);
            still.push((begins, begins + machine.handler(core, tick, machine.tick.1)));
        }
        let done = |until: u64| {
            let handlers = still.iter().map(|&(a, b)| self.done(cpu, a.min(until), b.min(until)));
            self.done(cpu, from, until) - handlers.sum::<u128>() + self.kept[cpu as usize]
        };
        let (before, now) = (done(to - 1), done(to));
        let until = still.last().map_or(0, |last| last.1);
        let thread = &mut self.threads[id];
        if ends {
            if before >= left || now < left {
                let miss = now as f64 - left as f64;
                return Err(format!("{} cycles too late; it paid {pays}", miss / machine.reference as f64));
            }
            (thread.left, thread.paid) = (None, false);
            thread.at += 1;
        } else {
            thread.due += until.saturating_sub(to);
            if machine.interrupt.1.contains(&(to, id)) {
                thread.due += machine.handler(core, to, machine.interrupt.0);
            }
            thread.left = Some(left.saturating_sub(now));
        }
        self.kept[cpu as usize] = now.saturating_sub(left);
        Ok(())
    }

    /// The work that a CPU computes from `from` to `to`, at half its core's speed while its sibling
    /// computes.
    fn done(&self, cpu: u32, from: u64, to: u64) -> u128 {
        let machine = self.machine;
        let core = cpu % machine.cores;
        let siblings = (core..machine.cpus).step_by(machine.cores as usize).filter(|&other| other != cpu);
        let overlapping = |other: u32| {
            let all = &self.computing[other as usize];
            &all[all.partition_point(|&(_, b)| b <= from)..all.partition_point(|&(a, _)| a < to)]
        };
        let beside: Vec<(u64, u64)> = siblings.flat_map(overlapping).copied().collect();
        let changes = machine.changes.iter().filter(|change| change.1 == core).map(|change| change.0);
        let mut cuts: Vec<u64> = changes.chain(beside.iter().flat_map(|&(a, b)| [a, b])).collect();
        cuts.extend([from, to]);
        cuts.retain(|&cut| (from..=to).contains(&cut));
        cuts.sort_unstable();
        let piece = |pair: &[u64]| {
            let halved = beside.iter().any(|&(a, b)| a <= pair[0] && pair[0] < b);
            let rate = machine.clock(core, pair[0]) >> u32::from(halved);
            u128::from(rate) * u128::from(pair[1] - pair[0])
        };
        cuts.windows(2).map(piece).sum()
    }

    fn kernel(&mut self, id: usize, at: usize) -> Verdict {
        let stretch = self.log[id][at];
        let (from, to, cpu) = (stretch.from.0, stretch.to.0, stretch.cpu.0 as usize);
        let (machine, core) = (self.machine, stretch.cpu.0 % self.machine.cores);
        let comes = self.ticks_due(core, from + 1, to);
        let thread = &mut self.threads[id];
        if let (Some(left), Some(Op::Work(_))) = (thread.left, thread.ops.get(thread.at)) {
            // The thread came back for less work than its CPU had kept: this took no time, and no
            // stretch shows it.
            if left > self.kept[cpu] {
                return Err(format!("a computation is not over, {left} are left"));
            }
            self.kept[cpu] -= left;
            (thread.left, thread.paid) = (None, false);
            thread.at += 1;
        }
        if thread.due != 0 && !thread.paid {
            let due = std::mem::replace(&mut thread.due, comes);
            thread.paid = true;
            return if to - from == due { Ok(()) } else { Err(format!("handlers take {due}")) };
        }
        let Some(&Op::Call(cycles)) = thread.ops.get(thread.at) else { return Err("no call".into()) };
        let rate = u128::from(machine.clock(core, from));
        let needs = u128::from(cycles) * u128::from(machine.reference) - self.kept[cpu];
        let takes = needs.div_ceil(rate);
        self.kept[cpu] = takes * rate - needs;
        thread.due += comes;
        (thread.at, thread.paid) = (thread.at + 1, false);
        if u128::from(to - from) == takes { Ok(()) } else { Err(format!("the call takes {takes}")) }
    }
}
