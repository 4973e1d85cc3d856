//! A loop that takes a lock until a value changes counts as a poll; a loop that works under its
//! lock does not.

use baton_trace::analysis::{Analysis, Window};
use baton_trace::{Clock, Lock, Mode, SiteId, ThreadIndex, Ticks, TraceBuilder, What};

const LOCK: Lock = Lock::mutex(0x1000);
const LOOP: SiteId = SiteId(1);
const SETTER: SiteId = SiteId(2);

/// Builds a trace of these acquisitions, one after the other. Returns how many acquisitions were
/// polls, from LOOP and from SETTER.
fn polls(taken: &[(u32, SiteId)]) -> [u64; 2] {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.site(LOOP, &[0x10]).site(SETTER, &[0x20]);
    for (n, (thread, site)) in taken.iter().enumerate() {
        let (time, thread, mode) = (n as u64 * 100, ThreadIndex(*thread), Mode::Exclusive);
        trace.push(Ticks(time), thread, What::Acquire { lock: LOCK, mode, site: *site });
        trace.push(Ticks(time + 10), thread, What::Release { lock: LOCK, mode, site: SiteId::UNKNOWN });
    }
    let trace = trace.build();
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    [LOOP, SETTER].map(|site| analysis.locks[0].stats.sites.get(&site).map_or(0, |stats| stats.polls))
}

#[test]
fn a_loop_that_ends_when_another_thread_has_been_there_is_a_poll() {
    let mut taken = vec![(1, LOOP); 30];
    taken.extend([(0, SETTER), (1, LOOP)]);
    assert_eq!(polls(&taken), [31, 0]);
    // Two threads poll in turns for the same change.
    let mut taken: Vec<_> = (0..40).map(|n| (1 + n % 2, LOOP)).collect();
    taken.extend([(0, SETTER), (1, LOOP), (2, LOOP)]);
    assert_eq!(polls(&taken), [42, 0]);
}

#[test]
fn work_under_a_lock_is_no_poll() {
    assert_eq!(polls(&vec![(1, LOOP); 30]), [0, 0], "no other thread changes a thing");
    let by_turns: Vec<_> = (0..60).map(|n| if n % 2 == 0 { (1, LOOP) } else { (0, SETTER) }).collect();
    assert_eq!(polls(&by_turns), [0, 0], "both work");
    let mut early = vec![(0, SETTER)];
    early.extend([(1, LOOP); 30]);
    assert_eq!(polls(&early), [0, 0], "nothing happened at its end");
    let mut short = vec![(1, LOOP); 3];
    short.extend([(0, SETTER), (1, LOOP)]);
    assert_eq!(polls(&short), [0, 0], "it found the value almost at once");
}
