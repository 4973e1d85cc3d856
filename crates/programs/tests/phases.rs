//! Profiles of phases: the files of this repository are read, and broken ones are refused.

#![expect(clippy::disallowed_methods, reason = "the workload runs on the native machine")]

use baton_machine::Native;
use baton_machine::Wait;
use baton_programs::phases::{PhaseProgram, Program};
use baton_workloads::{Knobs, Silent, Workload};
use std::path::Path;

const PA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/pa");

fn text(name: &str) -> String {
    std::fs::read_to_string(Path::new(PA).join(name)).unwrap()
}

#[test]
fn every_profile_reads_and_has_a_name_of_its_own() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(PA).unwrap() {
        let path = entry.unwrap().path();
        let program = Program::open(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Some(program.name.to_lowercase().as_str()), path.file_stem().and_then(|stem| stem.to_str()));
        assert_eq!(program.class.single, program.parallel == 0.0, "{}", program.name);
        names.push(program.name);
    }
    for name in ["gamess", "hmmer", "gobmk", "mcf", "astar", "FFTW", "BLAST", "wupwise", "EP", "semphy"] {
        assert!(names.iter().any(|known| known == name), "no profile of {name}, which table 2 has");
    }
}

#[test]
fn a_broken_profile_says_file_line_key_and_what_was_expected() {
    let whole = text("fftw.toml");
    for (from, to, says) in [
        (
            "class = \"PS-MI\"",
            "class = \"PS\"",
            "p.toml:5: key `program.class` is the text \"PS\"; expected one of HP-CI, ",
        ),
        ("parallel = 0.7", "parallel = 1.5", "p.toml:7: key `program.parallel` is 1.5; expected a number from 0 to 1"),
        ("cpi = 0.8", "cps = 0.8", "p.toml:14: unknown key `parallel.cps`; expected one of cpi, overlap, sets"),
        ("overlap = 4", "overlap = 0", "key `parallel.overlap` is 0; expected a whole number from 1 to 64"),
        (
            "10.0], [",
            "-1], [",
            "key `parallel.sets` is a list of 2; expected a list of [bytes, accesses in 1000 instructions]",
        ),
        ("[524_288, 10.0]", "[524_288]", "key `parallel.sets` is a list of 2; expected a list"),
        ("rounds = 20\n", "", "p.toml:3: key `program.rounds` is missing; expected a whole number from 1 to 1000000"),
        (
            "cpi = \"assumed: a core three wide, with hits in the first level\"\n",
            "",
            "key `sources.cpi` is missing; expected a name",
        ),
        ("[sources]", "[source]", "unknown key `source`; expected one of program, parallel, sequential, sources"),
    ] {
        let broken = whole.replacen(from, to, 1);
        assert_ne!(broken, whole, "{from} stands in the profile");
        let error = Program::from_toml(&broken, "p.toml").expect_err(to).to_string();
        assert!(error.contains(says), "{to}: {error}");
    }
    let single = text("gamess.toml").replacen("parallel = 0.0", "parallel = 0.5", 1);
    let error = Program::from_toml(&single, "p.toml").expect_err("one thread").to_string();
    assert!(error.contains("`program.parallel` is 0.5; expected a number from 0 to 0"), "{error}");
    let absent = Program::open(Path::new("no/such.toml")).expect_err("absent").to_string();
    assert!(absent.starts_with("no/such.toml: cannot be read"), "{absent}");
}

#[test]
fn a_program_runs_as_a_stream_where_the_machine_plays_no_phases() {
    let path = Path::new(PA).join("blast.toml");
    let knobs =
        Knobs { threads: Some(3), profile: Some(&path), size: Some(1), iterations: Some(2), ..Knobs::default() };
    let program = PhaseProgram::choose(&knobs).unwrap();
    let team = program.team::<Native, _>(Wait::Futex, Silent).unwrap();
    assert_eq!(team.bodies.len(), 3);
    let threads: Vec<_> = team.bodies.into_iter().map(std::thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    (team.verify)().unwrap();
    let refused = PhaseProgram::choose(&Knobs { threads: None, profile: None, ..knobs }).err().unwrap();
    assert!(refused.to_string().contains("needs --profile"), "{refused}");
    let single = Path::new(PA).join("mcf.toml");
    let refused = PhaseProgram::choose(&Knobs { profile: Some(&single), ..knobs }).err().unwrap();
    assert_eq!(refused.to_string(), "--threads 3: mcf is ST-MI; expected 1");
}
