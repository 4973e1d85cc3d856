//! A test's threads on a machine, over and over, each time on fresh memory and with other noise.
//!
//! What noise there is, all of it drawn from the seed, the run and the thread, never from the test's own accesses:
//!
//! - **start**: the threads of a run meet, then each starts late by up to a bound that differs from run to run;
//! - **caches**: before a run a thread may have read a location or taken it for writing, without changing it;
//! - **store buffers**: a thread may have stores to other lines on their way, so that the test's own wait behind them;
//! - **gaps**: computation between two instructions;
//! - **lines**: how far locations lie apart, and where, is the caller's choice ([`Round::stride`]).

use super::cpu::{Access, Cpu, Locked};
use super::{Histogram, Observable, Test, Thread};
use crate::Body;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering, OwnedSlice};
use std::sync::{Arc, Mutex, PoisonError};

/// Has the threads of a run start together.
pub trait Meet: Clone + Send + 'static {
    /// Waits until that run begins, and so many cycles more.
    fn meet(&self, run: u32, late: Cycles);
}

/// Runs of one test in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// How many.
    pub runs: u32,
    /// Seed of the noise.
    pub seed: u64,
    /// Words of eight bytes from one location to the next: 1 puts them into one line.
    pub stride: usize,
    /// Words in a cache line.
    pub line: usize,
}

/// A round that is set up: run the bodies, each in a thread of its own, then call `finals`.
pub struct Ready {
    /// One a thread of the test.
    pub bodies: Vec<Body>,
    /// The final states, when all bodies have returned.
    pub finals: Box<dyn FnOnce() -> Histogram + Send>,
}

/// Lines beside the test's own that stores go to before it.
const DECOYS: usize = 4;
/// Bounds on how late a thread starts.
const LATE: [u64; 6] = [1, 8, 32, 128, 512, 2048];
/// Bounds on the gap between two instructions.
const GAPS: [u64; 4] = [1, 8, 64, 512];

/// What the threads of a round share.
struct Memory<M: Machine> {
    cells: OwnedSlice<M, M::Atomic<u64>>,
    decoys: OwnedSlice<M, M::Atomic<u64>>,
    round: Round,
    /// Words from one run's memory to the next one's.
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
            decoys: OwnedSlice::new(DECOYS * self.line, |_| M::Atomic::new(0)),
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
            }) as Body
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

/// One run of one thread; the registers that are shown.
fn one<M: Machine>(test: &Test, id: usize, run: u32, memory: &Memory<M>, meet: &impl Meet) -> Vec<u64> {
    let mut common = Noise::new(memory.round.seed, run, 0);
    let mut noise = Noise::new(memory.round.seed, run, id as u64 + 1);
    let (late, gap) = (common.one_of(&LATE), common.one_of(&GAPS));
    let (crowd, gaps) = (common.below(4), common.below(2) == 0);
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
    meet.meet(run, Cycles(noise.below(late)));
    for _ in 0..noise.below(crowd + 1) {
        let decoy = noise.below(DECOYS as u64) as usize * memory.round.line;
        memory.decoys[decoy].store(u64::from(run), Ordering::Relaxed);
    }
    let pause = || {
        if gaps && noise.below(2) == 0 {
            M::work(Cycles(noise.below(gap)));
        }
    };
    let cpu = execute::<M>(&test.threads[id], |location| memory.cell(run, location), pause);
    shown(test, id).map(|register| cpu.registers[register]).collect()
}

/// A thread's code, with `pause` before each access.
fn execute<'a, M: Machine>(
    thread: &Thread,
    cell: impl Fn(usize) -> &'a M::Atomic<u64>,
    mut pause: impl FnMut(),
) -> Cpu {
    let code = &thread.code;
    let mut cpu = Cpu::new(thread);
    while let Some(access) = cpu.next(code) {
        pause();
        match access {
            // Acquire and release are what plain moves have on x86-64.
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
        }
    }
    cpu
}

/// A locked instruction; what it read.
fn exchange<M: Machine>(cell: &M::Atomic<u64>, locked: Locked) -> u64 {
    const ORDER: Ordering = Ordering::SeqCst;
    match locked {
        Locked::Swap(value) => cell.swap(value, ORDER),
        Locked::Add(value) => cell.fetch_add(value, ORDER),
        Locked::CompareExchange { expected, new } => {
            let (Ok(old) | Err(old)) = cell.compare_exchange(expected, new, ORDER, ORDER);
            old
        }
        // The machine has no such instruction; a failed try reads what the next one expects.
        Locked::Compute(..) => {
            let mut old = cell.load(Ordering::Relaxed);
            while let Err(found) = cell.compare_exchange(old, locked.result(old), ORDER, ORDER) {
                old = found;
            }
            old
        }
    }
}

/// Noise of one thread in one run (SplitMix64; Steele, Lea, Flood, OOPSLA 2014).
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
