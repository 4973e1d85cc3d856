//! The search over sets of open choices, on effects that are known.

use super::*;

/// Effects that add up: of each item its first place gives as many points as the item's number.
fn singles(items: &[Item]) -> Vec<Vec<Seen>> {
    let of = |(n, item): (usize, &Item)| {
        let seen =
            |place: usize| Seen { coh: if place == 1 { n as f64 } else { 0.0 }, roi: 0.0, plausible: n % 2 == 0 };
        (0..=item.places.len()).map(seen).collect()
    };
    items.iter().enumerate().map(of).collect()
}

fn added(set: &Set) -> Seen {
    let on = |(n, place): (usize, &usize)| if *place == 1 { n as f64 } else { 0.0 };
    let odd = set.iter().enumerate().any(|(n, place)| n % 2 == 1 && *place == 1);
    Seen { coh: set.iter().enumerate().map(on).sum(), roi: 0.0, plausible: !odd }
}

#[test]
fn rounds_follow_each_other_and_the_best_is_found() {
    let items = items();
    assert!(items.len() >= 18, "{}", items.len());
    let singles = singles(&items);
    let search = Search { items: &items, singles: &singles, draws: 3, valid: &|_| true };
    let mut seen: Vec<Seen> = Vec::new();
    let mut rounds = 0;
    let trials = loop {
        let trials = search.trials(&seen);
        if trials.len() == seen.len() {
            break trials;
        }
        // What was tried stays where it was.
        assert_eq!(search.trials(&seen[..0]), trials[..SAMPLE]);
        seen.extend(trials[seen.len()..].iter().map(|trial| added(&trial.set)));
        rounds += 1;
    };
    // The sample, the best places, what is near them; nothing new is near them then; and again.
    assert_eq!(rounds, 4);
    let all: f64 = (0..items.len()).map(|n| n as f64).sum();
    let even: f64 = (0..items.len()).filter(|n| n % 2 == 0).map(|n| n as f64).sum();
    assert_eq!(seen[greatest(&seen, false).unwrap()].coh, all);
    assert_eq!(seen[greatest(&seen, true).unwrap()].coh, even);
    let again = &trials[trials.len() - 4..];
    assert!(again.iter().all(|trial| trial.draws == 3) && again[1].priced && !again[0].priced, "{again:?}");
    let runs: usize = trials.iter().map(|trial| RUNS * trial.draws).sum();
    assert!(runs <= most_runs(3), "{runs}");
}

#[test]
fn a_sample_of_the_arm_with_marks_leaves_the_other_one_alone() {
    let items = items();
    let singles = singles(&items);
    let trials = Search { items: &items, singles: &singles, draws: 3, valid: &|_| true }.trials(&[]);
    let usual = experiments::extremes();
    for (number, trial) in trials.iter().enumerate() {
        let of = experiment(&items, trial);
        let same = of.both.is_empty() && of.lock == usual.lock && of.tries == usual.tries;
        assert!(number < SAMPLE / 2 || same, "{}", text(&items, &trial.set));
    }
}

#[test]
fn a_set_that_is_no_chip_gives_way_where_that_costs_least() {
    let items = items();
    let singles = singles(&items);
    // Items 3 and 5 exclude each other; 3 does less.
    let valid = |set: &Set| set[3] == 0 || set[5] == 0;
    let search = Search { items: &items, singles: &singles, draws: 3, valid: &valid };
    let set = search.repaired(search.best(false));
    assert!(set[3] == 0 && set[1..].iter().enumerate().all(|(n, place)| n == 2 || *place == 1), "{set:?}");
    assert!(search.trials(&[]).iter().all(|trial| valid(&trial.set)));
}
