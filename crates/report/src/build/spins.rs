//! Time of the critical path in loops that spin: a lock or a flag of the program's own makes a thread run in a
//! loop until a variable changes, which leaves no event. The recording samples where threads run. A
//! sample lies in such a loop if the instruction `pause` is beside it, by which loops spare the CPU
//! while they spin, if its instructions show a loop that only another thread can end
//! ([`crate::loops`]), or if it is in a function of a runtime that is known to spin
//! ([`super::spinners`]).
//!
//! If a thread does nothing that is recorded, the recording has samples of the first part of its work
//! only. So the share of a thread's samples outside of waits that lie in such loops counts for all time
//! in which the path runs along the thread.

use super::names::Names;
use super::spinners::{self, Runtime};
use crate::loops::Waits;
use baton_trace::analysis::{CriticalPath, Doing, LITTLE_OF_PATH};
use baton_trace::{Address, Kinds, ProcessIndex, ThreadIndex, Ticks, Trace, What};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The fewest samples of a thread that tell what it does.
const LEAST: u64 = 16;

/// The most addresses without `pause` beside them whose code is looked at, those with most samples.
const LOOKS: usize = 128;

/// A loop that spins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spin {
    /// The place in the code.
    pub(super) at: String,
    pub(super) by: Told,
}

/// What a loop was told by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// The instruction `pause`.
    Pause,
    /// The instructions of a turn, and their number.
    Turn(u32),
    /// The name of the function.
    Name(&'static Runtime),
}

impl Told {
    /// What stands in the place of a call's name.
    pub(super) fn word(self) -> &'static str {
        match self {
            Told::Pause => PAUSE,
            Told::Turn(_) => "loop",
            Told::Name(_) => "runtime",
        }
    }
}

/// The word of [`Told::Pause`].
pub(super) const PAUSE: &str = "pause";

/// An address of code in a process.
type Place = (ProcessIndex, Address);

/// The loop in which an address lies.
#[derive(Clone)]
struct Within {
    spin: Spin,
    /// Whether the address lies in a function that the loop calls, and others may call, too.
    called: bool,
}

impl Within {
    fn of(at: String, by: Told) -> Within {
        Within { spin: Spin { at, by }, called: false }
    }
}

#[derive(Default)]
struct Sampled {
    /// Number of waits that the thread is in.
    waits: u32,
    all: u64,
    /// Samples in loops.
    spins: BTreeMap<Spin, u64>,
    /// Samples in functions that loops call. A runtime's loops share these functions: the name is that of
    /// the function, and not of the loop.
    called: BTreeMap<Spin, u64>,
}

impl Sampled {
    /// The samples in each loop. Samples in functions that a loop calls count for a thread that was found in
    /// the loop itself. A function that loops of a runtime call to wait counts by itself for other threads.
    fn in_loops(self) -> BTreeMap<Spin, u64> {
        let mut loops = self.spins;
        for (spin, more) in self.called {
            let of_runtime = |one: &Spin| matches!(spin.by, Told::Name(_)) && one.by == spin.by;
            let callers = loops.iter_mut().filter(|(one, _)| **one == spin || of_runtime(one));
            if let Some((_, count)) = callers.max_by_key(|(_, count)| **count) {
                *count += more;
            } else if let Told::Name(_) = spin.by {
                loops.insert(Spin { by: Told::Pause, ..spin }, more);
            }
        }
        loops
    }
}

/// Returns the loops on the path in which threads spin, with the path's time there. A program of one thread
/// has none.
pub(super) fn on_path(names: &mut Names, trace: &Trace, path: &CriticalPath) -> Vec<(Spin, Ticks)> {
    if trace.threads.len() < 2 {
        return Vec::new();
    }
    let places = places(names, trace);
    if places.is_empty() {
        return Vec::new();
    }
    let mut threads: BTreeMap<ThreadIndex, Sampled> = BTreeMap::new();
    for event in trace.complete_events() {
        let sampled = threads.entry(event.thread).or_default();
        match (event.what, event.what.wait_edge()) {
            (What::Sample { code, .. }, _) if sampled.waits == 0 => {
                sampled.all += 1;
                if let Some(Within { spin, called }) = places.get(&(trace.process_of(event.thread), code)) {
                    let counts = if *called { &mut sampled.called } else { &mut sampled.spins };
                    *counts.entry(spin.clone()).or_default() += 1;
                }
            }
            (_, Some(true)) => sampled.waits += 1,
            (_, Some(false)) => sampled.waits = sampled.waits.saturating_sub(1),
            _ => {}
        }
    }
    let mut times: BTreeMap<Spin, Ticks> = BTreeMap::new();
    for (thread, sampled) in threads.into_iter().filter(|(_, sampled)| sampled.all >= LEAST) {
        let along = path.segments.iter().filter(|s| s.thread == thread && s.doing == Doing::Running);
        let running: Ticks = along.map(|s| s.end.since(s.begin)).sum();
        let all = u128::from(sampled.all);
        for (spin, count) in sampled.in_loops() {
            *times.entry(spin).or_default() += Ticks((u128::from(running.0) * u128::from(count) / all) as u64);
        }
    }
    let length = path.time(|_| true).0;
    times.into_iter().filter(|(_, time)| time.0 > length / LITTLE_OF_PATH).collect()
}

/// The loops in which sampled addresses lie.
fn places(names: &mut Names, trace: &Trace) -> BTreeMap<Place, Within> {
    let mut places = BTreeMap::new();
    let mut others: Vec<(Place, Ticks, u32)> = Vec::new();
    for (place, (count, time)) in sampled(trace) {
        let (process, code) = place;
        if let Some(within) = in_runtime(names, trace, place, time) {
            places.insert(place, within);
        } else if names.symbols.spins(trace, process, code, time) {
            places.insert(place, Within::of(names.code_place(process, code, time), Told::Pause));
        } else {
            others.push((place, time, count));
        }
    }
    others.sort_by_key(|(place, _, count)| (Reverse(*count), *place));
    let mut loops: Vec<(ProcessIndex, Waits, Spin)> = Vec::new();
    for ((process, code), time, _) in others.iter().take(LOOKS) {
        let Some(waits) = names.symbols.waits_at(trace, *process, *code, *time) else { continue };
        // A loop that can be gone through in several ways is one loop.
        let known = loops.iter().find(|(of, one, _)| (*of, one.begin) == (*process, waits.begin));
        let spin = known.map(|(.., spin)| spin.clone()).unwrap_or_else(|| Spin {
            at: names.code_place(*process, waits.begin, *time),
            by: Told::Turn(waits.instructions as u32),
        });
        places.insert((*process, *code), Within { spin: spin.clone(), called: false });
        loops.push((*process, waits, spin));
    }
    for (place, ..) in others {
        let within = loops.iter().find(|(process, waits, _)| *process == place.0 && waits.code.contains(&place.1));
        if let Some((.., spin)) = within {
            places.entry(place).or_insert_with(|| Within { spin: spin.clone(), called: true });
        }
    }
    places
}

/// The function that is known to spin in which an address lies.
fn in_runtime(names: &mut Names, trace: &Trace, (process, code): Place, time: Ticks) -> Option<Within> {
    let runtime = spinners::runtime(&trace.module(process, code, time)?.path)?;
    let (at, called) = runtime.function(&names.sampled(process, code, time))?;
    Some(Within { spin: Spin { at, by: Told::Name(runtime) }, called })
}

/// The sampled addresses, with the number of samples and the time of the first one.
fn sampled(trace: &Trace) -> BTreeMap<Place, (u32, Ticks)> {
    let mut sampled = BTreeMap::new();
    for event in trace.events_of(Kinds::SAMPLES) {
        let What::Sample { code, .. } = event.what else { continue };
        sampled.entry((trace.process_of(event.thread), code)).or_insert((0, event.time)).0 += 1;
    }
    sampled
}
