//! From a trace to a [`Program`].
//!
//! | file | holds |
//! | --- | --- |
//! | [`affinity`] | the CPUs on which the threads could run |
//! | [`walk`] | walks over the events and determines what each thread did |
//! | [`track`] | the steps of a thread, in a few bytes each |
//! | [`varint`] | the numbers in these bytes |
//! | [`objects`] | locks, semaphores and barriers by address, and when they existed |
//! | [`semaphores`] | which post of a semaphore fed which take |
//! | [`tokens`] | which signal ended which condition wait |
//! | [`held`] | the objects that a step acquires, releases or waits for |
//! | [`served`] | the queues that other queues serve |
//! | [`order`] | the order of holds in which a thread waits for other threads |
//! | [`crowd`] | the number of threads that did not wait, over time |
//! | [`scale`] | ticks of a trace as cycles of a chip |
//! | [`thread`] | a thread as the walk recorded it |
//! | [`gap`] | the time between two events of a thread |
//! | [`gaps`] | what a thread did between two events: computed, slept, or waited for a core |
//! | [`holds`] | how long locks were held |
//! | [`stalls`] | the excess of holds over their usual length |
//! | [`rounds`] | the loops of background threads |
//! | [`lines`] | how much data moves with a lock |
//! | [`dynamic`] | places where threads share out work among themselves |
//! | [`streams`] | pipes, sockets and eventfds: which steps moved their bytes |
//! | [`stores`] | such work as a store, from which the first thread that comes takes the next item |

mod affinity;
mod crowd;
mod dynamic;
mod gap;
mod gaps;
mod held;
mod holds;
mod lines;
mod objects;
mod order;
pub(crate) mod rounds;
mod scale;
mod semaphores;
mod served;
pub(crate) mod stalls;
mod stores;
mod streams;
mod thread;
mod tokens;
mod track;
mod varint;
mod wakes;
mod walk;

use self::holds::Holds;
pub use self::scale::Probes;
use self::scale::Scale;
use self::served::Served;
use self::track::Track;
use crate::change::Life;
use crate::program::{Around, End, LockSpec, Probe, Program, Script, Stalls, Store};
use baton_chip::{Chip, Prices};
use baton_trace::analysis::Sleeper;
use baton_trace::{Kinds, ThreadIndex, Trace};
use baton_units::Cycles;
use std::collections::BTreeMap;

/// Which thread of a replay does an item of the work that threads shared out among themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The first thread that comes does it, where that is possible.
    Shared,
    /// The thread that did it in the recorded run does it.
    AsRecorded,
}

/// Assumed cost of recording an event, in nanoseconds, if the trace does not state it; about what
/// recording is specified to cost at most.
const ASSUMED_PROBE_NS: f64 = 25.0;

/// Compiles a trace into a program for a chip.
pub fn compile(trace: &Trace, chip: &Chip, probes: Probes) -> Program {
    compile_with(trace, chip, probes, Work::Shared)
}

/// Like [`compile`]; `work` says which thread does the work that threads shared out.
pub fn compile_with(trace: &Trace, chip: &Chip, probes: Probes, work: Work) -> Program {
    compile_served(trace, chip, (probes, work), &[])
}

/// Like [`compile_with`]; other queues serve the queues that live at `lives`.
pub fn compile_served(trace: &Trace, chip: &Chip, (probes, work): (Probes, Work), lives: &[Life]) -> Program {
    let scale = Scale::new(trace, chip);
    // Prices stay zero if the chip's network cannot be built; the program's run reports the error.
    let prices = Prices::of(chip).unwrap_or_default();
    let background = baton_trace::analysis::background(trace);
    let sleepers = rounds::sleepers(baton_trace::analysis::sleepers(trace), &background);
    let served = Served::of(trace, chip, lives);
    let mut walked = walk::Walk::over(trace, chip, &prices, rounds::times(trace, &background, &sleepers), served);
    let probe = probe(walked.probe_ps);
    let probe_cycles = probe.event_ns * chip.core.clock.0 as f64 * 1e-9;
    let affinities = affinity::Affinities::of(trace);
    let usual = match probes {
        // A replay of the recorded run leaves stalls in the holds in which they occurred.
        Probes::Kept => Vec::new(),
        Probes::Subtracted => stalls::usual(&walked.holds, scale.ticks_of_ns(stalls::LEAST_NS) as u64),
    };
    let cpus = usable(&affinities, trace, chip);
    let lines = lines::infer(&walked.holds, walked.objects.locks.len(), scale, &prices);
    walked.holds = Holds::default();
    let (places, mut sharing) = dynamic::places(trace, &std::mem::take(&mut walked.sites), &walked.places);
    let all: u64 = places.iter().map(|place| place.acquisitions).sum();
    if work == Work::AsRecorded {
        sharing.clear();
    }
    let (mut stalled, mut grounds) = (Vec::new(), gaps::Grounds::default());
    let mut notes = std::mem::take(&mut walked.notes);
    let wakes = wakes::of(&walked, scale, chip);
    let (prices, crowd, lines) = (&prices, &walked.crowd, &lines);
    let measures = gaps::Measures { chip, prices, crowd, lines, scale, probe_cycles, probes, cpus, usual, wakes };
    let mut steps: Vec<stores::Steps> = walked
        .threads
        .iter_mut()
        .map(|thread| {
            let steps = gaps::ops(thread, &measures, &sharing, &mut grounds, &mut stalled);
            (thread.track, thread.off) = (Track::default(), Vec::new());
            steps
        })
        .collect();
    let stores = match work {
        Work::Shared => stores::make(&mut steps, places),
        Work::AsRecorded => stores::Stores { left: all, ..stores::Stores::default() },
    };
    let mut threads = scripts(trace, &walked, &affinities, &scale, (steps, &sleepers));
    let in_cycles = |ticks: baton_trace::Ticks| Cycles(scale.cycles(ticks.0 as f64) as u64);
    rounds::drop_sleepers(&mut threads, &background, in_cycles);
    notes.extend(grounds.notes());
    let stalls = Stalls { holds: walked.objects.locks.iter().map(|lock| lock.acquisitions).sum(), cycles: stalled };
    notes.extend(affinities.notes());
    notes.extend(shared_out(&stores).into_iter().chain(rounds::notes(trace, &background, &threads)));
    let around = around(std::mem::take(&mut walked.around), &scale, probes);
    let (begin, end) = trace.span();
    let together = crate::lives::together(walked.threads.iter().map(|thread| (thread.first, thread.last)));
    let mut replayability = walked.replayability;
    replayability.lost = trace.losses.iter().map(|loss| loss.events).sum();
    replayability.dynamic = stores.left;
    Program {
        threads,
        stores: stores.stores,
        locks: walked.objects.locks.iter().zip(lines).map(lock_spec).collect(),
        rwlocks: walked.objects.rwlocks,
        semaphores: walked.semaphores.initial(&walked.objects.semaphores),
        barriers: std::mem::take(&mut walked.objects.meetings),
        teams: std::mem::take(&mut walked.objects.teams),
        tokens: walked.tokens.count(),
        queues: std::mem::take(&mut walked.objects.served).into_queues(),
        stalls,
        measured: Cycles(scale.cycles(end.0.saturating_sub(begin.0) as f64) as u64),
        concurrent: Cycles(scale.cycles(together as f64) as u64),
        end: End { by: exit(trace), endless: background.iter().any(|one| !one.joined) },
        replayability,
        probe,
        around,
        notes,
    }
}

/// Returns what recording does around a wait, from the ticks that it took before and behind the waits.
fn around((before, behind): (Vec<u64>, Vec<u64>), scale: &Scale, probes: Probes) -> Around {
    let cycles = |ticks| Cycles(scale.cycles(middle(ticks) as f64) as u64);
    match probes {
        Probes::Kept => Around { before: cycles(before), behind: cycles(behind) },
        Probes::Subtracted => Around::default(),
    }
}

fn lock_spec((lock, &lines): (&objects::LockBook, &crate::program::Lines)) -> LockSpec {
    LockSpec {
        address: lock.address,
        acquisitions: lock.acquisitions,
        spins: lock.spins,
        lines,
        process: u64::from(lock.process.0),
        born: lock.born,
        handed: lock.handed,
    }
}

/// Returns the thread that ended its process last, if it decided when: it was in no wait, nor did it
/// only sleep while others worked.
fn exit(trace: &Trace) -> Option<u32> {
    let last = trace.events_of(Kinds::EXITS).last()?;
    let exit = baton_trace::analysis::exits(trace).get(&trace.process_of(last.thread))?;
    ((exit.thread, exit.time) == (last.thread, last.time) && exit.working.is_empty()).then_some(exit.thread.0)
}

/// Returns the cost of recording an event, measured or assumed.
fn probe(picoseconds: Option<u64>) -> Probe {
    match picoseconds {
        Some(picoseconds) => Probe { event_ns: picoseconds as f64 * 1e-3, recorded: true },
        None => Probe { event_ns: ASSUMED_PROBE_NS, recorded: false },
    }
}

/// Returns the compiled threads with their names, start times and CPUs.
fn scripts(
    trace: &Trace,
    walked: &walk::Walk<'_>,
    affinities: &affinity::Affinities,
    scale: &Scale,
    (steps, sleepers): (Vec<stores::Steps>, &BTreeMap<ThreadIndex, Sleeper>),
) -> Vec<Script> {
    let script = |(i, steps): (usize, stores::Steps)| {
        let name = trace.threads[i].name.clone().unwrap_or_else(|| format!("thread {i}"));
        let started = walked.started[i];
        let at = (!started).then(|| Cycles(scale.cycles((steps.life.0 - walked.first) as f64) as u64));
        let awaited = sleepers.get(&ThreadIndex(i as u32)).map_or(&[][..], |sleeper| &sleeper.ended);
        let turns = rounds::of(&steps.ops, !awaited.is_empty());
        let awaits = awaited.iter().map(|thread| thread.0).filter(|_| turns.is_some()).collect();
        Script { name, at, cpus: affinities.threads[i].clone(), ops: steps.ops, turns, awaits }
    };
    steps.into_iter().enumerate().map(script).collect()
}

/// Returns sentences about how work that threads shared out is replayed.
fn shared_out(stores: &stores::Stores) -> Vec<String> {
    let items: usize = stores.stores.iter().map(Store::len).sum();
    let replayed = (items != 0).then(|| {
        format!(
            "threads share out work among themselves: {items} items are replayed by whoever comes first, in the order in which \
             they were taken"
        )
    });
    let left = "threads share out work among themselves under a lock; the recorded shares are replayed";
    replayed.into_iter().chain((stores.left != 0).then(|| left.to_owned())).collect()
}

/// Returns the median; 0 for an empty list.
fn middle(mut ticks: Vec<u64>) -> u64 {
    ticks.sort_unstable();
    ticks.get(ticks.len() / 2).copied().unwrap_or(0)
}

/// Returns the number of CPUs that the recorded program was allowed to use; 0 if that was not
/// recorded.
pub fn recorded_cpus(trace: &Trace) -> u32 {
    recorded(&affinity::Affinities::of(trace), trace)
}

fn recorded(affinities: &affinity::Affinities, trace: &Trace) -> u32 {
    affinities.cpus.unwrap_or_else(|| trace.meta.as_ref().map_or(0, |meta| meta.host.cpus))
}

/// Returns the number of the chip's cores to use: as many as the recorded program could use CPUs,
/// at most all; all if that was not recorded.
pub fn cpus(trace: &Trace, chip: &Chip) -> u32 {
    usable(&affinity::Affinities::of(trace), trace, chip)
}

fn usable(affinities: &affinity::Affinities, trace: &Trace, chip: &Chip) -> u32 {
    let recorded = recorded(affinities, trace);
    if recorded == 0 { chip.cpus() } else { recorded.min(chip.cpus()) }
}
