//! What the paper leaves open, varied one at a time: the effect on a figure, and the tornado chart.

use super::experiment::Draw;
use super::figure::table;
use super::samples::{Pair, Samples, over_programs};
use crate::Unspecified;
use crate::page::Figure;
use baton_plot::{Span, Spans};

/// Something that the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The item's name, which is also the group of the experiments that vary the item.
    pub group: &'static str,
    /// The choice that the study makes, and why.
    pub chosen: &'static str,
    /// The range of the item over real systems.
    pub range: &'static str,
}

/// An [`Item`] from its three texts.
pub const fn item(group: &'static str, chosen: &'static str, range: &'static str) -> Item {
    Item { group, chosen, range }
}

/// The effect of each open item on a figure, with one item varied at a time. The experiments of an
/// item's group make its other choices; the main experiment on the same draws makes the usual one.
pub struct Tornado<'a, D, F> {
    /// The items. Items that can decide the sign come first.
    pub items: &'a [Item],
    pub samples: &'a Samples<'a, D, F>,
    /// The figure.
    pub value: fn(&Pair<'_, D, F>) -> f64,
}

impl<D: Draw, F> Tornado<'_, D, F> {
    /// The figure under each choice of a group, in ascending order, with the choice's name; empty
    /// if nothing was run.
    fn values(&self, group: &str, places: &[String]) -> Vec<(f64, String)> {
        let Some(first) = places.first() else { return Vec::new() };
        let of = |place: &String| {
            let ours = over_programs(&self.samples.of(group, place), self.value)?;
            let half = ours.half.map_or_else(String::new, |half| format!(", ± {half:.1}"));
            Some((ours.mean, format!("{place}{half}")))
        };
        let mut values: Vec<(f64, String)> = places.iter().filter_map(of).collect();
        let usual = over_programs(&self.samples.beside(group, first), self.value);
        values.extend(usual.map(|usual| (usual.mean, "as chosen".to_owned())));
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        values
    }

    /// All open items. `what` says which figure the effect is on.
    pub fn unspecified(&self, what: &str) -> Vec<Unspecified> {
        let groups = self.samples.groups();
        let of = |item: &Item| {
            let places = groups.iter().find(|other| other.0 == item.group).map_or(&[][..], |(_, places)| places);
            let values = self.values(item.group, places);
            let effect = values.first().zip(values.last()).map(|(least, greatest)| [least.0, greatest.0]);
            Unspecified {
                what: item.group.to_owned(),
                chosen: item.chosen.to_owned(),
                range: item.range.to_owned(),
                effect,
                note: if effect.is_some() { what } else { "needs the full run" }.to_owned(),
            }
        };
        self.items.iter().map(of).collect()
    }

    /// The table of other choices: the difference that each makes to the figure, pair by pair with
    /// the main experiment on the same draws and seeds; `None` if nothing was run.
    pub fn differences(&self, what: &str) -> Option<Figure> {
        let row = |group: &str, place: &String| {
            let usual = self.samples.beside(group, place);
            let beside = |pair: &Pair<'_, D, F>| usual.iter().find(|other| other.same_sample(pair)).copied();
            let both: Vec<Pair<'_, D, F>> =
                self.samples.of(group, place).into_iter().filter(|pair| beside(pair).is_some()).collect();
            let less = |pair: &Pair<'_, D, F>| {
                let usual = beside(pair).map_or(f64::NAN, |usual| (self.value)(&usual));
                (self.value)(pair) - usual
            };
            let (ours, less) = (over_programs(&both, self.value)?, over_programs(&both, less)?);
            let half = less.half.map_or_else(|| "-".to_owned(), |half| format!("{half:.3}"));
            let cells = [format!("{:.2}", ours.mean), format!("{:.2}", less.mean), half];
            let place = if place.is_empty() { "so" } else { place };
            Some([vec![group.to_owned(), place.to_owned()], cells.into()].concat())
        };
        let open = |group: &str| self.items.iter().any(|item| item.group == group);
        let groups = self.samples.groups().into_iter().filter(|(group, _)| open(group));
        let rows =
            groups.flat_map(|(group, places)| places.iter().filter_map(|place| row(group, place)).collect::<Vec<_>>());
        let header = ["item", "choice", "the figure", "against the one as chosen", "half its 95% interval"];
        table("Each choice against the one that was made, pair by pair", &header, rows.collect(), what)
    }

    /// The tornado chart, items with the greatest effect first. `x` names the figure, `usual` is
    /// its value as chosen, `others` are the paper's values.
    pub fn figure(&self, x: &str, usual: Option<f64>, others: &[(f64, &str)]) -> Option<Figure> {
        let open = |group: &str| self.items.iter().any(|item| item.group == group);
        let groups = self.samples.groups().into_iter().filter(|(group, _)| open(group));
        let row = |(group, places): (&str, Vec<String>)| {
            let values = self.values(group, &places);
            Some(Span { name: group.to_owned(), least: values.first()?.clone(), greatest: values.last()?.clone() })
        };
        tornado(groups.filter_map(row).collect(), x, usual, others)
    }
}

/// The tornado chart of these rows, the one with the greatest effect first; the rest is as for
/// [`Tornado::figure`].
pub fn tornado(mut rows: Vec<Span>, x: &str, usual: Option<f64>, others: &[(f64, &str)]) -> Option<Figure> {
    let width = |row: &Span| row.greatest.0 - row.least.0;
    rows.sort_by(|a, b| width(b).total_cmp(&width(a)));
    let note = "Each row varies one open choice: the least and the greatest effect, and the choice that gives each.";
    let others = others.iter().map(|(value, name)| (*value, (*name).to_owned())).collect();
    let (title, x) = ("What the headline hangs on".to_owned(), x.to_owned());
    (!rows.is_empty()).then(|| Figure::from(Spans { title, x, usual, others, rows }).named("tornado").noted(note))
}
