//! The protocol, explored exhaustively in small worlds: no world that can be reached has a fault,
//! and together they exercise every row. The example `check` does the same in larger worlds.

mod common;

use baton_coherence::Policy;
use baton_coherence::model::{Config, Coverage, Fault, Model, Order};
use baton_coherence::mutate::mutants;
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

/// Breaks the protocol in a few well-known ways, and checks which fault the checker finds;
/// `scripts/mutate/mutate protocol` tries all changes.
#[test]
fn a_broken_protocol_is_caught() {
    let breaks = [
        ("home S GetM", "without `Inv > others`", Fault::Deadlock),
        ("home S GetM", "`sharers := none` before `DataM > requestor`", Fault::StaleData),
        ("home X GetS", "without `sharers + requestor`", Fault::Directory),
        ("cache MI_A FwdGetM", "without `DataM > requestor`", Fault::Deadlock),
        ("cache M FwdGetS", "next M", Fault::TwoWriters),
        ("cache SM_A Inv", "without `lost`", Fault::LostAccess),
        ("cache IM_A Ack-last", "without `complete`", Fault::LostAccess),
    ];
    let broken = mutants(Policy::Blocking.protocol());
    for (row, change, fault) in breaks {
        let config = common::worlds::small(Policy::Blocking).swap_remove(1);
        let mutant = broken.iter().find(|mutant| mutant.row == row && mutant.change == change);
        let protocol = mutant.unwrap_or_else(|| panic!("no mutant is {row} {change}")).protocol.clone();
        let figures = common::explore(&Arc::new(Model { config, protocol, coverage: Coverage::default() }), 1, None);
        let found = figures.fault.map(|(name, _)| name);
        assert_eq!(found.as_deref(), Some(fault.name()), "{row} {change}");
    }
}

/// A request for which copies are recalled must stay first, because the home has no row for another
/// request meanwhile.
#[test]
fn passing_a_request_that_has_begun_is_caught() {
    let config = common::worlds::small(Policy::Blocking).into_iter().find(|config| config.order == Order::AnyButBegun);
    let config = config.expect("some world has requests served in any order");
    let fault = |order| {
        let model = Model::new(Config { order, ..config.clone() });
        common::explore(&Arc::new(model), 1, None).fault.map(|(name, _)| name)
    };
    assert_eq!(fault(Order::Arrival), None);
    assert_eq!(fault(Order::AnyButBegun), None);
    assert_eq!(fault(Order::Any).as_deref(), Some(Fault::Unhandled.name()));
}
