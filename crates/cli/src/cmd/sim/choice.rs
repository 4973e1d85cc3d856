//! Finds which value of a parameter is the best, at each point of a sweep.

use super::args::Args;
use super::sweep::{self, Axis, Shown};
use crate::error::BadInput;
use baton_plot::{Choices, Chosen};

/// The values to choose from, and the figure that makes one of them the best.
pub(super) struct Choice {
    pub(super) axis: Axis,
    most: bool,
}

impl Choice {
    pub(super) fn of(args: &Args) -> anyhow::Result<Option<Choice>> {
        let (option, text) = match (&args.least, &args.most) {
            (Some(text), _) => ("--least", text),
            (None, Some(text)) => ("--most", text),
            (None, None) => return Ok(None),
        };
        let axis = Axis::parse(option, text)?;
        if axis.values.len() < 2 {
            return Err(BadInput::new(format!("`{option} {text}`: expected two values or more to choose from")).into());
        }
        Ok(Some(Choice { axis, most: args.most.is_some() }))
    }

    /// The choices over the points of a sweep, in each of their forms; `of` describes the runs.
    pub(super) fn shown(
        &self,
        axes: &[Axis],
        lines: &[String],
        values: &[Option<f64>],
        figure: &str,
        of: &str,
    ) -> Shown {
        let choices =
            Choices { title: format!("The best {} {of}", self.axis.name), ..self.over(axes, lines, values, figure) };
        let cell = |line: usize, at: usize| {
            let chosen = choices.cells[line][at].as_ref()?;
            Some(format!("{} ({})", choices.names[chosen.best], choices.behind(chosen)))
        };
        let text = sweep::table(&axes[0], lines, "best", cell);
        Shown { title: choices.title.clone(), svg: choices.svg(), html: choices.table(), heading: choices.what, text }
    }

    /// The choices over the points of a sweep. `values` has all points for the first value of the
    /// choice, then for the next value, and so on.
    fn over(&self, axes: &[Axis], lines: &[String], values: &[Option<f64>], figure: &str) -> Choices {
        let columns = axes[0].values.clone();
        let points = columns.len() * lines.len();
        let cell = |row: usize, column: usize| self.best(values, points, row * columns.len() + column);
        Choices {
            what: format!(
                "{} with the {} {figure}; below it the next one",
                self.axis.name,
                if self.most { "most" } else { "least" }
            ),
            x: axes[0].name.clone(),
            y: axes.get(1).map_or_else(String::new, |axis| axis.name.clone()),
            rows: lines.to_vec(),
            names: self.axis.values.clone(),
            cells: (0..lines.len()).map(|row| (0..columns.len()).map(|column| cell(row, column)).collect()).collect(),
            columns,
            ..Choices::default()
        }
    }

    /// The best value at a point, the first of equal ones, and the next best; `None` if a run lacks
    /// the figure or if there are fewer than two values.
    fn best(&self, values: &[Option<f64>], points: usize, point: usize) -> Option<Chosen> {
        let of = |which: usize| Some((which, values[which * points + point]?));
        let mut ranked = (0..self.axis.values.len()).map(of).collect::<Option<Vec<(usize, f64)>>>()?;
        ranked.sort_by(|a, b| if self.most { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
        let [(best, least), (next, more), ..] = ranked[..] else { return None };
        let behind = if more == least { 0.0 } else { 100.0 * (more / least - 1.0) };
        Some(Chosen { best, next, behind })
    }
}
