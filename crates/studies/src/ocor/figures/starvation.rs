//! Starvation: the longest wait of a thread and the longest way of a packet, without marks and with
//! them, beside the bounds that follow from the rules.
//!
//! **A packet.** Queues are first in, first out, and no packet is preempted, so an unmarked packet
//! at the head of its channel waits only for marked packets that win the port. Each of `T` threads
//! can send a marked packet for each of its tries and one for a wake-up, and then sleeps or has its
//! lock: these are `T · (tries + 1)` packets of one flit, at each router of the way. The table
//! states this bound. It holds from the moment in which no thread begins a new round of tries: a
//! thread that got its lock, released it and asks again has all its tries anew, so first in, first
//! out alone gives no bound. In the end the wait is bounded because locks are handed over one at a
//! time.
//!
//! **A thread.** By rule 1 a waiting thread is passed in the network only by threads of the same
//! progress value or a lower one, each for at most `ocor.progress_step` sections of a value. While
//! the thread sleeps, it is in no queue of the network, and only the order of the kernel's queue
//! bounds its wait. So no bound in cycles follows; the study judges that marks do not make the
//! longest wait longer.

use crate::Falsifier;
use crate::ocor::results::Results;
use crate::ocor::values::Pair;
use crate::page::Figure;
use baton_plot::{Table, number};

/// The greatest accepted ratio of a thread's longest wait with marks to the longest wait without,
/// in the mean over programs.
const LONGER: f64 = 1.25;

/// The longest that an unmarked packet can wait for marked ones on a way over `routers` routers, in
/// cycles of the network.
pub(crate) fn packet_bound(threads: u32, tries: u32, routers: u32) -> u64 {
    u64::from(threads) * u64::from(tries + 1) * u64::from(routers)
}

fn greatest(pairs: &[Pair<'_>], value: impl Fn(&Pair<'_>) -> u64) -> u64 {
    pairs.iter().map(value).max().unwrap_or(0)
}

fn ratio(pairs: &[Pair<'_>]) -> f64 {
    let off = greatest(pairs, |pair| pair.off.account.longest_wait);
    greatest(pairs, |pair| pair.on.account.longest_wait) as f64 / off.max(1) as f64
}

pub(super) fn table(results: &Results<'_>) -> Option<Figure> {
    let programs = results.programs();
    if programs.is_empty() {
        return None;
    }
    let row = |name: &str| {
        let pairs = results.program(name);
        let count = |value: fn(&Pair<'_>) -> u64| greatest(&pairs, value).to_string();
        vec![
            name.to_owned(),
            count(|pair| pair.off.account.longest_wait),
            count(|pair| pair.on.account.longest_wait),
            number(ratio(&pairs)),
            count(|pair| pair.off.longest[1]),
            count(|pair| pair.on.longest[1]),
            count(|pair| pair.on.longest[0]),
        ]
    };
    let header = [
        "program",
        "a thread's longest wait: original",
        "with marks",
        "times",
        "a packet's longest way: original",
        "unmarked, with marks",
        "marked",
    ];
    let note = results.routers.map_or_else(String::new, |routers| {
        let bound = packet_bound(64, 128, routers);
        format!(
            "An unmarked packet waits at most {bound} cycles for marked ones on its way, as long as no thread begins a new \
             round of tries: 64 threads with 128 tries and a wake-up each, one flit each, at {routers} routers."
        )
    });
    let table = Table {
        title: "Starvation: the longest waits, in cycles".to_owned(),
        note,
        header: header.map(str::to_owned).into(),
        rows: programs.into_iter().map(row).collect(),
    };
    Some(
        Figure::from(table)
            .noted("Each figure is the greatest over all draws and seeds. The paper's only argument against starvation is first in, first out."),
    )
}

/// Judges two falsifiers: how long unmarked packets wait for marked ones, and by how much marks
/// make the longest wait of a thread longer.
pub(crate) fn judge(results: &Results<'_>) -> Vec<Falsifier> {
    let pairs = results.main();
    let (packets, threads) = (
        "no unmarked packet waits longer for marked ones than one round of all threads' tries on its way",
        "marks make the longest wait of a thread at most a quarter longer, in the mean over programs",
    );
    if pairs.is_empty() {
        return [("starved packets", packets), ("starved threads", threads)]
            .map(|(id, what)| Falsifier::not_run(id, what, "not run"))
            .into();
    }
    let longest = greatest(&pairs, |pair| pair.on.longest[1]);
    let before = greatest(&pairs, |pair| pair.off.longest[1]);
    let of_packets = match results.routers {
        None => {
            Falsifier::not_run("starved packets", packets, "the network is no mesh: its longest way is not known here")
        }
        Some(routers) => {
            let bound = packet_bound(64, 128, routers);
            // An unmarked packet's wait for marked packets is taken as the time by which it takes
            // longer than the longest packet without marks.
            let holds = longest <= before + bound;
            let figures = vec![
                ("longest without marks, cycles".to_owned(), before as f64),
                ("longest unmarked with marks".to_owned(), longest as f64),
                ("bound on what marks add".to_owned(), bound as f64),
            ];
            let why = || "threads began new rounds of tries while it waited".to_owned();
            Falsifier::seen("starved packets", packets, holds, figures, why)
        }
    };
    let programs = results.programs();
    let ratios: Vec<f64> = programs.iter().map(|name| ratio(&results.program(name))).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    let figures = vec![
        ("longest wait with marks over without, mean".to_owned(), mean),
        ("greatest of a program".to_owned(), worst),
    ];
    let why = || "threads with more tries left, or asleep, are passed again and again".to_owned();
    let of_threads = Falsifier::seen("starved threads", threads, mean <= LONGER, figures, why);
    vec![of_packets, of_threads]
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_round_of_tries_bounds_a_packet() {
        assert_eq!(super::packet_bound(64, 128, 15), 123_840);
        assert_eq!(super::packet_bound(1, 1, 1), 2);
    }
}
