//! A space checked against its command: every name is known, and every column has its sort.

use super::pool::caught;
use super::scan::{Scan, scan};
use crate::expr::Expr;
use crate::hash::{Key, Pieces};
use crate::space::{Goal, Looked, Metric, Point, Seeds, Source, Space, SpaceError};
use crate::store::column::is_own;
use crate::store::{Column, Manifest, Role, SpaceText};
use crate::subject::{Failure, Figure, PointSettings, Subject, Why};
use crate::value::{Kind, Value};
use serde_json::Value as Json;
use std::sync::Arc;

/// A space that can be swept.
pub struct Plan {
    pub(super) space: Space,
    pub(super) subject: Arc<dyn Subject>,
    metrics: Vec<Measured>,
    columns: Vec<Column>,
    /// The number of points.
    points: u64,
}

/// A metric whose figures the command knows.
struct Measured {
    name: String,
    source: From,
    kind: Kind,
}

/// Where a metric comes from: the path of a figure, or an expression and, for each of its names,
/// the path of a figure.
enum From {
    Path(String),
    Expr(Expr, Vec<(String, String)>),
}

/// A point and a seed before they run.
pub(super) struct Prepared {
    pub(super) seed: u64,
    pub(super) key: Key,
    pub(super) cost: f64,
    pub(super) memory: u64,
    /// Why the point cannot be run.
    pub(super) failure: Option<Failure>,
}

impl Plan {
    /// Checks a space.
    ///
    /// # Errors
    /// An unknown setting or metric, a constraint that no point meets, a value that has no sort.
    pub fn new(space: Space, subject: Arc<dyn Subject>) -> Result<Plan, SpaceError> {
        if space.command != subject.command() {
            return Err(
                space.error(None, format!("is for `baton {}`, not `baton {}`", space.command, subject.command()))
            );
        }
        if !subject.has_seed() && space.seeds != Seeds::List(vec![1]) {
            let what = format!("`baton {}` takes no seed; expected neither `seeds` nor `until`", space.command);
            return Err(space.error(None, what));
        }
        if let Some(lacks) = subject.needed().iter().find(|name| space.names().all(|known| known != name.as_str())) {
            let what = format!("`baton {}` needs `{lacks}`; expected it in `set` or `axes`", space.command);
            return Err(space.error(None, what));
        }
        for (name, line) in space.places() {
            let refused = if is_own(name) {
                Err(format!("every store has a column `{name}` of its own"))
            } else {
                subject.check(name)
            };
            refused.map_err(|why| space.error(Some(line), why))?;
        }
        let mut plan = Plan { space, subject, metrics: Vec::new(), columns: Vec::new(), points: 0 };
        let Scan { points, first, kinds } = scan(&plan.space, &|number| plan.point(number))?;
        let first = first.ok_or_else(|| plan.no_point())?;
        plan.points = points;
        plan.coordinates(kinds);
        plan.measures(&first)?;
        plan.names_metrics()?;
        Ok(plan)
    }

    /// The space.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The number of points, without repetitions.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// The number of rows of a complete sweep; with `until`, the fewest that it can have.
    pub fn rows(&self) -> u64 {
        self.rows_of(self.points)
    }

    /// The number of rows of this many points; with `until`, the fewest.
    pub(super) fn rows_of(&self, points: u64) -> u64 {
        let seeds = match &self.space.seeds {
            Seeds::List(seeds) => seeds.len() as u64,
            Seeds::Until { least, .. } => u64::from(*least),
        };
        points.saturating_mul(seeds)
    }

    /// The columns of coordinates and figures.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The manifest of a store for this space, whose file is `file`.
    pub fn manifest(&self, file: SpaceText) -> Manifest {
        Manifest::new(self.subject.version(), &self.space.command, self.columns.clone(), file)
    }

    /// The point with this number; `None` if a constraint excludes the combination.
    ///
    /// # Errors
    /// An expression that has no value.
    pub fn point(&self, number: u64) -> Result<Option<Point>, SpaceError> {
        self.space.point(number, &|known, name| self.lookup(known, name))
    }

    /// What the command says about a name. If the command panics, the point is invalid.
    fn lookup(&self, known: PointSettings<'_>, name: &str) -> Looked {
        caught(|| self.subject.lookup(known, name)).unwrap_or_else(|text| Looked::Invalid(in_preparation(&text)))
    }

    /// The error of constraints that no combination meets. It names the first constraint that
    /// excludes all combinations by itself, if there is one.
    fn no_point(&self) -> SpaceError {
        let alone = self.space.constraints.iter().find(|constraint| {
            let mut space = self.space.clone();
            space.constraints = vec![(*constraint).clone()];
            let excludes = |number| {
                let point = space.point(number, &|known, name| self.lookup(known, name));
                matches!(point, Ok(None))
            };
            (0..space.combinations()).all(excludes)
        });
        match alone {
            Some(constraint) => {
                let what = format!("no point meets the constraint `{}`: the space is empty", constraint.expr.text());
                self.space.error(Some(constraint.line), what)
            }
            None => {
                let line = self.space.constraints.first().map(|constraint| constraint.line);
                self.space.error(line, "no point meets all constraints: the space is empty")
            }
        }
    }

    fn coordinates(&mut self, kinds: Vec<Option<Kind>>) {
        let column = |(name, kind): (&str, Option<Kind>)| Column {
            name: name.to_owned(),
            role: Role::Coordinate,
            // Without a sort, the column has nothing but nulls: all points are invalid.
            kind: kind.unwrap_or(Kind::Number),
            unit: String::new(),
            what: String::new(),
            source: String::new(),
        };
        self.columns = self.space.names().zip(kinds).map(column).collect();
    }

    fn measures(&mut self, first: &Point) -> Result<(), SpaceError> {
        let mut metrics = self.space.metrics.clone();
        if metrics.is_empty() {
            let known = self.settings(first);
            // `cycles` is a figure of `sim`, and an option too.
            let usual =
                self.subject.usual(&known).into_iter().filter(|name| self.space.names().all(|other| other != name));
            metrics = usual.map(|name| Metric { source: Source::Figure(name.clone()), name, line: None }).collect();
        }
        for metric in metrics {
            let figure = |name: &str| -> Result<Figure, SpaceError> {
                self.subject.figure(name).map_err(|near| {
                    let hint = near.first().map(|near| format!("did you mean `{near}`?"));
                    let what = format!("unknown metric `{name}` of `baton {}`", self.space.command);
                    SpaceError { hint, ..self.space.error(metric.line, what) }
                })
            };
            let (source, text, kind, unit, what) = match metric.source {
                Source::Figure(name) => {
                    let Figure { path, kind, unit, what } = figure(&name)?;
                    (From::Path(path.clone()), path, kind, unit, what)
                }
                Source::Expr { expr, unit, what } => {
                    let paths = expr.names().into_iter().map(|name| Ok((name.to_owned(), figure(name)?.path)));
                    let paths = paths.collect::<Result<Vec<_>, SpaceError>>()?;
                    let text = format!("= {}", expr.text());
                    (From::Expr(expr, paths), text, Kind::Number, unit, what)
                }
            };
            if is_own(&metric.name) {
                let what = format!("every store has a column `{}` of its own", metric.name);
                return Err(self.space.error(metric.line, what));
            }
            self.columns.push(Column { name: metric.name.clone(), role: Role::Figure, kind, unit, what, source: text });
            self.metrics.push(Measured { name: metric.name, source, kind });
        }
        Ok(())
    }

    /// Refuses a goal or an `until` that names no metric.
    fn names_metrics(&self) -> Result<(), SpaceError> {
        let mut named: Vec<(&str, &str)> = Vec::new();
        if let Seeds::Until { narrow, .. } = &self.space.seeds {
            named.extend(narrow.iter().map(|(name, _)| ("until", name.as_str())));
        }
        named.extend(self.space.goal.iter().map(|goal| ("goal", goal.metric.as_str())));
        match named.into_iter().find(|(_, name)| self.metrics.iter().all(|metric| metric.name != *name)) {
            None => Ok(()),
            Some((key, name)) => {
                let known = self.metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>().join(", ");
                Err(self.space.error(
                    None,
                    format!("`{key}` names `{name}`, which is no metric of this space; expected one of {known}"),
                ))
            }
        }
    }

    /// The number of metrics.
    pub(super) fn metric_count(&self) -> usize {
        self.metrics.len()
    }

    /// The names of the metrics that decide how often points are repeated.
    pub fn until(&self) -> Vec<&str> {
        match &self.space.seeds {
            Seeds::Until { narrow, .. } => narrow.iter().map(|(name, _)| name.as_str()).collect(),
            Seeds::List(_) => Vec::new(),
        }
    }

    /// The indices of the metrics of `until` among the figures; `None` without `until`.
    pub(super) fn until_places(&self) -> Option<Vec<usize>> {
        let names = Some(self.until()).filter(|names| !names.is_empty())?;
        Some(names.iter().filter_map(|name| self.place(name)).collect())
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.metrics.iter().position(|metric| metric.name == name)
    }

    /// The goal, and the index of its metric among the figures.
    pub(super) fn goal(&self) -> Option<(&Goal, usize)> {
        let goal = self.space.goal.as_ref()?;
        Some((goal, self.place(&goal.metric)?))
    }

    /// The keys under which a store has the point with this number, one for each of the seeds; none if a constraint excludes the
    /// combination.
    ///
    /// # Errors
    /// An expression that has no value.
    pub fn keys(&self, number: u64, seeds: &[u64]) -> Result<Vec<Key>, SpaceError> {
        let prepared = self.prepare(number, seeds)?;
        Ok(prepared.into_iter().flat_map(|(_, all)| all).map(|one| one.key).collect())
    }

    /// The settings of a point.
    pub(super) fn settings<'a>(&'a self, point: &'a Point) -> Vec<(&'a str, &'a Value)> {
        self.space.names().zip(&point.values).filter_map(|(name, value)| Some((name, value.as_ref()?))).collect()
    }

    /// The seeds with which a point runs at first.
    pub(super) fn first_seeds(&self) -> Vec<u64> {
        match &self.space.seeds {
            Seeds::List(seeds) => seeds.clone(),
            Seeds::Until { least, .. } => (1..=u64::from(*least)).collect(),
        }
    }

    /// Prepares the point with this number for each of the seeds; `None` if a constraint excludes
    /// the combination.
    pub(super) fn prepare(&self, number: u64, seeds: &[u64]) -> Result<Option<(Point, Vec<Prepared>)>, SpaceError> {
        let Some(point) = self.point(number)? else { return Ok(None) };
        let settings = self.settings(&point);
        let prepared = seeds.iter().map(|&seed| {
            let job = match &point.invalid {
                Some(why) => Err(Failure::new(Why::Invalid, why)),
                None => caught(|| self.subject.prepare(&settings, seed))
                    .unwrap_or_else(|text| Err(Failure::new(Why::Invalid, in_preparation(&text)))),
            };
            match job {
                Ok(job) => Prepared { seed, key: job.key, cost: job.cost, memory: job.memory, failure: None },
                Err(failure) => {
                    let key = self.key_of_invalid(&settings, seed);
                    Prepared { seed, key, cost: 0.0, memory: 0, failure: Some(failure) }
                }
            }
        });
        let prepared = prepared.collect();
        Ok(Some((point, prepared)))
    }

    /// The key of a point whose configuration cannot be expanded.
    fn key_of_invalid(&self, settings: PointSettings<'_>, seed: u64) -> Key {
        let pieces = Pieces::default().and("invalid").and(&self.space.command).and(self.subject.version());
        let pieces = pieces.and(seed.to_string());
        // The order of axes and settings may change.
        let mut settings = settings.to_vec();
        settings.sort_by_key(|(name, _)| *name);
        settings.iter().fold(pieces, |pieces, (name, value)| pieces.and(name).and(value.to_string())).key()
    }

    /// Runs a point. It fails if its key is no longer `key`, the key when it was queued. Returns
    /// the values of the metrics, in the order of the columns.
    pub(super) fn run(&self, number: u64, seed: u64, key: Key) -> Result<Vec<Option<Value>>, Failure> {
        let failed = |why: String| Failure::new(Why::Failed, why);
        let point = self.point(number).map_err(|error| failed(error.to_string()))?;
        let point = point.ok_or_else(|| failed("the point is no longer in the space".to_owned()))?;
        let job = self.subject.prepare(&self.settings(&point), seed)?;
        if job.key != key {
            return Err(failed("an input changed while the point waited; sweep again".to_owned()));
        }
        let result = (job.run)()?;
        Ok(self.metrics.iter().map(|metric| metric.value(&result)).collect())
    }

    /// The coordinates of a point, converted to the sorts of their columns.
    pub(super) fn fitted(&self, point: &Point) -> Result<Vec<Option<Value>>, SpaceError> {
        let fitted = self.columns.iter().zip(&point.values).map(|(column, value)| {
            let Some(value) = value else { return Ok(None) };
            let wrong = || {
                let line = self.space.places().find(|(name, _)| *name == column.name).map(|(_, line)| line);
                let what = format!(
                    "`{}` is {value} in one point, and its column holds {}; floor() makes a number whole",
                    column.name,
                    column.kind.name()
                );
                self.space.error(line, what)
            };
            value.clone().fit(column.kind).map(Some).ok_or_else(wrong)
        });
        fitted.collect()
    }
}

impl Measured {
    /// The metric's value in the command's JSON; `None` if a figure is absent, an expression cannot
    /// be computed, or the column cannot hold the value.
    fn value(&self, result: &Json) -> Option<Value> {
        let value = match &self.source {
            From::Path(path) => find(result, path).and_then(Value::of_json),
            From::Expr(expr, paths) => {
                let value = expr.value(&mut |name| {
                    let path = paths.iter().find(|(known, _)| known == name).map_or(name, |(_, path)| path);
                    find(result, path).and_then(Value::of_json).ok_or_else(|| format!("`{name}` is absent"))
                });
                value.ok()
            }
        };
        match (value?, self.kind) {
            // A figure that is true or false counts as 1 or 0.
            (Value::Switch(on), kind) => Value::Whole(on.into()).fit(kind),
            (value, kind) => value.fit(kind),
        }
    }
}

/// The reason of a point whose preparation panicked.
fn in_preparation(text: &str) -> String {
    format!("Baton panicked while it prepared the point: {text}")
}

/// The value at a dotted path. A number in the path is an index of a list, from 0, as in
/// `by_app.1.ready_cycles`.
pub fn find<'a>(result: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(result, |at, name| {
        name.parse::<usize>().map_or_else(|_| at.get(name), |place| at.get(place).or_else(|| at.get(name)))
    })
}
