//! What each recorded request did, taken from the trace: computing, locks, and waits for the world
//! outside.

use baton_trace::analysis::requests::{Clients, Requests};
use baton_trace::{Address, OffReason, ProcessIndex, ThreadIndex, Ticks, Trace, What};
use std::collections::BTreeMap;

/// A step of a request. Durations are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Cpu(f64),
    Take(u32),
    Give(u32),
    Outside(f64),
}

/// A request. It comes `think` nanoseconds after the answer that its client waits for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Job {
    pub(super) steps: Vec<Step>,
    /// How long its thread computes after the answer before it can read the next request.
    pub(super) after: f64,
    /// The time before the request: from the answer that its client waits for, or, for a
    /// connection's first request, from the server's first request.
    pub(super) think: f64,
}

/// A connection's requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Line {
    /// The thread that serves the connection (in the recording, its first request), by its number
    /// among the threads that serve.
    pub(super) thread: usize,
    pub(super) jobs: Vec<Job>,
}

/// The requests of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Script {
    pub(super) lines: Vec<Line>,
    /// Whether a request comes only when the requests before it on all connections have been
    /// answered.
    pub(super) together: bool,
    pub(super) threads: usize,
    /// The locks that the requests take; steps give the index in this list.
    pub(super) locks: Vec<(ProcessIndex, Address)>,
    /// The median time from a release to the acquisition of a thread that waited, in nanoseconds.
    pub(super) hand_off: f64,
    /// The time of all requests together; and, as `waits_for_threads`, the part of it in which they
    /// waited for other threads.
    pub(super) busy: f64,
    pub(super) waits_for_threads: f64,
}

/// What a thread is doing during the walk.
#[derive(Default)]
struct ThreadWalk {
    last: Ticks,
    off: Option<OffReason>,
    waits: Option<Wait>,
    /// The number of the request that the thread works at.
    at: Option<u32>,
    /// The number of the request that the thread answered last.
    before: Option<u32>,
    depth: BTreeMap<u32, u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum Wait {
    Lock(Ticks),
    Threads,
}

struct Walk<'a> {
    trace: &'a Trace,
    script: Script,
    states: Vec<ThreadWalk>,
    jobs: Vec<Job>,
    numbers: BTreeMap<(ProcessIndex, Address), u32>,
    released: BTreeMap<u32, Ticks>,
    hand_offs: Vec<u64>,
}

impl Script {
    /// Makes the script of the requests, in one walk over the trace.
    pub(super) fn of(trace: &Trace, requests: &Requests) -> Script {
        let mut of_threads: BTreeMap<ThreadIndex, Vec<u32>> = BTreeMap::new();
        for (number, request) in requests.all.iter().enumerate().filter(|(_, r)| r.thread == r.answered_by) {
            of_threads.entry(request.thread).or_default().push(number as u32);
        }
        of_threads.values_mut().for_each(|all| all.sort_by_key(|one| requests.all[*one as usize].read));
        let mut next: BTreeMap<ThreadIndex, usize> = BTreeMap::new();
        let mut walk = Walk::new(trace, requests.all.len());
        for event in trace.complete_events() {
            let Some(mine) = of_threads.get(&event.thread) else { continue };
            walk.step(event.thread, event.time, event.what);
            let place = next.entry(event.thread).or_default();
            // A request begins with the event that has the time of its read, and ends with the
            // event that has the time of its answer.
            let state = &mut walk.states[event.thread.index()];
            if let Some(at) = state.at.filter(|at| requests.all[*at as usize].end <= event.time) {
                (state.at, state.before) = (None, Some(at));
            }
            if let Some(&number) = mine.get(*place).filter(|one| requests.all[**one as usize].read <= event.time) {
                let request = &requests.all[number as usize];
                *place += 1;
                state.at = (request.end > event.time).then_some(number);
                let before = trace.clock.nanos(request.read.since(request.begin).0).0 as f64;
                // The time from the request's begin to its read was also counted as computing after
                // the thread's last answer: takes it out there.
                if let Some(last) = state.before {
                    let after = &mut walk.jobs[last as usize].after;
                    *after = (*after - before).max(0.0);
                }
                walk.jobs[number as usize].steps.push(Step::Cpu(before));
            }
        }
        walk.finish(requests)
    }
}

impl<'a> Walk<'a> {
    fn new(trace: &'a Trace, requests: usize) -> Walk<'a> {
        Walk {
            trace,
            script: Script::default(),
            states: trace.threads.iter().map(|_| ThreadWalk::default()).collect(),
            jobs: vec![Job::default(); requests],
            numbers: BTreeMap::new(),
            released: BTreeMap::new(),
            hand_offs: Vec::new(),
        }
    }

    fn step(&mut self, thread: ThreadIndex, now: Ticks, what: What) {
        let process = self.trace.process_of(thread);
        self.passed(thread, now);
        match what {
            What::OffCpu { reason, .. } => self.states[thread.index()].off = Some(reason),
            What::OnCpu { .. } => self.states[thread.index()].off = None,
            What::Request { .. } => self.states[thread.index()].waits = Some(Wait::Lock(now)),
            What::Acquire { lock, .. } | What::Acquired { lock, .. } => {
                let number = self.number((process, lock.address));
                if let Some(Wait::Lock(since)) = self.states[thread.index()].waits.take() {
                    let released = self.released.get(&number).copied().unwrap_or(since).max(since);
                    self.hand_offs.push(self.trace.clock.nanos(now.since(released).0).0);
                }
                self.locked(thread, number, true);
            }
            What::Timeout { .. } => self.states[thread.index()].waits = None,
            What::Release { lock, .. } => {
                let number = self.number((process, lock.address));
                self.released.insert(number, now);
                self.locked(thread, number, false);
            }
            _ => match what.wait_edge() {
                Some(true) => self.states[thread.index()].waits = Some(Wait::Threads),
                Some(false) => self.states[thread.index()].waits = None,
                None => {}
            },
        }
    }

    fn number(&mut self, key: (ProcessIndex, Address)) -> u32 {
        let locks = &mut self.script.locks;
        *self.numbers.entry(key).or_insert_with(|| {
            locks.push(key);
            locks.len() as u32 - 1
        })
    }

    /// Records that the thread takes or releases a lock. If the lock is taken repeatedly, only the
    /// outermost take and its release become steps.
    fn locked(&mut self, thread: ThreadIndex, lock: u32, takes: bool) {
        let state = &mut self.states[thread.index()];
        let depth = state.depth.entry(lock).or_default();
        let outermost = if takes { *depth == 0 } else { *depth == 1 };
        *depth = if takes { *depth + 1 } else { depth.saturating_sub(1) };
        if let (Some(at), true) = (state.at, outermost) {
            self.jobs[at as usize].steps.push(if takes { Step::Take(lock) } else { Step::Give(lock) });
        }
    }

    /// Counts the time since the thread's last event as what the thread did in it.
    fn passed(&mut self, thread: ThreadIndex, now: Ticks) {
        let state = &mut self.states[thread.index()];
        let ns = self.trace.clock.nanos(now.since(state.last).0).0 as f64;
        state.last = state.last.max(now);
        let computes = state.waits.is_none() && state.off.is_none();
        let Some(at) = state.at else {
            if let Some(before) = state.before.filter(|_| computes) {
                self.jobs[before as usize].after += ns;
            }
            return;
        };
        let steps = &mut self.jobs[at as usize].steps;
        self.script.busy += ns;
        match (state.waits, state.off) {
            (Some(Wait::Lock(_)), _) | (None, Some(OffReason::Preempted)) => {}
            (Some(Wait::Threads), _) => {
                self.script.waits_for_threads += ns;
                steps.push(Step::Outside(ns));
            }
            (None, Some(_)) => steps.push(Step::Outside(ns)),
            (None, None) => steps.push(Step::Cpu(ns)),
        }
    }

    fn finish(mut self, requests: &Requests) -> Script {
        let ns = |ticks: Ticks| self.trace.clock.nanos(ticks.0).0 as f64;
        let clients = Clients::of(requests);
        let first = requests.span().0;
        let answer = |round: usize| {
            let of_round = requests.connections.iter().filter_map(|one| one.requests.get(round));
            of_round.map(|one| requests.all[*one as usize].end).max().unwrap_or(first)
        };
        let mut threads: BTreeMap<ThreadIndex, usize> = BTreeMap::new();
        for connection in requests.connections.iter().filter(|one| !one.requests.is_empty()) {
            let count = threads.len();
            let thread = *threads.entry(requests.all[connection.requests[0] as usize].thread).or_insert(count);
            let mut line = Line { thread, jobs: Vec::new() };
            for (round, &number) in connection.requests.iter().enumerate() {
                let since = match round {
                    0 => first,
                    _ if clients.together => answer(round - 1),
                    _ => requests.all[connection.requests[round - 1] as usize].end,
                };
                let mut job = std::mem::take(&mut self.jobs[number as usize]);
                job.think = ns(requests.all[number as usize].begin.since(since));
                line.jobs.push(job);
            }
            self.script.lines.push(line);
        }
        self.hand_offs.sort_unstable();
        self.script.hand_off = self.hand_offs.get(self.hand_offs.len() / 2).map_or(0.0, |ns| *ns as f64);
        Script { together: clients.together, threads: threads.len(), ..self.script }
    }
}
