//! Serves the requests of a script on CPUs that threads share, under locks whose waiters sleep. A
//! woken waiter competes for the lock with threads that come meanwhile, as with glibc's mutex.

use super::script::{Script, Step};
use baton_trace::analysis::requests::nearest_rank;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// A time slice in nanoseconds: after it, a thread that still computes lets the next ready thread
/// have its CPU.
const SLICE: f64 = 3e6;

/// The effect of a change on the locks, by the numbers of the locks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Effect {
    /// Work under the lock takes this many times as long.
    pub(super) factors: BTreeMap<u32, f64>,
    /// The lock is split into this many locks.
    pub(super) ways: BTreeMap<u32, u32>,
}

/// When requests come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrivals {
    /// A client's next request comes a think time after its last answer.
    Closed,
    /// This many requests come a second, at random times, whatever is answered.
    Open(f64),
}

/// The result of serving the requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Served {
    /// The latencies of the answered requests, in nanoseconds; sorted once all are answered.
    latencies: Vec<f64>,
    /// When the first request came, when the last request came (`came`), and when the last answer
    /// was given (`last`).
    first: f64,
    came: f64,
    last: f64,
}

/// When the last request of an open loop has come, the server may need the time in which this many
/// requests come for those that are left: that can be chance.
const CHANCE: f64 = 10.0;
/// If the server needs more than that, and besides more than this share of the time in which the
/// requests came, it does not keep up.
const BEHIND: f64 = 0.03;

impl Served {
    pub(super) fn per_second(&self) -> f64 {
        let span = self.last - self.first;
        if span > 0.0 { self.latencies.len() as f64 * 1e9 / span } else { 0.0 }
    }

    /// Whether requests came faster than the server answered them.
    pub(super) fn falls_behind(&self) -> bool {
        let share = BEHIND + CHANCE / self.latencies.len().max(1) as f64;
        self.last - self.came > share * (self.came - self.first)
    }

    pub(super) fn quantile(&self, share: f64) -> u64 {
        let at = nearest_rank(share, self.latencies.len());
        self.latencies.get(at).map_or(0, |ns| ns.round() as u64)
    }
}

/// What happens at a moment of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    /// A request of a connection comes: the number of the connection, and that of the request on
    /// it.
    Comes { line: usize, job: usize },
    /// A thread has used up its time slice, or computed the rest of its step.
    Computed(usize),
    /// A thread's wait for the world outside is over.
    Back(usize),
    /// A waiter that was woken tries to take its lock.
    Tries(usize),
}

#[derive(Default)]
struct Thread {
    /// Requests that have come for the thread: connection, number on the connection, and time.
    waiting: VecDeque<(usize, usize, f64)>,
    at: Option<(usize, usize, f64)>,
    step: usize,
    /// How much of the step's computing is left; and, as `answered`, whether the step is the
    /// computing after the answer.
    left: f64,
    answered: bool,
    /// The locks that the thread holds, and, at the end, the lock that it waits for: number, and
    /// the part of a split lock.
    held: Vec<(u32, u32)>,
}

#[derive(Default)]
struct Lock {
    holder: Option<usize>,
    waiters: VecDeque<usize>,
    /// Whether a waiter was woken that has not tried to take the lock yet.
    woken: bool,
}

struct ServerReplay<'a> {
    script: &'a Script,
    effect: &'a Effect,
    now: f64,
    /// What will happen, by time in hundredths of a nanosecond, then by the order in which it was
    /// entered.
    events: BinaryHeap<Reverse<(u64, u64, Happens)>>,
    made: u64,
    threads: Vec<Thread>,
    locks: BTreeMap<(u32, u32), Lock>,
    free: usize,
    ready: VecDeque<usize>,
    /// For each round of requests, the number of answers so far.
    answered: Vec<usize>,
    served: Served,
    draws: u64,
    closed: bool,
}

/// Serves all requests of the script once, on `cpus` CPUs.
pub(super) fn serve(script: &Script, cpus: usize, effect: &Effect, arrivals: Arrivals) -> Served {
    let rounds = script.lines.iter().map(|line| line.jobs.len()).max().unwrap_or(0);
    let mut run = ServerReplay {
        script,
        effect,
        now: 0.0,
        events: BinaryHeap::new(),
        made: 0,
        threads: (0..script.threads).map(|_| Thread::default()).collect(),
        locks: BTreeMap::new(),
        free: cpus,
        ready: VecDeque::new(),
        answered: vec![0; rounds],
        served: Served { first: f64::INFINITY, ..Served::default() },
        draws: 1,
        closed: matches!(arrivals, Arrivals::Closed),
    };
    run.begin(arrivals);
    while let Some(Reverse((at, _, happens))) = run.events.pop() {
        run.now = at as f64 / 100.0;
        run.happens(happens);
    }
    run.served.latencies.sort_by(f64::total_cmp);
    run.served
}

impl ServerReplay<'_> {
    fn begin(&mut self, arrivals: Arrivals) {
        let lines = &self.script.lines;
        match arrivals {
            Arrivals::Closed => {
                for (line, of) in lines.iter().enumerate().filter(|(_, of)| !of.jobs.is_empty()) {
                    self.after(of.jobs[0].think, Happens::Comes { line, job: 0 });
                }
            }
            Arrivals::Open(rate) => {
                let mut at = 0.0;
                let rounds = lines.iter().map(|of| of.jobs.len()).max().unwrap_or(0);
                for job in 0..rounds {
                    for line in (0..lines.len()).filter(|line| job < lines[*line].jobs.len()) {
                        at += -(1.0 - self.draw()).ln() * 1e9 / rate;
                        self.after(at, Happens::Comes { line, job });
                    }
                }
            }
        }
    }

    fn after(&mut self, ns: f64, happens: Happens) {
        self.made += 1;
        self.events.push(Reverse((((self.now + ns) * 100.0) as u64, self.made, happens)));
    }

    /// Returns a random number from 0 to 1 (splitmix64).
    fn draw(&mut self) -> f64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.draws;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn happens(&mut self, happens: Happens) {
        match happens {
            Happens::Comes { line, job } => {
                self.served.first = self.served.first.min(self.now);
                self.served.came = self.served.came.max(self.now);
                let thread = self.script.lines[line].thread;
                self.threads[thread].waiting.push_back((line, job, self.now));
                self.serve_next(thread);
            }
            Happens::Computed(thread) => {
                self.free += 1;
                let left = self.threads[thread].left;
                if left > 0.0 {
                    self.ready.push_back(thread);
                } else {
                    self.go_on(thread);
                }
                self.give_cpus();
            }
            Happens::Back(thread) => self.go_on(thread),
            Happens::Tries(thread) => {
                if let Some((number, part)) = self.wanted(thread) {
                    let lock = self.locks.entry((number, part)).or_default();
                    lock.woken = false;
                    if lock.holder.is_some() {
                        lock.waiters.push_front(thread);
                    } else {
                        self.taken(thread, number, part);
                    }
                }
            }
        }
    }

    /// Begins the next request that has come for the thread, if the thread is free.
    fn serve_next(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        if state.at.is_none()
            && let Some(next) = state.waiting.pop_front()
        {
            (state.at, state.step, state.answered) = (Some(next), 0, false);
            self.go_on(thread);
        }
    }

    /// Returns the lock for which the thread waits, and the part of it if it is split: the last
    /// entry of `held`.
    fn wanted(&self, thread: usize) -> Option<(u32, u32)> {
        self.threads[thread].held.last().copied()
    }

    /// Follows the steps of the thread's request until the thread has to compute or to wait.
    fn go_on(&mut self, thread: usize) {
        loop {
            let Some((line, job, came)) = self.threads[thread].at else { return };
            let job_of = &self.script.lines[line].jobs[job];
            let Some(&step) = job_of.steps.get(self.threads[thread].step) else {
                if self.threads[thread].answered {
                    // Releases the locks that the thread released only after the answer when it was
                    // recorded.
                    while let Some((lock, _)) = self.threads[thread].held.last().copied() {
                        self.give(thread, lock);
                    }
                    self.threads[thread].at = None;
                    self.serve_next(thread);
                    return;
                }
                self.threads[thread].answered = true;
                self.answer(line, job, came);
                return self.compute(thread, job_of.after.max(1.0));
            };
            self.threads[thread].step += 1;
            match step {
                Step::Cpu(ns) => return self.compute(thread, self.changed(thread, ns)),
                Step::Outside(ns) => {
                    let ns = self.changed(thread, ns);
                    return self.after(ns, Happens::Back(thread));
                }
                Step::Take(lock) => {
                    let ways = self.effect.ways.get(&lock).copied().unwrap_or(1);
                    let part = if ways > 1 { (self.draw() * f64::from(ways)) as u32 } else { 0 };
                    self.threads[thread].held.push((lock, part));
                    let state = self.locks.entry((lock, part)).or_default();
                    if state.holder.is_some() {
                        state.waiters.push_back(thread);
                        return;
                    }
                    state.holder = Some(thread);
                }
                Step::Give(lock) => self.give(thread, lock),
            }
        }
    }

    fn taken(&mut self, thread: usize, number: u32, part: u32) {
        self.locks.entry((number, part)).or_default().holder = Some(thread);
        self.go_on(thread);
    }

    fn give(&mut self, thread: usize, lock: u32) {
        let held = &mut self.threads[thread].held;
        let Some(at) = held.iter().rposition(|(of, _)| *of == lock) else { return };
        let key = held.remove(at);
        let state = self.locks.entry(key).or_default();
        state.holder = None;
        if !state.woken
            && let Some(waiter) = state.waiters.pop_front()
        {
            state.woken = true;
            self.after(self.script.hand_off, Happens::Tries(waiter));
        }
    }

    /// Returns how long work takes under the locks that the thread holds; the smallest factor of
    /// these locks applies.
    fn changed(&self, thread: usize, ns: f64) -> f64 {
        let factors = self.threads[thread].held.iter().filter_map(|(lock, _)| self.effect.factors.get(lock));
        factors.copied().min_by(f64::total_cmp).map_or(ns, |factor| ns * factor)
    }

    fn compute(&mut self, thread: usize, ns: f64) {
        self.threads[thread].left = ns;
        self.ready.push_back(thread);
        self.give_cpus();
    }

    fn give_cpus(&mut self) {
        while self.free > 0
            && let Some(thread) = self.ready.pop_front()
        {
            self.free -= 1;
            let part = self.threads[thread].left.min(SLICE);
            self.threads[thread].left -= part;
            self.after(part, Happens::Computed(thread));
        }
    }

    fn answer(&mut self, line: usize, job: usize, came: f64) {
        self.served.latencies.push(self.now - came);
        self.served.last = self.served.last.max(self.now);
        if !self.closed {
            return;
        }
        let lines = &self.script.lines;
        let next = |line: usize| lines[line].jobs.get(job + 1).map(|next| next.think);
        if !self.script.together {
            if let Some(think) = next(line) {
                self.after(think, Happens::Comes { line, job: job + 1 });
            }
            return;
        }
        self.answered[job] += 1;
        let all = lines.iter().filter(|of| of.jobs.len() > job).count();
        if self.answered[job] == all {
            for (line, think) in (0..lines.len()).filter_map(|line| Some((line, next(line)?))) {
                self.after(think, Happens::Comes { line, job: job + 1 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Job, Line};
    use super::*;

    /// A script in which each of the connections has a thread and 500 requests: a section of `held`
    /// under one lock, then `other` without it.
    fn script(connections: usize, held: f64, other: f64, think: f64, together: bool) -> Script {
        let steps = vec![Step::Take(0), Step::Cpu(held), Step::Give(0), Step::Cpu(other)];
        let job = Job { steps, after: 0.0, think };
        let line = |thread| Line { thread, jobs: vec![job.clone(); 500] };
        let lines = (0..connections).map(line).collect();
        Script { lines, threads: connections, together, hand_off: 0.0, ..Script::default() }
    }

    fn rate(script: &Script, cpus: usize, effect: &Effect) -> f64 {
        serve(script, cpus, effect, Arrivals::Closed).per_second()
    }

    fn near(value: f64, wanted: f64) -> bool {
        (value / wanted - 1.0).abs() < 0.02
    }

    /// With eight connections and eight CPUs, the lock allows one request every 20 µs. If the
    /// section is a tenth as long, two CPUs limit the rate: a request takes 2 + 5 µs, so two come
    /// every 7 µs.
    #[test]
    fn a_lock_then_the_cpus_limit_the_throughput() {
        let script = script(8, 20_000.0, 5_000.0, 0.0, false);
        assert!(near(rate(&script, 8, &Effect::default()), 50_000.0));
        let shrunk = Effect { factors: BTreeMap::from([(0, 0.1)]), ..Effect::default() };
        assert!(near(rate(&script, 2, &shrunk), 2.0 / 7_000e-9), "{}", rate(&script, 2, &shrunk));
        let split = Effect { ways: BTreeMap::from([(0, 64)]), ..Effect::default() };
        let (two, eight) = (rate(&script, 2, &split), rate(&script, 8, &split));
        assert!(near(two, 2.0 / 25_000e-9) && eight > 200_000.0 && eight < 8.0 / 25_000e-9, "{two} {eight}");
    }

    /// Each of two connections thinks for 90 µs and waits 10 µs for its answer: one request every
    /// 100 µs and connection.
    #[test]
    fn clients_limit_the_throughput() {
        let script = script(2, 5_000.0, 5_000.0, 90_000.0, false);
        let served = serve(&script, 4, &Effect::default(), Arrivals::Closed);
        assert!(near(served.per_second(), 2.0 / 100_000e-9), "{}", served.per_second());
        assert_eq!(served.quantile(0.5), 10_000);
    }

    /// A client waits for all four answers before it sends again: a round takes four sections of 20
    /// µs, one after the other, and 20 µs of thinking.
    #[test]
    fn a_client_that_waits_for_all_answers_makes_rounds() {
        let script = script(4, 20_000.0, 0.0, 20_000.0, true);
        let served = serve(&script, 4, &Effect::default(), Arrivals::Closed);
        assert!(near(served.per_second(), 4.0 / 100_000e-9), "{}", served.per_second());
        assert!((79_000..=81_000).contains(&served.quantile(0.999)), "{}", served.quantile(0.999));
    }

    /// In an open loop below the capacity (50,000 a second), the rate is kept, and the latency is
    /// near the service time. Beyond the capacity, the server answers at its capacity, and latency
    /// grows.
    #[test]
    fn an_open_loop_beyond_the_capacity_is_served_at_the_capacity() {
        let script = script(8, 20_000.0, 5_000.0, 0.0, false);
        let at = |rate| serve(&script, 8, &Effect::default(), Arrivals::Open(rate));
        let (low, high) = (at(5_000.0), at(200_000.0));
        assert!((low.per_second() / 5_000.0 - 1.0).abs() < 0.1, "{}", low.per_second());
        assert!(low.quantile(0.5) < 30_000 && near(high.per_second(), 50_000.0), "{}", high.per_second());
        assert!(high.quantile(0.5) > 1_000_000);
        assert_eq!((low.falls_behind(), high.falls_behind()), (false, true));
        assert!(at(60_000.0).falls_behind() && !at(40_000.0).falls_behind());
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let served = serve(&Script::default(), 1, &Effect::default(), Arrivals::Closed);
        assert_eq!((served.per_second(), served.quantile(0.99)), (0.0, 0));
    }
}
