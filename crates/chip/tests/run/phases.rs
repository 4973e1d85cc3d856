//! The coarse mode: closed forms, moves, re-rating, and bad input.

use baton_chip::config::prices::NodePrice;
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn, act};
use baton_machine::units::{CoreId, Cycles, Hertz};
use baton_machine::{Behaviour, Machine, WorkingSet};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

const BARCELONA: &str = include_str!("../../../../chips/barcelona-amp.toml");
const LINE: u64 = 64;
/// The lines that the private caches of a core hold (`PRIVATE`), and those that a domain's shared
/// level holds (`SHARED`).
const PRIVATE: u64 = 524_288 / LINE;
const SHARED: u64 = 2_097_152 / LINE;
/// The cycles that a node's memory takes to move a line.
const SERVICE: f64 = 64.0 / 4.6;

fn barcelona(settings: &[&str]) -> Chip {
    let common = ["memory.model=phases", "noise.start=0"];
    let settings: Vec<String> = common.iter().chain(settings).map(|&s| s.to_owned()).collect();
    Chip::from_toml_with(BARCELONA, "barcelona-amp.toml", &settings).expect("reads")
}

/// The behaviour of code that touches `lines` lines at random.
fn touches(lines: u64, accesses: f64) -> Arc<Behaviour> {
    let sets = vec![WorkingSet { bytes: lines * LINE, accesses }];
    Arc::new(Behaviour { cpi: 1.0, sets, overlap: 1, node: None })
}

/// Runs guests, each on its core. Returns how long each took from its first operation on.
fn run(chip: &Chip, guests: Vec<(u32, Box<dyn FnOnce()>)>) -> Vec<u64> {
    let mut simulation = Simulation::new(chip, &Options::default()).expect("starts");
    let took = Rc::new(RefCell::new(vec![0; guests.len()]));
    for (number, (core, guest)) in guests.into_iter().enumerate() {
        let took = took.clone();
        let spawn = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        let body = move || {
            let began = act::time().0;
            guest();
            took.borrow_mut()[number] = act::time().0 - began;
        };
        simulation.spawn(spawn, body).expect("starts");
    }
    let outcome = simulation.run().expect("ends");
    assert!(outcome.finished);
    took.take()
}

fn phase(behaviour: &Arc<Behaviour>, instructions: u64) -> Box<dyn FnOnce()> {
    let behaviour = behaviour.clone();
    Box::new(move || assert!(Simulated::phase(&behaviour, instructions)))
}

/// The prices of a line from the shared level and from memory, for a core of the first cluster at
/// 1/`slow` of the reference clock, at which its private caches are looked up.
fn prices(chip: &Chip, node: usize, slow: u64) -> (f64, f64) {
    let price = NodePrice::by_cluster(chip).expect("a network")[0][node];
    ((12 * slow + price.bank.0) as f64, (12 * slow + price.memory.0) as f64)
}

#[test]
fn computing_takes_instructions_times_cycles_an_instruction() {
    let chip = barcelona(&["core.clocks=1:1_150_000_000"]);
    let behaviour = Behaviour { cpi: 1.25, sets: Vec::new(), overlap: 1, node: None };
    let alone = |behaviour: &Behaviour, core, n| run(&chip, vec![(core, phase(&Arc::new(behaviour.clone()), n))])[0];
    assert_eq!(alone(&behaviour, 0, 1_000_000), 1_250_000);
    assert_eq!(alone(&behaviour, 0, 1_000_001), 1_250_002, "the last cycle is a whole one");
    assert_eq!(alone(&behaviour, 1, 1_000_000), 2_500_000, "at half the clock");
    assert_eq!(alone(&Behaviour { cpi: 0.1, ..behaviour.clone() }, 0, 3_000_000), 1_000_000, "a core is 3 wide");
    assert_eq!(alone(&behaviour, 0, 0), 0);
}

/// The cycles that open rows save in an access of a lone thread to its only set: each of 16 banks
/// has a row of 8 KiB open, whose accesses take 60 cycles less.
fn opens(lines: u64) -> f64 {
    60.0 * (16.0 * 8192.0 / (lines * LINE) as f64).min(1.0)
}

/// How long a lone phase takes that has one set, smaller or larger than its caches: its
/// instructions, its misses times their latencies, and what it must fetch first.
fn closed_form(chip: &Chip, lines: u64, accesses: f64, n: u64, slow: u64) -> f64 {
    let (bank, memory) = prices(chip, 0, slow);
    let (memory, lookup) = (memory - opens(lines), (12 * slow) as f64);
    let private = (PRIVATE as f64 / lines as f64).min(1.0);
    let shared = (SHARED as f64 / lines as f64).min(1.0);
    let misses = accesses / 1000.0 * n as f64;
    let behind = (1.0 - private) * (shared * bank + (1.0 - shared) * memory);
    let steady = misses * (private * lookup + behind);
    let touched = lines as f64 * (1.0 - (-misses / lines as f64).exp());
    let cold = touched * (private * (memory - lookup) + (1.0 - private) * shared * (memory - bank));
    n as f64 * slow as f64 + steady + cold.round()
}

#[test]
fn misses_cost_their_latencies_to_the_cycle() {
    let n = 20_000_000;
    for (slow, settings) in [(1, [].as_slice()), (2, ["core.clocks=0:1_150_000_000"].as_slice())] {
        let chip = barcelona(settings);
        for lines in [PRIVATE / 2, PRIVATE * 2, SHARED, SHARED * 4] {
            let took = run(&chip, vec![(0, phase(&touches(lines, 10.0), n))])[0] as f64;
            let expected = closed_form(&chip, lines, 10.0, n, slow);
            assert!((took - expected).abs() <= 1.5, "{lines} lines: {took}, expected {expected}");
        }
    }
}

/// The first of several misses under way at once takes its latency, and each further one comes later
/// by the time in which the memory moves a line. The cycle-level mode took 244.8, 130.6, 72.6 and
/// 43.4 cycles an access to 32 MB with 1, 2, 4 and 8 under way.
#[test]
fn a_further_miss_costs_the_time_that_the_memory_needs_for_its_line() {
    let chip = barcelona(&["phases.queueing=none"]);
    let (_, memory) = prices(&chip, 0, 1);
    let n = 20_000_000;
    let took = |overlap: u32| {
        let sets = vec![WorkingSet { bytes: 1 << 36, accesses: 10.0 }];
        run(&chip, vec![(0, phase(&Arc::new(Behaviour { cpi: 1.0, sets, overlap, node: None }), n))])[0] as f64
    };
    for overlap in [1, 2, 4, 8] {
        let count = f64::from(overlap);
        let expected = n as f64 + n as f64 / 100.0 * (memory + (count - 1.0) * SERVICE) / count;
        assert!((took(overlap) / expected - 1.0).abs() < 1e-3, "{overlap}: {}, expected {expected}", took(overlap));
    }
}

/// A thread whose phase is cut in two by a preemption fetches its lines from memory once. In the
/// second half it has fetched a part of them, and of the rest no more than what is left comes from
/// memory.
#[test]
fn a_phase_in_two_parts_fetches_its_lines_once() {
    let chip = barcelona(&[]);
    let set = touches(PRIVATE / 2, 10.0);
    let n = 400_000;
    let whole = run(&chip, vec![(0, phase(&set, 2 * n))])[0];
    let parts = run(
        &chip,
        vec![(
            0,
            Box::new(move || {
                assert!(Simulated::phase(&set, n));
                assert!(Simulated::phase(&set, n));
            }),
        )],
    )[0];
    let off = parts as f64 / whole as f64 - 1.0;
    assert!(off.abs() < 0.002, "{parts} in two parts, {whole} in one");
}

#[test]
fn a_second_phase_has_its_lines_still() {
    let chip = barcelona(&[]);
    let set = touches(PRIVATE / 2, 10.0);
    let twice = move || {
        assert!(Simulated::phase(&set, 50_000_000));
        let began = act::time().0;
        assert!(Simulated::phase(&set, 1_000_000));
        // The phase makes 10,000 accesses to the second level, of 12 cycles each.
        assert_eq!(act::time().0 - began, 1_120_000, "everything is in the private caches");
    };
    run(&chip, vec![(0, Box::new(twice))]);
}

#[test]
fn two_that_share_a_cache_have_half_of_it_each() {
    let chip = barcelona(&["phases.queueing=none"]);
    let (n, lines) = (50_000_000, SHARED * 2);
    let took = run(&chip, vec![(0, phase(&touches(lines, 10.0), n)), (1, phase(&touches(lines, 10.0), n))]);
    let (bank, memory) = prices(&chip, 0, 1);
    let (private, shared) = (PRIVATE as f64 / lines as f64, 0.25);
    let misses = n as f64 / 100.0;
    let steady = misses * (1.0 - private) * (shared * bank + (1.0 - shared) * memory);
    // Each thread takes `expected`, as each has half of the shared level, and the time of its first
    // misses. The test only bounds that time, because the first thread begins a moment before the
    // second and has the whole shared level until then.
    let expected = n as f64 + steady;
    for took in took {
        let cold = took as f64 - expected;
        let most = lines as f64 * (private + (1.0 - private) * 0.5) * memory;
        assert!(cold > 0.0 && cold < most, "{took}: {cold} beyond {expected}");
    }
    // In different domains, each thread has a shared level of its own.
    let apart = run(&chip, vec![(0, phase(&touches(lines, 10.0), n)), (4, phase(&touches(lines, 10.0), n))]);
    let alone = run(&chip, vec![(0, phase(&touches(lines, 10.0), n))])[0];
    assert_eq!(apart, [alone, alone]);
}

#[test]
fn bandwidth_is_shared_and_never_exceeded() {
    let chip = barcelona(&[]);
    let far = |node| {
        let sets = vec![WorkingSet { bytes: 1 << 32, accesses: 100.0 }];
        Arc::new(Behaviour { cpi: 0.5, sets, overlap: 8, node: Some(node) })
    };
    let n = 10_000_000;
    let alone = run(&chip, vec![(0, phase(&far(0), n))])[0];
    let together = run(&chip, (0..4).map(|core| (core, phase(&far(0), n))).collect());
    let apart = run(&chip, (0..4).map(|core| (core, phase(&far(core), n))).collect());
    // Nearly all accesses to a set of 4 GiB miss.
    let least = (n as f64 / 10.0 * SERVICE * 4.0 * 0.999) as u64;
    for (core, took) in together.iter().enumerate() {
        assert!(
            *took >= least && *took > alone * 11 / 10,
            "core {core}: {took} together, {alone} alone, at least {least}"
        );
    }
    assert!(apart[0] < together[0] && apart[3] > alone, "{apart:?} {together:?} {alone}");
}

/// A thread fills the caches, moves to core `to`, and goes on. Returns by how much its second part
/// takes longer than on its first core.
fn move_costs(chip: &Chip, lines: u64, to: u32) -> u64 {
    let set = touches(lines, 10.0);
    let n = 100_000_000;
    let time = Rc::new(RefCell::new([0; 2]));
    for (turn, to) in [0, to].into_iter().enumerate() {
        let (set, time) = (set.clone(), time.clone());
        let guest = move || {
            assert!(Simulated::phase(&set, n));
            time.borrow_mut()[turn] = part(&set, n, to);
        };
        run(chip, vec![(0, Box::new(guest))]);
    }
    let [home, moved] = time.take();
    moved - home
}

/// The calling thread moves to a core and runs a phase there. Returns how long the phase takes.
fn part(set: &Arc<Behaviour>, n: u64, to: u32) -> u64 {
    act::set_affinity(act::this().expect("a guest"), &[CoreId(to)], &[]).expect("the core is there");
    Simulated::fence(baton_machine::Ordering::SeqCst);
    let began = act::time().0;
    assert!(Simulated::phase(set, n));
    act::time().0 - began
}

#[test]
fn a_move_costs_what_caches_and_pages_say() {
    let chip = barcelona(&[]);
    let (bank, memory) = prices(&chip, 0, 1);
    let lines = PRIVATE / 2;
    // A phase touches all lines again, so a thread that moves must fetch them all; one that stays
    // fetches nothing.
    assert_eq!(move_costs(&chip, lines, 0), 0);
    assert_eq!(move_costs(&chip, lines, 1), (lines as f64 * (bank - 12.0)) as u64);
    for to in [4, 8, 12] {
        let node = NodePrice::by_cluster(&chip).expect("a network")[to as usize / 4][0];
        let there = (12 + node.memory.0) as f64;
        assert!(there > memory, "a page of another node is further");
        assert_eq!(move_costs(&chip, lines, to), (lines as f64 * (there - opens(lines) - 12.0)) as u64, "to core {to}");
    }
}

#[test]
fn a_change_of_clock_re_rates_a_phase_to_the_cycle() {
    let chip = barcelona(&[]);
    let behaviour = Arc::new(Behaviour { cpi: 1.0, sets: Vec::new(), overlap: 1, node: None });
    let mut simulation = Simulation::new(&chip, &Options::default()).expect("starts");
    let end = Rc::new(RefCell::new((0, 0)));
    let seen = end.clone();
    let body = move || {
        let began = act::time().0;
        assert!(Simulated::phase(&behaviour, 10_000_000));
        *seen.borrow_mut() = (began, act::time().0);
    };
    simulation.spawn(Spawn { affinity: vec![CoreId(0)], ..Spawn::default() }, body).expect("starts");
    simulation.set_clock(Cycles(4_000_000), CoreId(0), Hertz(1_150_000_000)).expect("a clock");
    assert!(simulation.run().expect("ends").finished);
    let (began, ended) = *end.borrow();
    assert_eq!(ended, 4_000_000 + (10_000_000 - (4_000_000 - began)) * 2);
}

#[test]
fn a_phase_that_is_preempted_takes_as_long() {
    let chip = barcelona(&["os.time_slice=1000000", "os.wakeup_granularity=100000"]);
    let behaviour = Arc::new(Behaviour { cpi: 1.0, sets: Vec::new(), overlap: 1, node: None });
    let both = run(&chip, vec![(0, phase(&behaviour, 10_000_000)), (0, phase(&behaviour, 10_000_000))]);
    let longest = both[0].max(both[1]);
    // The second thread begins when the first one's slice is over.
    let most = 20_000_000 + 40 * 3000;
    assert!((18_900_000..most).contains(&longest), "{both:?}: only switches come on top");
    // Each thread fills the private caches with lines of its own, so it must fetch them again after
    // the other one has run.
    let set = touches(PRIVATE, 10.0);
    let shared = run(&chip, vec![(0, phase(&set, 10_000_000)), (0, phase(&set, 10_000_000))]);
    let apart = run(&chip, vec![(0, phase(&set, 10_000_000))])[0];
    assert!(shared[0].max(shared[1]) > 2 * apart, "{shared:?} beside {apart} alone");
}

#[test]
fn the_same_run_is_the_same() {
    let chip = barcelona(&["core.clocks=1-3:1_150_000_000"]);
    let once =
        || run(&chip, (0..8).map(|core| (core, phase(&touches(SHARED + u64::from(core), 20.0), 3_000_000))).collect());
    assert_eq!(once(), once());
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |text: &str, settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|&s| s.to_owned()).collect();
        Chip::from_toml_with(text, "chip.toml", &settings).expect_err("is refused").to_string()
    };
    let phases = "memory.model=phases";
    let unknown = refused(BARCELONA, &[phases, "phases.share=cores"]);
    assert!(unknown.contains("unknown key `phases.share`; did you mean `phases.shared`"), "{unknown}");
    let value = refused(BARCELONA, &[phases, "phases.division=half"]);
    assert!(
        value.contains("key `phases.division` is the text \"half\"; expected") && value.contains("even"),
        "{value}"
    );
    let model = refused(BARCELONA, &["phases.shared=cores", "memory.model=coherent"]);
    assert!(model.contains("key `phases.shared` says nothing"), "{model}");
    let pages = refused(BARCELONA, &[phases, "home.placement=interleaved"]);
    assert!(pages.contains("key `home.placement`") && pages.contains("first-touch"), "{pages}");
    let contexts = refused(BARCELONA, &[phases, "core.contexts=2", "core.result_latency=4.0"]);
    assert!(contexts.contains("`core.contexts` is 2; expected 1 with memory.model"), "{contexts}");
    let fixed = refused(include_str!("../../../../chips/sample-host.toml"), &[phases]);
    assert!(fixed.contains("is missing") || fixed.contains("says nothing"), "{fixed}");
}

#[test]
fn the_chip_reads_back() {
    let chip = barcelona(&["phases.division=even"]);
    assert_eq!(Chip::from_toml(&chip.to_toml(), "again").expect("reads"), chip);
    let coherent = Chip::from_toml(BARCELONA, "barcelona-amp.toml").expect("reads");
    assert!(!coherent.to_toml().contains("[phases]"), "a coherent chip has none");
    let mut simulation = Simulation::new(&coherent, &Options::default()).expect("starts");
    let set = touches(16, 1.0);
    let played = Rc::new(RefCell::new(true));
    let seen = played.clone();
    simulation.spawn(Spawn::default(), move || *seen.borrow_mut() = Simulated::phase(&set, 1000)).expect("starts");
    assert!(simulation.run().expect("ends").finished && !*played.borrow(), "its guests access memory themselves");
}
