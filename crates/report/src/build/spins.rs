//! Time of the critical path in loops that spin: a lock or a flag of the program's own makes a thread run in a
//! loop until a variable changes, which leaves no event. The recording samples where threads run. A
//! sample lies in such a loop if the instruction `pause` is beside it, by which loops spare the CPU
//! while they spin. A loop without that instruction looks like work.
//!
//! If a thread does nothing that is recorded, the recording has samples of the first part of its work
//! only. So the share of a thread's samples outside of waits that lie in such loops counts for all time
//! in which the path runs along the thread.

use super::names::Names;
use baton_trace::analysis::{CriticalPath, Doing};
use baton_trace::{Address, Kinds, ProcessIndex, ThreadIndex, Ticks, Trace, What};
use std::collections::BTreeMap;

/// The fewest samples of a thread that tell what it does.
const LEAST: u64 = 16;

/// A place with less than 1/`LITTLE` of the path's time is left out.
const LITTLE: u64 = 50;

/// What stands in the place of a call's name.
pub(super) const PAUSE: &str = "pause";

/// For each sampled address of code that lies in a loop that spins, the loop's place.
type Places = BTreeMap<(ProcessIndex, Address), String>;

#[derive(Default)]
struct Sampled {
    /// Number of waits that the thread is in.
    waits: u32,
    all: u64,
    /// Samples in loops, by the loop's place.
    spins: BTreeMap<String, u64>,
}

/// Returns the places on the path where threads spin, with the path's time there. A program of one thread
/// has none.
pub(super) fn on_path(names: &mut Names, trace: &Trace, path: &CriticalPath) -> Vec<(String, Ticks)> {
    let places = places(names, trace);
    if places.is_empty() || trace.threads.len() < 2 {
        return Vec::new();
    }
    let mut threads: BTreeMap<ThreadIndex, Sampled> = BTreeMap::new();
    for event in trace.complete_events() {
        let sampled = threads.entry(event.thread).or_default();
        match (event.what, event.what.wait_edge()) {
            (What::Sample { code, .. }, _) if sampled.waits == 0 => {
                sampled.all += 1;
                if let Some(place) = places.get(&(trace.process_of(event.thread), code)) {
                    *sampled.spins.entry(place.clone()).or_default() += 1;
                }
            }
            (_, Some(true)) => sampled.waits += 1,
            (_, Some(false)) => sampled.waits = sampled.waits.saturating_sub(1),
            _ => {}
        }
    }
    let mut times: BTreeMap<String, Ticks> = BTreeMap::new();
    for (thread, sampled) in threads.into_iter().filter(|(_, sampled)| sampled.all >= LEAST) {
        let along = path.segments.iter().filter(|s| s.thread == thread && s.doing == Doing::Running);
        let running: Ticks = along.map(|s| s.end.since(s.begin)).sum();
        for (place, count) in sampled.spins {
            let time = u128::from(running.0) * u128::from(count) / u128::from(sampled.all);
            *times.entry(place).or_default() += Ticks(time as u64);
        }
    }
    let length = path.time(|_| true).0;
    times.into_iter().filter(|(_, time)| time.0 > length / LITTLE).collect()
}

fn places(names: &mut Names, trace: &Trace) -> Places {
    let mut known: BTreeMap<(ProcessIndex, Address), Option<String>> = BTreeMap::new();
    for event in trace.events_of(Kinds::SAMPLES) {
        let What::Sample { code, .. } = event.what else { continue };
        let process = trace.process_of(event.thread);
        known.entry((process, code)).or_insert_with(|| {
            let spins = names.symbols.spins(trace, process, code, event.time);
            spins.then(|| names.code_place(process, code, event.time))
        });
    }
    known.into_iter().filter_map(|(code, place)| Some((code, place?))).collect()
}
