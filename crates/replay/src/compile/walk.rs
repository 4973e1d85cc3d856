//! The walk over a trace's events, in the order of time, that says what each thread did.
//!
//! What lies between two events of a thread is a [`Gap`], unless the thread was waiting: the simulation makes its own
//! waits. A gap holds the program's own work, the recording's cost, and the cost of the lock operations at its ends,
//! which the simulation charges again and which is therefore priced and taken out.

use super::objects::Objects;
use super::tokens::Tokens;
use super::{Raw, RawThread, index};
use crate::program::{Op, Replayability};
use baton_chip::Chip;
use baton_trace::{
    Address, Event, Lock, LockKind, Mode as Holding, OffReason, ProcessIndex, SiteId, Trace, WakeReason, What,
};
use baton_units::CoreId;
use std::collections::{BTreeMap, VecDeque};

/// A stretch between two events of a thread that did not wait.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gap {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Ticks in it that the recording took for itself.
    pub(crate) pause: u64,
    /// Cycles in it of lock operations that the simulation charges again.
    pub(crate) priced: u64,
    /// It follows the acquisition of this lock, which was last held elsewhere.
    pub(crate) after_foreign: Option<u32>,
    /// Ticks of it off the CPU: asleep, and ready to run. Filled in by `gaps`.
    pub(crate) asleep: u64,
    pub(crate) ready: u64,
}

/// A hold in which nothing else was recorded.
pub(crate) struct Hold {
    pub(crate) lock: u32,
    pub(crate) ticks: u64,
    pub(crate) foreign: bool,
}

/// What a thread is doing, as far as events tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Out,
    Running,
    LockWait(u64),
    CondEnter,
    CondWait(u64),
    Relock,
    SemWait(u64),
    /// At a barrier, in a join, or creating a thread: what it waits for is known at its end.
    Busy,
}

/// A hold in which nothing else has been recorded so far.
#[derive(Clone, Copy)]
struct Leaf {
    lock: u32,
    since: u64,
    foreign: bool,
    /// The recording's own time up to `since`.
    pause: u64,
}

struct State {
    mode: Mode,
    last: u64,
    pause: u64,
    priced: u64,
    after_foreign: Option<u32>,
    depth: BTreeMap<u32, u32>,
    cpu: Option<u32>,
    /// The lock that it has just taken.
    leaf: Option<Leaf>,
    off_since: Option<(u64, Option<bool>)>,
    /// Its last event ended a wait.
    after_wait: bool,
}

pub(crate) struct Walk<'a> {
    trace: &'a Trace,
    chip: &'a Chip,
    pub(crate) first: u64,
    pub(crate) threads: Vec<RawThread>,
    states: Vec<State>,
    pub(crate) started: Vec<bool>,
    starts: BTreeMap<(ProcessIndex, u64), VecDeque<u32>>,
    by_handle: BTreeMap<(ProcessIndex, u64), u32>,
    pub(crate) objects: Objects,
    pub(crate) tokens: Tokens,
    pub(crate) holds: Vec<Hold>,
    /// Changes of the number of threads that do not wait.
    pub(crate) waiting: Vec<(u64, i32)>,
    pub(crate) replayability: Replayability,
    pub(crate) probe_ps: Option<u64>,
    /// Acquisitions by lock, call site and thread.
    pub(crate) sites: BTreeMap<(u32, SiteId), BTreeMap<u32, u64>>,
    semaphore_waiters: BTreeMap<u32, u32>,
    pub(crate) notes: Vec<String>,
}

impl<'a> Walk<'a> {
    pub(crate) fn over(trace: &'a Trace, chip: &'a Chip) -> Walk<'a> {
        let state = || State {
            mode: Mode::Out,
            last: 0,
            pause: 0,
            priced: 0,
            after_foreign: None,
            depth: BTreeMap::new(),
            cpu: None,
            leaf: None,
            off_since: None,
            after_wait: false,
        };
        let mut starts: BTreeMap<_, VecDeque<u32>> = BTreeMap::new();
        for event in trace.events() {
            if let What::ThreadStart { handle } = event.what {
                starts.entry((trace.process_of(event.thread), handle)).or_default().push_back(event.thread.0);
            }
        }
        let count = trace.threads.len();
        let mut walk = Walk {
            trace,
            chip,
            first: trace.span().0.0,
            threads: (0..count).map(|_| RawThread::default()).collect(),
            states: (0..count).map(|_| state()).collect(),
            started: vec![false; count],
            starts,
            by_handle: BTreeMap::new(),
            objects: Objects::default(),
            tokens: Tokens::default(),
            holds: Vec::new(),
            waiting: Vec::new(),
            replayability: Replayability::default(),
            probe_ps: None,
            sites: BTreeMap::new(),
            semaphore_waiters: BTreeMap::new(),
            notes: Vec::new(),
        };
        for event in trace.events() {
            walk.event(event);
        }
        walk.finish();
        walk
    }

    fn finish(&mut self) {
        // Signals' tokens are known only now: a wake-up comes after its signal.
        for thread in &mut self.threads {
            let steps = std::mem::take(&mut thread.steps);
            let mut places = Vec::with_capacity(steps.len());
            for step in steps {
                places.push(thread.steps.len());
                match step {
                    Raw::Signal(signal) => {
                        thread.steps.extend(self.tokens.of(signal).iter().map(|&token| Raw::Op(Op::TokenPost(token))));
                    }
                    other => thread.steps.push(other),
                }
            }
            for (at, _) in &mut thread.cpu {
                *at = places.get(*at).copied().unwrap_or(thread.steps.len());
            }
        }
        let outside = self.started.iter().zip(&self.states).skip(1);
        let outside = outside.filter(|(started, state)| !**started && state.mode != Mode::Out).count();
        self.replayability.from_outside = outside as u64;
        if outside != 0 {
            self.notes
                .push(format!("{outside} threads start at their recorded times: nobody in the trace started them"));
        }
    }

    fn event(&mut self, event: Event) {
        let (id, t) = (index(event.thread), event.time.0);
        let process = self.trace.process_of(event.thread);
        if self.off_cpu(id, t, event.what) {
            return;
        }
        if self.states[id].mode == Mode::Out {
            self.states[id].mode = Mode::Running;
            self.states[id].last = t;
            self.threads[id].first = t;
            self.waiting.push((t, 1));
        }
        match event.what {
            What::Cpu { cpu } => self.states[id].cpu = Some(cpu),
            What::CpuTime { ns } => self.cpu_time(id, t, ns),
            What::ProbeCost { probe: 0, picoseconds } => self.probe_ps = Some(picoseconds),
            What::ProbeCost { .. } | What::CondMutex { .. } => {}
            What::Pause { ticks } => self.states[id].pause += ticks,
            What::Attribute { address, value } => self.objects.attribute((process, address), value),
            What::Acquire { lock, mode, site } => {
                self.counted(id, lock, process, site);
                self.acquire(id, t, lock, mode, process);
            }
            What::Request { lock, mode: _, site } => {
                self.counted(id, lock, process, site);
                self.request(id, t, lock, process);
            }
            What::Acquired { lock, mode, .. } => self.acquired(id, t, lock, mode, process),
            What::Timeout { lock, .. } => self.timeout(id, t, lock, process),
            What::Release { lock, mode, .. } => self.release(id, t, lock, mode, process),
            What::TryFail { .. } | What::SemTryFail { .. } => {
                self.replayability.events += 1;
                self.replayability.failed_tries += 1;
                self.gap(id, t);
            }
            What::LockInit { lock, .. } => {
                self.gap(id, t);
                self.objects.forget((process, lock.address));
            }
            What::Init { address, .. } => {
                self.gap(id, t);
                self.objects.forget((process, address));
            }
            What::CondWait { .. } | What::CondWake { .. } | What::CondSignal { .. } | What::CondBroadcast { .. } => {
                self.condition(id, t, event.what, process)
            }
            What::BarrierArrive { .. }
            | What::BarrierLeave { .. }
            | What::SemTake { .. }
            | What::SemWait { .. }
            | What::SemTaken { .. }
            | What::SemTimeout { .. }
            | What::SemPost { .. } => self.meeting(id, t, event.what, process),
            // A thread that was just created has used no CPU time.
            What::ThreadStart { .. } if id != 0 => self.threads[id].cpu.push((0, 0)),
            What::ThreadStart { .. } => {}
            What::ThreadEnd { .. } => {
                self.gap(id, t);
                self.waiting.push((t, -1));
            }
            What::Create { .. } | What::Created { .. } | What::JoinBegin { .. } | What::JoinEnd { .. } => {
                self.family(id, t, event.what, process);
            }
            What::OffCpu { .. } | What::OnCpu { .. } => {}
            What::LockDestroy { .. }
            | What::Destroy { .. }
            | What::Marker { .. }
            | What::RoiBegin { .. }
            | What::RoiEnd { .. }
            | What::Note { .. } => self.gap(id, t),
        }
    }

    /// The thread left its CPU or came back: no act of its own.
    fn off_cpu(&mut self, id: usize, t: u64, what: What) -> bool {
        match what {
            What::OffCpu { reason, .. } => {
                let blocked = match reason {
                    OffReason::Blocked => Some(true),
                    OffReason::Preempted => Some(false),
                    OffReason::Unknown => None,
                };
                self.states[id].off_since = Some((t, blocked));
                true
            }
            What::OnCpu { cpu, .. } => {
                self.states[id].cpu = Some(cpu);
                if let Some((since, blocked)) = self.states[id].off_since.take() {
                    self.threads[id].off.push((since, t, blocked));
                }
                true
            }
            _ => false,
        }
    }

    /// Ends the gap since the thread's last event.
    fn gap(&mut self, id: usize, t: u64) {
        let state = &mut self.states[id];
        let (from, pause, priced) = (state.last, std::mem::take(&mut state.pause), std::mem::take(&mut state.priced));
        let after_foreign = state.after_foreign.take();
        state.last = t;
        state.leaf = None;
        state.after_wait = false;
        if matches!(state.mode, Mode::Running | Mode::Relock) {
            state.mode = Mode::Running;
            let gap = Gap { from, to: t, pause, priced, after_foreign, ..Gap::default() };
            self.threads[id].steps.push(Raw::Gap(gap));
        } else {
            // An event that does not fit what the thread was doing: its wait's end is missing.
            state.mode = Mode::Running;
            self.replayability.unmatched_waits += 1;
            self.waiting.push((t, 1));
        }
    }

    /// The thread waits from now on.
    fn wait(&mut self, id: usize, t: u64, mode: Mode) {
        self.states[id].mode = mode;
        self.waiting.push((t, -1));
    }

    /// The wait is over.
    fn resume(&mut self, id: usize, t: u64, mode: Mode) {
        let state = &mut self.states[id];
        (state.mode, state.last, state.pause, state.priced, state.leaf) = (mode, t, 0, 0, None);
        state.after_wait = true;
        self.waiting.push((t, 1));
    }

    fn op(&mut self, id: usize, op: Op) {
        self.threads[id].steps.push(Raw::Op(op));
    }

    fn cpu_time(&mut self, id: usize, t: u64, ns: u64) {
        if self.states[id].mode == Mode::Running && !self.states[id].after_wait {
            self.gap(id, t);
        }
        let at = self.threads[id].steps.len();
        self.threads[id].cpu.push((at, ns));
        let state = &mut self.states[id];
        if state.mode == Mode::Running && state.after_wait {
            // Reading the CPU time is the recording's, not the program's.
            state.pause += t - state.last;
            if let Some(leaf) = &mut state.leaf {
                (leaf.since, leaf.pause) = (t, state.pause);
            }
        }
    }

    fn counted(&mut self, id: usize, lock: Lock, process: ProcessIndex, site: SiteId) {
        if lock.kind != LockKind::RwLock && self.states[id].mode == Mode::Running {
            let lock = self.objects.lock((process, lock.address));
            *self.sites.entry((lock, site)).or_default().entry(id as u32).or_default() += 1;
        }
    }

    /// Whether the lock was last held elsewhere, and what taking it cost.
    fn ownership(&self, id: usize, lock: u32) -> (bool, u64) {
        let cache = &self.chip.cache;
        let Some((thread, cpu)) = self.objects.locks[lock as usize].last else {
            return (false, (cache.hit + cache.atomic).0);
        };
        let mine = self.states[id].cpu;
        let foreign = match (cpu, mine) {
            (Some(theirs), Some(mine)) => theirs != mine,
            _ => thread as usize != id,
        };
        if !foreign {
            return (false, (cache.hit + cache.atomic).0);
        }
        let count = self.chip.core.count;
        let transfer = match (cpu, mine) {
            (Some(theirs), Some(mine)) if theirs < count && mine < count => {
                cache.transfer.at(self.chip.distance(CoreId(theirs), CoreId(mine)))
            }
            _ => cache.transfer.same_cluster,
        };
        (true, (transfer + cache.atomic).0)
    }

    fn acquire(&mut self, id: usize, t: u64, lock: Lock, mode: Holding, process: ProcessIndex) {
        self.replayability.events += 1;
        let relock = self.states[id].mode == Mode::Relock;
        if lock.kind == LockKind::RwLock {
            if !relock {
                self.gap(id, t);
            }
            let number = self.objects.rwlock((process, lock.address));
            self.op(id, Op::RwLock(number, mode == Holding::Exclusive));
            return;
        }
        let number = self.objects.lock((process, lock.address));
        let (foreign, price) = self.ownership(id, number);
        if relock {
            self.states[id].mode = Mode::Running;
            self.states[id].last = t;
        } else {
            self.states[id].priced += price;
            self.gap(id, t);
        }
        self.hold(id, t, number, foreign);
    }

    /// The thread has the lock from now on.
    fn hold(&mut self, id: usize, t: u64, lock: u32, foreign: bool) {
        let depth = self.states[id].depth.entry(lock).or_default();
        *depth += 1;
        if *depth == 1 {
            self.objects.locks[lock as usize].acquisitions += 1;
            self.op(id, Op::Lock(lock));
            self.states[id].leaf = Some(Leaf { lock, since: t, foreign, pause: self.states[id].pause });
            self.states[id].after_foreign = foreign.then_some(lock);
        }
    }

    fn request(&mut self, id: usize, t: u64, lock: Lock, process: ProcessIndex) {
        self.replayability.events += 1;
        if self.states[id].mode != Mode::Relock {
            let cache = &self.chip.cache;
            // The try that failed took the line.
            self.states[id].priced += (cache.transfer.same_cluster + cache.atomic).0;
            self.gap(id, t);
        }
        self.wait(id, t, Mode::LockWait(t));
        if lock.kind != LockKind::RwLock {
            let number = self.objects.lock((process, lock.address));
            self.objects.locks[number as usize].waiters += 1;
        }
    }

    fn acquired(&mut self, id: usize, t: u64, lock: Lock, mode: Holding, process: ProcessIndex) {
        let waited = matches!(self.states[id].mode, Mode::LockWait(_));
        if !waited {
            self.replayability.unmatched_waits += 1;
            self.states[id].mode = Mode::Running;
        } else {
            self.resume(id, t, Mode::Running);
        }
        if lock.kind == LockKind::RwLock {
            let number = self.objects.rwlock((process, lock.address));
            self.op(id, Op::RwLock(number, mode == Holding::Exclusive));
            return;
        }
        let number = self.objects.lock((process, lock.address));
        let book = &mut self.objects.locks[number as usize];
        book.waiters = book.waiters.saturating_sub(u32::from(waited));
        let (foreign, _) = self.ownership(id, number);
        self.hold(id, t, number, foreign);
    }

    fn timeout(&mut self, id: usize, t: u64, lock: Lock, process: ProcessIndex) {
        self.replayability.expired_waits += 1;
        if let Mode::LockWait(since) = self.states[id].mode {
            self.threads[id].steps.push(Raw::Away(t - since));
            self.resume(id, t, Mode::Running);
            if lock.kind != LockKind::RwLock {
                let number = self.objects.lock((process, lock.address));
                let book = &mut self.objects.locks[number as usize];
                book.waiters = book.waiters.saturating_sub(1);
            }
        } else {
            self.gap(id, t);
        }
    }

    fn release(&mut self, id: usize, t: u64, lock: Lock, mode: Holding, process: ProcessIndex) {
        self.replayability.events += 1;
        let waits = self.states[id].mode == Mode::CondEnter;
        let leaf = self.states[id].leaf;
        let pause = self.states[id].pause;
        if !waits {
            self.gap(id, t);
        }
        if lock.kind == LockKind::RwLock {
            let number = self.objects.rwlock((process, lock.address));
            self.op(id, Op::RwUnlock(number, mode == Holding::Exclusive));
        } else {
            let number = self.objects.lock((process, lock.address));
            if let Some(leaf) = leaf.filter(|leaf| leaf.lock == number) {
                let ticks = (t - leaf.since).saturating_sub(pause.saturating_sub(leaf.pause));
                self.holds.push(Hold { lock: number, ticks, foreign: leaf.foreign });
            }
            match self.states[id].depth.get_mut(&number) {
                Some(depth @ 2..) => *depth -= 1,
                Some(depth @ 1) => {
                    *depth = 0;
                    self.op(id, Op::Unlock(number));
                }
                _ => self.replayability.unmatched_waits += 1,
            }
            let cpu = self.states[id].cpu;
            let book = &mut self.objects.locks[number as usize];
            book.last = Some((id as u32, cpu));
            let woke = if book.waiters == 0 { 0 } else { self.chip.os.futex_wake.0 };
            let cache = &self.chip.cache;
            self.states[id].priced += (cache.hit + cache.atomic).0 + woke;
        }
        if waits {
            self.wait(id, t, Mode::CondWait(t));
        }
    }

    fn condition(&mut self, id: usize, t: u64, what: What, process: ProcessIndex) {
        self.replayability.events += 1;
        let place = |address: Address| (process, address);
        match what {
            What::CondWait { condition, .. } => {
                self.gap(id, t);
                self.states[id].mode = Mode::CondEnter;
                self.tokens.wait(place(condition), id as u32);
            }
            What::CondWake { condition, reason } => {
                let Mode::CondWait(since) = self.states[id].mode else {
                    self.tokens.gave_up(place(condition), id as u32);
                    self.gap(id, t);
                    self.replayability.unmatched_waits += 1;
                    return;
                };
                self.resume(id, t, Mode::Relock);
                let token = match reason {
                    WakeReason::Woken => self.tokens.woken(place(condition), id as u32),
                    WakeReason::TimedOut | WakeReason::Cancelled => {
                        self.tokens.gave_up(place(condition), id as u32);
                        None
                    }
                };
                match token {
                    Some(token) => self.threads[id].steps.push(Raw::Op(Op::TokenWait(token))),
                    None => {
                        // A time-out is a sleep of known length; a wake-up without a signal is not.
                        self.replayability.unmatched_waits += u64::from(reason == WakeReason::Woken);
                        self.replayability.expired_waits += u64::from(reason == WakeReason::Cancelled);
                        self.threads[id].steps.push(Raw::Away(t - since));
                    }
                }
            }
            What::CondSignal { condition, .. } | What::CondBroadcast { condition, .. } => {
                self.gap(id, t);
                let all = matches!(what, What::CondBroadcast { .. });
                let (signal, woken) = self.tokens.signal(place(condition), all);
                self.threads[id].steps.push(Raw::Signal(signal));
                let os = &self.chip.os;
                if woken != 0 {
                    self.states[id].priced += os.futex_wake.0 + (woken as u64 - 1) * os.futex_wake_more.0;
                }
            }
            _ => {}
        }
    }

    fn meeting(&mut self, id: usize, t: u64, what: What, process: ProcessIndex) {
        self.replayability.events += 1;
        match what {
            What::BarrierArrive { barrier, .. } => {
                self.gap(id, t);
                let number = self.objects.barrier((process, barrier));
                self.objects.barriers[number as usize].arrive();
                self.op(id, Op::Meet(number));
                self.wait(id, t, Mode::Busy);
            }
            What::BarrierLeave { barrier, .. } => {
                let number = self.objects.barrier((process, barrier));
                self.objects.barriers[number as usize].leave();
                self.resume(id, t, Mode::Running);
            }
            What::SemTake { semaphore, .. } => {
                self.gap(id, t);
                let number = self.objects.semaphore((process, semaphore));
                self.op(id, Op::SemTake(number));
            }
            What::SemWait { semaphore, .. } => {
                self.gap(id, t);
                let number = self.objects.semaphore((process, semaphore));
                *self.semaphore_waiters.entry(number).or_default() += 1;
                self.wait(id, t, Mode::SemWait(t));
            }
            What::SemTaken { semaphore, .. } => {
                let number = self.objects.semaphore((process, semaphore));
                self.semaphore_left(number);
                self.op(id, Op::SemTake(number));
                self.resume(id, t, Mode::Running);
            }
            What::SemTimeout { semaphore } => {
                let number = self.objects.semaphore((process, semaphore));
                self.semaphore_left(number);
                if let Mode::SemWait(since) = self.states[id].mode {
                    self.threads[id].steps.push(Raw::Away(t - since));
                }
                self.replayability.expired_waits += 1;
                self.resume(id, t, Mode::Running);
            }
            What::SemPost { semaphore, .. } => {
                self.gap(id, t);
                let number = self.objects.semaphore((process, semaphore));
                self.op(id, Op::SemPost(number));
                if self.semaphore_waiters.get(&number).is_some_and(|&waiters| waiters != 0) {
                    self.states[id].priced += self.chip.os.futex_wake.0;
                }
            }
            _ => {}
        }
    }

    fn semaphore_left(&mut self, number: u32) {
        let waiters = self.semaphore_waiters.entry(number).or_default();
        *waiters = waiters.saturating_sub(1);
    }

    fn family(&mut self, id: usize, t: u64, what: What, process: ProcessIndex) {
        self.replayability.events += 1;
        match what {
            What::Create { .. } => {
                self.gap(id, t);
                self.states[id].mode = Mode::Busy;
            }
            What::Created { handle, error } => {
                if self.states[id].mode == Mode::Busy {
                    self.states[id].mode = Mode::Running;
                    self.states[id].last = t;
                } else {
                    self.gap(id, t);
                }
                let child = self.starts.get_mut(&(process, handle)).and_then(VecDeque::pop_front);
                if let Some(child) = child.filter(|_| error == 0) {
                    self.by_handle.insert((process, handle), child);
                    self.started[child as usize] = true;
                    self.op(id, Op::Spawn(child));
                }
            }
            What::JoinBegin { .. } => {
                self.gap(id, t);
                self.wait(id, t, Mode::Busy);
            }
            What::JoinEnd { handle, error } => {
                if let Some(&child) = self.by_handle.get(&(process, handle)).filter(|_| error == 0) {
                    self.op(id, Op::Join(child));
                }
                self.resume(id, t, Mode::Running);
            }
            _ => {}
        }
    }
}
