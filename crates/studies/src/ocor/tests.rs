//! The whole way from runs to findings, on figures that were made up: every round of runs is asked for, sorted and judged.

use super::*;
use crate::Extent;
use crate::claim::Findings;
use crate::hash;
use crate::kit::On;
use std::path::Path;

/// Figures that depend on a run's inputs: the overhead is 1,500 cycles with heeded marks and 2,000
/// without, and a hash of the inputs adds some cycles.
fn made_up(run: &Result<Job, String>) -> Figures {
    let text = serde_json::to_string(run).unwrap();
    assert!(run.is_ok(), "{text}");
    let chance = u64::from_str_radix(&hash::of(&text).short()[..4], 16).unwrap();
    let overhead =
        if text.contains("enabled = true") && !text.contains("heeded = false") { 1500 } else { 2000 } + chance / 100;
    let account = account::Account {
        acquisitions: 1920,
        entered_spinning: 500 + chance % 100,
        sections: 300,
        blocked: 2 * overhead,
        in_sections: overhead,
        overhead,
        by_hand_offs: overhead,
        by_cause: [overhead / 10, 0, 0, overhead / 10, 0, 0, overhead - 2 * (overhead / 10)],
        longest_wait: 900,
    };
    let lanes = vec![vec![window::Piece { from: 0, to: 9000, doing: window::Doing::Own }]];
    let watched = text.contains("\"window\"").then_some(window::Window { threads: lanes });
    Figures {
        cycles: 5000 + overhead,
        threads: 64,
        calls: account.clone(),
        account,
        packets: 50_000,
        lock_packets: 4000,
        longest: [80, 900],
        flit_hops: 1,
        active: 3 * overhead,
        times: text.contains("\"refit\"").then_some([300, 900]),
        window: watched,
    }
}

fn study() -> Ocor {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let inputs = Inputs::open(&[root.join("../../chips/ocor64.toml")], vec![root.join("tests/profiles")]).unwrap();
    Ocor::open(&inputs).unwrap()
}

/// Conducts the study on the profiles of the tests with made-up figures. Returns how many runs each
/// round had, and the findings.
fn findings(extent: Extent) -> (Vec<usize>, Findings) {
    let study = study();
    let mut done: Vec<(Result<Job, String>, Figures)> = Vec::new();
    let mut next = study.runs(extent);
    let mut rounds = Vec::new();
    while !next.is_empty() {
        rounds.push(next.len());
        done.extend(next.into_iter().map(|(_, run)| {
            let figures = made_up(&run);
            (run, figures)
        }));
        next = study.more(extent, &done);
    }
    let findings = study.judge(extent, &done);
    (rounds, findings)
}

#[test]
fn a_full_study_searches_sets_of_choices_and_explains_every_miss() {
    let (rounds, findings) = findings(Extent::Full);
    // There is a first round, and at most five rounds of the search, each in two rounds of the
    // study if draws must be fitted again.
    assert!((5..=11).contains(&rounds.len()), "{rounds:?}");
    let later: usize = rounds[1..].iter().sum();
    assert!(later <= joint::most_runs(), "{rounds:?}");
    let answer = findings.notes.iter().find(|note| note.contains("plausible set")).expect("an answer");
    assert!(answer.contains("39.9") && answer.contains("both arms pay"), "{answer}");
    for claim in findings.claims.iter().filter(|claim| claim.holds == Some(false)) {
        let named = claim.why.split('`').nth(1).is_some_and(|name| !name.is_empty());
        let figure = claim.why.chars().any(|letter| letter.is_ascii_digit());
        assert!(named && figure && !claim.why.contains("NaN"), "{} {}: {}", claim.id, claim.part, claim.why);
    }
    for falsifier in findings.falsifiers.iter().filter(|falsifier| falsifier.holds == Some(false)) {
        assert!(!falsifier.why.is_empty() && !falsifier.why.contains("NaN"), "{}: {}", falsifier.id, falsifier.why);
    }
    for title in [
        "Several open choices at once",
        "What shrinks",
        "The cheapest order",
        "The price of waking",
        "Real programs: is it the registers' price?",
        "Real programs: routers, the home, or a lock in software",
    ] {
        let figure = findings.figures.iter().find(|figure| figure.title().starts_with(title));
        let html = figure.unwrap_or_else(|| panic!("{title}")).html();
        assert!(!html.contains("NaN") && html.matches("<tr>").count() > 5, "{title}: {html}");
    }
    let page = crate::page::markdown(&findings, "pictures");
    for (name, text) in &page.pictures {
        assert!(text.len() < 15_000 && page.page.contains(name.as_str()), "{name}: {} bytes", text.len());
    }
    assert_eq!(page.pictures.len(), 16, "{:?}", page.pictures.iter().map(|(name, _)| name).collect::<Vec<_>>());
}

#[test]
fn a_quick_study_is_one_round() {
    let (rounds, findings) = findings(Extent::Quick);
    assert_eq!(rounds.len(), 1);
    assert!(findings.claims.iter().all(|claim| claim.holds.is_none()));
}

/// The runs of the search come last in a study, after many minutes. This test checks on a small
/// chip that each set of the sample can be run.
#[test]
fn every_set_of_the_sample_runs() {
    let (study, items) = (study(), joint::items());
    let (_, trials) = joint::search(&joint::choices(&items), &|set| study.is_chip(&items, set)).go(|_| None);
    assert!(trials.len() > 20, "{}", trials.len());
    let program = study.programs.iter().find(|of| of.name == "ilbdc").unwrap();
    for trial in &trials {
        let setting = experiments::Setting { threads: 16, ..joint::setting(&items, &trial.set, false) };
        for chip in study.chips(&setting) {
            let run = jobs::stand_in(&setting, program, 1, chip.unwrap());
            let figures = run::Run { acquisitions: 3, threads: 8, ..run }.figures();
            assert!(figures.is_ok(), "{}: {}: {figures:?}", trial.name, joint::text(&items, &trial.set));
        }
    }
}

/// The data that holders of a crowd's locks use lie beside the lock's line, not in it. So a mark on
/// the release changes the run.
#[test]
fn crowds_have_lines_of_their_own_and_a_mark_on_their_release_tells() {
    let study = study();
    let program = study.programs.iter().find(|of| of.name == "ilbdc").unwrap();
    let crowds: Vec<_> = experiments::all()
        .into_iter()
        .filter(|of| of.setting.crowd.is_some() && of.id.0 == "program's shape")
        .collect();
    let with_lines = |of: &&experiments::Experiment| of.setting.crowd.is_some_and(|crowd| crowd.lines > 0);
    assert!(crowds.iter().filter(with_lines).count() >= 3);
    let meets = |of: &&experiments::Experiment| of.setting.crowd.is_some_and(|crowd| crowd.meets);
    let of = crowds.iter().find(meets).expect("a crowd with meetings");
    let run = |release: bool| {
        let marked = vec![format!("ocor.mark_release={release}"), "ocor.hint=0".to_owned()];
        let setting = experiments::Setting { marked, threads: 16, ..of.setting.clone() };
        let [_, chip] = study.chips(&setting);
        let run = jobs::stand_in(&setting, program, 1, chip.unwrap());
        let (draw, crowd) = (run.program.draw, of.setting.crowd.unwrap());
        assert_eq!((draw.section_lines, draw.phase, draw.locks), (crowd.lines, 1, crowd.locks));
        run::Run { acquisitions: 6, threads: 16, ..run }.figures().unwrap()
    };
    let [plain, marked] = [false, true].map(run);
    assert!(plain.cycles != marked.cycles && marked.lock_packets > plain.lock_packets, "{plain:?} {marked:?}");
}

/// Every lock of the table runs, as every set of the sample does.
#[test]
fn every_lock_of_the_table_runs() {
    let study = study();
    let cells = study.cells(Extent::Full);
    let wanted = |case: &table::Case| case.size == 0 && case.network == 2 && case.draw == 0 && case.seed == 1;
    let mut locks = 0;
    for (case, program) in cells.into_iter().filter(|(case, _)| wanted(case)) {
        let chip = study.chip_with(case.threads(), &case.settings()).unwrap();
        let run = table::Run { acquisitions: 3, threads: 8, ..case.run(chip, program) };
        let figures = run.figures().unwrap_or_else(|error| panic!("{}: {error}", case.name()));
        // Eight threads have three acquisitions each. Packets are counted in the region, and every
        // thread's time in the region is known.
        assert!(figures.account.acquisitions == 24 && figures.active > 0 && figures.packets > 0, "{}", case.name());
        locks += 1;
    }
    assert_eq!(locks, table::LOCKS.len());
}

/// Every arm of the map runs in one of the cells, and the settings of all cells with 16 cores make
/// a chip.
#[test]
fn every_arm_of_the_map_runs() {
    let study = study();
    let (mut chips, mut arms) = (Vec::new(), 0);
    for case in map::cases(true) {
        if case.size == 0 {
            chips.push(
                study
                    .chip_with(case.threads(), &case.settings())
                    .unwrap_or_else(|error| panic!("{}: {error}", case.name())),
            );
        }
        if (case.size, case.per_lock, case.section, case.meets, case.price) == (0, 4, 0, true, 1) {
            let run = table::Run { acquisitions: 2, ..case.run(chips.last().unwrap().clone()) };
            let figures = run.figures().unwrap_or_else(|error| panic!("{}: {error}", case.name()));
            assert_eq!(figures.account.acquisitions, 32, "{}", case.name());
            arms += 1;
        }
    }
    assert_eq!(arms, map::ARMS.len());
}

/// The rules as data: what is run, and what each claim, falsifier and open item says.
fn rules_as_data() -> String {
    let mut lines = Vec::new();
    for of in experiments::all().into_iter().chain(experiments::crowd()) {
        let experiments::Setting { both, marked, other, lines: section, crowd, lock, tries, threads } = &of.setting;
        let (On::All(names) | On::These(names)) = of.on;
        let settings = (&of.id, both, marked, other.settings(marked));
        let rest = (section, crowd, lock, tries, threads, names, of.shape, of.draws, of.seeds, of.quick);
        lines.push(format!("{settings:?} {rest:?}"));
    }
    let results = results::Results::new(Default::default(), &[]);
    for of in claims::all(&results, &Why::new(&results, &[]), true) {
        lines.push(format!("{:?}", (of.id, of.part, of.what, of.paper, of.unit, of.basis, of.rule)));
    }
    for of in open::falsifiers(&results, &results).into_iter().chain(figures::starvation(&results)) {
        lines.push(format!("{:?}", (of.id, of.what)));
    }
    for of in open::unspecified(&results) {
        lines.push(format!("{:?}", (of.what, of.chosen, of.range)));
    }
    lines.join("\n") + "\n"
}

/// This test fails when a rule changes; the changed rules then need a name of their own.
#[test]
fn rules_are_those_that_were_frozen() {
    assert_eq!(hash::of(rules_as_data()).short(), "cd6ecb0a884c34e3");
    assert_eq!(study().frozen.rules, "d2d7354b9df1ef82");
}
