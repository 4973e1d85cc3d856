//! Analyses events in an order that no program can have, as after a loss: no analysis may panic,
//! and the accounts must add up all the same.

use baton_trace::analysis::{Analysis, CriticalPath, Ending, Orders, Window, relax};
use baton_trace::record::Raw;
use baton_trace::{Clock, ThreadIndex, Ticks, TraceBuilder, What};
use proptest::prelude::*;

fn what() -> impl Strategy<Value = What> {
    // Uses few objects and few arguments, so that several events concern the same object.
    let lock = (0u8..16, prop::sample::select(vec![0u8, 16, 32]), 0u64..3, 0u32..3)
        .prop_map(|(op, kind, object, arg)| Raw { code: 128 + kind + op, object, arg });
    let other = (1u8..64, 0u64..3, 0u32..3).prop_map(|(code, object, arg)| Raw { code, object, arg });
    prop_oneof![3 => lock, 2 => other].prop_filter_map("no event", What::decode)
}

proptest! {
    #![proptest_config(baton_needs::property!(1000))]

    #[test]
    fn nothing_panics_and_the_accounts_close(
        events in prop::collection::vec((0u64..6, 0u32..4, what()), 0..150),
        cut in (0u64..300, 0u64..300),
    ) {
        let mut builder = TraceBuilder::new(Clock::nanoseconds());
        let mut now = 0;
        for (pause, thread, what) in events {
            now += pause;
            builder.push(Ticks(now), ThreadIndex(thread), what);
        }
        let end = Ticks(now + 200_000_000);
        builder.ends(end);
        let trace = builder.build();
        for still in Ending::of(&trace).standstills {
            prop_assert!(still.deadlock.is_some() || still.still.is_some() || still.suspected.is_some());
            prop_assert!(still.circles.iter().flatten().all(|n| *n < still.threads.len()));
        }
        for circle in Orders::of(&trace).circles {
            let next = circle.iter().cycle().skip(1);
            prop_assert!(circle.iter().zip(next).all(|(order, next)| order.wanted == next.held));
        }
        let part = Window::between(&trace, &[(Ticks(cut.0), Ticks(cut.0 + cut.1))]);
        for window in [Window::whole(&trace), part, Window::until(&trace, Some(end))] {
            let analysis = Analysis::of(&trace, window.clone());
            for lock in &analysis.locks {
                prop_assert_eq!(lock.stats.residual(), 0);
                prop_assert_eq!(lock.stats.sites.values().map(|s| s.blame.0).sum::<u64>(), lock.stats.sections.0);
                prop_assert!(lock.stats.busy + lock.stats.idle_contended <= window.length());
            }
            let path = CriticalPath::of(&trace, &window);
            for pair in path.segments.windows(2) {
                prop_assert!(pair[0].end <= pair[1].begin);
            }
            let ids: Vec<_> = analysis.locks.iter().map(|l| l.id).collect();
            for answer in relax(&trace, &ids, &[]) {
                prop_assert!(answer.without_overhead <= answer.recorded && answer.without_exclusion <= answer.recorded);
            }
        }
    }
}
