//! The causes of overhead where overhead shrinks or grows most: where a loop of tries gets longer,
//! and in crowds. The table compares the arm without marks with an arm that pays for the registers
//! while routers heed no marks, and both with the arm with marks.

use crate::kit::over_programs;
use crate::ocor::account::CAUSES;
use crate::ocor::experiments::{FREE, PRICED, beside};
use crate::ocor::results::Results;
use crate::ocor::run::Figures;
use crate::ocor::values::Pair;
use crate::page::Figure;
use baton_plot::{Table, number};

/// The groups of experiments in the table, as far as there are runs that tell the registers' price
/// from the network's effect.
const GROUPS: [&str; 5] = ["main", "hint", "cpu_relax", "spin count", "program's shape"];

/// Takes the figures of one arm from a pair.
type Arm = for<'a> fn(&Pair<'a>) -> &'a Figures;

const OFF: Arm = |pair| pair.off;
const ON: Arm = |pair| pair.on;

/// The table of the causes of overhead.
pub(super) fn table(results: &Results<'_>) -> Option<Figure> {
    let mut rows = Vec::new();
    for (group, places) in results.groups().into_iter().filter(|(group, _)| GROUPS.contains(group)) {
        for place in &places {
            let key = beside(group, place);
            let priced = results.of(PRICED, &key);
            if priced.is_empty() {
                continue;
            }
            // The controls run fewer programs and draws than the main experiment: only samples that
            // the controls have are taken.
            let among = |pair: &Pair<'_>| priced.iter().any(|other| other.same_sample(pair));
            let usual: Vec<Pair<'_>> = results.of(group, place).into_iter().filter(among).collect();
            let named = if place.is_empty() { "as chosen".to_owned() } else { key.clone() };
            let mut arm = |what: &str, pairs: &[Pair<'_>], arm: Arm| {
                if !pairs.is_empty() {
                    rows.push(row(&named, what, &usual, pairs, arm));
                }
            };
            arm("no registers", &usual, OFF);
            arm("registers paid for, not heeded", &priced, OFF);
            arm("with marks", &usual, ON);
            arm("with marks, free registers", &results.of(FREE, &key), ON);
        }
    }
    let mut header: Vec<String> =
        ["place", "arm", "time, %", "entered spinning, %", "overhead, %"].map(str::to_owned).into();
    header.extend(CAUSES.map(|cause| cause.name().to_owned()));
    let table = Table {
        title: "What shrinks: causes of overhead by who pays for the registers and who heeds them".to_owned(),
        note: "Means over botss, ilbdc and imag. Time, overhead and its causes are in percent of the region's time and of the overhead \
               without registers at the same place: what the second arm has less is the price's doing, what the third has less than the \
               second is the network's."
            .to_owned(),
        header,
        rows,
    };
    (!table.rows.is_empty()).then(|| Figure::from(table))
}

/// The row of one arm. Its times are shares of the times without marks in the `usual` pair with the
/// same draw and seed.
fn row(named: &str, what: &str, usual: &[Pair<'_>], pairs: &[Pair<'_>], arm: Arm) -> Vec<String> {
    let base = |pair: &Pair<'_>, cycles: fn(&Figures) -> u64| {
        usual.iter().find(|other| other.same_sample(pair)).map_or(0, |other| cycles(other.off)).max(1) as f64
    };
    let mean = |value: &dyn Fn(&Pair<'_>) -> f64| over_programs(pairs, value).map_or(f64::NAN, |of| of.mean);
    let of_overhead = |cycles: &dyn Fn(&Figures) -> u64| {
        mean(&|pair| 100.0 * cycles(arm(pair)) as f64 / base(pair, |figures| figures.account.overhead))
    };
    let mut cells = vec![
        named.to_owned(),
        what.to_owned(),
        number(mean(&|pair| 100.0 * arm(pair).cycles as f64 / base(pair, |figures| figures.cycles))),
        number(mean(&|pair| arm(pair).entered_spinning())),
        number(of_overhead(&|figures| figures.account.overhead)),
    ];
    cells.extend((0..CAUSES.len()).map(|cause| number(of_overhead(&|figures| figures.account.by_cause[cause]))));
    cells
}
