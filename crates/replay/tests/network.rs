//! Tests replays of a recording on other networks: OCOR's marks must change the times of a lock
//! that gives hints, and of no other lock.

mod common;

use baton_chip::Chip;
use baton_chip::config::mechanism::ocor::{Place, Rule};
use baton_machine::Wait;
use baton_replay::network::{Network, NoNetwork, all};
use baton_replay::predict::{PredictError, Predicted};
use baton_replay::run::Choice;
use baton_replay::variant::Variants;
use baton_replay::{Ask, predict};
use baton_trace::Trace;
use common::{Work, record};

const THREADS: u32 = 16;
/// The networks with OCOR, one for each of its rules.
const RULES: [&str; 4] = ["ocor", "holder-first", "release-first", "oldest-first"];

/// Returns the OCOR paper's chip with sixteen cores.
fn ocor16(settings: &[&str]) -> Chip {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let text = include_str!("../../../chips/ocor64.toml");
    Chip::from_toml_at(text, "ocor64.toml", Some(THREADS), &settings).expect("the chip and the settings are right")
}

/// Records threads that take one lock `rounds` times and compute for `think` cycles in between, on
/// the sample host.
fn contended(rounds: u32, think: u64) -> Trace {
    let chip = common::chip(&["core.count=16", "core.per_cluster=16"]);
    let work = Work { threads: THREADS, rounds, think, critical: 100, lines: 2, sleep: None };
    record(&chip, work, 1).0
}

fn rows(chip: &Chip, trace: &Trace, locks: &[(&str, Wait)], networks: &[&str], seeds: u32) -> Vec<Predicted> {
    let choices = locks.iter().map(|&(lock, wait)| Choice { lock: lock.into(), wait }).collect();
    let networks = networks.iter().map(|name| Network::named(name).expect("a name of the list")).collect();
    // The recorded run used as many CPUs as this chip has, but its trace does not say so.
    let ask = Ask { choices, variants: Variants::Networks(networks), seeds, cpus: Some(THREADS), ..Ask::default() };
    predict(trace, chip, &ask, &|| {}).unwrap().results
}

/// Returns a row without its network and the network's effect.
fn figures(row: &Predicted) -> Predicted {
    Predicted { variant: None, ..row.clone() }
}

#[test]
fn marks_serve_the_lock_that_gives_hints_and_no_other() {
    let chip = ocor16(&[]);
    let locks = [("spin-park", Wait::SpinPark(128)), ("mcs", Wait::SpinPark(128)), ("futex", Wait::Futex)];
    let trace = contended(12, 1500);
    let asked = rows(&chip, &trace, &locks, &["round-robin", "ocor"], 2);
    let plain = rows(&chip, &trace, &locks, &[], 2);
    assert_eq!((asked.len(), plain.len()), (7, 4));
    assert_eq!(figures(&asked[0]), plain[0], "the recorded lock");
    for (of, plain) in asked[1..].chunks(2).zip(&plain[1..]) {
        let [off, on] = [&of[0], &of[1]].map(|row| row.network().expect("networks were asked for"));
        assert_eq!((off.name.as_str(), on.name.as_str(), off.marked_packets), ("round-robin", "ocor", 0));
        assert_eq!(figures(&of[0]), *plain, "{}: the chip's own network is round robin", plain.lock);
        assert!(off.less_time.is_none() && off.less_overhead.is_none());
        let (time, overhead) = (on.less_time.unwrap(), on.less_overhead);
        if plain.lock == "spin-park" {
            assert!(on.marked_packets > 0, "a try that misses in its cache is a marked packet");
            assert_ne!(of[1].by_seed_ns, of[0].by_seed_ns, "marks change who goes first");
            assert!(time.low <= time.median && time.median <= time.high);
            assert_eq!(of[0].overhead_ns.high, 0, "no thread waits for a free lock");
            assert_eq!(overhead, None, "of nothing no share is saved");
            let [before, after] = [0, 1].map(|i| of[i].by_seed_ns[0] as f64);
            let first = 100.0 * (before - after) / before;
            assert!(time.low - 1e-2 <= first && first <= time.high + 1e-2, "{first} of {time:?}");
        } else {
            assert_eq!(on.marked_packets, 0, "{} gives no hints", plain.lock);
            assert_eq!(figures(&of[1]), figures(&of[0]));
            assert_eq!((time.low, time.high), (0.0, 0.0));
            assert!(overhead.is_none_or(|overhead| (overhead.low, overhead.high) == (0.0, 0.0)));
        }
    }
}

#[test]
fn rules_serve_others_first_and_tell_a_lock_without_hints_nothing() {
    // All threads begin at the same time.
    let chip = ocor16(&["os.thread_create=0"]);
    // There is hardly any time between two acquisitions, so that tries are on their way while other
    // threads hold the lock.
    let trace = contended(5, 100);
    let all = rows(&chip, &trace, &[("spin-park", Wait::SpinPark(128))], &RULES, 1);
    for other in &all[2..] {
        let network = other.network().unwrap();
        assert!(network.marks && network.marked_packets > 0, "{}", network.name);
        assert_ne!(other.by_seed_ns, all[1].by_seed_ns, "{}: others go first than under ocor", network.name);
    }
    let mcs = rows(&chip, &trace, &[("mcs", Wait::SpinPark(128))], &RULES[..2], 1);
    assert!(mcs[1..].iter().all(|row| row.network().is_some_and(|network| network.marked_packets == 0)));
    assert_eq!(figures(&mcs[1]), figures(&mcs[2]));
}

#[test]
fn every_network_goes_on_a_chip_with_routers_and_none_on_others() {
    let own = ocor16(&[]);
    for network in all() {
        let chip = network.on(&own).unwrap();
        let there = chip.coherent.as_ref().unwrap();
        assert_eq!(there.mechanisms.ocor.enabled, network.marks());
        let differs = chip != own;
        assert_eq!(differs, network.name != "round-robin", "{}", network.name);
    }
    // A network sets its own rule and place, whatever the chip's file says.
    let other = ocor16(&["ocor.enabled=true", "ocor.rule=holder-first", "ocor.where=home"]);
    for (name, rule, place) in [
        ("ocor", Rule::Paper, Place::Network),
        ("ocor-home", Rule::Paper, Place::Home),
        ("ocor-both", Rule::Paper, Place::Both),
        ("ocor-oracle", Rule::Paper, Place::Oracle),
        ("release-first", Rule::ReleaseFirst, Place::Network),
        ("holder-first", Rule::HolderFirst, Place::Network),
        ("oldest-first", Rule::OldestFirst, Place::Network),
    ] {
        let chip = Network::named(name).unwrap().on(&other).unwrap();
        let ocor = chip.coherent.unwrap().mechanisms.ocor;
        assert_eq!((ocor.rule, ocor.place), (rule, place), "{name}");
    }
    let ocor = Network::named("ocor").unwrap();
    assert!(matches!(ocor.on(&common::chip(&[])), Err(NoNetwork::Fixed(_))));
    let free = ocor16(&["network.contention=none"]);
    assert!(matches!(ocor.on(&free), Err(NoNetwork::Free(_))));
    let ask = Ask { variants: Variants::Networks(vec![ocor]), ..Ask::default() };
    let refused = predict(&contended(12, 1500), &common::chip(&[]), &ask, &|| {});
    assert!(matches!(refused, Err(PredictError::Network(NoNetwork::Fixed(_)))));
}
