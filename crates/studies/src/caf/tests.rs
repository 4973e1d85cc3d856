//! Tests the way from runs to findings, that a run gives the same figures each time, and that the
//! rules are those that were frozen.

use super::*;
use crate::{Extent, hash};
use std::path::Path;

fn study() -> Caf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chips");
    let chips = ["caf16.toml", "caf64.toml"].map(|name| root.join(name));
    Caf::open(&Inputs::open(&chips, Vec::new()).unwrap()).unwrap()
}

/// Figures that depend on a run's inputs.
fn made_up(run: &Result<Run, String>) -> Figures {
    let text = serde_json::to_string(run).unwrap();
    assert!(run.is_ok(), "{text}");
    let chance = u64::from_str_radix(&hash::of(&text).short()[..4], 16).unwrap();
    let requests = super::mesh::Requests {
        count: 100,
        cycles: 20_000 + chance,
        dequeues: 50,
        dequeue_cycles: 10_000 + chance,
        most: 9,
        span: 1000,
        rate: 1.0,
    };
    let shares = [100, 100 + chance];
    Figures {
        cycles: 1000 + chance,
        items: 100,
        waited: [1, 2, 3],
        shares,
        requests,
        traffic: [9, 9, 9],
        instructions: 9,
        retries: 0,
        locked: None,
    }
}

fn findings(extent: Extent) -> Findings {
    let study = study();
    let done: Vec<_> = study.runs(extent).into_iter().map(|(_, run)| (run.clone(), made_up(&run))).collect();
    study.judge(extent, &done)
}

#[test]
fn every_claim_has_a_verdict_and_every_miss_its_reason() {
    for extent in [Extent::Quick, Extent::Full] {
        let findings = findings(extent);
        findings.check().unwrap();
        for number in 1..=21 {
            let id = format!("C{number}");
            assert!(findings.claims.iter().any(|claim| claim.id == id), "{id}");
        }
        for claim in &findings.claims {
            let seen = claim.holds == Some(true) || !claim.why.is_empty() && !claim.why.contains("NaN");
            assert!(seen, "{} {}: {}", claim.id, claim.part, claim.why);
            // The reason of a claim that does not hold names an experiment in backquotes.
            assert!(
                claim.holds != Some(false) || claim.why.contains('`'),
                "{} {}: {}",
                claim.id,
                claim.part,
                claim.why
            );
            assert!(extent == Extent::Full || claim.holds.is_none(), "{} {}", claim.id, claim.part);
        }
        let page = crate::page::markdown(&findings, "pictures");
        for (name, text) in &page.pictures {
            assert!(!text.contains("NaN") && page.page.contains(name.as_str()), "{name}");
        }
    }
}

/// Does four runs of the quick study twice, in full length: the figures are the same byte for byte.
#[test]
fn the_same_runs_give_the_same_bytes() {
    let study = study();
    let wanted = |(name, _): &&(String, Result<Run, String>)| {
        [
            "dequeue 2, seed 1, main , ring",
            "dequeue 2, seed 1, main , qmd",
            "1-1 bulk 8, seed 1, main , caf",
            "weights [1, 3], credits true",
        ]
        .iter()
        .any(|start| name.starts_with(start))
    };
    let runs = study.runs(Extent::Quick);
    let some: Vec<_> = runs.iter().filter(wanted).collect();
    assert_eq!(some.len(), 4);
    for (name, run) in some {
        let of = || serde_json::to_string(&study.run(run).unwrap_or_else(|error| panic!("{name}: {error}"))).unwrap();
        assert_eq!(of(), of(), "{name}");
    }
}

/// Every setting makes a chip, so that every run of a full study is possible.
#[test]
fn every_setting_is_a_chip() {
    for (name, run) in study().runs(Extent::Full) {
        assert!(run.is_ok(), "{name}: {run:?}");
    }
}

/// This test fails when a file that states rules changes; the changed rules then need a name of
/// their own.
#[test]
fn rules_are_those_that_were_frozen() {
    assert_eq!(study().frozen.rules, "6836a50d05e02708");
}

#[test]
fn a_chip_that_does_not_fit_is_refused_with_its_key() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chips");
    let open = |names: [&str; 2]| {
        let inputs = Inputs::open(&names.map(|name| root.join(name)), Vec::new()).unwrap();
        Caf::open(&inputs).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(open(["mesh256.toml", "caf64.toml"]).contains("mesh256.toml: key `device.kind`"));
    assert!(open(["caf16.toml", "caf16.toml"]).contains("caf16.toml: key `core.count` is 16; this study needs 64"));
}
