use super::*;
use baton_machine::discover::Cpu;

const HOST: &str = include_str!("../../../../../../chips/sample-host.toml");

fn chip() -> Chip {
    Chip::from_toml(HOST, "sample-host.toml").unwrap()
}

fn lasted(handoffs: u64, to_the_end: bool) -> Lasted {
    Lasted { handoffs, to_the_end, long_holds: 2, longest: baton_units::Nanos(handoffs), holds: 100 }
}

fn some_row() -> Asked {
    asked(2, 2).unwrap().0[0]
}

#[test]
fn rows_that_need_more_cpus_than_there_are_are_named() {
    let (rows, left_out) = asked(2, 64).unwrap();
    let teams = |lock: &str, threads, cpus| {
        rows.iter().filter(|row| (row.lock.name, row.threads, row.cpus) == (lock, threads, cpus)).count()
    };
    for lock in LOCKS {
        assert_eq!([teams(lock, 2, 2), teams(lock, 2, 1), teams(lock, 4, 2)], [THINKS.len(); 3]);
    }
    assert_eq!(rows.len(), 2 * 3 * THINKS.len());
    assert_eq!(left_out, ["4 threads on 4 CPUs: this machine has 2"]);
    assert_eq!(asked(4, 4).unwrap().1, [""; 0]);
    assert!(asked(1, 1).unwrap().1.contains(&"2 threads on 2 CPUs: the chip has 1".to_owned()));
}

#[test]
fn cpus_on_cores_of_their_own_come_first() {
    let cpu = |id, siblings: &[u32]| Cpu { id, siblings: siblings.to_vec(), socket: 0, node: 0, cluster: vec![] };
    let cpus = vec![cpu(0, &[0, 1]), cpu(1, &[0, 1]), cpu(2, &[2, 3]), cpu(3, &[2, 3])];
    let topology = Topology { cpus, caches: vec![] };
    assert_eq!(super::cpus(&topology, &[0, 1, 2, 3]), [0, 2, 1, 3]);
    assert_eq!(super::cpus(&topology, &[1, 3]), [1, 3], "a sibling that may not be used does not count");
}

#[test]
fn a_row_agrees_within_a_factor_of_two_and_short_convoys_count_alike() {
    let row = |measured: u64, simulated: u64| {
        let of = |n: u64| handoffs(&[lasted(n, false), lasted(n, false), lasted(9999, true)]);
        let row = Row::of(&some_row(), of(measured), of(simulated));
        (row.factor, row.agrees)
    };
    assert_eq!(row(100, 50), (2.0, true));
    assert_eq!(row(100, 200), (0.5, true));
    assert!(!row(100, 49).1 && !row(49, 100).1);
    assert_eq!(row(0, 4), (1.0, true));
    assert_eq!(row(0, 3), (1.0, true));
    assert!(!row(0, 9).1);
    let found = handoffs(&[lasted(7, true), lasted(3, false), lasted(5, true)]);
    assert_eq!(found, Handoffs { median: 5, low: 3, high: 7, to_the_end: 2 });
}

#[test]
fn long_holds_are_summed_over_all_rows() {
    let rows = [vec![lasted(7, true), lasted(300, false)], vec![lasted(5, false)]];
    assert_eq!(long_holds(&rows), LongHolds { long: 6, holds: 300, longest_ns: 300 });
}

/// With a mean of 20 µs between a thread's acquisitions, a lock that is handed over makes a convoy
/// over ten times as long as that of a lock that running threads may take from sleeping waiters.
/// The same seed gives the same convoy.
#[test]
fn on_the_chip_a_handed_over_lock_makes_a_convoy_and_a_barging_one_none() {
    let row = |name: &str| {
        let lock = info(name).unwrap();
        let wait = lock.wait_of_a_mutex(None).unwrap();
        trial::simulated(Asked { lock, wait, threads: 4, cpus: 2, think_ns: 20_000, after: 100 }, &chip(), 1).unwrap()
    };
    let (handed_over, barging) = (row("mcs"), row("futex"));
    assert!(handed_over.handoffs > 10 * barging.handoffs.max(1), "{handed_over:?} {barging:?}");
    assert_eq!(handed_over.holds, 4 * 100);
    assert_eq!(row("mcs"), handed_over);
}

/// On the machine, every hold from the stall on is recorded, whatever the machine is like, and not
/// all of these holds are long.
#[test]
fn a_convoy_on_this_machine_comes_to_an_end() {
    let cpus = cpus(&Topology::discover(), &allowed_cpus());
    let asked = Asked { cpus: 1, after: 20, ..some_row() };
    let found = trial::native(asked, &cpus[..1], 1.0).unwrap();
    assert_eq!(found.holds, u64::from(asked.threads * asked.after));
    assert!(found.long_holds < found.holds, "{found:?}");
}

#[test]
fn the_table_marks_what_does_not_agree_and_says_what_is_left_out() {
    let row = |m, s| Row::of(&some_row(), handoffs(&[lasted(m, true)]), handoffs(&[lasted(s, false)]));
    let found = Found {
        chip: "this-host.toml".into(),
        critical_ns: CRITICAL,
        stall_ns: STALL,
        trials: 1,
        rows: vec![row(10, 10), row(80, 20)],
        long_holds: Beside {
            measured: LongHolds { long: 25, holds: 1_000_000, longest_ns: 41_500 },
            simulated: LongHolds::default(),
        },
        others_share: None,
        disturbed: None,
        left_out: vec!["4 threads on 4 CPUs: this machine has 2".into()],
    };
    let text = show::text(&found);
    assert_eq!(text.matches("does not agree").count(), 1, "{text}");
    for part in [
        "mcs:spin-park(128)  2        2     0.2 µs  80 (80 – 80, 1 to the end)  20 (20 – 20)  4.00    does not agree",
        "1 of 2 rows do not agree within a factor of 2",
        "measured 25 in a million, the longest 41.5 µs; simulated 0 in a million",
        "not told: 4 threads on 4 CPUs",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["rows"][1]["handoffs"]["measured"]["median"], 80);
    assert_eq!(json["rows"][1]["agrees"], false);
}
