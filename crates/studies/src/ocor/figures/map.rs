//! The designers' map: which placement of the order, or which lock in software, wins where, and by how much.

use crate::kit::{over_draws, reduction, said};
use crate::ocor::experiments::{ORDER_ALONE, PARTS};
use crate::ocor::map::{ARMS, BOUND, Case, PRICES, SECTIONS, SIZES, SOFTWARE};
use crate::ocor::results::Results;
use crate::ocor::run::Figures;
use crate::ocor::values::roi;
use crate::page::Figure;
use baton_plot::{Lines, Point, Series, Table, number};

/// An arm of a cell of the map, with the figures of its run.
pub(crate) type Spot<'a> = (Case, &'a Figures);

/// Differences between single runs of two arms up to this many percent of the time may be chance.
const CHANCE: f64 = 5.0;

/// A cell of the map, and by how many percent each arm's run is shorter than that of the paper's
/// lock without marks.
struct Cell {
    case: Case,
    less: Vec<f64>,
}

fn cells(map: &[Spot<'_>]) -> Vec<Cell> {
    let cell = |arms: &[Spot<'_>]| {
        let off = arms[0].1.cycles as f64;
        Cell { case: arms[0].0, less: arms.iter().map(|(_, on)| reduction(off, on.cycles as f64)).collect() }
    };
    map.chunks_exact(ARMS.len()).map(cell).collect()
}

/// The arm that saves the most time in a cell, and how many percent it saves.
fn best(cell: &Cell, arms: impl Iterator<Item = usize>) -> Option<(usize, f64)> {
    arms.map(|arm| (arm, cell.less[arm])).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// A table for each size of chip, and a picture of the most contended cells.
pub(super) fn all(map: &[Spot<'_>]) -> Vec<Figure> {
    let cells = cells(map);
    let tables = (0..SIZES.len()).filter_map(|size| table(&cells, size));
    tables.chain(picture(&cells)).collect()
}

fn table(cells: &[Cell], size: usize) -> Option<Figure> {
    let row = |cell: &Cell| {
        let Case { per_lock, section, meets, price, .. } = cell.case;
        let mut row = vec![
            per_lock.to_string(),
            number(SECTIONS[section]),
            if meets { "yes" } else { "no" }.to_owned(),
            PRICES[price].0.to_owned(),
        ];
        row.extend(cell.less[1..].iter().map(|less| number(*less)));
        let wins = best(cell, (1..ARMS.len()).filter(|arm| *arm != BOUND)).filter(|(_, less)| *less > CHANCE);
        row.push(wins.map_or("none", |(arm, _)| ARMS[arm]).to_owned());
        row
    };
    let rows: Vec<Vec<String>> = cells.iter().filter(|cell| cell.case.size == size).map(row).collect();
    let mut header: Vec<String> =
        ["threads a lock", "section over the tries' time", "meetings", "waking"].map(str::to_owned).into();
    header.extend(ARMS[1..].iter().map(|arm| (*arm).to_owned()));
    header.push("wins".to_owned());
    let title = format!("Where an order pays: {} cores", SIZES[size].0);
    let note = format!(
        "Time saved, in percent of the time of the paper's lock without marks in the same cell. Each arm has one run, so a saving below \
            {CHANCE}% may be chance and counts as none. The oracle is a bound, no hardware. A section of 1 takes about as long as 128 tries."
    );
    (!rows.is_empty()).then(|| Figure::from(Table { title, note: String::new(), header, rows }).noted(note))
}

/// The picture of the cells with 64 cores, the most threads a lock, meetings, and the chosen price
/// of waking.
fn picture(cells: &[Cell]) -> Option<Figure> {
    let (size, per_lock) = (1, *SIZES[1].2.last()?);
    let mine: Vec<&Cell> = cells
        .iter()
        .filter(|Cell { case, .. }| (case.size, case.per_lock, case.meets, case.price) == (size, per_lock, true, 0))
        .collect();
    let series = |arm: usize| Series {
        name: ARMS[arm].to_owned(),
        points: mine.iter().map(|cell| Point::new(cell.case.section as f64, cell.less[arm])).collect(),
        theirs: false,
    };
    let lines = Lines {
        title: format!("Where an order pays: {} cores, {per_lock} threads a lock, meetings", SIZES[size].0),
        x: "section over the time of 128 tries".to_owned(),
        y: "less time than without marks, %".to_owned(),
        names: Some(SECTIONS.map(number).into()),
        series: (1..ARMS.len()).map(series).collect(),
    };
    (!mine.is_empty()).then(|| Figure::from(lines).named("map"))
}

/// What a designer should build, each sentence with its figure; `None` if the map was not run.
pub(crate) fn recommendation(map: &[Spot<'_>], crowd: &Results<'_>) -> Option<String> {
    let cells = cells(map);
    let count = |wanted: &dyn Fn(&Cell) -> bool| cells.iter().filter(|cell| wanted(cell)).count();
    let mean = |arm: usize| cells.iter().map(|cell| cell.less[arm]).sum::<f64>() / cells.len().max(1) as f64;
    let most = |arm: usize| cells.iter().map(|cell| cell.less[arm]).fold(f64::MIN, f64::max);
    let software = |cell: &Cell| best(cell, SOFTWARE).map_or(0.0, |of| of.1);
    let meeting = count(&|cell| cell.less[2] > CHANCE && cell.case.meets);
    let parts = |place: &str| said(over_draws(&crowd.of(PARTS, place), roi));
    (!cells.is_empty()).then(|| {
        format!(
            "What to build, by {} cells of the map. (1) Marks in routers alone save {:.1}% of the time on average (below 0: they cost) and \
             {:.1}% in the best cell: they are not worth their gates. (2) Where the lock can be changed, change it: a lock in software is \
             faster than the home's order by more than {CHANCE}% in {} cells, slower by as much in {}, and MCS saves {:.1}% on average. \
             (3) Where it cannot, the home's order saves more than {CHANCE}% in {} cells, {meeting} of them with meetings, and {:.1}% on \
             average; it costs more than {CHANCE}% in {}. (4) Routers beside the home add {:.1} points on average, and the bound of an \
             oracle is {:.1}%: the home is enough. (5) Build the cheapest part first: on crowds, releases that do not wait behind tries \
             save {}% of the time, the order of tries behind them another {}%.",
            cells.len(),
            mean(1),
            most(1),
            count(&|cell| software(cell) > cell.less[2] + CHANCE),
            count(&|cell| software(cell) < cell.less[2] - CHANCE),
            mean(SOFTWARE.start),
            count(&|cell| cell.less[2] > CHANCE),
            mean(2),
            count(&|cell| cell.less[2] < -CHANCE),
            mean(3) - mean(2),
            mean(BOUND),
            parts("releases alone"),
            parts(ORDER_ALONE),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocor::map::cases;

    #[test]
    fn the_winner_is_the_best_that_can_be_built_and_chance_wins_nothing() {
        let cases = cases(true);
        // Every arm without an entry takes 980 of 1,000 cycles, a difference that may be chance. In
        // the first cell the home wins; in the second only the oracle is better, which cannot be
        // built; in the third the lock in software wins.
        let cycles = |case: usize, arm: usize| match (case, arm) {
            (0, 2) | (2, 5) => 500,
            (0 | 1, BOUND) => 300,
            _ => 980,
        };
        let runs: Vec<Figures> = (0..3 * ARMS.len())
            .map(|n| {
                let (case, arm) = (n / ARMS.len(), n % ARMS.len());
                crate::ocor::figures::tests::figures(if arm == 0 { 1000 } else { cycles(case, arm) }, 1, None)
            })
            .collect();
        let map: Vec<Spot<'_>> = cases.into_iter().zip(&runs).collect();
        let cells = cells(&map);
        assert_eq!((cells.len(), cells[0].less[2], cells[1].less[BOUND]), (3, 50.0, 70.0));
        let figures = all(&map);
        let html = figures[0].html();
        let rows: Vec<&str> = html.split("<tr>").skip(2).collect();
        assert_eq!(rows.len(), 3, "{html}");
        for (row, wins) in rows.iter().zip(["home", "none", "mcs"]) {
            assert!(row.contains(&format!("<td>{wins}")), "{wins}: {row}");
        }
        let crowd = Results::new(Default::default(), &[]);
        let said = recommendation(&map, &crowd).unwrap();
        assert!(said.contains("by 3 cells") && said.contains("slower by as much in 1"), "{said}");
        assert!(recommendation(&[], &crowd).is_none());
    }
}
