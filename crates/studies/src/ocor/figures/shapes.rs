//! Every program by shape: which draws can show what the paper claims, and what an order of tries
//! does to them in routers, at the home and under the oracle.

use crate::kit::{over_draws, over_programs, said};
use crate::ocor::experiments::{HOME, ORACLE, WHERE};
use crate::ocor::program::{SHAPES, Shape};
use crate::ocor::results::Results;
use crate::ocor::values::{Pair, Value, coh, roi};
use crate::page::Figure;
use baton_plot::Table;

/// How many draws there are, and how many of them can show what the paper claims.
fn count(results: &Results<'_>, wanted: impl Fn(&str, Shape) -> bool) -> [usize; 2] {
    let power = results.power();
    let mine = power.iter().filter(|of| wanted(&of.program.name, of.program.shape));
    mine.fold([0, 0], |[all, able], of| [all + 1, able + usize::from(of.able())])
}

/// A sentence that says how many draws can show what the paper claims; `None` if the oracle was not
/// run.
pub(crate) fn power(results: &Results<'_>) -> Option<String> {
    let [all, able] = count(results, |_, _| true);
    let by_shape = SHAPES.map(|shape| {
        let [all, able] = count(results, |_, of| of == shape);
        format!("{}: {able} of {all}", shape.name())
    });
    (all > 0).then(|| {
        format!(
            "Power: {} of {all} draws cannot show what the paper claims: an order of tries by what is left of them, at no cost \
             and wherever requests wait, changes less than {:.0}% of their overhead, or no more than runs differ by. Draws that can \
             show it, by shape of program: {}.",
            all - able,
            crate::ocor::power::CHANGES,
            by_shape.join(", ")
        )
    })
}

/// The table of programs by shape; `None` without runs under the oracle.
pub(super) fn table(results: &Results<'_>) -> Option<Figure> {
    let power = results.power();
    if power.is_empty() {
        return None;
    }
    let mut programs: Vec<&str> = power.iter().map(|of| of.program.name.as_str()).collect();
    programs.dedup();
    let mut rows = Vec::new();
    for name in &programs {
        let shapes: Vec<Shape> = SHAPES
            .into_iter()
            .filter(|shape| count(results, |other, of| other == *name && of == *shape)[0] > 0)
            .collect();
        rows.extend(shapes.iter().map(|shape| row(results, Some(name), Some(*shape))));
        if shapes.len() > 1 {
            rows.push(row(results, Some(name), None));
        }
    }
    rows.extend(SHAPES.map(|shape| row(results, None, Some(shape))));
    rows.push(row(results, None, None));
    let header = [
        "program",
        "shape",
        "draws",
        "can show it",
        "overhead less by %: routers",
        "home",
        "oracle",
        "time less by %: routers",
        "home",
        "oracle",
    ];
    let table = Table {
        title: "Power, and what an order does in each place, by program and shape".to_owned(),
        note: String::new(),
        header: header.map(str::to_owned).into(),
        rows,
    };
    Some(Figure::from(table).noted(
        "A draw can show it if its overhead changes by 10% or more under the oracle (tries by what is left of them, at no cost, wherever \
            requests wait), and by more than its seeds differ. A draw that no order changes says nothing about OCOR.",
    ))
}

/// A row of the table. `name` is `None` for all programs, `shape` is `None` for all shapes.
fn row(results: &Results<'_>, name: Option<&str>, shape: Option<Shape>) -> Vec<String> {
    let wanted = |pair: &Pair<'_>| {
        name.is_none_or(|name| name == pair.program.name) && shape.is_none_or(|shape| shape == pair.program.shape)
    };
    let [all, able] =
        count(results, |other, of| name.is_none_or(|name| name == other) && shape.is_none_or(|shape| shape == of));
    let of = |place: &str, value: Value| {
        let pairs = if place.is_empty() { results.samples.main() } else { results.of(WHERE, place) };
        let mine: Vec<Pair<'_>> = pairs.into_iter().filter(wanted).collect();
        said(if name.is_some() { over_draws(&mine, value) } else { over_programs(&mine, value) })
    };
    let mut row = vec![
        name.unwrap_or("all programs").to_owned(),
        shape.map_or("together", Shape::name).to_owned(),
        all.to_string(),
        able.to_string(),
    ];
    for value in [coh as Value, roi as Value] {
        row.extend(["", HOME, ORACLE].map(|place| of(place, value)));
    }
    row
}
