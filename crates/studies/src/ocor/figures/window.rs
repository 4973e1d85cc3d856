//! Figure 10: the first cycles of bodytrack's region, its first 16 threads, without and with marks.

use crate::ocor::results::Results;
use crate::ocor::segment::{CYCLES, Segment, blocked};
use crate::ocor::window::{DOINGS, Window};
use crate::page::Figure;
use baton_plot::{Group, Lane, Piece, Table, Timeline, number};

/// The length of a second window, in cycles. The threads of a stand-in leave a barrier together, so
/// its first cycles are not like the rest.
const LONGER: u64 = 30_000;

/// The timeline and its figures.
pub(super) fn figure_10(results: &Results<'_>) -> Vec<Figure> {
    let Some([off, on, home]) = results.window else { return Vec::new() };
    let segments = [on, home].map(|on| Segment::of(off, on, CYCLES));
    let [Some(segment), Some(at_home)] = segments else { return Vec::new() };
    let group = |title: &str, window: &Window, mark: Option<(f64, String)>| {
        let lane = |(thread, pieces): (usize, &Vec<crate::ocor::window::Piece>)| {
            let seen = pieces.iter().filter(|piece| piece.from < LONGER);
            let piece = |piece: &crate::ocor::window::Piece| Piece {
                from: piece.from as f64,
                to: piece.to as f64,
                kind: piece.doing as usize,
            };
            Lane { name: format!("thread {thread}"), pieces: seen.map(piece).collect() }
        };
        Group { title: title.to_owned(), lanes: window.threads.iter().enumerate().map(lane).collect(), mark }
    };
    let picture = |title: &str, end: u64, marks: [Option<(f64, String)>; 3]| Timeline {
        title: format!("Figure 10: {title} of bodytrack's region, 16 of its threads"),
        x: "cycles from the beginning of the region".to_owned(),
        end: end as f64,
        kinds: DOINGS.map(|(_, name)| name.to_owned()).into(),
        groups: [("original", off), ("with marks", on), ("with marks, order at the home", home)]
            .into_iter()
            .zip(marks)
            .map(|((title, window), mark)| group(title, window, mark))
            .collect(),
    };
    let done =
        |segment: &Segment| Some((segment.cycles as f64, format!("as much work is done: {} cycles", segment.cycles)));
    let marks = [Some((CYCLES as f64, format!("{CYCLES} cycles"))), done(&segment), done(&at_home)];
    let end = CYCLES.max(segment.cycles).max(at_home.cycles);
    vec![
        Figure::from(picture("the beginning", end, marks)).named("figure-10").noted(
            "The stand-in's own beginning: its threads leave a barrier together and work until they first ask for a lock. The \
             paper shows the program's. They can be compared in kind, not number by number.",
        ),
        picture("a longer beginning", LONGER, [None, None, None]).into(),
        table(off, [("routers", on), ("home", home)]).into(),
    ]
}

fn table(off: &Window, arms: [(&str, &Window); 2]) -> Table {
    let mut rows =
        vec![["paper: 3000 cycles", "5.2", "-", "33.2", "18.7", "44", "2570", "14.3"].map(str::to_owned).into()];
    let whole = off.threads.iter().flatten().map(|piece| piece.to).max().unwrap_or(0);
    let lengths = [("ours: the same", CYCLES), ("ours: a longer window", LONGER), ("ours: the whole region", whole)];
    let all = arms.iter().flat_map(|arm| lengths.map(|length| (arm, length)));
    for ((place, on), (name, end)) in all {
        let Some(segment) = Segment::of(off, on, end.min(whole)) else { continue };
        let end = end.min(whole);
        rows.push(vec![
            format!("{name}, {end} cycles; order in the {place}"),
            number(segment.off[1]),
            number(segment.on[1]),
            number(blocked(&segment.off)),
            number(blocked(&segment.on)),
            number(segment.less_blocked()),
            segment.cycles.to_string(),
            number(100.0 * (end as f64 - segment.cycles as f64) / end.max(1) as f64),
        ]);
    }
    let header = [
        "bodytrack, 16 threads",
        "sections %: original",
        "with marks",
        "blocked %: original",
        "with marks",
        "blocked less by %",
        "cycles for the same work with marks",
        "shorter by %",
    ];
    Table {
        title: "Figure 10 in numbers (claims O9 to O11)".to_owned(),
        note: "The compared segment with marks ends when the 16 threads together have done as many cycles of own work and sections as the \
            original in 3000 cycles. All shares are of the original's cycles. So are the paper's: 33.2% of 3000 cycles are 996 blocked \
            ones, 18.7% of the same 3000 are 561, and the 435 between them are the 14.5 points by which the segment is shorter; the work \
            is 2004 cycles a thread without marks and 2009 with them. (Of 2570 cycles 18.7% would leave 2089 cycles of work, 4% more than \
            there were.)"
            .to_owned(),
        header: header.map(str::to_owned).into(),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocor::window::{Doing, Piece};

    /// A window with one thread: it works for 1,000 cycles, is blocked for `waits` cycles, and
    /// works again.
    fn window(waits: u64) -> Window {
        let piece = |from, to, doing| Piece { from, to, doing };
        let own = piece(0, 1000, Doing::Own);
        Window {
            threads: vec![vec![own, piece(1000, 1000 + waits, Doing::Free), piece(1000 + waits, 9000, Doing::Own)]],
        }
    }

    #[test]
    fn blocked_shares_are_of_the_original_s_cycles() {
        // The paper's figure 10: of 3,000 cycles, 996 are blocked without marks, and 561 with
        // marks.
        let segment = Segment::of(&window(996), &window(561), CYCLES).unwrap();
        assert_eq!(segment.cycles, 3000 - 435);
        let close = |is: f64, should: f64| assert!((is - should).abs() < 1e-9, "{is} instead of {should}");
        close(blocked(&segment.off), 33.2);
        close(blocked(&segment.on), 18.7);
        close(segment.less_blocked(), 100.0 * 435.0 / 996.0);
        // Both runs do the same work, so the segment is shorter by as many cycles as are blocked
        // less.
        close(segment.on[0], segment.off[0]);
        close(blocked(&segment.off) - blocked(&segment.on), 100.0 * 435.0 / 3000.0);
    }
}
