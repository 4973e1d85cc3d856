//! The contract suite: tells every governor of the registry random periods.

use baton_sched::governor::log::{Logged, replay};
use baton_sched::governor::{
    GOVERNORS, Goal, Governed, Governor, GovernorInfo, Level, Microwatts, Period, Sample, Spent, Unclocked, find,
};
use baton_units::{Cycles, Hertz};
use proptest::prelude::*;

/// Generates levels with rising clocks and rising power.
fn levels() -> impl Strategy<Value = Vec<Level>> {
    let step = (1u64..1_000_000_000, 0u64..20_000_000, 0u64..20_000_000);
    prop::collection::vec(step, 1..6).prop_map(|steps| {
        let mut last = Level { clock: Hertz(1_000_000), active: Microwatts(1), spinning: Microwatts(1) };
        let next = |(clock, active, spinning): (u64, u64, u64)| {
            last = Level {
                clock: Hertz(last.clock.0 + clock),
                active: Microwatts(last.active.0 + active),
                spinning: Microwatts(last.spinning.0 + spinning),
            };
            last
        };
        steps.into_iter().map(next).collect()
    })
}

fn governed() -> impl Strategy<Value = Governed> {
    let unclocked = (0u64..1_000_000_000, 0u64..5_000_000, 0u64..5_000_000)
        .prop_map(|parts| [parts.0, parts.1, parts.2].map(Microwatts))
        .prop_map(|[base, still, idle]| Unclocked { base, still, idle });
    let goal = prop::sample::select(Goal::ALL.to_vec());
    (prop::collection::vec(levels(), 1..9), unclocked, goal).prop_map(|(levels, unclocked, goal)| Governed {
        levels,
        unclocked,
        goal,
    })
}

/// Generates a CPU's period of a million cycles, cut at four places into its five parts.
fn sample() -> impl Strategy<Value = Sample> {
    (prop::array::uniform4(0u64..=1_000_000), 1_000_000u64..6_000_000_000, any::<bool>()).prop_map(
        |(mut cuts, clock, has_thread)| {
            cuts.sort_unstable();
            let [a, b, c, d] = cuts;
            let [computing, memory, spinning, still, idle] = [a, b - a, c - b, d - c, 1_000_000 - d].map(Cycles);
            let spent = Spent { computing, memory, spinning, still, idle };
            Sample { clock: Hertz(clock), has_thread, spent }
        },
    )
}

/// Generates a machine, and what its CPUs did in some periods.
fn history() -> impl Strategy<Value = (Governed, Vec<Vec<Sample>>)> {
    governed().prop_flat_map(|governed| {
        let cpus = governed.levels.len();
        (Just(governed), prop::collection::vec(prop::collection::vec(sample(), cpus), 1..12))
    })
}

/// Returns the governor's answers, period by period, or an error if an answer has not one clock for
/// each CPU, or a clock that is none of the CPU's levels.
fn answers(
    governor: &mut dyn Governor,
    governed: &Governed,
    periods: &[Vec<Sample>],
) -> Result<Vec<Vec<Hertz>>, String> {
    let one = |samples: &Vec<Sample>| {
        let running = samples.iter().filter(|sample| sample.has_thread).count() as u32;
        let clocks = governor.decide(&Period { length: Cycles(1_000_000), running, samples });
        if clocks.len() != governed.levels.len() {
            return Err(format!("{} clocks for {} CPUs", clocks.len(), governed.levels.len()));
        }
        for (cpu, (clock, levels)) in clocks.iter().zip(&governed.levels).enumerate() {
            if !levels.iter().any(|level| level.clock == *clock) {
                return Err(format!("CPU {cpu} gets {clock}, which is none of its levels"));
            }
        }
        Ok(clocks)
    };
    periods.iter().map(one).collect()
}

fn check(info: &GovernorInfo, governed: &Governed, periods: &[Vec<Sample>]) -> Result<(), TestCaseError> {
    let (mut logged, log) = Logged::new((info.make)(governed));
    let first = answers(&mut logged, governed, periods).map_err(TestCaseError::fail)?;
    let again = answers(&mut *(info.make)(governed), governed, periods).map_err(TestCaseError::fail)?;
    prop_assert_eq!(first, again, "{} answers differently", info.name);
    let log = log.borrow();
    prop_assert_eq!(log.lines().count(), periods.len());
    let replayed = replay(&log, (info.make)(governed));
    prop_assert_eq!(replayed.as_deref(), Some(log.as_str()), "{} replays differently", info.name);
    Ok(())
}

proptest! {
    #![proptest_config(baton_needs::property!(256))]
    /// Every answer has a clock for each CPU, which is one of its levels. The same periods give the
    /// same answers, and a log can be replayed.
    #[test]
    fn every_governor_keeps_the_contract((governed, periods) in history()) {
        for info in GOVERNORS {
            check(info, &governed, &periods)?;
        }
    }

    /// Delay counts more with each goal: no CPU is slower under the next goal.
    #[test]
    fn a_goal_with_more_delay_is_not_slower((governed, periods) in history()) {
        let info = find("energy-delay").expect("it is registered");
        let by_goal = Goal::ALL.map(|goal| {
            let governed = Governed { goal, ..governed.clone() };
            answers(&mut *(info.make)(&governed), &governed, &periods).expect("of the levels")
        });
        for pair in by_goal.windows(2) {
            let slower = |(less, more): (&Vec<Hertz>, &Vec<Hertz>)| less.iter().zip(more).any(|(less, more)| more < less);
            prop_assert!(!pair[0].iter().zip(&pair[1]).any(slower), "{by_goal:?}");
        }
    }
}

/// The suite objects to a governor that interpolates between levels, and to one whose answers
/// depend on earlier instances.
#[test]
fn the_suite_catches_broken_governors() {
    struct Between;
    impl Governor for Between {
        fn decide(&mut self, period: &Period<'_>) -> Vec<Hertz> {
            period.samples.iter().map(|sample| Hertz(sample.clock.0 / 3 + 1)).collect()
        }
    }
    let level = |clock| Level { clock: Hertz(clock), active: Microwatts(1), spinning: Microwatts(1) };
    let levels = vec![vec![level(1_000_000), level(2_000_000)]];
    let governed = Governed { levels, unclocked: Unclocked::default(), goal: Goal::Energy };
    let sample = Sample { clock: Hertz(2_000_000), has_thread: true, spent: Spent::default() };
    let periods = [vec![sample], vec![sample]];
    assert!(answers(&mut Between, &governed, &periods).is_err_and(|why| why.contains("none of its levels")));
    struct Nothing;
    impl Governor for Nothing {
        fn decide(&mut self, _: &Period<'_>) -> Vec<Hertz> {
            Vec::new()
        }
    }
    assert!(answers(&mut Nothing, &governed, &periods).is_err_and(|why| why.contains("0 clocks for 1 CPUs")));
    // A static changes from instance to instance, so that two governors of the same kind answer
    // differently.
    thread_local!(static MADE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
    struct Flips(Hertz);
    impl Governor for Flips {
        fn decide(&mut self, _: &Period<'_>) -> Vec<Hertz> {
            vec![self.0]
        }
    }
    let flips = GovernorInfo {
        name: "flips",
        what: "",
        source: "",
        needs_prices: false,
        make: |governed| {
            let at = usize::from(MADE.replace(!MADE.get()));
            Box::new(Flips(governed.levels[0][at].clock))
        },
    };
    assert!(check(&flips, &governed, &periods).is_err());
}

#[test]
fn a_text_that_is_no_log_is_refused() {
    let governed = Governed { levels: Vec::new(), unclocked: Unclocked::default(), goal: Goal::Energy };
    let replayed = |text| replay(text, (GOVERNORS[0].make)(&governed));
    assert_eq!(replayed(""), Some(String::new()));
    for text in ["1000 1", "1000:", "x 1: 5", "1000 1 2000 1 3 4 5 6: 7"] {
        assert_eq!(replayed(text), None, "{text}");
    }
}

#[test]
fn names_are_distinct_and_found() {
    for (at, info) in GOVERNORS.iter().enumerate() {
        assert_eq!(find(info.name).map(|found| found.what), Some(info.what));
        assert!(GOVERNORS[..at].iter().all(|other| other.name != info.name), "{} twice", info.name);
    }
    assert!(find("nothing").is_none());
    assert!(Goal::ALL.iter().all(|&goal| Goal::named(goal.name()) == Some(goal)));
}
