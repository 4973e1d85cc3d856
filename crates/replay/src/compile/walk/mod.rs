//! Walks over a trace's events in the order of time, and determines what each thread did.
//!
//! The time between two events of a thread becomes a [`Gap`], unless the thread was waiting: the
//! simulation makes waits of its own. A gap contains the program's own work, the cost of recording,
//! and the cost of the lock operations at its ends. The simulation charges lock operations again,
//! so their price is taken out of the gap.
//!
//! | file | holds |
//! | --- | --- |
//! | [`locks`] | mutexes and similar locks, reader-writer locks |
//! | [`conditions`] | condition variables |
//! | [`futexes`] | futexes of the program's own |
//! | [`meetings`] | barriers and semaphores |
//! | [`queues`] | queues of items |
//! | [`streams`] | pipes, sockets, eventfds |
//! | [`family`] | threads that start others and wait for their end |
//! | [`processor`] | when a thread had a CPU |
//! | [`teams`] | OpenMP's teams and tasks |

mod conditions;
mod family;
mod futexes;
mod locks;
mod meetings;
mod processor;
mod queues;
mod streams;
mod teams;

use super::crowd::Crowd;
use super::dynamic::Sites;
use super::gap::Gap;
use super::holds::Holds;
use super::objects::Objects;
use super::order;
use super::rounds::{self, RoundTimes};
use super::scale::Scale;
use super::semaphores::Semaphores;
use super::served::Served;
use super::thread::{Off, RawThread, index};
use super::tokens::Tokens;
use super::track::Raw;
use crate::program::{Op, Replayability};
use baton_chip::{Chip, Prices};
use baton_trace::{Address, Event, Kinds, Lock, ProcessIndex, SiteId, Trace, What, notes};
use locks::Depths;
use std::collections::{BTreeMap, VecDeque};
use teams::Teams;

/// What a thread is doing, as far as the events so far show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Out,
    Running,
    LockWait(u64),
    CondEnter,
    CondWait(u64),
    Relock,
    SemWait(u64),
    FutexWait(u64),
    QueueWait(u64),
    /// The thread is at a barrier, in a join, creating a thread, idle between OpenMP's regions, or
    /// waiting for tasks. The event that ends this tells what the thread waited for.
    Busy,
}

/// A hold during which nothing else has been recorded so far.
#[derive(Clone, Copy)]
struct Leaf {
    lock: u32,
    since: u64,
    foreign: bool,
    /// Ticks that the recorder took from the thread's last event up to `since`.
    pause: u64,
    class: u32,
}

struct WalkState {
    mode: Mode,
    last: u64,
    pause: u64,
    read: u64,
    from_release: bool,
    priced: u64,
    woke: u64,
    after_foreign: Option<u32>,
    depths: Depths,
    cpu: Option<u32>,
    /// The lock that the thread has just taken, until its next event.
    leaf: Option<Leaf>,
    off_since: Option<(u64, Off)>,
    /// Whether it is unknown at present when the thread is off its CPU.
    unknown: bool,
    /// Whether the thread's last event ended a wait, or time that is dropped ([`Walk::skip`]).
    after_wait: bool,
    /// The place in the code at which the thread asked for the lock that it takes next; 0 if
    /// unknown.
    site: Address,
    /// The thread's latest call site, its place in the code, and the number of that place.
    here: Option<(SiteId, Address, u32)>,
    /// The time at which the thread last began to create another thread.
    creating: u64,
}

pub(crate) struct Walk<'a> {
    trace: &'a Trace,
    chip: &'a Chip,
    prices: &'a Prices,
    ticks_a_cycle: f64,
    pub(crate) first: u64,
    pub(crate) threads: Vec<RawThread>,
    states: Vec<WalkState>,
    pub(crate) started: Vec<bool>,
    /// For each thread handle, the threads that had it one after the other, with their start times.
    starts: BTreeMap<(ProcessIndex, u64), VecDeque<(u64, u32)>>,
    by_handle: BTreeMap<(ProcessIndex, u64), u32>,
    pub(crate) objects: Objects,
    pub(crate) tokens: Tokens,
    pub(crate) semaphores: Semaphores,
    pub(crate) holds: Holds,
    /// How many threads were not waiting, over time.
    pub(crate) crowd: Crowd,
    pub(crate) replayability: Replayability,
    pub(crate) probe_ps: Option<u64>,
    /// Ticks that recording took between the failed tries and their waits, and ticks that it took
    /// after the waits.
    pub(crate) around: (Vec<u64>, Vec<u64>),
    /// The address of each numbered place in the code at which locks are taken; 0 if unknown.
    pub(crate) places: Vec<Address>,
    place_numbers: BTreeMap<Address, u32>,
    pub(crate) sites: Sites,
    semaphore_waiters: BTreeMap<u32, u32>,
    teams: Teams,
    /// The numbers of the classes of holds: by the place in the code, or by the lock if the place
    /// is unknown.
    classes: BTreeMap<(Address, u32), u32>,
    pub(crate) notes: Vec<String>,
}

impl<'a> Walk<'a> {
    /// Walks over the trace. `turns` are the times at which the turns of threads' loops end; the queues
    /// of `served` become steps of their own.
    pub(crate) fn over(
        trace: &'a Trace,
        chip: &'a Chip,
        prices: &'a Prices,
        turns: Vec<RoundTimes>,
        served: Served,
    ) -> Walk<'a> {
        let state = || WalkState {
            mode: Mode::Out,
            last: 0,
            pause: 0,
            read: 0,
            from_release: false,
            priced: 0,
            woke: 0,
            after_foreign: None,
            depths: Depths::default(),
            cpu: None,
            leaf: None,
            off_since: None,
            unknown: false,
            after_wait: false,
            site: 0,
            here: None,
            creating: 0,
        };
        let mut starts: BTreeMap<_, VecDeque<(u64, u32)>> = BTreeMap::new();
        for event in trace.events_of(Kinds::BIRTHS) {
            if let What::ThreadStart { handle } = event.what {
                starts
                    .entry((trace.process_of(event.thread), handle))
                    .or_default()
                    .push_back((event.time.0, event.thread.0));
            }
        }
        let count = trace.threads.len();
        let mut walk = Walk {
            trace,
            chip,
            prices,
            ticks_a_cycle: Scale::new(trace, chip).ticks(1.0),
            first: trace.span().0.0,
            threads: turns.into_iter().map(|turns| RawThread { turns, ..RawThread::default() }).collect(),
            states: (0..count).map(|_| state()).collect(),
            started: vec![false; count],
            starts,
            by_handle: BTreeMap::new(),
            objects: Objects::with(served),
            tokens: Tokens::default(),
            semaphores: Semaphores::default(),
            holds: Holds::default(),
            crowd: Crowd::new(count),
            replayability: Replayability::default(),
            probe_ps: None,
            around: (Vec::new(), Vec::new()),
            places: Vec::new(),
            place_numbers: BTreeMap::new(),
            sites: BTreeMap::new(),
            semaphore_waiters: BTreeMap::new(),
            teams: Teams::default(),
            classes: BTreeMap::new(),
            notes: Vec::new(),
        };
        for event in trace.interpreted_events() {
            walk.event(event);
        }
        walk.finish();
        walk
    }

    fn finish(&mut self) {
        for (thread, state) in self.threads.iter_mut().zip(&self.states) {
            thread.last = state.last;
        }
        // Tokens are only complete at the end, because a wake-up comes after its signal, and a take
        // after its post.
        self.semaphores.settle(&mut self.tokens);
        self.tokens.settle();
        self.notes.extend(self.objects.served.note(self.objects.queues));
        self.notes.extend(self.objects.streams.note());
        let units = self.hand_over();
        let (tokens, semaphores, teams) = (&self.tokens, &self.semaphores, &self.teams);
        for thread in self.threads.iter_mut().filter(|thread| thread.track.outline().unsettled || !units.is_empty()) {
            thread.track.rewrite(|_, step, new| match step {
                Raw::Signal(signal) => {
                    tokens.of(signal).iter().for_each(|&token| new.push(Raw::Op(Op::TokenPost(token))))
                }
                Raw::Take(unit) => semaphores.taking(unit).into_iter().for_each(|op| new.push(Raw::Op(op))),
                Raw::Post(unit) => semaphores.posting(unit).into_iter().for_each(|op| new.push(Raw::Op(op))),
                Raw::Later(number) => teams.step(number).into_iter().for_each(|op| new.push(Raw::Op(op))),
                Raw::Op(Op::Lock(lock)) if let Some(&unit) = units.get(&lock) => new.push(Raw::Op(Op::SemTake(unit))),
                Raw::Op(Op::Unlock(lock)) if let Some(&unit) = units.get(&lock) => new.push(Raw::Op(Op::SemPost(unit))),
                other => new.push(other),
            });
        }
        self.notes.extend(self.teams.note());
        order::constrain(&mut self.threads, &mut self.tokens);
        let outside = self.started.iter().zip(&self.states).skip(1);
        let outside = outside.filter(|(started, state)| !**started && state.mode != Mode::Out).count();
        self.replayability.from_outside = outside as u64;
        if outside != 0 {
            self.notes
                .push(format!("{outside} threads start at their recorded times: nobody in the trace started them"));
        }
    }

    /// Replaces each mutex that one thread takes and another releases by a semaphore of one unit.
    /// Returns the number of the semaphore for each of these mutexes.
    fn hand_over(&mut self) -> BTreeMap<u32, u32> {
        let mut units: BTreeMap<u32, u32> = BTreeMap::new();
        for (lock, _) in (0..).zip(&self.objects.locks).filter(|(_, book)| book.handed) {
            units.insert(lock, self.objects.semaphores.len() as u32);
            self.objects.semaphores.push(Some(1));
        }
        if !units.is_empty() {
            self.notes.push(format!(
                "{} mutexes were given up by threads that did not hold them: they are replayed as semaphores",
                units.len()
            ));
        }
        units
    }

    fn event(&mut self, event: Event) {
        let (id, t) = (index(event.thread), event.time.0);
        let process = self.trace.process_of(event.thread);
        if self.off_cpu(id, t, event.what) {
            return;
        }
        self.appears(id, t);
        match event.what {
            What::Cpu { cpu } => self.states[id].cpu = Some(cpu),
            What::CpuTime { ns } => self.cpu_time(id, t, ns),
            What::ProbeCost { probe: 0, picoseconds } => self.probe_ps = Some(picoseconds),
            // The note that other processes use a lock may stand in a wait for it.
            What::ProbeCost { .. } | What::CondMutex { .. } | What::Note { code: notes::PROCESS_SHARED, .. } => {}
            What::Pause { ticks } => self.pause(id, t, ticks),
            What::Unloaded { start, pages } => {
                self.objects.forget_between(process, start, start.saturating_add(u64::from(pages) << 12));
            }
            What::Attribute { address, value } => self.objects.attribute((process, address), value),
            What::Acquire { .. }
            | What::Request { .. }
            | What::Acquired { .. }
            | What::Timeout { .. }
            | What::Release { .. } => self.at_lock(id, t, event.what, process),
            What::TryFail { .. } | What::SemTryFail { .. } => self.failed_try(id, t),
            What::LockInit { lock: Lock { address, .. }, .. } | What::Init { address, .. } => {
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
            What::Put { queue, .. }
            | What::PutWait { queue, .. }
            | What::PutWaited { queue, .. }
            | What::Take { queue, .. }
            | What::TakeWait { queue, .. }
            | What::TakeWaited { queue, .. }
            | What::QueueClose { queue, .. }
            | What::QueueCapacity { queue, .. } => self.at_queue(id, t, event.what, (process, queue)),
            What::ThreadStart { .. } => self.starts(id),
            What::ThreadEnd { .. } => {
                self.gap(id, t);
                self.crowd.change(t, -1);
            }
            What::Create { .. } | What::Created { .. } | What::JoinBegin { .. } | What::JoinEnd { .. } => {
                self.family(id, t, event.what, process);
            }
            What::FutexWait { .. } | What::FutexWaitEnd { .. } | What::FutexWake { .. } | What::FutexWoke { .. } => {
                self.futex(id, t, event.what, process)
            }
            What::LibcWait { .. } => self.libc_wait(),
            What::LibcTaken { .. } | What::LibcWake { .. } | What::Sample { .. } | What::Yielded { .. } => {}
            What::Blocked { ticks, .. } => self.blocked(id, t, ticks),
            What::OffCpu { .. } | What::OnCpu { .. } | What::Called { .. } | What::Bounded { .. } => self.turn(id, t),
            What::Construct { barrier, construct } => self.construct(process, barrier, construct),
            What::Fork { .. }
            | What::TeamBegin { .. }
            | What::IdleBegin { .. }
            | What::TaskCreate { .. }
            | What::TaskBegin { .. }
            | What::TaskEnd { .. }
            | What::TaskWaitBegin { .. }
            | What::TaskWaitEnd => self.team(id, t, event.what, process),
            What::LockDestroy { .. }
            | What::Destroy { .. }
            | What::Marker { .. }
            | What::RoiBegin { .. }
            | What::RoiEnd { .. }
            | What::Exit
            | What::Affinity { .. }
            | What::Note { .. } => self.gap(id, t),
        }
    }

    /// Records a CPU time of 0 at a thread's start; not for the first thread, which has used some
    /// before the trace began.
    fn starts(&mut self, id: usize) {
        if id != 0 {
            self.threads[id].cpu_time(0);
        }
    }

    /// Records a try that failed. What the program did next depended on the moment of the try.
    fn failed_try(&mut self, id: usize, t: u64) {
        self.replayability.events += 1;
        self.replayability.failed_tries += 1;
        self.gap(id, t);
    }

    /// Records the end of a turn, if a turn of the thread's loop ends at `t`.
    fn turn(&mut self, id: usize, t: u64) {
        if rounds::ends(&mut self.threads[id].turns, t) {
            self.gap(id, t);
            self.op(id, Op::Turn);
        }
    }

    /// Records the end of a turn, if a turn of the thread's loop ends with the wait that has just ended.
    fn turn_behind_wait(&mut self, id: usize, t: u64) {
        if rounds::ends(&mut self.threads[id].turns, t) {
            self.op(id, Op::Turn);
        }
    }

    /// Records a thread's first event.
    fn appears(&mut self, id: usize, t: u64) {
        if self.states[id].mode == Mode::Out {
            self.states[id].mode = Mode::Running;
            self.states[id].last = t;
            self.threads[id].first = t;
            self.crowd.change(t, 1);
        }
    }

    /// Ends the gap that began at the thread's last event, and stores it as a step.
    fn gap(&mut self, id: usize, t: u64) {
        let state = &mut self.states[id];
        let (from, pause, priced) = (state.last, std::mem::take(&mut state.pause), std::mem::take(&mut state.priced));
        let (after_foreign, woke) = (state.after_foreign.take(), std::mem::take(&mut state.woke));
        let (read, from_release) = (std::mem::take(&mut state.read), std::mem::take(&mut state.from_release));
        state.last = t;
        state.leaf = None;
        state.after_wait = false;
        if matches!(state.mode, Mode::Running | Mode::Relock) {
            state.mode = Mode::Running;
            let gap = Gap { from, to: t, pause, read, from_release, priced, woke, after_foreign, ..Gap::default() };
            self.threads[id].track.push(Raw::Gap(gap));
        } else {
            // The thread was waiting, and this event shows it running: the event that ended its
            // wait is missing.
            state.mode = Mode::Running;
            self.replayability.unmatched_waits += 1;
            self.crowd.change(t, 1);
        }
    }

    /// Records that the thread begins to wait.
    fn wait(&mut self, id: usize, t: u64, mode: Mode) {
        self.states[id].mode = mode;
        self.crowd.change(t, -1);
    }

    /// Records that the thread's wait has ended.
    fn resume(&mut self, id: usize, t: u64, mode: Mode) {
        let state = &mut self.states[id];
        (state.mode, state.last, state.pause, state.leaf) = (mode, t, 0, None);
        (state.read, state.from_release, state.priced, state.woke) = (0, false, 0, 0);
        state.after_wait = true;
        self.crowd.change(t, 1);
    }

    /// Drops the time since the thread's last event, because it is no work of the thread.
    fn skip(&mut self, id: usize, t: u64) {
        let state = &mut self.states[id];
        (state.last, state.pause, state.leaf) = (t, 0, None);
        (state.read, state.from_release, state.priced, state.woke) = (0, false, 0, 0);
        state.after_wait = true;
    }

    fn op(&mut self, id: usize, op: Op) {
        self.threads[id].track.push(Raw::Op(op));
    }
}
