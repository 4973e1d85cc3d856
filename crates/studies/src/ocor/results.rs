//! All samples of a study, the part of them on which claims are judged, and the profiles of the
//! programs.

use super::experiments::{HOME, LEVELS_AT_HOME, ORACLE, THREADS_AT_HOME, WHERE};
use super::power::Power;
use super::program::{Program, Shape};
use super::run::Figures;
use super::values::{By, Pair, Value};
use super::window::Window;
use crate::Interval;
use crate::kit::samples::Sample;
use crate::kit::{Samples, over_draws};
use baton_programs::synthetic::Profile;
use std::ops::Deref;
use std::rc::Rc;

/// Where marks are honoured in the arm that has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// Routers honour the marks, as in the paper.
    Routers,
    /// The home's list of waiting requests honours the marks, a placement of this project.
    Home,
}

/// The part of the main experiment that is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) placement: Placement,
    /// Only draws of this shape are examined; `None` for all shapes.
    pub(super) shape: Option<Shape>,
    /// Whether only draws are examined in which an order can change something.
    pub(super) able: bool,
    pub(super) by: By,
}

impl View {
    /// The view of the paper's claims: marks in routers, all draws, the account by the lock's word.
    pub(super) const PAPER: View = View { placement: Placement::Routers, shape: None, able: false, by: By::Word };

    /// The group to take instead of `group`: with the order at the home, the experiments on threads
    /// and on levels are groups of their own.
    pub(super) fn group(self, group: &'static str) -> &'static str {
        match (self.placement, group) {
            (Placement::Home, "threads") => THREADS_AT_HOME,
            (Placement::Home, "levels") => LEVELS_AT_HOME,
            _ => group,
        }
    }
}

/// All samples of stand-ins, with the profiles and the view on which claims are judged.
#[derive(Clone)]
pub(super) struct Results<'a> {
    pub(super) samples: Samples<'a, Program, Figures>,
    profiles: &'a [Profile],
    /// What the first threads of figure 10's program did over time, without marks, with marks that routers heed, and with marks that
    /// the home heeds.
    pub(super) window: Option<[&'a Window; 3]>,
    /// Routers on the longest way through the network.
    pub(super) routers: Option<u32>,
    /// The part of the main experiment that the claims are about.
    pub(super) view: View,
    power: Rc<Vec<Power<'a>>>,
}

impl<'a> Deref for Results<'a> {
    type Target = Samples<'a, Program, Figures>;
    fn deref(&self) -> &Self::Target {
        &self.samples
    }
}

impl<'a> Results<'a> {
    pub(super) fn new(samples: Samples<'a, Program, Figures>, profiles: &'a [Profile]) -> Results<'a> {
        let power = Rc::new(Power::of(&samples));
        Results { samples, profiles, window: None, routers: None, view: View::PAPER, power }
    }

    /// The same results under another view.
    pub(super) fn viewed(&self, view: View) -> Results<'a> {
        Results { view, ..self.clone() }
    }

    /// The profile of a program that ran.
    pub(super) fn profile(&self, name: &str) -> &'a Profile {
        let found = self.profiles.iter().find(|profile| profile.name == name);
        found.unwrap_or_else(|| unreachable!("`{name}` ran, so it has a profile"))
    }

    /// The pairs of the main experiment that the view includes.
    pub(super) fn main(&self) -> Vec<Pair<'a>> {
        let View { placement, shape, able, .. } = self.view;
        let all = match placement {
            Placement::Routers => self.samples.main(),
            Placement::Home => self.samples.of(WHERE, HOME),
        };
        let wanted = |pair: &Pair<'_>| shape.is_none_or(|shape| pair.program.shape == shape);
        let can = |pair: &Pair<'_>| !able || self.power.iter().any(|of| of.program == pair.program && of.able());
        all.into_iter().filter(|pair| wanted(pair) && can(pair)).collect()
    }

    /// The pairs of one program that the view includes.
    pub(super) fn program(&self, name: &str) -> Vec<Pair<'a>> {
        self.main().into_iter().filter(|pair| pair.program.name == name).collect()
    }

    /// The programs that the view includes, in order.
    pub(super) fn programs(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.main().iter().map(|pair| pair.program.name.as_str()).collect();
        names.dedup();
        names
    }

    /// The program whose mean over draws is the best one, and that mean.
    pub(super) fn best(&self, value: Value, better: impl Fn(f64, f64) -> bool) -> Option<(Interval, &'a str)> {
        let main = self.main();
        let of = |name: &'a str| {
            let mine: Vec<Pair<'a>> = main.iter().filter(|pair| pair.program.name == name).copied().collect();
            Some((over_draws(&mine, value)?, name))
        };
        let means = self.programs().into_iter().filter_map(of);
        means.reduce(|a, b| if better(b.0.mean, a.0.mean) { b } else { a })
    }

    /// Adds the samples of the oracle under further seeds.
    pub(super) fn oracle_again(&mut self, samples: Vec<Sample<'a, Program, Figures>>) {
        samples.into_iter().for_each(|sample| self.samples.push((WHERE, ORACLE.to_owned()), sample));
        self.power = Rc::new(Power::of(&self.samples));
    }

    /// What the oracle, an order at no cost, does to each draw.
    pub(super) fn power(&self) -> &[Power<'a>] {
        &self.power
    }
}
