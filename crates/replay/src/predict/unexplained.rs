//! What a replay cannot follow: a thread that waits for others in a way that no event shows. The replay
//! keeps the recorded length of such a wait, though a change may make it shorter or longer.

use crate::compile::rounds;
use baton_trace::Trace;
use baton_trace::analysis::{UNEXPLAINED_DECIDES, background, exits, is_background, sleepers, unexplained};
use baton_units::Nanos;

/// Returns the reasons not to trust a replay of the trace, as sentences.
pub(super) fn reasons(trace: &Trace) -> Vec<String> {
    let background = background(trace);
    let (places, length) = unexplained(trace, &background);
    let share = |ticks: baton_trace::Ticks| ticks.0 as f64 / length.0.max(1) as f64;
    let all: f64 = places.iter().map(|place| share(place.time)).sum();
    let mut reasons = Vec::new();
    if let Some(most) = places.first().filter(|_| all >= UNEXPLAINED_DECIDES) {
        reasons.push(format!(
            "for {:.0}% of the critical path a thread is blocked in calls (most of it in `{}`) while other threads or processes \
             are at work: it may wait for them, but the replay keeps the recorded length of these calls",
            all * 100.0,
            most.call
        ));
    }
    let all = sleepers(trace);
    let repeated = rounds::sleepers(all.clone(), &background);
    let waits = all.into_iter().filter(|one| !is_background(&background, one.thread));
    // A replay repeats one series of sleeps of each thread, and none of waits with a deadline.
    let kept = waits.filter(|one| repeated.get(&one.thread) != Some(one));
    let kept: Vec<_> = kept.filter(|one| share(one.length()) >= UNEXPLAINED_DECIDES).collect();
    if let Some(one) = kept.first() {
        let Nanos(ns) = trace.clock.nanos(one.length().0);
        reasons.push(format!(
            "a thread looks again and again for {:.0} ms whether others have ended, and the replay keeps the recorded length of \
             that",
            ns as f64 * 1e-6
        ));
    }
    if exits(trace).values().any(|exit| !exit.working.is_empty()) {
        reasons.push(
            "the thread that ended the program slept for a set time while others worked, and the replay keeps the recorded \
             length of that"
                .to_owned(),
        );
    }
    reasons
}
