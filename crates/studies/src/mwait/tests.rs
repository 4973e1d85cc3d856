//! Tests the way from runs to findings, that a run gives the same figures each time, and that the
//! rules are those that were frozen.

use super::jobs::{LOCK, SHORT, SPIN, TASKS};
use super::run::{Arm, Case, Load, unequal};
use super::*;
use std::path::Path;

fn study() -> Mwait {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chips");
    Mwait::open(&Inputs::open(&[root.join("opteron6272x4.toml")], Vec::new()).unwrap()).unwrap()
}

/// The cycles, the joules without the base, and the joules of the base of a run with so few
/// iterations that it is quick.
fn totals(load: Load, cores: u32, arm: Arm, iterations: u64) -> [f64; 3] {
    let case = Case { load, cores, arm, change: "", spin: SPIN, times: 1, seed: 1 };
    let (name, run) = study().job(case);
    let totals = run.and_then(|run| {
        let chip = baton_chip::Chip::from_toml(&run.chip, "chip").map_err(|error| error.to_string())?;
        run.totals(&chip, iterations)
    });
    totals.unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_run_of_each_load_is_the_same_each_time() {
    for (load, cores, arm) in [(LOCK, 3, Arm::New), (LOCK, 3, Arm::Printed), (TASKS, 3, Arm::New), (SHORT, 9, Arm::New)]
    {
        let once = totals(load, cores, arm, 3);
        assert!(once.iter().all(|one| *one > 0.0), "{load:?} {arm:?}: {once:?}");
        assert_eq!(once, totals(load, cores, arm, 3), "{load:?} {arm:?}");
    }
}

/// An iteration takes longer than its 2,100 cycles of work and less than twice as long. On one NUMA
/// node the new barrier is the original one.
#[test]
fn an_iteration_holds_its_work() {
    let stock = [4, 8].map(|iterations| totals(SHORT, 2, Arm::Original, iterations)[0]);
    let each = (stock[1] - stock[0]) / 4.0;
    assert!(each > 2100.0 && each < 4200.0, "{stock:?}");
    assert_eq!(stock[0], totals(SHORT, 2, Arm::New, 4)[0]);
}

/// Tasks of unequal length have half to one and a half times the work; together they have as much
/// as equal tasks.
#[test]
fn unequal_tasks_do_the_same_work() {
    let all: Vec<u64> = (0..3).flat_map(|task| (0..64).map(move |thread| unequal(2000, thread, task))).collect();
    assert_eq!(all.iter().sum::<u64>(), 2000 * 3 * 64);
    assert!(all.iter().all(|work| (1000..=3000).contains(work)));
    let beyond = |from: u64, to: u64| all.iter().filter(|work| (from..to).contains(work)).count();
    assert!(beyond(1000, 1500) > 24 && beyond(2500, 3001) > 24, "{all:?}");
}

#[test]
fn every_claim_has_a_verdict_and_every_miss_its_reason() {
    let study = study();
    for extent in [Extent::Quick, Extent::Full] {
        let made_up = |at: usize| Figures {
            cycles: (1000 + at % 7) as f64,
            joules: (10 + at % 5) as f64,
            base: 5.0,
            iterations: 20,
        };
        let runs = study.runs(extent).into_iter().enumerate();
        let done: Vec<_> =
            runs.map(|(at, (name, run))| (run.map_err(|error| panic!("{name}: {error}")), made_up(at))).collect();
        let findings = study.judge(extent, &done);
        findings.check().unwrap();
        for number in 1..=13 {
            let id = format!("A{number}");
            assert!(findings.claims.iter().any(|claim| claim.id == id), "{id}");
        }
        let full = extent == Extent::Full;
        for claim in &findings.claims {
            let name = format!("{} {}: {}", claim.id, claim.part, claim.why);
            assert!(!claim.why.contains("NaN"), "{name}");
            assert!(full || claim.holds.is_none(), "{name}");
            assert!(!(full && claim.why.contains("not run")), "{name}");
        }
        for falsifier in &findings.falsifiers {
            let run = full || falsifier.id.contains("level") || falsifier.id.contains("stock");
            let judged = falsifier.holds.is_some() || falsifier.why.starts_with("cannot tell");
            assert_eq!(judged, run, "{falsifier:?}");
        }
        assert!(findings.unspecified.iter().all(|open| open.effect.is_some() == full));
    }
}

/// Only threads that contend for a lock can be made for one that no registry has.
#[test]
fn the_lock_as_printed_runs_where_no_runtime_takes_it_by_name() {
    let printed: Vec<_> =
        super::jobs::cases(Extent::Full).into_iter().filter(|case| case.arm == Arm::Printed).collect();
    assert!(!printed.is_empty() && printed.iter().all(|case| case.load == LOCK), "{printed:?}");
}

/// Under libgomp's mutex tasks vary from seed to seed, so that they have many; a choice beside the
/// paper's has the first of them.
#[test]
fn tasks_have_many_seeds_and_every_choice_the_first_of_them() {
    let cases = super::jobs::cases(Extent::Full);
    let seeds = |like: Case| -> Vec<u64> {
        let mine = cases.iter().filter(|case| Case { seed: 0, ..**case } == like);
        mine.map(|case| case.seed).collect()
    };
    let mut likes: Vec<Case> = cases.iter().map(|case| Case { seed: 0, ..*case }).collect();
    likes.dedup();
    for like in likes {
        let mine = seeds(like);
        assert_eq!(mine, (1..=mine.len() as u64).collect::<Vec<_>>(), "{like:?}");
        let Load::Tasks { .. } = like.load else { continue };
        let usual = seeds(Case { change: "", spin: SPIN, times: 1, ..like });
        assert!(mine.len() <= usual.len() && (like.cores != 64 || mine.len() >= 8), "{like:?}: {}", mine.len());
    }
}

/// This test fails when a file that states rules changes; the changed rules then need a name of
/// their own.
#[test]
fn rules_are_those_that_were_frozen() {
    assert_eq!(study().frozen.rules, "d1d2dd95c328b62e");
}

#[test]
fn a_chip_that_does_not_fit_is_refused_with_its_key() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chips");
    let error = Mwait::open(&Inputs::open(&[root.join("caf16.toml")], Vec::new()).unwrap()).err().unwrap().to_string();
    assert!(error.contains("caf16.toml: key `core.count` is 16; this study needs 64 or more"), "{error}");
}
