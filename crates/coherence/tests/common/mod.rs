//! Passes the closed world of `baton_coherence::model` to stateright.
#![expect(clippy::disallowed_types, reason = "how long the search took is reported")]
#![allow(dead_code, unreachable_pub)] // Each test and example uses a part of this module.

pub mod scenes;
pub mod worlds;

use baton_coherence::model::{Fault, Model, Move, World};
use stateright::{Checker, HasDiscoveries, Property};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The rules of a world, as an implementation of stateright's `Model`.
#[derive(Clone)]
pub struct Rules(pub Arc<Model>);

impl stateright::Model for Rules {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        vec![self.0.start()]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        self.0.moves(world, moves);
    }

    fn next_state(&self, world: &World, step: Move) -> Option<World> {
        Some(self.0.after(world, step)).filter(|after| after != world)
    }

    fn properties(&self) -> Vec<Property<Rules>> {
        /// Whether fault number `F` has not happened in `world`.
        fn never<const F: usize>(_: &Rules, world: &World) -> bool {
            world.fault != Some(Fault::ALL[F])
        }
        let never = [
            never::<0>, never::<1>, never::<2>, never::<3>, never::<4>, never::<5>, never::<6>, never::<7>, never::<8>,
            never::<9>,
        ];
        assert_eq!(never.len(), Fault::COUNT);
        Fault::ALL.iter().zip(never).map(|(fault, never)| Property::always(fault.name(), never)).collect()
    }
}

/// What an exploration found.
pub struct Exploration {
    /// Number of worlds that differ in more than names.
    pub states: usize,
    /// Number of moves tried.
    pub generated: usize,
    /// The largest number of moves needed to reach a world.
    pub depth: usize,
    pub took: Duration,
    /// The first fault found, and the moves that lead to it.
    pub fault: Option<(String, Vec<String>)>,
    /// Whether every world was visited.
    pub exhausted: bool,
}

/// Explores every world that can be reached. Stops at the first fault, or when it has tried about
/// `most` moves.
pub fn explore(model: &Arc<Model>, threads: usize, most: Option<usize>) -> Exploration {
    let start = Instant::now();
    let mut checker =
        stateright::Model::checker(Rules(Arc::clone(model))).threads(threads).finish_when(HasDiscoveries::Any);
    if let Some(most) = most {
        checker = checker.target_state_count(most);
    }
    let checker = checker.spawn_bfs().join();
    let fault = checker.discoveries().into_iter().min_by_key(|(name, path)| (path.clone().into_actions().len(), *name));
    let fault = fault.map(|(name, path)| {
        let steps = path.into_vec().into_iter().map(|(world, step)| format!("{step:?}\n      of {world:?}"));
        (name.to_owned(), steps.collect())
    });
    Exploration {
        states: checker.unique_state_count(),
        generated: checker.state_count(),
        depth: checker.max_depth(),
        took: start.elapsed(),
        exhausted: checker.is_done() && fault.is_none() && most.is_none_or(|most| checker.state_count() < most),
        fault,
    }
}
