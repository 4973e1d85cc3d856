//! Loops in which a thread yields its CPU.

use super::{Run, folder, whole};
use baton_trace::What;

/// Two threads yield until a flag is set, the third one twice at a time beside its work. The trace has most of
/// the calls of the first two, in few events, and none of the third.
#[test]
fn a_loop_that_yields_the_cpu_is_in_the_trace_and_single_calls_are_not() {
    let directory = folder("yields");
    let ran = Run::new("yields.c", &[]).set("BATON_TRACE", &directory).run();
    assert!(ran.output.status.success(), "{:?}", ran.output);
    let trace = whole(&directory);
    std::fs::remove_dir_all(&directory).unwrap();
    let printed = String::from_utf8(ran.output.stdout).expect("two numbers");
    let counts: Vec<u64> = printed.split_whitespace().map(|count| count.parse().expect("a number")).collect();
    let mut told = vec![(0u64, 0u64, 0u64); trace.threads.len()];
    for event in trace.events() {
        let What::Yielded { site, calls, ticks } = event.what else { continue };
        let thread = &trace.threads[event.thread.index()];
        assert!(u64::from(ticks) <= event.time.since(thread.first).0, "the calls lie in the thread's life");
        assert!(!trace.site(trace.process_of(event.thread), site).is_empty());
        let (events, all, time) = &mut told[event.thread.index()];
        (*events, *all, *time) = (*events + 1, *all + u64::from(calls), *time + u64::from(ticks));
    }
    let looping: Vec<_> = told.iter().filter(|(events, ..)| *events > 0).collect();
    assert_eq!(looping.len(), 2, "{told:?}");
    let all: u64 = looping.iter().map(|(_, calls, _)| calls).sum();
    let made: u64 = counts.iter().sum();
    assert!(all <= made && all * 2 >= made, "{all} of {made} calls: {told:?}");
    let life = |at: usize| trace.threads[at].last.since(trace.threads[at].first).0;
    for (at, (_, _, time)) in told.iter().enumerate().filter(|(_, (events, ..))| *events > 0) {
        assert!(time * 2 >= life(at), "{time} of {} ticks", life(at));
    }
}
