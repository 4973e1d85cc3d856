//! A space of points: axes and their values, coupled values, constraints, seeds, metrics.
//!
//! | file | holds |
//! | --- | --- |
//! | `read` | from the file of a space |
//! | `table` | a table of that file, whose errors name the line |
//! | `axis` | the values of an axis: lists, ranges, files |
//! | `point` | the points, by number |

mod axis;
mod point;
mod read;
mod table;

pub use point::{Looked, Lookup, Point};

use crate::expr::Expr;
use crate::value::{Kind, Value};
use std::time::Duration;
use thiserror::Error;

/// The error of a space that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}{}: {what}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct SpaceError {
    /// The file of the space.
    pub file: String,
    /// The line, from 1; `None` for a problem that has no line.
    pub line: Option<usize>,
    /// What is wrong, and what was expected.
    pub what: String,
    /// How to correct it.
    pub hint: Option<String>,
}

/// An axis: the name of an option or of a chip's key, and its values in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The name.
    pub name: String,
    /// The values, all of one sort, none twice.
    pub values: Vec<Value>,
    /// The line of the file, from 1.
    pub line: usize,
}

/// A setting that all points have.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The name of an option or of a chip's key.
    pub name: String,
    /// The value.
    pub value: Given,
    /// The line of the file, from 1.
    pub line: usize,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// The same value in every point.
    Fixed(Value),
    /// A value that follows from others: `threads = "= core.count"`.
    Coupled(Expr),
}

/// A constraint: combinations of values for which it is false are no points of the space.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The condition.
    pub expr: Expr,
    /// The line of the file, from 1.
    pub line: usize,
}

/// A figure that the store keeps of each point.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name of the column.
    pub name: String,
    /// Where the value comes from.
    pub source: Source,
    /// The line of the file, from 1; `None` for a metric that the file does not name.
    pub line: Option<usize>,
}

/// Where the value of a metric comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A figure of the command, by its dotted path.
    Figure(String),
    /// An expression over figures, with the unit and the meaning that the file gives.
    Expr {
        /// The expression.
        expr: Expr,
        /// The unit; empty for none.
        unit: String,
        /// The meaning; empty for none.
        what: String,
    },
}

/// How often a point is repeated, each time with another seed.
#[derive(Clone, Debug, PartialEq)]
pub enum Seeds {
    /// Once for each of these seeds.
    List(Vec<u64>),
    /// With the seeds 1, 2, 3, …, at least `least` times, until the 95% interval of each metric is
    /// narrow enough or the point has run `most` times. A point that fails is not repeated further.
    Until {
        /// The fewest repetitions: 2 or more.
        least: u32,
        /// The most repetitions.
        most: u32,
        /// Metrics, each with how wide half of its 95% interval may be, as a share of the mean.
        narrow: Vec<(String, f64)>,
    },
}

/// The metric that a sweep is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Whether more is better.
    pub most: bool,
    /// The name of the metric.
    pub metric: String,
}

/// Where a sweep ends before all points are done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// The most points to run, repetitions counted.
    pub points: Option<u64>,
    /// The time since the sweep's start after which no point is begun.
    pub time: Option<Duration>,
}

/// Limits of time and memory for the points that run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// The longest time that one point may run.
    pub time: Option<Duration>,
    /// The most bytes of memory that all points that run at a time may take together.
    pub memory: Option<u64>,
}

/// A space of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// The name of the file, for messages.
    pub file: String,
    /// The command whose figures are collected.
    pub command: String,
    /// The axes, the slowest first.
    pub axes: Vec<Axis>,
    /// The settings of all points, in the order of the file.
    pub set: Vec<Setting>,
    /// The constraints.
    pub constraints: Vec<Constraint>,
    /// The seeds.
    pub seeds: Seeds,
    /// The metrics; if there are none, a sweep keeps those of [`Subject::usual`].
    ///
    /// [`Subject::usual`]: crate::subject::Subject::usual
    pub metrics: Vec<Metric>,
    /// The metric that the sweep is about.
    pub goal: Option<Goal>,
    /// Where the sweep ends.
    pub budget: Budget,
    /// Limits of time and memory for the points that run.
    pub limits: Limits,
    /// The indices in `set` of coupled settings, ordered so that each comes after those that its
    /// expression names.
    order: Vec<usize>,
}

impl Space {
    /// A space of the command with these axes and settings, and one seed.
    ///
    /// # Errors
    /// A name that is given twice.
    pub fn of(command: &str, axes: Vec<Axis>, set: Vec<Setting>, seed: u64) -> Result<Space, SpaceError> {
        let space = Space {
            file: format!("baton {command}"),
            command: command.to_owned(),
            axes,
            set,
            constraints: Vec::new(),
            seeds: Seeds::List(vec![seed]),
            metrics: Vec::new(),
            goal: None,
            budget: Budget::default(),
            limits: Limits::default(),
            order: Vec::new(),
        };
        space.settled()
    }

    /// An error that names this space's file, and `line` if there is one.
    pub fn error(&self, line: Option<usize>, what: impl Into<String>) -> SpaceError {
        SpaceError { file: self.file.clone(), line, what: what.into(), hint: None }
    }

    /// The names of a point's coordinates: axes, then settings.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|axis| axis.name.as_str()).chain(self.set.iter().map(|setting| setting.name.as_str()))
    }

    /// Each name with the line on which it is given.
    pub fn places(&self) -> impl Iterator<Item = (&str, usize)> {
        let axes = self.axes.iter().map(|axis| (axis.name.as_str(), axis.line));
        axes.chain(self.set.iter().map(|setting| (setting.name.as_str(), setting.line)))
    }

    /// The sorts of the coordinates; `None` for a coupled value, whose sort is known only once a
    /// point is computed.
    pub fn kinds(&self) -> Vec<Option<Kind>> {
        let axes = self.axes.iter().map(|axis| axis.values.first().map(Value::kind));
        let set = self.set.iter().map(|setting| match &setting.value {
            Given::Fixed(value) => Some(value.kind()),
            Given::Coupled(_) => None,
        });
        axes.chain(set).collect()
    }

    /// The number of combinations of the axes' values, before constraints exclude some.
    pub fn combinations(&self) -> u64 {
        self.axes.iter().map(|axis| axis.values.len() as u64).product()
    }
}

impl Given {
    /// The expression of a coupled value.
    pub fn coupled(&self) -> Option<&Expr> {
        match self {
            Given::Coupled(expr) => Some(expr),
            Given::Fixed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
