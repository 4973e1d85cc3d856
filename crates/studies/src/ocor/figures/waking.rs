//! The price of waking: how figures change with it, from the price that the paper's figure 10
//! allows to ten times the chosen price, where woken threads compete for the lock and where the
//! lock is granted to them.

use crate::kit::{over_programs, said};
use crate::ocor::experiments::GRANTED;
use crate::ocor::results::Results;
use crate::ocor::values::{Pair, Value, coh, roi, spinning};
use crate::page::Figure;
use baton_plot::Table;

/// The group of experiments that vary the price of sleeping and waking.
const GROUP: &str = "sleep and wake-up";

/// The name of the place in [`GRANTED`] that has the chosen price.
const CHOSEN: &str = "as chosen";

/// The table of prices of waking.
pub(super) fn table(results: &Results<'_>, crowd: &Results<'_>) -> Option<Figure> {
    let groups = [results.groups(), crowd.groups()].concat();
    let (_, places) = groups.into_iter().find(|(group, _)| *group == GROUP)?;
    let mut rows = Vec::new();
    for place in std::iter::once(CHOSEN).chain(places.iter().map(String::as_str)) {
        for (name, of) in [("botss, ilbdc and imag, routers", results), ("crowds with meetings, home", crowd)] {
            let compete = if place == CHOSEN { of.beside(GROUP, &places[0]) } else { of.of(GROUP, place) };
            for (woken, pairs) in [("compete", compete), ("own the lock", of.of(GRANTED, place))] {
                if !pairs.is_empty() {
                    rows.push(row(of, [place, name, woken], &pairs));
                }
            }
        }
    }
    let header = [
        "price of sleep and wake-up",
        "programs, order",
        "woken threads",
        "overhead without marks, %",
        "runs that meet what is printed",
        "overhead less by %",
        "time less by %",
        "more entered spinning, points",
    ];
    let table = Table {
        title: "The price of waking".to_owned(),
        note: String::new(),
        header: header.map(str::to_owned).into(),
        rows,
    };
    Some(Figure::from(table).noted(
        "20,000 cycles were chosen as those with which draws show all shares that are printed. Figure 10 does not allow them: a \
         thread is blocked for 996 of its 3,000 cycles, and for 435 fewer with marks, so a sleep that is saved there took at most \
         3,000 cycles, and about 1,000 if each thread slept once: a sixteenth (1,250) to an eighth (2,500) of what was chosen. The \
         draws are those that were fitted under 20,000, where woken threads compete. Where they own the lock, the time from its release \
         to its next section is the price of waking.",
    ))
}

fn row(results: &Results<'_>, [place, name, woken]: [&str; 3], pairs: &[Pair<'_>]) -> Vec<String> {
    let mean = |value: Value| said(over_programs(pairs, value));
    let met = pairs.iter().filter(|pair| pair.off.meets(results.profile(&pair.program.name))).count();
    vec![
        if place == CHOSEN { "20,000 cycles, as chosen" } else { place }.to_owned(),
        name.to_owned(),
        woken.to_owned(),
        mean(|pair| pair.off.coh_share()),
        format!("{met} of {}", pairs.len()),
        mean(coh),
        mean(roi),
        mean(spinning),
    ]
}
