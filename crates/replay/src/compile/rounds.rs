//! Background threads: their loops go round until another thread comes to join them.
//!
//! The recorded number of turns belongs to the recorded length of the run. In a replay the thread
//! repeats its recorded turns while the joiner has not come, and leaves its loop at the end of the
//! turn in which the joiner comes.
//!
//! The turns can only be repeated if they affect other threads through locks alone. A thread that
//! signals, posts, meets or starts others in its turns or after them keeps its recorded number of
//! turns, and a note says so.

use crate::program::{Op, Ops, Script, Turns};
use baton_trace::analysis::Background;
use baton_trace::{ThreadIndex, Ticks, Trace};
use baton_units::Cycles;
use std::collections::VecDeque;

/// The times, in ticks, at which the turns of a background thread end.
pub(crate) type RoundTimes = VecDeque<u64>;

/// Returns these times for each thread of the trace; threads that are not background threads have
/// none.
pub(crate) fn times(trace: &Trace, background: &[Background]) -> Vec<RoundTimes> {
    let mut turns = baton_trace::analysis::turns(trace, background);
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

/// Returns the loop in a thread's steps, if it has a loop that can be repeated.
pub(crate) fn of(ops: &Ops) -> Option<Turns> {
    let mut turns = ops.iter().enumerate().filter(|(_, op)| *op == Op::Turn).map(|(at, _)| at);
    let (first, last) = (turns.next()?, turns.next_back()?);
    ops.between(first, ops.len()).all(concerns_locks_alone).then_some(Turns { first, last })
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
            threads[joiner].ops.insert(join + 1, std::iter::once(Op::Delay(tail)));
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
    let (round, kept): (Vec<_>, Vec<_>) = background.iter().partition(goes_round);
    let names = |list: Vec<&Background>| {
        let name = |one: &&Background| trace.thread(one.thread).and_then(|thread| thread.name.clone());
        list.iter().map(|one| name(one).unwrap_or_else(|| one.thread.0.to_string())).collect::<Vec<_>>().join(", ")
    };
    let mut out = Vec::new();
    if !round.is_empty() {
        let names = names(round);
        out.push(format!("background threads go round until another thread comes to join them: {names}"));
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
        assert_eq!(of(&ops(&turn)), Some(Turns { first: 0, last: 3 }));
        assert_eq!(of(&ops(&turn[1..])), None, "one turn is no loop");
        assert_eq!(of(&ops(&[Op::Turn, Op::TokenPost(0), Op::Turn])), None, "another thread waits for the token");
        assert_eq!(of(&ops(&[Op::TokenWait(0), Op::Turn, Op::Work(1), Op::Turn])), Some(Turns { first: 1, last: 3 }));
    }
}
