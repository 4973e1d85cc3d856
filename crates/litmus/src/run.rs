//! A test's threads on a machine, over and over, each time on fresh memory and with other noise.
//!
//! The seed, the number of the run and the thread decide all noise; the test's own accesses never
//! do:
//!
//! - **start**: the threads of a run meet, then each starts late by up to a bound that differs from
//!   run to run, or they start one after the other in any order;
//! - **caches**: before a run a thread may have read a location or taken it for writing, without
//!   changing it;
//! - **store buffers**: a thread may have stores on their way to lines that no cache holds, so that
//!   the test's own stores wait behind them; where threads start one after the other, mostly the
//!   first thread has such stores;
//! - **gaps**: computation between two instructions;
//! - **devices**: the device in which a queue lies, where there are several;
//! - **lines**: the caller chooses how far apart locations lie, and where ([`Round::stride`]).

use super::cpu::{Access, Cpu, Locked};
use super::device::{Queues, Requests};
use super::{Histogram, Observable, Test, Thread};
use baton_machine::queues::QueueId;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering, OwnedSlice, PushTo};
use std::sync::{Arc, Mutex, PoisonError};

/// A way to start the threads of a run together.
pub trait Meet: Clone + Send + 'static {
    /// Waits until the run begins, and `late` cycles more.
    fn meet(&self, run: u32, late: Cycles);
}

/// A number of runs of one test, set up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Number of runs.
    pub runs: u32,
    /// Seed of the noise.
    pub seed: u64,
    /// Words of eight bytes from one location to the next: with 1 the locations lie side by side.
    pub stride: usize,
    /// Number of words in a cache line.
    pub line: usize,
}

/// A round that is set up: run each body in a thread of its own, then call `finals`.
pub struct Ready {
    /// One body for each thread of the test.
    pub bodies: Vec<Box<dyn FnOnce() + Send>>,
    /// Returns the final states; to be called when all bodies have returned.
    pub finals: Box<dyn FnOnce() -> Histogram + Send>,
}

/// Largest number of stores to other lines that a thread has on their way when its test begins;
/// each needs a line of its own.
pub const DECOYS: usize = 15;
/// Bounds on how many cycles late a thread starts.
const LATE: [u64; 6] = [1, 16, 128, 512, 2048, 4096];
/// Cycles from one thread's start to the next thread's, if they start one after the other; each
/// start comes up to half of that later.
const STEPS: [u64; 4] = [128, 512, 1024, 2048];
/// Bounds on the cycles between two instructions.
const GAPS: [u64; 4] = [1, 8, 64, 512];

/// The memory of a round, which its threads share: that of each run, one behind the other.
struct Memory<M: Machine> {
    cells: OwnedSlice<M, M::Atomic<u64>>,
    decoys: OwnedSlice<M, M::Atomic<u64>>,
    queues: Queues<M>,
    round: Round,
    /// Words from one run's memory to the next run's.
    block: usize,
}

impl<M: Machine> Memory<M> {
    fn cell(&self, run: u32, location: usize) -> &M::Atomic<u64> {
        &self.cells[run as usize * self.block + location * self.round.stride]
    }
}

impl Round {
    /// Sets up a round of `test` in the current machine's memory.
    pub fn ready<M: Machine>(self, test: &Arc<Test>, meet: &impl Meet) -> Ready {
        let block = (test.locations.len() * self.stride).max(1).next_multiple_of(self.line) + self.line;
        let initial = |i: usize| {
            let at = i % block;
            let location = test.locations.get(at / self.stride).filter(|_| at.is_multiple_of(self.stride));
            location.map_or(0, |location| location.initial)
        };
        let memory = Memory::<M> {
            cells: OwnedSlice::new(block * self.runs as usize, |i| M::Atomic::new(initial(i))),
            decoys: OwnedSlice::new(DECOYS * test.threads.len() * self.runs as usize * self.line, |_| {
                M::Atomic::new(0)
            }),
            queues: Queues::new(test),
            round: self,
            block,
        };
        let memory: Arc<Memory<M>> = Arc::new(memory);
        let registers: Vec<Arc<Mutex<Vec<u64>>>> = test.threads.iter().map(|_| Arc::default()).collect();
        let body = |id: usize| {
            let (test, memory, meet, out) = (test.clone(), memory.clone(), meet.clone(), registers[id].clone());
            Box::new(move || {
                let seen: Vec<u64> = (0..self.runs).flat_map(|run| one::<M>(&test, id, run, &memory, &meet)).collect();
                *out.lock().unwrap_or_else(PoisonError::into_inner) = seen;
            }) as Box<dyn FnOnce() + Send>
        };
        let bodies = (0..test.threads.len()).map(body).collect();
        let test = test.clone();
        let finals = Box::new(move || {
            let registers: Vec<Vec<u64>> = registers
                .iter()
                .map(|out| std::mem::take(&mut *out.lock().unwrap_or_else(PoisonError::into_inner)))
                .collect();
            histogram(&test, self.runs, &registers, |run, at| memory.cell(run, at).load(Ordering::Acquire))
        });
        Ready { bodies, finals }
    }
}

/// The registers of a thread that a state shows, in the order of [`Test::shown`].
fn shown(test: &Test, thread: usize) -> impl Iterator<Item = usize> {
    test.shown.iter().filter_map(move |observable| match *observable {
        Observable::Register { thread: of, register, .. } if of == thread => Some(register),
        _ => None,
    })
}

fn histogram(test: &Test, runs: u32, registers: &[Vec<u64>], memory: impl Fn(u32, usize) -> u64) -> Histogram {
    let mut seen = Histogram::new();
    for run in 0..runs {
        let register = |thread: usize, register: usize| {
            let kept = shown(test, thread).count();
            let at = shown(test, thread).position(|shown| shown == register).unwrap_or(0);
            registers[thread][run as usize * kept + at]
        };
        let state = test.state(register, |at| memory(run, at));
        if test.counts(&state) {
            *seen.entry(state).or_default() += 1;
        }
    }
    seen
}

/// Runs one thread once. Returns the registers that a state shows.
fn one<M: Machine>(test: &Test, id: usize, run: u32, memory: &Memory<M>, meet: &impl Meet) -> Vec<u64> {
    let mut common = Noise::new(memory.round.seed, run, 0);
    let mut noise = Noise::new(memory.round.seed, run, id as u64 + 1);
    let (late, gap) = (common.one_of(&LATE), common.one_of(&GAPS));
    let gaps = common.below(2) == 0;
    // If the threads start one after the other: this thread's place in the order of the starts, and
    // the cycles from one start to the next.
    let row = (common.below(2) == 0).then(|| (place(&mut common, test.threads.len(), id), common.one_of(&STEPS)));
    if id == 0 {
        memory.queues.make(run, |devices| noise.below(devices));
    }
    for location in 0..test.locations.len() {
        let cell = memory.cell(run, location);
        match noise.below(6) {
            0 => {
                let _ = cell.fetch_add(0, Ordering::Relaxed);
            }
            1 | 2 => {
                let _ = cell.load(Ordering::Relaxed);
            }
            _ => {}
        }
    }
    let (late, crowd) = match row {
        Some((place, step)) => {
            let crowd = if place == 0 { DECOYS as u64 } else { noise.one_of(&[0, 0, 0, 2]) };
            (place as u64 * step + noise.below(step / 2), crowd)
        }
        None => (noise.below(late), noise.one_of(&[0, 0, 2, DECOYS as u64])),
    };
    meet.meet(run, Cycles(late));
    let queues = memory.queues.of(run);
    let first = (run as usize * test.threads.len() + id) * DECOYS;
    for decoy in 0..noise.below(crowd + 1) as usize {
        memory.decoys[(first + decoy) * memory.round.line].store(1, Ordering::Relaxed);
    }
    let pause = || {
        if gaps && noise.below(2) == 0 {
            M::work(Cycles(noise.below(gap)));
        }
    };
    let cpu = execute::<M>(&test.threads[id], |location| memory.cell(run, location), queues, pause);
    memory.queues.done();
    shown(test, id).map(|register| cpu.registers[register]).collect()
}

/// The place of the thread `id` in a random order of the threads.
fn place(noise: &mut Noise, threads: usize, id: usize) -> usize {
    let keys: Vec<(u64, usize)> = (0..threads).map(|thread| (noise.next(), thread)).collect();
    keys.iter().filter(|key| **key < keys[id]).count()
}

/// Executes a thread's code, with a call of `pause` before each access.
fn execute<'a, M: Machine>(
    thread: &Thread,
    cell: impl Fn(usize) -> &'a M::Atomic<u64>,
    queues: Vec<(M::Queues, QueueId)>,
    mut pause: impl FnMut(),
) -> Cpu {
    let code = &thread.code;
    let mut cpu = Cpu::new(thread);
    let mut requests = Requests::<M>::new(queues);
    while let Some(access) = cpu.next(code) {
        pause();
        match access {
            // Acquire and release are the orders that plain moves have on x86-64.
            Access::Load(at) => cpu.loaded(code, cell(at).load(Ordering::Acquire)),
            Access::Store(at, value) => {
                cell(at).store(value, Ordering::Release);
                cpu.done();
            }
            Access::Fence => {
                M::fence(Ordering::SeqCst);
                cpu.done();
            }
            Access::Locked(at, locked) => {
                let old = exchange::<M>(cell(at), locked);
                cpu.locked(code, locked, old);
            }
            Access::Enqueue(queue, item) => {
                requests.enqueue(queue, item);
                cpu.done();
            }
            Access::Dequeue(queue) => requests.dequeue(queue, &mut cpu, code),
            Access::Await(register) => requests.wait(register, &mut cpu),
            Access::Prepush(at) => {
                let cell: *const M::Atomic<u64> = cell(at);
                M::prepush(cell.cast(), size_of::<u64>(), PushTo::SharedLevel);
                cpu.done();
            }
        }
    }
    requests.end(&mut cpu);
    cpu
}

/// Executes a locked instruction. Returns the value that it read.
fn exchange<M: Machine>(cell: &M::Atomic<u64>, locked: Locked) -> u64 {
    const ORDER: Ordering = Ordering::SeqCst;
    match locked {
        Locked::Swap(value) => cell.swap(value, ORDER),
        Locked::Add(value) => cell.fetch_add(value, ORDER),
        Locked::CompareExchange { expected, new } => {
            let (Ok(old) | Err(old)) = cell.compare_exchange(expected, new, ORDER, ORDER);
            old
        }
        // The machine has no operation for this, so a loop of compare-and-exchange performs it. A
        // try that fails reads the value that the next try expects.
        Locked::Compute(..) => {
            let mut old = cell.load(Ordering::Relaxed);
            while let Err(found) = cell.compare_exchange(old, locked.result(old), ORDER, ORDER) {
                old = found;
            }
            old
        }
    }
}

/// The noise of one thread in one run (SplitMix64; Steele, Lea, Flood, OOPSLA 2014).
struct Noise(u64);

impl Noise {
    fn new(seed: u64, run: u32, part: u64) -> Noise {
        let mut noise = Noise(seed ^ (u64::from(run) << 20 | part).wrapping_mul(0xd134_2543_de82_ef95));
        noise.next();
        noise
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    fn one_of(&mut self, choices: &[u64]) -> u64 {
        choices[self.below(choices.len() as u64) as usize]
    }
}
