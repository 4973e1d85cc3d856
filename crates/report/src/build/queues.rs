//! Queues, and the stage of a pipeline that holds the others up.

use super::figures::{distribution, nanos};
use super::names::{Names, place};
use crate::model::{Queue, QueuePlace, QueueSide, QueueUser, SlowStage, Thread, Waitable, ratio};
use crate::symbols::{Frame, is_wrapper};
use baton_trace::analysis::{self, Analysis, QueueStats};
use baton_trace::{ProcessIndex, SiteId, Stream, ThreadIndex, Ticks};
use baton_units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The queues that were used, the one with the most waiting first.
pub(super) fn queues(names: &mut Names, analysis: &Analysis, waitables: &[Waitable]) -> Vec<Queue> {
    let span = nanos(&names.trace.clock, analysis.window.length());
    let mut all = Vec::new();
    for ((number, from), waitable) in (0..).zip(&analysis.waitables).zip(waitables) {
        let Some(stats) = from.stats.queue.as_deref().filter(|stats| is_used(stats)) else { continue };
        if Stream::is_kernels(from.object.address) && !has_waits(stats) {
            continue;
        }
        let mut puts = side(names, &stats.puts);
        let mut takes = side(names, &stats.takes);
        if Stream::of(from.object.address) == Some(Stream::Queue) {
            look_elsewhere(&mut puts, &mut takes, stats.capacity);
        }
        let length = analysis.window.length().0;
        all.push(Queue {
            waitable: number,
            name: waitable.name.clone(),
            capacity: stats.capacity,
            items_per_s: if span.0 == 0 { 0.0 } else { takes.items as f64 * 1e9 / span.0 as f64 },
            mean_depth: if length == 0 { 0.0 } else { stats.item_ticks as f64 / length as f64 },
            most_items: stats.deepest,
            puts,
            takes,
        });
    }
    all.sort_by_key(|queue| Reverse(queue.puts.waited_ns + queue.takes.waited_ns));
    all
}

fn is_used(stats: &QueueStats) -> bool {
    [&stats.puts, &stats.takes].iter().any(|side| side.items > 0) || has_waits(stats)
}

fn has_waits(stats: &QueueStats) -> bool {
    let waited = |side: &&analysis::QueueSide| side.threads.values().any(|(_, time)| *time > Ticks(0));
    [&stats.puts, &stats.takes].iter().any(waited)
}

fn side(names: &mut Names, from: &analysis::QueueSide) -> QueueSide {
    let clock = names.trace.clock;
    let users: BTreeSet<ThreadIndex> = from.movers.keys().chain(from.threads.keys()).copied().collect();
    let user = |thread: ThreadIndex| {
        let (waits, time) = from.threads.get(&thread).copied().unwrap_or_default();
        let items = from.movers.get(&thread).copied().unwrap_or(0);
        QueueUser { thread: thread.0, items, waits, waited_ns: nanos(&clock, time) }
    };
    let mut threads: Vec<_> = users.into_iter().map(user).collect();
    threads.sort_by_key(|user| (Reverse(user.waited_ns), user.thread));
    QueueSide {
        items: from.items,
        timeouts: from.timeouts,
        waited_ns: nanos(&clock, from.threads.values().map(|(_, time)| *time).sum()),
        wait_ns: distribution(&clock, &from.wait),
        threads,
        places: places(names, &from.sites),
        elsewhere: false,
    }
}

/// Marks the sides of a queue between processes at which items passed that no recorded thread moved.
fn look_elsewhere(puts: &mut QueueSide, takes: &mut QueueSide, capacity: Option<u64>) {
    let nobody = |side: &QueueSide| side.threads.is_empty();
    puts.elsewhere = nobody(puts) || takes.items > puts.items;
    takes.elsewhere = nobody(takes) || capacity.is_some_and(|most| puts.items > takes.items.saturating_add(most));
}

/// Gives queues of one name numbers, in the order of their first events.
pub(super) fn number(waitables: &mut [Waitable]) {
    let mut bearers: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for queue in waitables.iter().filter(|one| one.kind == "queue") {
        bearers.entry(queue.name.clone()).or_default().1 += 1;
    }
    for queue in waitables.iter_mut().filter(|one| one.kind == "queue") {
        if let Some((number, 2..)) = bearers.get_mut(&queue.name) {
            *number += 1;
            queue.name = format!("{} #{number}", queue.name);
        }
    }
}

/// Whether a frame is of Rust's own libraries, such as a loop of an iterator.
fn is_of_rust(frame: &Frame) -> bool {
    ["core::", "alloc::", "std::"].iter().any(|library| frame.function.trim_start_matches('<').starts_with(library))
}

/// The places of waits: call sites of the same place are one.
fn places(names: &mut Names, sites: &BTreeMap<(ProcessIndex, SiteId), (u64, Ticks)>) -> Vec<QueuePlace> {
    let mut all: BTreeMap<String, (u64, Ticks)> = BTreeMap::new();
    for ((process, site), (waits, time)) in sites {
        let frames = names.symbols.site(names.trace, *process, *site);
        let own = frames.iter().position(|frame| !is_wrapper(frame) && !is_of_rust(frame)).unwrap_or(0);
        let name = frames.get(own..).and_then(place).unwrap_or_else(|| "an unknown place".to_owned());
        let place = all.entry(name).or_default();
        *place = (place.0 + waits, place.1 + *time);
    }
    let clock = &names.trace.clock;
    let of = |(name, (waits, time))| QueuePlace { name, waits, waited_ns: nanos(clock, time) };
    let mut places: Vec<_> = all.into_iter().map(of).collect();
    places.sort_by_key(|place| Reverse(place.waited_ns));
    places
}

/// Others must wait for a stage for this share of the time at least, to name it.
const HOLDS_UP: f64 = 0.2;
/// A stage that waits at queues for more than this share of its life is not the slow one.
const WAITS_ITSELF: f64 = 0.5;

/// The stage that others wait for most; `None` if none is waited for much, or if it waits as much itself.
/// A stage is the threads that take from the same queues, and put into the same queues.
pub(super) fn slow_stage(queues: &[Queue], threads: &[Thread], span: Nanos) -> Option<SlowStage> {
    let mut sides: BTreeMap<u32, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
    let mut waited: BTreeMap<u32, u64> = BTreeMap::new();
    for (number, queue) in (0..).zip(queues) {
        for (side, is_put) in [(&queue.takes, false), (&queue.puts, true)] {
            for user in &side.threads {
                *waited.entry(user.thread).or_default() += user.waited_ns.0;
                let (takes, puts) = sides.entry(user.thread).or_default();
                if is_put { puts.push(number) } else { takes.push(number) }
            }
        }
    }
    let mut stages: BTreeMap<(Vec<u32>, Vec<u32>), Vec<u32>> = BTreeMap::new();
    for (thread, key) in sides {
        stages.entry(key).or_default().push(thread);
    }
    let life =
        |thread: &u32| threads.get(*thread as usize).map_or(0, |one| one.last_ns.0.saturating_sub(one.first_ns.0));
    let stage = |((takes_from, puts_into), members): ((Vec<u32>, Vec<u32>), Vec<u32>)| {
        let others = |side: &QueueSide| -> u64 {
            let users = side.threads.iter().filter(|user| !members.contains(&user.thread));
            users.map(|user| user.waited_ns.0).sum()
        };
        let blocked = takes_from.iter().map(|queue| others(&queues[*queue as usize].puts)).sum();
        let starved = puts_into.iter().map(|queue| others(&queues[*queue as usize].takes)).sum();
        let lived = members.iter().map(life).sum();
        SlowStage {
            waiting_share: ratio(members.iter().map(|thread| waited[thread]).sum(), lived),
            threads: members,
            takes_from,
            puts_into,
            blocked_ns: Nanos(blocked),
            starved_ns: Nanos(starved),
        }
    };
    let held_up = |stage: &SlowStage| stage.blocked_ns.0 + stage.starved_ns.0;
    let counts = |stage: &SlowStage| stage.waiting_share <= WAITS_ITSELF && ratio(held_up(stage), span.0) >= HOLDS_UP;
    let weight = |stage: &SlowStage| (held_up(stage) as f64 * (1.0 - stage.waiting_share)) as u64;
    stages.into_iter().map(stage).filter(counts).max_by_key(weight)
}
