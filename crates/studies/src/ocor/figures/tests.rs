//! Every figure of the paper is drawn from what was run, with the paper's values and a unit.

use super::all;
use crate::kit::Samples;
use crate::kit::samples::Sample;
use crate::ocor::account::Account;
use crate::ocor::program::Program;
use crate::ocor::real::{self, RealPair};
use crate::ocor::results::Results;
use crate::ocor::run::Figures;
use crate::ocor::window::{Doing, Piece, Window};
use crate::page::Figure;
use baton_programs::synthetic::Profile;

fn profile(name: &str) -> Profile {
    let text = include_str!("../../../../../profiles/ocor/bodytrack.toml");
    Profile { name: name.to_owned(), ..Profile::from_toml(text, "bodytrack.toml").unwrap() }
}

pub(in crate::ocor) fn figures(cycles: u64, overhead: u64, window: Option<Window>) -> Figures {
    let account = Account {
        acquisitions: 1920,
        entered_spinning: 500,
        sections: cycles,
        blocked: 3 * overhead,
        in_sections: 2 * overhead,
        overhead,
        by_hand_offs: overhead,
        by_cause: [overhead, 0, 0, 0, 0, 0, 0],
        longest_wait: 9000,
    };
    Figures {
        cycles,
        threads: 64,
        calls: account.clone(),
        account,
        packets: 50_000,
        lock_packets: 4000,
        longest: [80, 900],
        flit_hops: 1,
        active: 64 * cycles,
        times: None,
        window,
    }
}

/// All figures of four programs, each experiment a pair without marks and with them.
fn drawn() -> Vec<Figure> {
    let names = ["bodytrack", "botss", "ilbdc", "imag"];
    let profiles: Vec<Profile> = names.iter().map(|name| profile(name)).collect();
    let programs: Vec<Program> = profiles.iter().map(|profile| Program::of(profile).remove(0)).collect();
    let piece = |from, to, doing| Piece { from, to, doing };
    let window = |waits: u64| Window {
        threads: vec![vec![
            piece(0, 1000, Doing::Own),
            piece(1000, 1000 + waits, Doing::Free),
            piece(1000 + waits, 9000, Doing::Section),
        ]],
    };
    let arms = [(100_000, 2_000_000, 900), (90_000, 1_500_000, 400)];
    let arms = arms.map(|(cycles, overhead, waits)| ((), figures(cycles, overhead, Some(window(waits)))));
    let groups = [
        ("main", ""),
        ("main", ""),
        ("threads", "4"),
        ("threads", "16"),
        ("threads", "32"),
        ("levels", "1"),
        ("ties", "in turn"),
    ];
    let mut samples = Samples::default();
    for program in &programs {
        for (again, (group, place)) in groups.into_iter().enumerate() {
            samples.push((group, place.to_owned()), Sample::of(program, again as u64, &arms));
        }
    }
    let [(_, off), (_, on)] = &arms;
    let mut results = Results::new(samples, &profiles);
    let windows = [off, on, on].map(|of| of.window.as_ref().unwrap());
    (results.window, results.routers) = (Some(windows), Some(15));
    all(&results, &results, None, &[RealPair { case: real::cases(false)[0], off, on }], &[], &[])
}

#[test]
fn every_figure_of_the_paper_is_there() {
    let figures = drawn();
    let titles: Vec<&str> = figures.iter().map(Figure::title).collect();
    for wanted in [
        "What the paper prints",
        "Figure 2:",
        "Figure 10: the beginning",
        "Figure 10 in numbers",
        "Figure 11a",
        "Figure 11b",
        "Figure 12a",
        "Figure 12b",
        "Figure 13",
        "Figure 14a",
        "Figure 14b",
        "Figure 15",
        "Figure 16",
        "What the headline hangs on",
        "Starvation",
        "Real programs",
    ] {
        let found = figures.iter().find(|figure| figure.title().starts_with(wanted));
        let html = found.unwrap_or_else(|| panic!("{wanted} of {titles:?}")).html();
        assert!(!html.contains("No run has") && !html.contains("No point has") && !html.contains("NaN"), "{wanted}");
        assert!(html.contains('%') || html.contains("cycles"), "{wanted} has no unit");
    }
    let mut files: Vec<&str> = figures.iter().filter_map(|figure| figure.file).collect();
    for file in [
        "figure-2",
        "figure-10",
        "figure-11a",
        "figure-12b",
        "figure-13",
        "figure-14b",
        "figure-15",
        "figure-16",
        "tornado",
    ] {
        assert!(files.contains(&file), "{file} of {files:?}");
    }
    files.sort_unstable();
    files.dedup();
    assert_eq!(files.len(), figures.iter().filter(|figure| figure.file.is_some()).count(), "{files:?}");
}

#[test]
fn figures_show_ours_beside_the_papers_values() {
    let figures = drawn();
    // With marks, the threads are blocked for 400 cycles instead of 900, so the work of the first
    // 3,000 cycles is done after 2,500. The paper's run takes 2,570.
    let table = figures.iter().find(|figure| figure.title() == "Figure 10 in numbers (claims O9 to O11)").unwrap();
    assert!(table.html().contains("2500") && table.html().contains("2570"), "{}", table.html());
    // The figure marks the values that the paper prints: figure 2 has two each for bodytrack, ilbdc
    // and imag, figure 11a one for each of the four programs.
    let marks = |title: &str| {
        let figure = figures.iter().find(|figure| figure.title().starts_with(title)).unwrap();
        figure.html().matches("l5-5 5 5-5 5z").count() - 1
    };
    assert_eq!((marks("Figure 2:"), marks("Figure 11a"), marks("Figure 11b")), (6, 4, 2));
}
