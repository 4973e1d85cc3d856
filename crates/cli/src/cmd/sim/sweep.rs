//! A run for each value of one or two parameters, in parallel on the host's cores. The results are
//! in the order of the values, whichever run ends first.

use super::args::{self, Args};
use super::choice::Choice;
use super::drawing::draw;
use super::shape::{Shape, Shaped};
use super::{one, workload};
use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_host::launch::signals::{PassedOn, asked_to_end};
use baton_plot::{Lines, Point, Series};
use baton_studio::sweep::each;
use clap::ValueEnum;
use serde_json::Value;
use std::process::ExitCode;
use std::sync::Arc;

/// A parameter and its values.
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

/// Options that a sweep may change, beside the keys of the chip file.
const NAMES: [&str; 40] = [
    "size",
    "grain",
    "draw",
    "load",
    "threads",
    "lock",
    "barrier",
    "queue",
    "wait",
    "workload",
    "cs",
    "think",
    "spread",
    "lines",
    "bytes",
    "stream",
    "spacing",
    "one-write-in",
    "capacity",
    "bulk",
    "iterations",
    "cycles",
    "cpus",
    "cores",
    "seed",
    "pool",
    "blocks",
    "suspicious",
    "prefetch",
    "prepush",
    "dispatch",
    "reduction",
    "rows",
    "step",
    "kind",
    "flows",
    "zipf",
    "elephant",
    "flow-window",
    "gap",
];

impl Axis {
    pub(super) fn parse(option: &str, text: &str) -> anyhow::Result<Axis> {
        let bad = || BadInput::new(format!("`{option} {text}`: expected NAME=VALUE,VALUE,…"));
        let (name, values) = text.split_once('=').ok_or_else(bad)?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            return Err(bad().into());
        }
        Ok(Axis { name: name.trim().to_owned(), values })
    }

    /// The position of a value on an axis: its number, or its index if any value of the axis is no
    /// number.
    fn place(&self, i: usize) -> f64 {
        if self.numbers() { number(&self.values[i]).unwrap_or(i as f64) } else { i as f64 }
    }

    fn numbers(&self) -> bool {
        self.values.iter().all(|value| number(value).is_some())
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().or_else(|| crate::values::size(text).ok().map(|bytes| bytes as f64))
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let axes = args.sweep.iter().map(|text| Axis::parse("--sweep", text)).collect::<anyhow::Result<Vec<_>>>()?;
    let lines = match &axes[..] {
        [_] => vec![String::new()],
        [_, lines] => lines.values.clone(),
        _ => return Err(BadInput::new("at most two sweeps at a time").into()),
    };
    let choice = Choice::of(args)?;
    let all: Vec<&Axis> = axes.iter().chain(choice.as_ref().map(|choice| &choice.axis)).collect();
    if let Some(twice) = all.iter().enumerate().find(|(i, axis)| all[..*i].iter().any(|other| other.name == axis.name))
    {
        return Err(BadInput::new(format!("`{}` is swept twice", twice.1.name)).into());
    }
    let points: usize = all.iter().map(|axis| axis.values.len()).product();
    // Every name and value is checked before anything runs.
    let prepared = (0..points).map(|point| {
        let mut args = args.clone();
        let mut place = point;
        for axis in &all {
            apply(&mut args, &axis.name, &axis.values[place % axis.values.len()])?;
            place /= axis.values.len();
        }
        let chip = args.chip.open()?;
        workload::choose(&args, &chip)?;
        Ok((args, chip))
    });
    let prepared = Arc::new(prepared.collect::<anyhow::Result<Vec<_>>>()?);
    let (results, ended) = results(&prepared)?;
    let figure = args.figure.clone().unwrap_or_else(|| prepared[0].0.workload.figure().to_owned());
    let shape = super::figures::SimFigures::shape();
    let values: Vec<Option<f64>> = results.iter().map(|result| find(result, &figure)).collect();
    // Points that failed, or did not end, are null.
    let first_result = results.iter().find(|result| !result.is_null());
    if let (true, Some(result)) = (values.iter().all(Option::is_none), first_result) {
        let known = numbers(result);
        return Err(BadInput::unknown("figure", &figure, known.iter().map(String::as_str)).into());
    }
    let (first, chip) = &prepared[0];
    let (work, name) = (first.workload.text(), &chip.name);
    let figure = with_unit(&figure, &shape);
    let shown = match &choice {
        Some(choice) => choice.shown(&axes, &lines, &values, &figure, &format!("on {name}, by {work}")),
        None => curves(&axes, &lines, &values, figure, format!("{work} on {name}")),
    };
    if let (Some(path), Some(_)) = (&args.plot, first_result) {
        draw(path, &shown.title, &shown.svg, &shown.html, chip)?;
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&results)?),
        false => print!("{}, by {}\n{}", shown.heading, names(&axes), shown.text),
    }
    Ok(ended)
}

/// The exit code of a command that Ctrl-C ended, as shells have it.
const INTERRUPTED: u8 = 130;

/// The results of all points, and the exit code. A point that failed is null, and a warning says why;
/// after Ctrl-C, so are points that have not ended.
fn results(prepared: &Arc<Vec<(Args, baton_chip::Chip)>>) -> anyhow::Result<(Vec<Value>, ExitCode)> {
    let count = prepared.len();
    let run = {
        let prepared = prepared.clone();
        move |at: usize| -> anyhow::Result<Value> {
            let (args, chip) = &prepared[at];
            Ok(serde_json::to_value(one::run(args, chip)?)?)
        }
    };
    let mut results = vec![Value::Null; count];
    let (mut done, mut first) = (0, None);
    let signals = PassedOn::begin();
    let whole = each(count, &asked_to_end, run, &mut |at, result| match result {
        Ok(result) => (results[at], done) = (result, done + 1),
        Err(error) => {
            ui::warn(format_args!("point {} of {count} failed: {error:#}", at + 1));
            first.get_or_insert(error);
        }
    })?;
    drop(signals);
    let ended = match (whole, first) {
        (true, None) => ExitCode::SUCCESS,
        // If no point gave a figure, the error stands for all of them.
        (true, Some(error)) if done == 0 => return Err(error),
        (true, Some(_)) => ExitCode::FAILURE,
        (false, _) => {
            ui::note(format_args!("stopped: {done} of {count} points are done; `baton sweep` keeps them"));
            ExitCode::from(INTERRUPTED)
        }
    };
    Ok((results, ended))
}

/// The results of a sweep, in each of their forms.
pub(super) struct Shown {
    pub(super) title: String,
    pub(super) svg: String,
    pub(super) html: String,
    pub(super) heading: String,
    pub(super) text: String,
}

/// A figure over the first axis, with a line for each value of the second axis.
fn curves(axes: &[Axis], lines: &[String], values: &[Option<f64>], figure: String, title: String) -> Shown {
    let each = axes[0].values.len();
    let series = lines.iter().enumerate().map(|(line, name)| {
        let of = values[line * each..].iter().take(each).enumerate();
        let points = of.filter_map(|(at, value)| Some(Point::new(axes[0].place(at), (*value)?))).collect();
        Series { name: name.clone(), points, theirs: false }
    });
    let picture = Lines {
        title,
        x: axes[0].name.clone(),
        y: figure.replace(['_', '.'], " "),
        names: (!axes[0].numbers()).then(|| axes[0].values.clone()),
        series: series.collect(),
    };
    let (svg, html) = (picture.svg(), picture.table());
    let cell = |line: usize, at: usize| values[line * each + at].map(|value| format!("{value:.4}"));
    Shown { title: picture.title, svg, html, heading: figure, text: table(&axes[0], lines, "value", cell) }
}

fn names(axes: &[Axis]) -> String {
    axes.iter().map(|axis| &*axis.name).collect::<Vec<_>>().join(" and ")
}

/// The name of a figure with its unit.
fn with_unit(figure: &str, shape: &Shape) -> String {
    match shape.find(figure).map_or("", |field| field.unit) {
        "" => figure.to_owned(),
        unit => format!("{figure} ({unit})"),
    }
}

/// A table for a terminal: a row for each value of the axis, a column for each line. `alone` is the
/// header of the column if there is one line without a name.
pub(super) fn table(
    axis: &Axis,
    lines: &[String],
    alone: &str,
    cell: impl Fn(usize, usize) -> Option<String>,
) -> String {
    let names = lines.iter().map(|line| if line.is_empty() { alone } else { line.as_str() });
    let header: Vec<&str> = std::iter::once(axis.name.as_str()).chain(names).collect();
    let rows = axis.values.iter().enumerate().map(|(at, value)| {
        let cells = (0..lines.len()).map(|line| cell(line, at).unwrap_or_else(|| "-".to_owned()));
        std::iter::once(value.clone()).chain(cells).collect()
    });
    ui::table(&header, &rows.collect::<Vec<Vec<String>>>())
}

/// The number at a dotted path. A place in a list counts from 0, as in `by_app.1.ready_cycles`.
fn find(result: &Value, path: &str) -> Option<f64> {
    let step = |at, name: &str| -> Option<&Value> {
        let at: &Value = at;
        name.parse::<usize>().map_or_else(|_| at.get(name), |place| at.get(place))
    };
    path.split('.').try_fold(result, step)?.as_f64()
}

/// The dotted paths of the numbers in a result, without those in lists and in the chip's
/// configuration.
fn numbers(result: &Value) -> Vec<String> {
    fn walk(at: &Value, path: &str, out: &mut Vec<String>) {
        match at {
            Value::Number(_) => out.push(path.to_owned()),
            Value::Object(inner) => {
                for (name, value) in inner {
                    if path.is_empty() && name == "chip" {
                        continue;
                    }
                    walk(value, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, out);
                }
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(result, "", &mut out);
    out
}

/// Sets one parameter.
fn apply(args: &mut Args, name: &str, value: &str) -> anyhow::Result<()> {
    if name.contains('.') {
        args.chip.set(format!("{name}={value}"));
        return Ok(());
    }
    let bad = |what: &str| BadInput::new(format!("`--sweep {name}`: `{value}` is {what}"));
    let whole = || value.parse::<u64>().map_err(|_| bad("no whole number"));
    let small = || value.parse::<u32>().map_err(|_| bad("no whole number"));
    let bytes = || args::size(value).map_err(BadInput::new);
    match name {
        "threads" => args.threads = Some(small()?.max(1)),
        "lock" => args.lock = value.to_owned(),
        "barrier" => args.barrier = value.to_owned(),
        "queue" => args.queue = value.to_owned(),
        "wait" => args.wait = Some(value.parse().map_err(BadInput::new)?),
        "workload" => args.workload = workload::Name::from_str(value, true).map_err(BadInput::new)?,
        "stream" => args.stream = workload::Direction::from_str(value, true).map_err(BadInput::new)?,
        "cs" => args.cs = whole()?,
        "think" => args.think = whole()?,
        "spread" => args.spread = args::share(value).map_err(BadInput::new)?,
        "lines" => args.lines = small()?,
        "bytes" => args.bytes = bytes()?,
        "spacing" => args.spacing = bytes()?,
        "one-write-in" => args.one_write_in = whole()?,
        "capacity" => args.capacity = usize::try_from(whole()?).context("too many places")?,
        "bulk" => args.bulk = small()?.max(1),
        "iterations" => args.iterations = Some(whole()?.max(1)),
        "cycles" => args.cycles = Some(whole()?.max(1)),
        "cpus" => args.cpus = Some(small()?),
        "cores" => args.chip.cores(small()?),
        "seed" => args.seed = whole()?,
        "size" => args.size = Some(small()?),
        "grain" => args.grain = Some(small()?),
        "draw" => args.draw = small()?,
        "load" => args.load = args::load(value).map_err(BadInput::new)?,
        _ if args.inputs.set(name, value)? => {}
        _ => return Err(BadInput::unknown("parameter", name, NAMES).into()),
    }
    Ok(())
}
