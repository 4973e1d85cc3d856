//! Random programs are run by a small scheduler of this test, which records the events that a
//! profiled run would record. Each recording is replayed under locks that are handed over, that let
//! threads barge and that spin. The recorded run ended, so every replay must end, too. With
//! `BATON_SEED=N`, only the recording of seed N is replayed (of the next seed, if that run never
//! ends).

mod common;

use baton_machine::Wait;
use baton_replay::compile::{Probes, compile};
use baton_replay::run::{Choice, Setup, run};
use baton_trace::{
    Clock, How, Lock, Mode, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, Waitable, WakeReason, What,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// A step of a random program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Do {
    Work(u64),
    Lock(usize),
    Unlock(usize),
    /// Tries a lock until the thread has it.
    Poll(usize),
    /// Waits on the condition of the second number, with the mutex of the first number held, until
    /// the condition's flag is set.
    Wait(usize, usize),
    /// Waits once on the condition of the second number, whether or not its flag is set; the wait
    /// may time out.
    TimedWait(usize, usize),
    /// Sets the condition's flag and signals one waiter, or all if the second value is true.
    Signal(usize, bool),
    Meet,
    Take(usize),
    Post(usize),
    /// Starts a thread. (`Join` waits for a thread's end.)
    Start(usize),
    Join(usize),
    /// Takes items under the lock of this number until there are none left.
    Items(usize),
}

const LOCKS: usize = 4;
const CONDITIONS: usize = 3;

/// What a thread is doing, or waiting for.
#[derive(Clone, Copy, PartialEq)]
enum At {
    NotStarted,
    Running,
    Locking(usize),
    Polling(usize),
    Conditional { mutex: usize, condition: usize, timed: bool },
    Relocking(usize),
    Meeting,
    Taking(usize),
    Joining(usize),
    Done,
}

struct Machine<'a> {
    random: &'a mut Random,
    programs: Vec<VecDeque<Do>>,
    at: Vec<At>,
    owner: Vec<Option<usize>>,
    flags: [bool; CONDITIONS],
    asleep: Vec<(usize, usize)>,
    units: Vec<u32>,
    meeting: Vec<usize>,
    meet: usize,
    items: u32,
    now: u64,
    events: Vec<(u64, u32, What)>,
}

const MODE: Mode = Mode::Exclusive;

fn lock(n: usize) -> Lock {
    Lock::mutex(0x100 * (n as u64 + 1))
}
fn condition(n: usize) -> u64 {
    0x10_000 + 64 * n as u64
}
fn semaphore(n: usize) -> u64 {
    0x20_000 + 64 * n as u64
}
const BARRIER: u64 = 0x30_000;

impl Machine<'_> {
    fn note(&mut self, thread: usize, what: What) {
        self.now += 20 + self.random.below(60);
        self.events.push((self.now, thread as u32, what));
    }

    fn site(&self, n: usize) -> SiteId {
        SiteId(n as u32 + 1)
    }

    fn has(&mut self, thread: usize, n: usize, waited: bool) {
        self.owner[n] = Some(thread);
        let site = self.site(n);
        let what = match waited {
            true => What::Acquired { lock: lock(n), mode: MODE, how: How::OPAQUE },
            false => What::Acquire { lock: lock(n), mode: MODE, site },
        };
        self.note(thread, what);
        self.at[thread] = At::Running;
    }

    fn wants(&mut self, thread: usize, n: usize, then: At) {
        if self.owner[n].is_none() {
            return self.has(thread, n, false);
        }
        let site = self.site(n);
        self.note(thread, What::Request { lock: lock(n), mode: MODE, site });
        self.at[thread] = then;
    }

    fn release(&mut self, thread: usize, n: usize) {
        let site = self.site(n);
        self.note(thread, What::Release { lock: lock(n), mode: MODE, site });
        self.owner[n] = None;
    }

    fn sleep(&mut self, thread: usize, mutex: usize, n: usize, timed: bool) {
        self.note(thread, What::CondWait { condition: condition(n), site: SiteId(40) });
        self.note(thread, What::CondMutex { mutex: lock(mutex).address });
        self.release(thread, mutex);
        self.asleep.push((thread, n));
        self.at[thread] = At::Conditional { mutex, condition: n, timed };
    }

    /// Does a thread's next step, or ends its wait if it can end. Returns false if the thread
    /// cannot go on.
    fn step(&mut self, thread: usize) -> bool {
        match self.at[thread] {
            At::NotStarted | At::Done => return false,
            At::Running => return self.next(thread),
            At::Locking(n) | At::Relocking(n) if self.owner[n].is_none() => self.has(thread, n, true),
            At::Polling(n) => match self.owner[n] {
                None => self.has(thread, n, false),
                Some(_) => {
                    let site = self.site(n);
                    self.note(thread, What::TryFail { lock: lock(n), mode: MODE, site });
                    // A failed try counts as no progress, so that a standstill of all other threads
                    // is noticed.
                    return false;
                }
            },
            At::Conditional { mutex, condition: n, timed } => {
                let woken = !self.asleep.contains(&(thread, n));
                if !(woken || timed && self.random.below(4) == 0) {
                    return false;
                }
                self.asleep.retain(|&(other, _)| other != thread);
                let reason = if woken { WakeReason::Woken } else { WakeReason::TimedOut };
                self.note(thread, What::CondWake { condition: condition(n), reason });
                self.wants(thread, mutex, At::Relocking(mutex));
                if !timed {
                    // After the wake-up, the thread looks at the flag again, with the mutex held.
                    self.programs[thread].push_front(Do::Wait(mutex, n));
                }
            }
            At::Meeting if !self.meeting.contains(&thread) => {
                self.note(thread, What::BarrierLeave { barrier: BARRIER, serial: false });
                self.at[thread] = At::Running;
            }
            At::Taking(n) if self.units[n] != 0 => {
                self.units[n] -= 1;
                self.note(thread, What::SemTaken { semaphore: semaphore(n), how: How::OPAQUE });
                self.at[thread] = At::Running;
            }
            At::Joining(other) if self.at[other] == At::Done => {
                self.note(thread, What::JoinEnd { handle: 100 + other as u64, error: 0 });
                self.at[thread] = At::Running;
            }
            _ => return false,
        }
        true
    }

    fn next(&mut self, thread: usize) -> bool {
        let Some(step) = self.programs[thread].pop_front() else {
            self.note(thread, What::ThreadEnd { handle: 100 + thread as u64 });
            self.at[thread] = At::Done;
            return true;
        };
        match step {
            Do::Work(ns) => self.now += ns,
            Do::Lock(n) => self.wants(thread, n, At::Locking(n)),
            Do::Poll(n) if self.owner[n].is_none() => self.has(thread, n, false),
            Do::Poll(n) => self.at[thread] = At::Polling(n),
            Do::Unlock(n) => self.release(thread, n),
            Do::Wait(_, n) if self.flags[n] => {}
            Do::Wait(mutex, n) => self.sleep(thread, mutex, n, false),
            Do::TimedWait(mutex, n) => self.sleep(thread, mutex, n, true),
            Do::Signal(n, all) => {
                self.flags[n] = true;
                let (condition, site) = (condition(n), SiteId(41));
                let what =
                    if all { What::CondBroadcast { condition, site } } else { What::CondSignal { condition, site } };
                self.note(thread, what);
                let mut first = true;
                self.asleep.retain(|&(_, other)| other != n || !(all || std::mem::take(&mut first)));
            }
            Do::Meet => {
                self.note(thread, What::BarrierArrive { barrier: BARRIER, site: SiteId(42) });
                self.meeting.push(thread);
                self.at[thread] = At::Meeting;
                if self.meeting.len() == self.meet {
                    self.meeting.clear();
                }
            }
            Do::Take(n) if self.units[n] != 0 => {
                self.units[n] -= 1;
                self.note(thread, What::SemTake { semaphore: semaphore(n), site: SiteId(43) });
            }
            Do::Take(n) => {
                self.note(thread, What::SemWait { semaphore: semaphore(n), site: SiteId(43) });
                self.at[thread] = At::Taking(n);
            }
            Do::Post(n) => {
                self.note(thread, What::SemPost { semaphore: semaphore(n), site: SiteId(44) });
                self.units[n] += 1;
            }
            Do::Start(other) => {
                self.note(thread, What::Create { site: SiteId(45) });
                self.note(other, What::ThreadStart { handle: 100 + other as u64 });
                self.note(thread, What::Created { handle: 100 + other as u64, error: 0 });
                self.at[other] = At::Running;
            }
            Do::Join(other) => {
                self.note(thread, What::JoinBegin { handle: 100 + other as u64, site: SiteId(46) });
                self.at[thread] = At::Joining(other);
            }
            Do::Items(n) if self.items != 0 => {
                self.items -= 1;
                let length = 200 + self.random.below(3000);
                for step in [Do::Items(n), Do::Work(length), Do::Unlock(n), Do::Lock(n)] {
                    self.programs[thread].push_front(step);
                }
            }
            Do::Items(_) => {}
        }
        true
    }

    /// Runs the program to its end. Returns the trace; `None` if the run came to a deadlock of its
    /// own.
    fn run(mut self) -> Option<Trace> {
        self.at[0] = At::Running;
        self.note(0, What::ThreadStart { handle: 100 });
        let mut idle = 0;
        while self.at.iter().any(|at| *at != At::Done) {
            let thread = self.random.below(self.at.len() as u64) as usize;
            idle = if self.step(thread) { 0 } else { idle + 1 };
            if idle > 400 {
                return None;
            }
        }
        let mut builder = TraceBuilder::new(Clock::nanoseconds());
        for (time, thread, what) in self.events {
            builder.push(Ticks(time), ThreadIndex(thread), what);
        }
        Some(builder.build())
    }
}

/// Adds a few random steps under locks, some of them within others, with all kinds of steps in
/// between.
fn steps(random: &mut Random, held: &mut Vec<usize>, depth: u32, out: &mut VecDeque<Do>) {
    for _ in 0..1 + random.below(4) {
        out.push_back(Do::Work(random.below(2000)));
        let n = random.below(LOCKS as u64) as usize;
        match random.below(14) {
            0..=5 if depth < 3 && !held.contains(&n) => {
                out.push_back(if random.below(4) == 0 { Do::Poll(n) } else { Do::Lock(n) });
                held.push(n);
                steps(random, held, depth + 1, out);
                out.push_back(Do::Unlock(n));
                held.pop();
            }
            6 => {
                if let Some(&mutex) = held.last() {
                    out.push_back(Do::Wait(mutex, random.below(CONDITIONS as u64) as usize));
                }
            }
            7 => {
                if let Some(&mutex) = held.last() {
                    out.push_back(Do::TimedWait(mutex, random.below(CONDITIONS as u64) as usize));
                }
            }
            8 | 9 => out.push_back(Do::Signal(random.below(CONDITIONS as u64) as usize, random.below(2) == 0)),
            10 => out.push_back(Do::Take(random.below(2) as usize)),
            11 => out.push_back(Do::Post(random.below(2) as usize)),
            12 => {
                // A semaphore that guards something: each thread takes it before posting it.
                out.extend([Do::Take(2), Do::Work(300), Do::Post(2)]);
            }
            _ => {}
        }
    }
}

/// Records a program of random steps. Its threads go through phases, which end with a barrier or
/// with work that they share out, or just end. The first thread starts the others, and may take
/// part.
fn recorded(random: &mut Random) -> Option<Trace> {
    let threads = 2 + random.below(4) as usize;
    let takes_part = random.below(2) == 0;
    let first = usize::from(!takes_part);
    let mut programs: Vec<VecDeque<Do>> = vec![VecDeque::new(); threads];
    programs[0].extend((1..threads).map(Do::Start));
    for _ in 0..1 + random.below(3) {
        let phase = random.below(3);
        for program in &mut programs[first..] {
            steps(random, &mut Vec::new(), 0, program);
            match phase {
                0 => program.push_back(Do::Meet),
                1 => program.push_back(Do::Items(0)),
                _ => {}
            }
        }
    }
    programs[0].extend((1..threads).map(Do::Join));
    let machine = Machine {
        programs,
        at: vec![At::NotStarted; threads],
        owner: vec![None; LOCKS],
        flags: [false; CONDITIONS],
        asleep: Vec::new(),
        units: vec![1, 0, 2],
        meeting: Vec::new(),
        meet: threads - first,
        items: 12 + random.below(20) as u32,
        now: 0,
        events: vec![
            (0, 0, What::Init { sort: Waitable::Semaphore, address: semaphore(0), site: SiteId(50) }),
            (0, 0, What::Attribute { address: semaphore(0), value: 1 }),
        ],
        random,
    };
    machine.run()
}

/// The locks and wait policies under which each recording is replayed.
const CHOICES: [(&str, Wait); 5] = [
    ("futex", Wait::Futex),
    ("spin-park", Wait::SpinPark(20)),
    ("mcs", Wait::SpinPark(20)),
    ("ticket", Wait::Futex),
    ("tas", Wait::Pause),
];

#[test]
fn no_replay_of_a_run_that_ended_is_a_deadlock() {
    let chip = common::chip(&["core.count=4", "core.per_cluster=4", "os.time_slice=100000"]);
    let named = std::env::var("BATON_SEED").ok().map(|text| text.parse::<u64>().expect("BATON_SEED is a number"));
    let (mut ended, mut seed) = (0, named.map_or(0, |seed| seed - 1));
    while ended < if named.is_some() { 1 } else { RUNS } {
        seed += 1;
        let Some(trace) = recorded(&mut Random(seed)) else { continue };
        ended += 1;
        for probes in [Probes::Subtracted, Probes::Kept] {
            let program = Arc::new(compile(&trace, &chip, probes));
            for (lock, wait) in CHOICES {
                for cpus in [1, 3] {
                    let setup = Setup { seed, ..Setup::new(Choice { lock: lock.into(), wait }, cpus) };
                    if let Err(error) = run(&program, &chip, &setup) {
                        panic!(
                            "BATON_SEED={seed} cargo test -p baton-replay --test deadlocks: {cpus} CPUs, {probes:?}: {error}"
                        );
                    }
                }
            }
        }
    }
}

const RUNS: u32 = 150;
