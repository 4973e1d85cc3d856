//! The table of sets of open choices: what each set of several choices does.

use crate::kit::search::Trial;
use crate::ocor::joint::{Choices, Seen, text};
use crate::page::Figure;
use baton_plot::{Table, number};

/// The table of the trials. `answer`, the text in front of it, says whether a set reaches the
/// paper's headline.
pub(crate) fn table(items: &[Choices], trials: &[(Trial, Seen)], answer: Option<&str>) -> Option<Figure> {
    if trials.is_empty() {
        return None;
    }
    let row = |(trial, seen): &(Trial, Seen)| {
        vec![
            trial.name.clone(),
            text(items, &trial.set),
            number(seen.coh),
            number(seen.roi),
            if seen.plausible { "yes" } else { "no" }.to_owned(),
        ]
    };
    let header = ["set", "otherwise than chosen", "less overhead, %", "less time, %", "plausible"];
    let table = Table {
        title: "Several open choices at once".to_owned(),
        note: "Means over botss, ilbdc, imag and crowds of vips, one draw each where the name says nothing else. A set is plausible if its \
            runs without marks show the printed figures wherever the runs as chosen do; draws are fitted once more where a set changes these runs."
            .to_owned(),
        header: header.map(str::to_owned).into(),
        rows: trials.iter().map(row).collect(),
    };
    Some(Figure::from(table).noted(answer.unwrap_or_default()))
}
