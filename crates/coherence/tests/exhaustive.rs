//! The protocol, explored exhaustively in small worlds: nothing goes wrong in any that can be reached, and together they
//! exercise every row. The example `check` does the same in larger worlds.

mod common;

use baton_coherence::Policy;
use baton_coherence::model::{Coverage, Model};
use std::sync::Arc;

fn holds(policy: Policy) {
    let covered = Coverage::default();
    for config in common::worlds::small(policy) {
        let model = Arc::new(Model::new(config));
        let figures = common::explore(&model, 1, None);
        let name = model.config.name;
        if let Some((fault, path)) = figures.fault {
            panic!("{policy:?}, {name}: {fault}\n{}", path.join("\n"));
        }
        assert!(figures.exhausted, "{policy:?}, {name}: not every world was visited");
        assert!(figures.states > 1_000, "{policy:?}, {name}: a world so small shows nothing");
        println!("{policy:?}, {name}: {} states", figures.states);
        covered.add(&model.coverage);
    }
    let (_, missing) = covered.missing(policy.protocol());
    assert!(missing.is_empty(), "rows that nothing exercises: remove them, or add a world: {missing:#?}");
}

#[test]
fn the_blocking_home_is_sound_and_has_no_idle_row() {
    holds(Policy::Blocking);
}

#[test]
fn the_nonblocking_home_is_sound_and_has_no_idle_row() {
    holds(Policy::Nonblocking);
}
