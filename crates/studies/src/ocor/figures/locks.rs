//! The table of locks and networks, one for each number of cores.

use crate::Interval;
use crate::ocor::run::Figures;
use crate::ocor::table::{Case, KINDS, NETWORKS, SIZES};
use crate::page::Figure;
use baton_plot::{Table, number};

/// A cell of the table: a run of it.
pub(crate) type Cell<'a> = (Case, &'a Figures);

/// Mean thousands of cycles, and mean share of overhead, over the seeds of a cell.
fn cell(cells: &[Cell<'_>], size: usize, kind: usize, network: usize) -> Option<(f64, f64)> {
    let of = |value: fn(&Figures) -> f64| {
        let here = |case: &Case| (case.size, case.kind, case.network) == (size, kind, network);
        let values: Vec<f64> = cells.iter().filter(|(case, _)| here(case)).map(|(_, figures)| value(figures)).collect();
        Interval::of(&values).map(|over| over.mean)
    };
    of(|figures| figures.cycles as f64 / 1000.0).zip(of(Figures::coh_share))
}

/// A table for each number of cores that was run.
pub(super) fn all(cells: &[Cell<'_>]) -> Vec<Figure> {
    (0..SIZES.len()).filter_map(|size| table(cells, size)).collect()
}

fn table(cells: &[Cell<'_>], size: usize) -> Option<Figure> {
    let (threads, acquisitions, _) = SIZES[size];
    let (usual, _) = cell(cells, size, 0, 0)?;
    let mut header = vec!["lock".to_owned()];
    for (at, (name, _)) in NETWORKS.iter().enumerate() {
        let first = if at == 0 { "thousand cycles" } else { "less time than round robin, %" };
        header.extend([format!("{name}: {first}"), format!("{name}: overhead, %")]);
    }
    header.insert(2, "times the paper's lock".to_owned());
    let mut rows = Vec::new();
    let mut best: Option<(f64, String)> = None;
    let mut plain: Option<(f64, String)> = None;
    for (kind, of) in KINDS.iter().enumerate() {
        let Some((round_robin, overhead)) = cell(cells, size, kind, 0) else { continue };
        let mut row = vec![of.what.to_owned(), number(round_robin), number(round_robin / usual), number(overhead)];
        for (network, (on, _)) in NETWORKS.iter().enumerate() {
            let Some((cycles, overhead)) = cell(cells, size, kind, network) else { continue };
            if network != 0 {
                row.extend([number(100.0 * (round_robin - cycles) / round_robin), number(overhead)]);
            }
            let named = || (cycles, format!("{} on {on}", of.what));
            if best.as_ref().is_none_or(|best| cycles < best.0) {
                best = Some(named());
            }
            if network == 0 && plain.as_ref().is_none_or(|plain| cycles < plain.0) {
                plain = Some(named());
            }
        }
        rows.push(row);
    }
    let said = |what: &str, of: Option<(f64, String)>| {
        of.map_or_else(String::new, |(cycles, name)| format!(" {what}: {name}, {} thousand cycles.", number(cycles)))
    };
    let note = format!(
        "{acquisitions} acquisitions a thread, as many locks a thread as in the first draw of {}, means over seeds. Overhead as threads see \
         it, of all thread-time.{}{}",
        crate::ocor::table::PROGRAM,
        said("The fastest of all", best),
        said("The fastest without any hardware", plain)
    );
    Some(Figure::from(Table {
        title: format!("Locks and networks, {threads} threads on {threads} cores"),
        note,
        header,
        rows,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocor::table::cases;

    #[test]
    fn a_row_for_each_lock_and_the_fastest_is_named() {
        let all = cases(true);
        let figures: Vec<Figures> = all
            .iter()
            .map(|case| Figures {
                cycles: 1000 * (100 + 10 * case.kind as u64 - case.network as u64),
                threads: case.threads(),
                account: Default::default(),
                packets: 0,
                lock_packets: 0,
                longest: [0; 2],
                flit_hops: 0,
                active: 0,
                window: None,
            })
            .collect();
        let cells: Vec<Cell<'_>> = all.into_iter().zip(&figures).collect();
        let tables = super::all(&cells);
        assert_eq!(tables.len(), 4);
        let crate::page::Drawing::Table(first) = &tables[0].drawing else { panic!("a table") };
        assert_eq!(first.rows.len(), KINDS.len());
        assert_eq!(first.header.len(), first.rows[0].len());
        assert_eq!(first.rows[0][4], number(1.0), "{:?}", first.rows[0]);
        assert!(first.note.contains("128 tries: the paper's on holder first, 98 thousand"), "{}", first.note);
    }
}
