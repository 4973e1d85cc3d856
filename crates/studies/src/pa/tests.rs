//! Tests the way from runs to findings, that a run gives the same figures each time, and that the
//! rules are those that were frozen.

use super::jobs::DEFAULT;
use super::machine::Machine;
use super::run::Had;
use super::*;
use std::path::Path;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn open(chip: &str, profiles: &str) -> Result<Pa, StudyError> {
    Pa::open(&Inputs::open(&[root().join("chips").join(chip)], vec![root().join(profiles)]).unwrap())
}

fn study() -> Pa {
    open("barcelona-amp.toml", "profiles/pa").unwrap()
}

#[test]
fn the_fast_core_goes_to_the_single_thread_and_to_sequential_parts() {
    let study = study();
    let figures = |policy| {
        let (name, run) = study.job(run::Case { seed: 2, ..jobs::main(Machine::One, "gamess + BLAST", policy) });
        run.and_then(|run| run.figures()).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let [default, pa] = [DEFAULT, "pa"].map(figures);
    assert_eq!(pa, figures("pa"));
    assert!(pa.seconds >= 30.0 && pa.apps.iter().all(|app| app.runs >= 3), "{pa:?}");
    let [single, phases] = &pa.apps[..] else { panic!("{pa:?}") };
    assert!(single.fast > 0.5 && phases.swaps > 0 && phases.sp > 0.1, "{pa:?}");
    assert!(single.time < default.apps[0].time, "{pa:?} {default:?}");
}

#[test]
fn machines_have_the_cores_that_their_names_say() {
    let counts = [
        (Machine::One, 1, 13),
        (Machine::Four, 4, 16),
        (Machine::Single, 1, 4),
        (Machine::Near, 1, 13),
        (Machine::Half, 8, 16),
    ];
    for (machine, fast, all) in counts {
        assert_eq!((machine.fast().len(), machine.on().len()), (fast, all), "{}", machine.name());
    }
}

/// The chip files with these names are the study's machines, so `baton sim --chip 1fc-12sc`
/// simulates the machine of `baton study pa`.
#[test]
fn the_papers_machines_are_chips_by_name() {
    for (machine, name) in [(Machine::One, "1fc-12sc"), (Machine::Four, "4fc-12sc"), (Machine::Single, "1fc-3sc")] {
        let file = root().join("chips").join(format!("{name}.toml"));
        let chip = baton_chip::Chip::open(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
        let cut = study().chip.with(machine.resized(), &machine.settings(20)).unwrap();
        let cut = baton_chip::Chip::from_toml(&cut, machine.name()).unwrap();
        let keys = |chip: &baton_chip::Chip| {
            let clocks: Vec<_> = (0..chip.core.count).map(|core| chip.core.clocks.of(core)).collect();
            let not = ["chip.name", "core.clocks"];
            let keys: Vec<_> = chip.expanded().into_iter().filter(|(key, _)| !not.contains(&key.as_ref())).collect();
            (clocks, keys)
        };
        assert_eq!((chip.name.as_str(), keys(&chip)), (name, keys(&cut)));
        assert_eq!(machine.name(), name.to_uppercase());
    }
    // The keys of a machine replace those that the chip file has: from `1fc-12sc.toml` they make
    // the same machines.
    let other = open("1fc-12sc.toml", "profiles/pa").unwrap();
    for machine in [Machine::Four, Machine::Near, Machine::Single] {
        let whole = |study: &Pa| study.chip.with(machine.resized(), &machine.settings(20)).unwrap();
        assert_eq!(whole(&other).replace("1fc-12sc", "barcelona-amp"), whole(&study()), "{}", machine.name());
    }
}

#[test]
fn threads_are_as_many_as_cores() {
    for machine in [Machine::One, Machine::Four, Machine::Single] {
        for mix in &mixes::SET_1 {
            let threads: u32 = mix.apps.iter().map(|app| mixes::threads(app, machine)).sum();
            assert_eq!(threads as usize, machine.on().len(), "{} on {}", mix.name, machine.name());
        }
    }
}

/// The closed form beside the gains has the parallel part of each program's profile.
#[test]
fn parallel_parts_are_those_of_the_profiles() {
    let known = [("FFTW", 0.7), ("BLAST", 0.8), ("semphy", 0.75), ("wupwise", 0.98), ("EP", 0.995)];
    let programs = study().programs();
    let all = known.iter().filter(|(name, parallel)| {
        programs.iter().any(|program| program.name == *name && program.parallel == *parallel)
    });
    assert_eq!(
        all.count(),
        5,
        "{:?}",
        programs.iter().map(|program| (&program.name, program.parallel)).collect::<Vec<_>>()
    );
}

#[test]
fn every_claim_has_a_verdict_and_every_miss_its_reason() {
    let study = study();
    for extent in [Extent::Quick, Extent::Full] {
        let had =
            |at: usize| Had { time: 1.0 + (at % 7) as f64, runs: 3, fast: 0.4, sp: 0.1, swaps: 5, ..Had::default() };
        let made_up =
            |at: usize, apps: usize| Figures { seconds: 40.0, apps: (0..apps).map(|app| had(at + app)).collect() };
        let done: Vec<_> = study
            .runs(extent)
            .into_iter()
            .enumerate()
            .map(|(at, (name, run))| {
                let run = run.unwrap_or_else(|error| panic!("{name}: {error}"));
                let figures = made_up(at, run.parts.len());
                (Ok(run), figures)
            })
            .collect();
        let findings = study.judge(extent, &done);
        findings.check().unwrap();
        for number in 1..=7 {
            let id = format!("P{number}");
            assert!(findings.claims.iter().any(|claim| claim.id == id), "{id}");
        }
        for claim in &findings.claims {
            assert!(!claim.why.contains("NaN"), "{} {}: {}", claim.id, claim.part, claim.why);
            let of_quick = matches!((claim.id, claim.part.as_str()), ("P3", "1FC-3SC") | ("P5" | "P6", _));
            assert!(extent == Extent::Full || of_quick || claim.holds.is_none(), "{} {}", claim.id, claim.part);
            let judged = claim.verdict != crate::Verdict::NotJudged;
            assert!(
                judged || !of_quick || claim.id == "P5",
                "a quick study has the runs of {} {}",
                claim.id,
                claim.part
            );
            let has_oracle = claim.oracle.is_some() || claim.basis != crate::Basis::Predicted;
            assert!(extent == Extent::Quick || has_oracle, "{} {} has no oracle arm", claim.id, claim.part);
            let not_run = extent == Extent::Full && claim.why.contains("not run");
            assert!(!not_run, "{} {}: {}", claim.id, claim.part, claim.why);
        }
        let missing = |of: &crate::Unspecified| extent == Extent::Full && of.effect.is_none();
        assert!(!findings.unspecified.iter().any(missing), "{:?}", findings.unspecified);
    }
}

/// Every case of a full study, with figures that depend on the seed, and on whether the policy is
/// `pa`, and on nothing else.
fn made_up() -> Vec<(Result<run::Run, String>, Figures)> {
    let of = |case: run::Case| {
        let factor = if case.policy == "pa" { 0.8 } else { 1.0 };
        let time = |app: usize| factor * (10.0 + 7.0 * case.seed as f64 + app as f64);
        let had = |app| Had { time: time(app), runs: 3, fast: 0.4, swaps: 5, ..Had::default() };
        let apps = mixes::find(case.mix).map_or(0, |mix| if case.alone.is_some() { 1 } else { mix.apps.len() });
        let figures = Figures { seconds: 40.0, apps: (0..apps).map(had).collect() };
        let run = run::Run {
            chip: String::new(),
            parts: Vec::new(),
            on: Vec::new(),
            ends: [0, 1],
            told: false,
            wait: String::new(),
            master: case.master,
            seed: case.seed,
            case,
        };
        (Ok(run), figures)
    };
    jobs::cases(Extent::Full).into_iter().map(of).collect()
}

/// The times of seeds lie far apart, and each seed's gain is 25%: the interval has no width. A key
/// that changes nothing is not exercised.
#[test]
fn gains_are_taken_seed_by_seed_and_what_changes_nothing_is_not_exercised() {
    let done = made_up();
    let results = Results::new(&done);
    for mix in &mixes::SET_1 {
        let gain = results.over_default(Machine::One, mix.name, "pa").unwrap();
        assert!((gain.mean - 25.0).abs() < 1e-9 && gain.half.unwrap() < 1e-9, "{}: {gain:?}", mix.name);
    }
    let effects = open::all_effects(&results);
    assert!(effects.len() >= 15, "{}", effects.len());
    for effect in effects {
        assert_eq!(effect.gain, Err(open::NOT_EXERCISED), "{}: {}", effect.what, effect.choice);
    }
    let findings = study().judge(Extent::Full, &done);
    assert!(findings.unspecified.iter().all(|item| item.effect.is_none() && item.note.contains("not exercised")));
}

/// In each item of what the paper leaves open, the runs as chosen have the seeds of the other
/// choices, so that every comparison is one of pairs.
#[test]
fn every_variation_has_its_pairs() {
    let cases = jobs::cases(Extent::Full);
    let seeds = |like: &run::Case| -> Vec<u64> {
        let mine = cases.iter().filter(|case| run::Case { seed: 0, ..(*case).clone() } == *like);
        mine.map(|case| case.seed).collect()
    };
    for (of, base) in open::all_pairs() {
        let (of, base) = (seeds(&of), seeds(&base));
        assert!(of.len() >= 4 && of.iter().all(|seed| base.contains(seed)), "{of:?} of {base:?}");
    }
}

/// A condition over several places is decided by the intervals: it cannot be told where the one place
/// that could show it lies on both sides of a border.
#[test]
fn good_somewhere_and_bad_elsewhere_is_judged_by_intervals() {
    // Each policy's time on the first mix and on all others, under each seed.
    let judged = |rr: fn(&str, u64) -> f64| {
        let mut done = made_up();
        for (run, figures) in &mut done {
            let case = &run.as_ref().unwrap().case;
            let time = match case.policy {
                "rr" => rr(case.mix, case.seed),
                "pa" => 80.0,
                _ => 100.0,
            };
            figures.apps.iter_mut().for_each(|app| app.time = time);
        }
        gains::good_and_bad(&Results::new(&done), gains::CHOSEN, "rr", [2.0, 5.0])
    };
    let first = mixes::SET_1[0].name;
    assert_eq!(judged(|_, _| 100.0), Some(crate::Verdict::DoesNotHold), "good nowhere");
    assert_eq!(judged(|_, _| 80.0), Some(crate::Verdict::DoesNotHold), "bad nowhere");
    let cases: fn(&str, u64) -> f64 = |mix, _| if mix == mixes::SET_1[0].name { 80.0 } else { 100.0 };
    assert_eq!(judged(cases), Some(crate::Verdict::Holds), "good on {first} alone");
    let wide: fn(&str, u64) -> f64 = |mix, seed| match (mix == mixes::SET_1[0].name, seed % 2) {
        (false, _) => 100.0,
        (true, 0) => 70.0,
        (true, _) => 92.0,
    };
    assert_eq!(judged(wide), Some(crate::Verdict::CannotTell), "good on {first} by the mean alone");
}

/// Default's times vary three times as much as PA's; whether that is more than twice as much is told
/// with many seeds and not with few.
#[test]
fn a_ratio_of_spreads_has_an_interval() {
    let judged = |seeds: u64, factor: f64| {
        let mut done = made_up();
        done.retain(|(run, _)| run.as_ref().unwrap().case.seed <= seeds);
        for (run, figures) in &mut done {
            let case = &run.as_ref().unwrap().case;
            // Numbers without an order, between -1 and 1.
            let chance = ((case.seed * 7919) % 31) as f64 / 15.0 - 1.0;
            let wide = if case.policy == "pa" { 1.0 } else { factor };
            figures.apps.iter_mut().for_each(|app| app.time = 100.0 + wide * chance);
        }
        let findings = study().judge(Extent::Full, &done);
        findings.claims.iter().find(|claim| claim.id == "P7" && claim.part == "spread").unwrap().verdict
    };
    use crate::Verdict::{CannotTell, DoesNotHold, Holds};
    assert_eq!([judged(20, 6.0), judged(20, 1.0), judged(3, 3.0)], [Holds, DoesNotHold, CannotTell]);
}

/// Oracle arms set what they say, and nothing else differs.
#[test]
fn an_oracle_arm_sets_all_of_its_keys() {
    let study = study();
    let chip = |case: run::Case| {
        let run = study.job(case).1.unwrap();
        baton_chip::Chip::from_toml(&run.chip, "an arm").unwrap().expanded()
    };
    for machine in [Machine::One, Machine::Four, Machine::Single] {
        let of = |case: run::Case| chip(run::Case { seed: 1, ..case });
        let (chosen, ideal) =
            (of(jobs::main(machine, "gamess + BLAST", "pa")), of(jobs::ideal(machine, "gamess + BLAST", "pa")));
        let differ: Vec<_> = chosen.iter().zip(&ideal).filter(|(a, b)| a != b).map(|(_, b)| b.0.to_string()).collect();
        let expected: &[&str] =
            if machine == Machine::Single { &["os.migrate"] } else { &["network.links", "os.migrate"] };
        assert!(expected.iter().all(|key| differ.iter().any(|other| other == key)), "{differ:?}");
        assert_eq!(differ.len(), expected.len(), "{differ:?}");
    }
}

/// This test fails when a file that states rules changes; the changed rules then need a name of
/// their own.
#[test]
fn rules_are_those_that_were_frozen() {
    assert_eq!(study().frozen.rules, "069ab56e4d3eb603");
}

#[test]
fn inputs_that_do_not_fit_are_refused_with_their_file_and_key() {
    let error = open("caf64.toml", "profiles/pa").err().unwrap().to_string();
    assert!(error.contains("caf64.toml: key `core.count` is 64; this study needs 16"), "{error}");
    let error = open("barcelona-amp.toml", "profiles/ocor").err().unwrap().to_string();
    assert!(error.contains("profiles/ocor/astar.toml"), "{error}");
}
