//! Tests the study's real programs: in both arms, every program has the right result and an account
//! that adds up; with one thread, marks cost no more than their hints.

use baton_chip::Chip;
use baton_programs::real::{Program, Scale};
use baton_studies::ocor::real::{Lock, Run, THREADS, What, scale};
use baton_studies::ocor::run::Figures;

fn run(program: Program, threads: u32, marked: bool) -> Figures {
    let text = include_str!("../../../chips/ocor64.toml");
    let settings = [format!("ocor.enabled={marked}")];
    let chip = Chip::from_toml_at(text, "ocor64.toml", Some(threads.max(4)), &settings).unwrap().to_toml();
    let (size, grain) = match program {
        Program::ImageFilter => (64, 2),
        Program::Dedup => (4096, 256),
        Program::KdTree | Program::Sort => (256, 8),
        Program::Align => (64, 8),
    };
    let what = What { program, scale: Scale { size, grain, seed: 1 } };
    // `figures` returns an error for a wrong result or for an account that does not add up.
    Run { chip, what, lock: Lock::Paper, threads, seed: 1 }
        .figures()
        .unwrap_or_else(|error| panic!("{program:?}: {error}"))
}

#[test]
fn every_program_is_right_and_accounted_for_in_both_arms() {
    for program in Program::ALL {
        let (off, on) = (run(program, 4, false), run(program, 4, true));
        assert!(off.account.overhead > 0 && off.account.acquisitions > 20, "{program:?}: {:?}", off.account);
        assert!(on.account.acquisitions > 20 && on.lock_packets > 0, "{program:?}: {:?}", on.account);
    }
}

#[test]
fn marks_change_nothing_for_one_thread_but_the_hints_price() {
    let (off, on) = (run(Program::Sort, 1, false), run(Program::Sort, 1, true));
    assert_eq!((off.account.overhead > 0, off.account.acquisitions), (true, on.account.acquisitions));
    // Marks cost at most 8 cycles an acquisition: four hints of two cycles each. A try and a
    // release give at least one hint each.
    assert!(
        on.cycles >= off.cycles && on.cycles - off.cycles <= 8 * on.account.acquisitions,
        "{} {}",
        off.cycles,
        on.cycles
    );
}

#[test]
fn the_studys_scales_are_the_programs() {
    for program in Program::ALL {
        program.check(scale(program, 1)).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(THREADS, [4, 8, 16, 32, 64]);
}
