//! Tests the search over sets of open choices, with known effects.

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    score: f64,
    plausible: bool,
}

impl Score for Seen {
    fn score(&self) -> f64 {
        self.score
    }
    fn plausible(&self) -> bool {
        self.plausible
    }
}

/// There are eighteen choices with one to three alternatives each. Every second choice is used only by the
/// arm under test.
fn choices() -> Vec<Choice> {
    (0..18).map(|n| Choice { name: "a choice", places: 1 + n % 3, only_tested: n % 2 == 0 }).collect()
}

/// The score of a set is the sum of the numbers of the choices that take their first alternative. A
/// set is plausible if every choice with an odd number has its chosen value.
fn added(set: &[usize]) -> Seen {
    let places = || set.iter().enumerate();
    let score: usize = places().map(|(n, place)| if *place == 1 { n } else { 0 }).sum();
    Seen { score: score as f64, plausible: places().all(|(n, place)| n % 2 == 0 || *place == 0) }
}

fn singles(choices: &[Choice]) -> Vec<Vec<Seen>> {
    let of = |n: usize, place: usize| {
        let mut set = vec![0; choices.len()];
        set[n] = place;
        added(&set)
    };
    choices.iter().enumerate().map(|(n, choice)| (0..=choice.places).map(|place| of(n, place)).collect()).collect()
}

fn with_search<R>(valid: &dyn Fn(&Set) -> bool, look: impl FnOnce(&Search<'_, Seen>) -> R) -> R {
    let choices = choices();
    let singles = singles(&choices);
    let (again, halves) = (&["once", "twice"], ["of everything", "of the arm under test"]);
    look(&Search { choices: &choices, singles: &singles, again, halves, valid })
}

#[test]
fn rounds_follow_each_other_and_the_best_is_found() {
    with_search(&|_| true, |search| {
        let mut known = 0usize;
        let mut rounds = 0;
        let tried = loop {
            // `look` knows the first `known` trials, which are those of the earlier rounds, because
            // earlier trials stay the same. It returns `None` for the others.
            let mut left = known;
            let (tried, next) = search.go(|trial| {
                left = left.checked_sub(1)?;
                Some(added(&trial.set))
            });
            assert_eq!(tried.len(), known);
            if next.is_empty() {
                break tried;
            }
            (known, rounds) = (known + next.len(), rounds + 1);
        };
        // The four rounds are the sample, the best places, their neighbours, and the repetition.
        // The second round of neighbours finds no new sets.
        assert_eq!(rounds, 4);
        let seen: Vec<Seen> = tried.iter().map(|(_, seen)| *seen).collect();
        assert_eq!(seen[greatest(&seen, false).unwrap()].score, (0..18).sum::<usize>() as f64);
        assert_eq!(seen[greatest(&seen, true).unwrap()].score, (0..18).step_by(2).sum::<usize>() as f64);
        let again = &tried[tried.len() - 4..];
        assert_eq!(
            again.iter().map(|(trial, _)| trial.again).collect::<Vec<_>>(),
            [Some(0), Some(1), Some(0), Some(1)]
        );
        let [first, more] = most(2);
        assert!(tried.len() <= first + more && more == 4, "{}", tried.len());
    });
}

#[test]
fn a_sample_of_the_arm_under_test_leaves_the_other_one_alone() {
    with_search(&|_| true, |search| {
        for (number, trial) in search.trials(&[]).iter().enumerate() {
            let changed = |n: usize| !search.choices[n].only_tested && trial.set[n] != 0;
            assert!(number < SAMPLE / 2 || !(0..18).any(changed), "{trial:?}");
        }
    });
}

#[test]
fn a_set_that_cannot_be_gives_way_where_that_costs_least() {
    // Choices 3 and 5 exclude each other. Choice 3 has the smaller effect, so it must return to the
    // chosen value.
    let valid = |set: &Set| set[3] == 0 || set[5] == 0;
    with_search(&valid, |search| {
        let set = search.repaired(search.best(false)).unwrap();
        assert!(set[3] == 0 && set[1..].iter().enumerate().all(|(n, place)| n == 2 || *place == 1), "{set:?}");
        assert!(search.trials(&[]).iter().all(|trial| valid(&trial.set)));
    });
}

/// Two pairs of choices exclude each other, so that no single return makes the set possible.
#[test]
fn several_choices_give_way_where_one_is_not_enough() {
    let valid = |set: &Set| (set[3] == 0 || set[5] == 0) && (set[8] == 0 || set[10] == 0);
    with_search(&valid, |search| {
        let mut known: Vec<Seen> = Vec::new();
        loop {
            let trials = search.trials(&known);
            assert!(trials.iter().all(|trial| valid(&trial.set)), "{trials:?}");
            if trials.len() == known.len() {
                break;
            }
            known.extend(trials[known.len()..].iter().map(|trial| added(&trial.set)));
        }
        let set = search.repaired(search.best(false)).unwrap();
        assert!(set[5] == 1 && set[10] == 1 && set[17] == 1, "the widest choices stay: {set:?}");
    });
    with_search(&|_| false, |search| assert_eq!(search.repaired(search.best(false)), None));
}
