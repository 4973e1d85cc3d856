//! The table of locks and networks, one for each number of cores.

use crate::Interval;
use crate::kit::said;
use crate::ocor::run::Figures;
use crate::ocor::table::{Case, LOCKS, NETWORKS, PROGRAM, SIZES, Size};
use crate::page::{Figure, cell};
use baton_plot::{Table, number};

/// A cell of the table, with the figures of its run.
pub(crate) type Cell<'a> = (Case, &'a Figures);

/// A table for each number of cores that was run.
pub(super) fn all(cells: &[Cell<'_>]) -> Vec<Figure> {
    (0..SIZES.len()).filter_map(|size| At { cells, size }.table()).collect()
}

/// The cells of the table for one number of cores.
struct At<'a> {
    cells: &'a [Cell<'a>],
    size: usize,
}

impl At<'_> {
    fn runs(&self, kind: usize, network: usize) -> impl Iterator<Item = &Cell<'_>> {
        self.cells.iter().filter(move |(case, _)| (case.size, case.kind, case.network) == (self.size, kind, network))
    }

    /// The mean of a figure over draws and seeds, for one lock on one network.
    fn mean(&self, kind: usize, network: usize, value: fn(&Figures) -> f64) -> Option<f64> {
        let values: Vec<f64> = self.runs(kind, network).map(|(_, figures)| value(figures)).collect();
        Interval::of(&values).map(|over| over.mean)
    }

    /// By how many percent a network makes the run shorter than round robin does, in pairs of runs
    /// with the same draw and seed.
    fn less(&self, kind: usize, network: usize) -> Option<Interval> {
        let of = |(case, on): &Cell<'_>| {
            let same = |(other, _): &&Cell<'_>| (other.draw, other.seed) == (case.draw, case.seed);
            let off = self.runs(kind, 0).find(same)?.1.cycles as f64;
            Some(100.0 * (off - on.cycles as f64) / off.max(1.0))
        };
        Interval::of(&self.runs(kind, network).filter_map(of).collect::<Vec<_>>())
    }

    fn row(&self, kind: usize, usual: f64) -> Option<Vec<String>> {
        let cycles = self.mean(kind, 0, thousand_cycles)?;
        let of = |value: fn(&Figures) -> f64| cell(self.mean(kind, 0, value));
        let mut row = vec![LOCKS[kind].what.to_owned(), number(cycles), number(cycles / usual)];
        row.extend([of(Figures::coh_share), of(asleep), of(longest)]);
        for network in 1..NETWORKS.len() {
            row.push(said(self.less(kind, network)));
            row.push(cell(self.mean(kind, network, Figures::coh_share)));
        }
        Some(row)
    }

    /// Returns the shortest mean time of all locks (but those whose sleep is free) on these
    /// networks, in thousand cycles, with the names of the lock and the network.
    fn fastest(&self, networks: std::ops::Range<usize>) -> Option<(f64, String)> {
        let all = (0..LOCKS.len()).filter(|&kind| !LOCKS[kind].free_sleep);
        let all = all.flat_map(|kind| networks.clone().map(move |network| (kind, network)));
        let of = |(kind, network): (usize, usize)| {
            let named = format!("{} on {}", LOCKS[kind].what, NETWORKS[network].0);
            Some((self.mean(kind, network, thousand_cycles)?, named))
        };
        all.filter_map(of).min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Returns a sentence on what sleeping costs a lock, compared with the same lock whose sleep is
    /// free.
    fn convoy(&self) -> String {
        let free = LOCKS.iter().position(|kind| kind.free_sleep);
        let of = |free: usize| {
            let same = |kind: &usize| (LOCKS[*kind].lock, LOCKS[*kind].wait) == (LOCKS[free].lock, LOCKS[free].wait);
            let paid = (0..free).find(same)?;
            let [with, without] = [paid, free].map(|kind| self.mean(kind, 0, thousand_cycles));
            Some(format!(
                " {}: {} thousand cycles, of which {} are the longest wait of one thread, and {}% of acquisitions sleep: who waits behind a \
                 sleeper in the queue sleeps as well, and each hand-off is a wake-up. At no cost of sleep: {} thousand cycles.",
                LOCKS[paid].what,
                number(with?),
                number(self.mean(paid, 0, longest)?),
                number(self.mean(paid, 0, asleep)?),
                number(without?)
            ))
        };
        free.and_then(of).unwrap_or_default()
    }

    fn table(&self) -> Option<Figure> {
        let Size { threads, acquisitions, draws, seeds } = SIZES[self.size];
        let usual = self.mean(0, 0, thousand_cycles)?;
        let mut header: Vec<String> = [
            "lock",
            "round robin: thousand cycles",
            "times the paper's lock",
            "overhead, %",
            "asleep, %",
            "longest wait, thousand cycles",
        ]
        .map(str::to_owned)
        .into();
        for (name, _) in &NETWORKS[1..] {
            header.extend([format!("{name}: less time than round robin, %"), format!("{name}: overhead, %")]);
        }
        let said = |what: &str, of: Option<(f64, String)>| {
            of.map_or_else(String::new, |(cycles, name)| {
                format!(" {what}: {name}, {} thousand cycles.", number(cycles))
            })
        };
        let note = format!(
            "{acquisitions} acquisitions a thread, as many locks a thread as in {PROGRAM}, {draws} draws of it at most with {seeds} seeds each; \
             differences are between runs of the same draw and seed, with their 95% intervals. Overhead as threads see it, of all \
             thread-time.{}{}{}",
            said("The fastest of all", self.fastest(0..NETWORKS.len())),
            said("The fastest without any hardware", self.fastest(0..1)),
            self.convoy()
        );
        Some(Figure::from(Table {
            title: format!("Locks and networks, {threads} threads on {threads} cores"),
            note,
            header,
            rows: (0..LOCKS.len()).filter_map(|kind| self.row(kind, usual)).collect(),
        }))
    }
}

fn thousand_cycles(figures: &Figures) -> f64 {
    figures.cycles as f64 / 1000.0
}

fn asleep(figures: &Figures) -> f64 {
    100.0 - figures.entered_spinning()
}

fn longest(figures: &Figures) -> f64 {
    figures.account.longest_wait as f64 / 1000.0
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
                calls: Default::default(),
                times: None,
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
        assert_eq!(first.rows.len(), LOCKS.len());
        assert!(first.rows.iter().all(|row| row.len() == first.header.len()));
        assert_eq!(first.rows[0][6], "1.0 ± 0.0", "{:?}", first.rows[0]);
        assert!(first.note.contains("128 tries: the paper's on holder first, 98 thousand"), "{}", first.note);
        assert!(
            first.note.contains("then asleep: 170 thousand") && first.note.contains("of sleep: 180 thousand"),
            "{}",
            first.note
        );
    }
}
