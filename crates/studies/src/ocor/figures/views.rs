//! Claims O1 to O21 by where marks are heeded, by shape of program and by account. The rules stay
//! the same; each column judges them on the part of the results that its heading names.

use crate::ocor::claims;
use crate::ocor::program::SHAPES;
use crate::ocor::results::{Placement, Results, View};
use crate::ocor::values::By;
use crate::ocor::why::Why;
use crate::page::{Figure, cell};
use crate::{Claim, Verdict};
use baton_plot::{Table, number};

/// A column: its heading, and the part of the results that it judges.
type Column = (String, View);

/// The tables of claims; none if no program was run.
pub(crate) fn all(results: &Results<'_>, why: &Why<'_>, full: bool) -> Vec<Figure> {
    if results.programs().is_empty() {
        return Vec::new();
    }
    let by_shape = |placement: Placement| -> Vec<Column> {
        let whole = View { placement, ..View::PAPER };
        let shapes = SHAPES.map(|shape| (shape.name().to_owned(), View { shape: Some(shape), ..whole }));
        let all = [("all draws".to_owned(), whole)].into_iter().chain(shapes);
        all.chain([("draws that can show it".to_owned(), View { able: true, ..whole })]).collect()
    };
    let by_account: Vec<Column> = [(Placement::Routers, "routers"), (Placement::Home, "home")]
        .into_iter()
        .flat_map(|(placement, name)| {
            [(By::Word, "by the lock's word"), (By::Calls, "by calls")]
                .map(|(by, account)| (format!("{name}, {account}"), View { placement, by, ..View::PAPER }))
        })
        .collect();
    let tables = [
        ("Claims with marks in routers, as the paper has it, by shape of program", by_shape(Placement::Routers)),
        ("Claims with marks at the home, which is ours, by shape of program", by_shape(Placement::Home)),
        ("Claims under each account", by_account),
    ];
    tables.into_iter().map(|(title, columns)| table(title, &columns, results, why, full)).collect()
}

fn table(title: &str, columns: &[Column], results: &Results<'_>, why: &Why<'_>, full: bool) -> Figure {
    let judged: Vec<Vec<Claim>> =
        columns.iter().map(|(_, view)| claims::all(&results.viewed(*view), why, full)).collect();
    let row = |n: usize| {
        let first = &judged[0][n];
        let part = if first.part.is_empty() { String::new() } else { format!(": {}", first.part) };
        let mut row = vec![first.id.to_owned(), format!("{}{part} ({})", first.what, first.unit), cell(first.paper)];
        row.extend(judged.iter().map(|claims| said(&claims[n])));
        row
    };
    let mut header: Vec<String> = ["claim", "what", "paper"].map(str::to_owned).into();
    header.extend(columns.iter().map(|(name, _)| name.clone()));
    let rows = (0..judged[0].len()).map(row).collect();
    Figure::from(Table { title: title.to_owned(), note: String::new(), header, rows }).noted(
        "Each cell has our figure, half of its 95% interval, and whether the figure satisfies the claim's rule. The claims of this study \
         are those of the paper's placement over all draws; every other column is beside them.",
    )
}

/// A claim's figure, and whether it holds.
fn said(claim: &Claim) -> String {
    let Some(ours) = claim.ours else { return "-".to_owned() };
    let half = claim.interval.map_or_else(String::new, |[low, high]| format!(" ± {}", number((high - low) / 2.0)));
    let holds = match claim.verdict {
        Verdict::Holds => ", holds",
        Verdict::DoesNotHold => ", no",
        Verdict::CannotTell => ", cannot tell",
        Verdict::CannotShow => ", cannot show",
        Verdict::NotJudged | Verdict::NotComparable => "",
    };
    format!("{}{half}{holds}", number(ours))
}
