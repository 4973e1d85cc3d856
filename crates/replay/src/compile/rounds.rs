//! Loops that go round for as long as the run needs: those of background threads, until another thread
//! comes to join them or the program ends, and those in which a thread sleeps until others have ended.
//!
//! The recorded number of turns belongs to the recorded length of the run. In a replay the thread
//! repeats its recorded turns while the joiner has not come, and leaves its loop at the end of the
//! turn in which the joiner comes.
//!
//! The turns can only be repeated if they affect other threads through locks alone. A thread that
//! signals, posts, meets or starts others in its turns or after them keeps its recorded number of
//! turns, and a note says so. Behind its turns the thread may wait for the signal, wake or post by
//! which another thread tells it to end.

use crate::program::{Op, Ops, Script, Turns};
use baton_trace::analysis::{Background, Sleeper, is_background};
use baton_trace::{ThreadIndex, Ticks, Trace};
use baton_units::Cycles;
use std::collections::{BTreeMap, VecDeque};

/// The times, in ticks, at which the turns of a thread's loop end.
pub(crate) type RoundTimes = VecDeque<u64>;

/// Returns for each thread the longest of `all` series of sleeps in which it waited for others to end. A
/// background thread has none: its loop has other turns.
pub(crate) fn sleepers(all: Vec<Sleeper>, background: &[Background]) -> BTreeMap<ThreadIndex, Sleeper> {
    let mut longest: BTreeMap<ThreadIndex, Sleeper> = BTreeMap::new();
    for sleeper in all.into_iter().filter(|sleeper| sleeper.by_calls && !is_background(background, sleeper.thread)) {
        match longest.get(&sleeper.thread) {
            Some(other) if other.length() >= sleeper.length() => {}
            _ => drop(longest.insert(sleeper.thread, sleeper)),
        }
    }
    longest
}

/// Returns the times at which turns end, for each thread of the trace; threads without a loop have
/// none.
pub(crate) fn times(
    trace: &Trace,
    background: &[Background],
    sleepers: &BTreeMap<ThreadIndex, Sleeper>,
) -> Vec<RoundTimes> {
    let mut turns = baton_trace::analysis::turns(trace, background);
    turns.extend(sleepers.iter().map(|(thread, sleeper)| (*thread, sleeper.turns.clone())));
    let mut of = |thread| turns.remove(&ThreadIndex(thread)).unwrap_or_default();
    (0..trace.threads.len() as u32).map(|thread| of(thread).into_iter().map(|time| time.0).collect()).collect()
}

/// Whether a turn ends at this time. Removes all times up to it.
pub(crate) fn ends(times: &mut RoundTimes, time: u64) -> bool {
    let mut last = None;
    while let Some(passed) = times.pop_front_if(|next| *next <= time) {
        last = Some(passed);
    }
    last == Some(time)
}

/// Returns the loop in a thread's steps, if it has a loop that can be repeated. `sleeps`: whether the
/// thread goes on behind the loop, which ends when others have ended.
pub(crate) fn of(ops: &Ops, sleeps: bool) -> Option<Turns> {
    let mut turns = ops.iter().enumerate().filter(|(_, op)| *op == Op::Turn).map(|(at, _)| at);
    let (first, last) = (turns.next()?, turns.next_back()?);
    let told = !sleeps && ops.between(last, ops.len()).any(is_told);
    let repeated = ops.between(first, last).all(concerns_locks_alone);
    let rest = sleeps || ops.between(last, ops.len()).all(|op| concerns_locks_alone(op) || is_told(op));
    (repeated && rest).then_some(Turns { first, last, told })
}

/// Whether the thread waits in this step for what another thread tells it.
fn is_told(op: Op) -> bool {
    matches!(op, Op::TokenWait(_) | Op::SemTake(_))
}

/// Takes background threads without any known turn out of the program, if all their steps concern
/// locks alone and the joiner's script joins them. Such a thread slept; its joiner then waits, from
/// its own arrival on, for as long as it waited in the recording.
pub(crate) fn drop_sleepers(threads: &mut [Script], background: &[Background], cycles: impl Fn(Ticks) -> Cycles) {
    for one in background.iter().filter(|one| one.turns_at.is_none()) {
        let (sleeper, joiner) = (one.thread.index(), one.joiner.index());
        if sleeper == joiner || sleeper.max(joiner) >= threads.len() {
            continue;
        }
        let join = threads[joiner].ops.iter().position(|op| op == Op::Join(one.thread.0));
        if let Some(join) = join.filter(|_| threads[sleeper].ops.iter().all(concerns_locks_alone)) {
            let tail = cycles(one.ended.since(one.came)).0.max(1);
            threads[sleeper].ops = Ops::default();
            threads[joiner].insert(join + 1, std::iter::once(Op::Delay(tail)));
        }
    }
}

fn concerns_locks_alone(op: Op) -> bool {
    matches!(
        op,
        Op::Turn | Op::Work(_) | Op::Delay(_) | Op::Lock(_) | Op::Unlock(_) | Op::RwLock(..) | Op::RwUnlock(..)
    )
}

/// Returns sentences about how background threads are replayed.
pub(crate) fn notes(trace: &Trace, background: &[Background], threads: &[Script]) -> Vec<String> {
    let goes_round = |one: &&Background| {
        threads.get(one.thread.index()).is_some_and(|thread| thread.turns.is_some() || thread.ops.is_empty())
    };
    let (round, mut kept): (Vec<&Background>, Vec<&Background>) = background.iter().partition(goes_round);
    // A thread that no thread joins keeps no program from ending.
    kept.retain(|one| one.joined);
    let (round, endless): (Vec<_>, Vec<_>) = round.into_iter().partition(|one| one.joined);
    let names = |list: Vec<&Background>| {
        let name = |one: &&Background| trace.thread(one.thread).and_then(|thread| thread.name.clone());
        list.iter().map(|one| name(one).unwrap_or_else(|| one.thread.0.to_string())).collect::<Vec<_>>().join(", ")
    };
    let mut out = Vec::new();
    if !round.is_empty() {
        let names = names(round);
        out.push(format!("background threads go round until another thread comes to join them: {names}"));
    }
    if !endless.is_empty() {
        let names = names(endless);
        out.push(format!("background threads go round until the program ends: {names}"));
    }
    if !kept.is_empty() {
        let names = names(kept);
        out.push(format!(
            "background threads whose turns concern other threads, or were not seen, are replayed for as long as they were \
             recorded, so that no prediction can be shorter than their lives: {names}"
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_lies_between_the_first_and_the_last_turn() {
        let ops = |ops: &[Op]| ops.iter().copied().collect::<Ops>();
        let turn = [Op::Turn, Op::Lock(0), Op::Unlock(0), Op::Turn, Op::Delay(5)];
        assert_eq!(of(&ops(&turn), false), Some(Turns { first: 0, last: 3, told: false }));
        assert_eq!(of(&ops(&turn[1..]), false), None, "one turn is no loop");
        assert_eq!(
            of(&ops(&[Op::Turn, Op::TokenPost(0), Op::Turn]), false),
            None,
            "another thread waits for the token"
        );
        assert_eq!(
            of(&ops(&[Op::TokenWait(0), Op::Turn, Op::Work(1), Op::Turn]), false),
            Some(Turns { first: 1, last: 3, told: false })
        );
        let told = ops(&[Op::Turn, Op::Delay(5), Op::Turn, Op::Delay(2), Op::TokenWait(0), Op::Lock(0), Op::Unlock(0)]);
        assert_eq!(of(&told, false), Some(Turns { first: 0, last: 2, told: true }), "another thread tells it to end");
        let joins = ops(&[Op::Turn, Op::Delay(5), Op::Turn, Op::Join(1)]);
        assert_eq!((of(&joins, false), of(&joins, true)), (None, Some(Turns { first: 0, last: 2, told: false })));
    }
}
