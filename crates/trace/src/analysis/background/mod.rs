//! Threads that end because another thread tells them to: a monitor, a flusher, a logger.
//!
//! Such a thread goes round in a loop until another thread sets a flag, and a thread then joins it.
//! The thread lives as long as the program, whatever its own work is. So the joiner does not wait
//! for the thread's work: it waits for the rest of one turn (one pass) of the loop. The critical
//! path therefore stays with the joiner, and a replay lets the thread's loop go round until the
//! joiner has come.
//!
//! The trace shows no flag. A joined thread counts as such a **background thread** if
//!
//! - it ended within one turn of its own loop after the joiner had come, and made at least
//!   [`TURNS`](life::TURNS) turns before. If the thread ended before the joiner began to join it, the
//!   joiner came with its last act before the thread's end ([`last_act`]), or when it began to join
//!   other background threads right before this one. The turn in which the joiner came is the last one
//!   that counts. A turn lies between two releases at one place in the code with no lock held after them, or between two
//!   sleeps, calls for input and output, or waits ended by a deadline, at one place; the place that
//!   the thread came to most often counts, and the longest turn there. A thread that came to no place
//!   at all has to be off the CPU for nearly all of its life, and to end soon after the joiner came;
//! - it is no **peer** of the joiner: peers come to the same places in the code. If the joiner
//!   joins several peers of each other in a row, it came at the first of these joins: workers with
//!   equal shares of the work end at about the same time, so that the last of them seem to end when
//!   they are joined;
//! - it did not tell the joiner in its last turn that it was done ([`confirm`](mod@confirm)).
//!
//! Threads of such a row that the same call created are told to end together. None of them is a
//! background thread if one was at work: it went on for more than a turn, it ended before the joiner
//! came and more than [`APART`](joined::APART) usual turns before another one of them, or it told the
//! joiner that it was done. If the joiner waited for none of several such threads,
//! nor for a background thread right before, they count as at work, too.
//!
//! A thread that no thread joins may live on until another one ends the process
//! ([`What::Exit`](crate::event::What::Exit)). It is a background thread if it was still going round
//! in its loop then, by the rules above, and acts on other threads through locks alone: the end of the process takes the place of the join. If the
//! thread that ended the process only slept while others worked, those others are the program's workers,
//! and none of them is a background thread ([`exits()`](super::exits())).
//!
//! Threads that take their locks through one function of the program (a wrapper) come to the same
//! place there, though they do different things. Such threads are no peers if different calls
//! created them, and either their locks begin at different places
//! ([`Lives`](super::lock_lives::Lives)), or they waited with different callers of that function.
//! Where neither is known, the threads count as peers.

mod at_exit;
mod confirm;
mod joined;
mod last_act;
mod life;
mod told;
mod walk;

use crate::clock::Ticks;
use crate::event::ThreadIndex;
use crate::trace::Trace;
use joined::Found;
use life::Life;
use std::collections::BTreeMap;
pub use told::{Background, LoopPoint, is_background, unknown_names};
use walk::Walk;

/// Finds the background threads of a trace, in the order of their numbers. If the user has named a
/// thread in `meta.json`'s `ends`, that decides.
pub fn background(trace: &Trace) -> Vec<Background> {
    let mut walk = Walk::of(trace);
    for event in trace.complete_events() {
        walk.step(&event, trace.process_of(event.thread));
    }
    let mut found: BTreeMap<ThreadIndex, Found> = BTreeMap::new();
    for joiner in (0..walk.threads.len() as u32).map(ThreadIndex) {
        found.extend(walk.joined_by(trace, joiner).into_iter().map(|one| (one.background.thread, one)));
    }
    for thread in (0..walk.threads.len() as u32).map(ThreadIndex) {
        if let Some(one) = walk.judge_at_exit(trace, thread) {
            found.entry(thread).or_insert(one);
        }
    }
    confirm::confirm(trace, &walk, &mut found);
    found.into_values().map(|one| one.background).collect()
}

/// Returns for each background thread whose place ([`Background::turns_at`]) is known the moments
/// at which the thread came to that place, in order.
pub fn turns(trace: &Trace, background: &[Background]) -> BTreeMap<ThreadIndex, Vec<Ticks>> {
    let mut turns: BTreeMap<ThreadIndex, (LoopPoint, Vec<Ticks>)> =
        background.iter().filter_map(|one| Some((one.thread, (one.turns_at?, Vec::new())))).collect();
    if turns.is_empty() {
        return BTreeMap::new();
    }
    let mut lives: Vec<Life> = trace.threads.iter().map(|_| Life::default()).collect();
    for event in trace.complete_events() {
        let (Some((of, times)), Some(life)) = (turns.get_mut(&event.thread), lives.get_mut(event.thread.index()))
        else {
            continue;
        };
        if life.goes_to(&event.what) == Some(*of) {
            times.push(event.time);
        }
    }
    turns.into_iter().map(|(thread, (_, times))| (thread, times)).collect()
}
