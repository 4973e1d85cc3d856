//! Every key of a chip file whose values are numbers, at the ends of its documented range: the
//! greatest value of each can be run, on some chip; a value that cannot be run is refused with a
//! sentence. Nothing panics.

use baton_chip::config::keys::{KEYS, Key, ValueKind, find};
use baton_chip::config::limits::MOST_CYCLES;
use baton_chip::config::read::{ChipError, Problem};
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::{Atomic, Machine, Ordering, Owned, Wait};
use baton_units::Cycles;
use std::rc::Rc;

/// The chips on which keys are set: one with a crossbar, one of fixed latencies, one with a mesh.
const CHIPS: [&str; 3] = [
    include_str!("../../../../chips/sample-host-coherent.toml"),
    include_str!("../../../../chips/sample-host.toml"),
    include_str!("../../../../chips/ocor64.toml"),
];

/// A mesh of as many cores as a chip can have.
const LARGEST: [&str; 4] = ["core.count=1024", "network.width=32", "network.height=32", "core.per_cluster=1024"];

/// The settings that the greatest value of a key needs besides.
fn beside(path: &str) -> Vec<&str> {
    let row = ["core.count=1023", "core.per_cluster=1023", "home.banks=1", "dram.controllers=1"];
    match path {
        "core.per_cluster" => vec!["core.count=1024"],
        "core.clusters_per_socket" => vec!["core.count=1024", "core.per_cluster=1"],
        "os.futex_wake_none" => vec!["os.futex_wake=1000000000000"],
        "wait.mwmon.call" | "wait.mwmon.return" => vec!["wait.mwait.c1.enter=8"],
        "home.banks" => LARGEST.to_vec(),
        "dram.controllers" => [&LARGEST[..], &["dram.placement=all"]].concat(),
        "dram.row_hit" => vec!["dram.row_miss=1000000000000"],
        "network.width" => [&row[..], &["network.height=1"]].concat(),
        "network.height" => [&row[..], &["network.width=1"]].concat(),
        "network.clock_hz" => vec!["core.clock_hz=100000000000"],
        "network.latency.vc_alloc" => vec!["network.pipeline=nonspeculative"],
        "device.qimu" => vec![
            "device.qtlb=8",
            "device.kind=qmd",
            "device.qmd.buffers=context",
            "device.link=dedicated",
            "device.way=8",
        ],
        "device.qtlb" => vec![
            "device.qimu=8",
            "device.kind=qmd",
            "device.qmd.buffers=context",
            "device.link=dedicated",
            "device.way=8",
        ],
        _ if path.starts_with("device.") => {
            let kind = match path {
                _ if path.starts_with("device.alarm.") => "device.kind=alarm",
                _ if path.starts_with("device.qmd.") => "device.kind=qmd",
                _ => "device.kind=mailbox",
            };
            let link = match path.ends_with(".flits") {
                true => ["device.link=network", "device.flits=8"],
                false => ["device.link=dedicated", "device.way=8"],
            };
            [&[kind, "core.clock_hz=100000000000"], &link[..]].concat()
        }
        _ => Vec::new(),
    }
}

/// The ends of a key's range, the greatest value last.
fn ends(kind: ValueKind) -> Option<[String; 2]> {
    Some(match kind {
        ValueKind::Count(least, most) | ValueKind::Power(least, most) => [least.to_string(), most.to_string()],
        ValueKind::Cycles => ["0".to_owned(), MOST_CYCLES.to_string()],
        ValueKind::Share(least, most) => [format!("{least:?}"), format!("{most:?}")],
        ValueKind::Text
        | ValueKind::Parsed(..)
        | ValueKind::Choice(_)
        | ValueKind::OneOf(_)
        | ValueKind::Words(..)
        | ValueKind::Switch => return None,
    })
}

/// A value for a key that another key of its table makes necessary.
fn modest(key: &Key) -> Option<String> {
    Some(match key.kind {
        ValueKind::Count(least, most) | ValueKind::Power(least, most) => {
            (least.next_power_of_two().max(8)).clamp(least, most).to_string()
        }
        ValueKind::Cycles => "8".to_owned(),
        ValueKind::Share(least, most) => format!("{:?}", 1f64.clamp(least, most)),
        ValueKind::Choice(words) => words.first()?.to_string(),
        ValueKind::OneOf(words) | ValueKind::Words(words, _) => words().first()?.to_string(),
        ValueKind::Text | ValueKind::Parsed(..) if key.path == "device.kind" => "mailbox".to_owned(),
        ValueKind::Text | ValueKind::Parsed(..) => return None,
        ValueKind::Switch => "false".to_owned(),
    })
}

/// The chip with settings, and with the keys that their tables need besides.
fn chip(text: &str, mut settings: Vec<String>) -> Result<Chip, ChipError> {
    loop {
        match Chip::from_toml_with(text, "chip.toml", &settings) {
            Err(ChipError { problem: Problem::Missing { key, .. }, .. }) if settings.len() < 40 => {
                let value = find(&key).and_then(modest).unwrap_or_else(|| panic!("no value for `{key}`"));
                settings.insert(0, format!("{key}={value}"));
            }
            read => return read,
        }
    }
}

/// Runs two threads that take turns at one word and sleep meanwhile: they need accesses, atomics
/// and system calls.
fn program(chip: &Chip) -> Result<(), String> {
    let options = Options { heap_bytes: 1 << 16, threads: 2, limit: Some(Cycles(1 << 41)), ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).map_err(|error| error.to_string())?;
    type Word = <Simulated as Machine>::Atomic<u32>;
    let word = simulation.outside(|| Rc::new(Owned::<Simulated, Word>::new(Atomic::new(0))));
    for mine in 0..2u32 {
        let word = word.clone();
        let body = move || {
            loop {
                let turn = word.load(Ordering::Acquire);
                if turn % 2 == mine {
                    break;
                }
                let _ = Simulated::wait_while(&word, turn, Wait::Futex, None);
            }
            word.fetch_add(1, Ordering::AcqRel);
            Simulated::wake::<u32>(&**word, 1, Wait::Futex);
        };
        simulation.spawn(Spawn::default(), body).map_err(|error| error.to_string())?;
    }
    let ended = simulation.run().map(drop).map_err(|error| error.to_string());
    simulation.outside(|| drop(word));
    ended
}

/// Sets the key to the value on the first chip that takes it, and runs the program there. An error
/// says that the run failed, or gives each chip's refusal.
fn tried(key: &Key, value: &str, beside: &[&str]) -> Result<(), String> {
    let mut refusals = Vec::new();
    for text in CHIPS {
        let settings = beside.iter().map(|setting| (*setting).to_owned()).chain([format!("{}={value}", key.path)]);
        match chip(text, settings.collect()) {
            Ok(chip) => return program(&chip),
            Err(refused) => refusals.push(refused.to_string()),
        }
    }
    Err(format!("no chip takes it: {refusals:?}"))
}

fn check(tries: impl Iterator<Item = (&'static str, String, Result<(), String>)>) {
    let failed = tries.filter_map(|(path, value, tried)| Some(format!("{path} = {value}: {}", tried.err()?)));
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn the_greatest_value_of_every_key_can_be_run() {
    check(KEYS.iter().filter_map(|key| {
        let [_, most] = ends(key.kind)?;
        let tried = tried(key, &most, &beside(key.path));
        Some((key.path, most, tried))
    }));
}

#[test]
fn the_least_value_of_every_key_is_run_or_refused() {
    check(KEYS.iter().filter_map(|key| {
        let [least, _] = ends(key.kind)?;
        let tried = tried(key, &least, &[]).or_else(|why| if why.starts_with("no chip") { Ok(()) } else { Err(why) });
        Some((key.path, least, tried))
    }));
}
