//! Tests the way from runs to findings, that a run gives the same figures each time, and that the
//! rules are those that were frozen.

use super::run::{Case, Work};
use super::waits::By;
use super::*;
use baton_chip::Chip;
use std::path::Path;

fn study() -> Mwmon {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chips");
    Mwmon::open(&Inputs::open(&[root.join("netburst-ht.toml")], Vec::new()).unwrap()).unwrap()
}

fn figures(reading: u32, work: Work) -> Figures {
    let (name, run) = study().job(Case { reading, other: "", work, repetition: 0 });
    run.and_then(|run| run.figures()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn row(reading: u32, by: By, barrier: bool) -> [u64; 2] {
    let figures = figures(reading, Work::row(by, barrier));
    [figures.wake_up, figures.call]
}

/// Each reading of the prices meets the rows of the paper's tables that set it, to a fiftieth. A
/// wake-up of a sleeper is met to an eighth, because a repetition finds the idle CPU polling or
/// halted. The call of listing 2 is met to a twentieth, because its lock comes beside the store of
/// table 1.
#[test]
fn each_reading_meets_its_table() {
    let rows = [
        (1, By::Mwmon, false, [25_381, 5470], [50, 50]),
        (1, By::Halt, false, [37_470, 27_813], [50, 50]),
        (1, By::Futex, false, [116_989, 70_042], [8, 50]),
        (2, By::Mwmon, true, [11_319, 5470], [50, 20]),
        (2, By::Futex, true, [45_035, 18_968], [8, 50]),
    ];
    let mut wrong = Vec::new();
    for (reading, by, barrier, paper, parts) in rows {
        let ours = row(reading, by, barrier);
        let near = |at: usize| ours[at].abs_diff(paper[at]) * parts[at] <= paper[at];
        if !(near(0) && near(1)) {
            wrong.push((reading, by, ours, paper));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_barrier_of_every_mechanism_keeps_two_threads_together() {
    for by in By::ALL {
        let work = Work::Pseudo { by, light: 3, work: 0 };
        let once = figures(2, work);
        assert!(once.work > 0 && once == figures(2, work), "{by:?}: {once:?}");
    }
}

/// Each kernel runs with a small size, alone and with a helper. A result that differs from that of
/// a plain computation is an error. A helper that prefetches saves the worker misses; a helper that
/// does not prefetch saves none.
#[test]
fn every_kernel_computes_what_a_plain_program_does() {
    let chip = Chip::from_toml(include_str!("../../../../chips/netburst-ht.toml"), "netburst-ht.toml").unwrap();
    for name in kernels::SMALL {
        let of = |by, prefetches| {
            helper::run(&chip, 1, move || kernels::small(name), (by, prefetches))
                .unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let [alone, idle, helped] = [of(None, false), of(Some(By::Mwmon), false), of(Some(By::Mwmon), true)];
        assert_eq!(alone.waits, [0, 0], "{name}");
        assert!(idle.waits[1] > 0 && helped.waits[1] > 0, "{name}: {idle:?} {helped:?}");
        assert!(
            helped.misses * 3 < alone.misses * 2 && alone.misses <= idle.misses,
            "{name}: {alone:?} {idle:?} {helped:?}"
        );
    }
}

#[test]
fn every_claim_has_a_verdict_and_every_miss_its_reason() {
    let study = study();
    for extent in [Extent::Quick, Extent::Full] {
        let made_up = |at: usize| Figures {
            work: 1000 + at as u64 % 7,
            wake_up: 100 + at as u64 % 5,
            call: 50,
            waits: [10, 20],
            memory: 30,
            misses: 20,
        };
        let runs = study.runs(extent).into_iter().enumerate();
        let done: Vec<_> =
            runs.map(|(at, (name, run))| (run.map_err(|error| panic!("{name}: {error}")), made_up(at))).collect();
        let findings = study.judge(extent, &done);
        findings.check().unwrap();
        for number in 1..=11 {
            let id = format!("M{number}");
            assert!(findings.claims.iter().any(|claim| claim.id == id), "{id}");
        }
        for claim in &findings.claims {
            assert!(!claim.why.contains("NaN"), "{} {}: {}", claim.id, claim.part, claim.why);
            assert!(extent == Extent::Full || claim.holds.is_none(), "{} {}", claim.id, claim.part);
            assert!(
                !(extent == Extent::Full && claim.why.contains("not run")),
                "{} {}: {}",
                claim.id,
                claim.part,
                claim.why
            );
        }
    }
}

/// This test fails when a file that states rules changes; the changed rules then need a name of
/// their own.
#[test]
fn rules_are_those_that_were_frozen() {
    assert_eq!(study().frozen.rules, "14800f0cbdbaca66");
    assert_eq!(inputs::rules(&LATER, Some(LATER_RESTATED)), "e444f9b8863b73d3");
}

#[test]
fn a_chip_that_does_not_fit_is_refused_with_its_key() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chips");
    let error = Mwmon::open(&Inputs::open(&[root.join("caf16.toml")], Vec::new()).unwrap()).err().unwrap().to_string();
    assert!(error.contains("caf16.toml: key `core.contexts` is 1; this study needs 2"), "{error}");
}
