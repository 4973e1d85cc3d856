//! What the paper leaves open, varied one at a time: the effect on a figure, and the tornado chart.

use super::experiment::Draw;
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
