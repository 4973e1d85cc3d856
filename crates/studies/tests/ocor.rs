//! Runs OCOR's study on a small chip. Tests that the three ways to account for overhead agree for
//! each kind of atomic access, and that falsifiers which require exact equality find it.

use baton_chip::Chip;
use baton_programs::synthetic::Profile;
use baton_studies::Extent;
use baton_studies::kit::Inputs;
use baton_studies::ocor::Ocor;
use baton_studies::ocor::program::Program;
use baton_studies::ocor::run::{Figures, Run};
use std::path::Path;

fn program(name: &str) -> Program {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/profiles/{name}.toml"));
    let profile = Profile::open(&file).unwrap_or_else(|error| panic!("{error}"));
    Program::of(&profile).remove(0)
}

fn run(name: &str, threads: u32, tries: u32, settings: &[&str]) -> Figures {
    let chip = include_str!("../../../chips/ocor64.toml");
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let chip = Chip::from_toml_at(chip, "ocor64.toml", Some(16), &settings).unwrap().to_toml();
    let program = program(name);
    let run = Run { chip, program, lock: "spin-park", tries, threads, acquisitions: 4, seed: 1 };
    run.figures().unwrap_or_else(|error| panic!("{name} {settings:?}: {error}"))
}

#[test]
fn a_granted_lock_s_account_adds_up_and_its_sleepers_enter() {
    let chip = include_str!("../../../chips/ocor64.toml");
    let chip = Chip::from_toml_at(chip, "ocor64.toml", Some(16), &[]).unwrap().to_toml();
    let of = |lock| {
        let run = Run {
            chip: chip.clone(),
            program: program("botss"),
            lock,
            tries: 8,
            threads: 16,
            acquisitions: 6,
            seed: 1,
        };
        run.figures().unwrap_or_else(|error| panic!("{lock}: {error}"))
    };
    let [usual, granted] = ["spin-park", "spin-park-granted"].map(of);
    for figures in [&usual, &granted] {
        let account = &figures.account;
        assert_eq!((account.acquisitions, figures.calls.acquisitions), (96, 96));
        assert!(account.entered_spinning < 96 && account.overhead > 0, "{account:?}");
        // The account by calls has sections and blocked time too. The lock's own messages make its
        // figures differ from those by the lock's word.
        assert!(figures.calls.sections > 0 && figures.calls.blocked > 0);
    }
    assert_ne!(usual.account, granted.account);
}

#[test]
fn accounts_add_up_for_every_reading_of_a_try() {
    for atomics in ["near", "far", "llsc"] {
        let figures = run("ilbdc", 8, 8, &[&format!("core.atomics={atomics}"), "ocor.enabled=true"]);
        // `Run::figures` refuses an account whose three ways disagree. It remains to check that
        // there was something to account for.
        let account = &figures.account;
        assert_eq!(account.acquisitions, 8 * 4);
        assert_eq!(account.blocked, account.in_sections + account.overhead);
        assert!(account.overhead > 0 && account.sections > 0 && figures.lock_packets > 0, "{atomics}: {figures:?}");
        assert!(account.by_cause.iter().filter(|cycles| **cycles > 0).count() >= 3, "{atomics}: {account:?}");
    }
}

#[test]
fn exact_falsifiers_are_exact() {
    let pair = |threads, both: &str| {
        let off = run("botss", threads, 8, &[both, "ocor.enabled=false"]);
        let on = run("botss", threads, 8, &[both, "ocor.enabled=true", "ocor.hint=0"]);
        (off, on)
    };
    let (off, on) = pair(8, "network.contention=none");
    assert_eq!((off.cycles, &off.account), (on.cycles, &on.account));
    let (off, on) = pair(1, "network.contention=routers");
    assert_eq!((off.cycles, &off.account), (on.cycles, &on.account));
}

#[test]
fn a_full_study_is_estimated_below_an_hour() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let inputs = Inputs::open(&[root.join("chips/ocor64.toml")], vec![root.join("profiles/ocor")]).unwrap();
    let study = Ocor::open(&inputs).unwrap();
    let [(quick, soon), (full, later)] = [Extent::Quick, Extent::Full].map(|extent| study.estimate(extent));
    println!("quick: {quick} runs, {soon:.1} minutes; full: {full} runs, {later:.1} minutes");
    assert!(quick < full && soon < 3.0 && later < 60.0, "{quick} runs, {soon} minutes; {full} runs, {later} minutes");
}
