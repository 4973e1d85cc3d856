//! Profile files: the files of this repository are read, wrong ones are refused with file, line,
//! key and what was expected, and a draw's threads do what the draw says.
#![expect(clippy::disallowed_methods, reason = "the workload runs on the native machine")]

use baton_machine::{Native, Wait};
use baton_programs::synthetic::fit::alike;
use baton_programs::synthetic::set::{Set, with_draw};
use baton_programs::synthetic::{Class, Draw, Numbered, Profile, SyntheticRun};
use baton_sync::lock::{mcs::Mcs, spin_park::SpinPark};
use baton_workloads::{Silent, Team};
use std::num::NonZeroU32;
use std::path::Path;

const OCOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/ocor");

#[test]
fn the_trees_profiles_are_read() {
    let set = Set::open(Path::new(OCOR)).unwrap();
    assert_eq!(set.profiles.len(), 25);
    assert_eq!(set.profiles.iter().filter(|profile| profile.suite == "PARSEC").count(), 11);
    // By table 3 of OCOR's paper, 18 programs have a high rate of critical sections, and 11 a high
    // network utilisation.
    let high = |class: fn(&Profile) -> Class| set.profiles.iter().filter(|p| class(p) == Class::High).count();
    assert_eq!((high(|p| p.printed.cs_rate), high(|p| p.printed.network)), (18, 11));
    let shares = set.profiles.iter().filter(|p| p.printed.cs_share.is_some() && p.printed.coh_share.is_some());
    assert_eq!(shares.map(|p| p.name.as_str()).collect::<Vec<_>>(), ["bodytrack", "canneal", "ilbdc", "imag"]);
    assert_eq!(set.get("botss").unwrap().printed.entered_spinning, Some(0.257));
    assert!(set.get("quake").is_none() && set.hash.len() == 16);
}

#[test]
fn the_hash_changes_with_a_byte() {
    let dir = std::env::temp_dir().join(format!("baton-profiles-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let text = std::fs::read_to_string(Path::new(OCOR).join("imag.toml")).unwrap();
    let hash = |text: &str| {
        std::fs::write(dir.join("imag.toml"), text).unwrap();
        Set::open(&dir).unwrap().hash
    };
    let (first, changed, again) = (hash(&text), hash(&format!("{text}#")), hash(&text));
    std::fs::write(dir.join("other.toml"), &text).unwrap();
    let twice = Set::open(&dir).unwrap_err().to_string();
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(first == again && first != changed);
    assert!(twice.contains("profile `imag` stands in another file"), "{twice}");
    assert!(Set::open(&dir).unwrap_err().to_string().contains("cannot be read"));
}

const GOOD: &str = r#"[profile]
name = "x"
suite = "y"
[printed]
cs_rate = "high"
network = "low"
cs_share = 0.05
[[ranges]]
acquisitions = [30, 30]
locks = [1, 8]
hot = [0, 0.5]
even = [0, 1]
section_cycles = [10, 20]
section_lines = [1, 2]
think_cycles = [10, 20]
phase = [0, 0]
spread = [0, 1]
misses = [0, 4]
cs_share = [0, 1]
coh_share = [0, 1]
rate = [0, 1]
packets = [0, 100]
"#;

#[test]
fn wrong_files_are_refused_clearly() {
    assert!(Profile::from_toml(GOOD, "x.toml").is_ok());
    let cases = [
        (
            "cs_rate = \"high\"",
            "cs_rate = \"big\"",
            "x.toml:5: key `printed.cs_rate` is the text \"big\"; expected \"low\" or \"high\"",
        ),
        ("cs_rate = \"high\"\n", "", "x.toml:4: key `printed.cs_rate` is missing; expected \"low\" or \"high\""),
        ("cs_share = 0.05", "cs_share = 5", "x.toml:7: key `printed.cs_share` is 5; expected a number from 0 to 1"),
        (
            "locks = [1, 8]",
            "locks = [8, 1]",
            "x.toml:10: key `ranges.locks` is a list of 2; expected [least, most], each a whole number from 1 to 1024",
        ),
        (
            "locks = [1, 8]",
            "lokcs = [1, 8]",
            "x.toml:10: unknown key `ranges.lokcs`; expected one of acquisitions, locks, hot, even",
        ),
        ("[[ranges]]", "[[ranges", "x.toml:8: not TOML"),
        ("[printed]", "[print]", "unknown key `print`; expected one of profile, printed, ranges, draw"),
        ("name = \"x\"", "name = 3", "x.toml:2: key `profile.name` is 3; expected a name"),
    ];
    for (from, to, why) in cases {
        let error = Profile::from_toml(&GOOD.replacen(from, to, 1), "x.toml").unwrap_err().to_string();
        assert!(error.contains(why), "{error}\nexpected {why}");
    }
    let draw = with_draw(GOOD, &Numbered { number: 3, draw: DRAW }, "a remark");
    assert_eq!(Profile::from_toml(&draw, "x.toml").unwrap().draws, [Numbered { number: 3, draw: DRAW }]);
    let (line, unnumbered) = (draw.lines().count() - 14, draw.replace("number = 3\n", ""));
    let error = Profile::from_toml(&unnumbered, "x.toml").unwrap_err().to_string();
    assert_eq!(error, format!("x.toml:{line}: key `draw.number` is missing; expected a whole number from 0 to 999"));
    let twice = with_draw(&draw, &Numbered { number: 3, draw: DRAW }, "another");
    let error = Profile::from_toml(&twice, "x.toml").unwrap_err().to_string();
    assert!(error.contains("key `draw.number` is 3; expected a whole number from 4 to 999"), "{error}");
    let line = 1 + draw.lines().position(|line| line.starts_with("burst")).unwrap();
    let error = Profile::from_toml(&draw.replace("burst = 2", "burst = 2.5"), "x.toml").unwrap_err().to_string();
    assert_eq!(error, format!("x.toml:{line}: key `draw.burst` is 2.5; expected a whole number from 1 to 64"));
    let error = Profile::open(Path::new("/no/such/file.toml")).unwrap_err().to_string();
    assert!(error.contains("/no/such/file.toml: cannot be read"), "{error}");
}

const DRAW: Draw = Draw {
    acquisitions: 30,
    locks: 3,
    hot: 0.25,
    even: 0.5,
    section_cycles: 20,
    section_lines: 2,
    think_cycles: 100,
    spread: 0.5,
    phase: 25,
    misses: 40.0,
    burst: 2,
    writes: 0.3,
    own_lines: 16,
};

#[test]
fn a_draw_keeps_its_number_and_seed_when_another_is_taken_out() {
    let [first, second] = [0, 1].map(|number| Numbered { number, draw: Draw { locks: 7 + number, ..DRAW } });
    let once = with_draw(GOOD, &first, "first");
    let twice = with_draw(&once, &second, "second");
    let read = |text: &str| Profile::from_toml(text, "x.toml").unwrap();
    assert!(twice.starts_with(&once) && read(&twice).draws == [first, second]);
    let without = read(&twice.replace(&once[GOOD.len()..], ""));
    assert_eq!(without.draws, [second]);
    assert_eq!((without.draws[0].seed(0), without.draws[0].seed(2)), (2, 2002));
    assert_eq!((without.next_number(), read(GOOD).next_number()), (2, 0));
}

#[test]
fn every_program_has_ten_draws_that_differ() {
    for profile in Set::open(Path::new(OCOR)).unwrap().profiles {
        assert!(profile.draws.len() >= 10, "{} has {}", profile.name, profile.draws.len());
        for (at, one) in profile.draws.iter().enumerate() {
            let same = profile.draws[..at].iter().find(|other| alike(&other.draw, &one.draw));
            assert!(same.is_none(), "{}: draws {:?} and {} are the same", profile.name, same, one.number);
        }
    }
}

fn run(team: Team) -> Result<(), String> {
    let threads: Vec<_> = team.bodies.into_iter().map(std::thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    (team.verify)()
}

#[test]
fn a_draws_sections_exclude_each_other() {
    for threads in [1, 4, 16] {
        let threads = NonZeroU32::new(threads).unwrap();
        let with = SyntheticRun { threads, acquisitions: 50, line_bytes: 64, seed: 1 };
        assert_eq!(run(DRAW.team::<Native, Mcs<Native>, _>(with, Wait::Futex, Silent)), Ok(()));
        let wait = Wait::SpinPark(16);
        let heavy = DRAW.with_load(100.0);
        assert_eq!(heavy.misses, 1000.0);
        assert_eq!(run(heavy.team::<Native, SpinPark<Native>, _>(with, wait, Silent)), Ok(()));
        let never_run = DRAW.team::<Native, Mcs<Native>, _>(with, Wait::Futex, Silent);
        assert!((never_run.verify)().is_err());
    }
}
