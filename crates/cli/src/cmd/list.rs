//! `baton list`: what can be chosen, from the registries themselves.

use crate::ui;
use baton_machine::Native;
use baton_machine::wait::POLICIES;
use baton_sync::lock::{LOCKS, Waits};
use serde::Serialize;
use std::process::ExitCode;

/// What to list, and how.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  baton list locks
  baton list waits --json | jq -r '.[] | select(.here) | .name'")]
pub(crate) struct Args {
    /// The registry.
    #[arg(value_enum)]
    what: What,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    /// Locks for `run`, `whatif` and the simulator.
    Locks,
    /// Ways to wait.
    Waits,
}

/// One line of a list.
#[derive(Serialize)]
struct Entry {
    name: String,
    what: String,
    /// What it cannot do or needs; empty if nothing.
    limits: String,
    /// Where it comes from.
    source: String,
    /// Abilities, each a word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    can: Vec<String>,
    /// Whether this machine can carry it out, where that is a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    here: Option<bool>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let entries = match args.what {
        What::Locks => locks(),
        What::Waits => waits(),
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&entries)?);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|e| {
            let here = match e.here {
                None => None,
                Some(true) => Some("here"),
                Some(false) => Some("not here"),
            };
            let can = here.map_or_else(|| e.can.join(" "), ToOwned::to_owned);
            vec![e.name.clone(), can, e.what.clone(), dash(&e.limits), dash(&e.source)]
        })
        .collect();
    print!("{}", ui::table(&["name", "can", "how", "cannot", "source"], &rows));
    Ok(ExitCode::SUCCESS)
}

fn dash(text: &str) -> String {
    if text.is_empty() { "-".into() } else { text.into() }
}

fn locks() -> Vec<Entry> {
    let entry = |lock: &baton_sync::lock::LockInfo| {
        let mut can: Vec<String> = [("fifo", lock.fifo), ("try", lock.try_lock), ("timed", lock.timed)]
            .into_iter()
            .filter(|(_, has)| *has)
            .map(|(word, _)| word.to_owned())
            .collect();
        can.push(match lock.waits {
            Waits::Any => "any-wait".to_owned(),
            Waits::Spinning => "spinning-waits".to_owned(),
            Waits::Fixed(own) => own.to_string(),
        });
        Entry {
            name: lock.name.into(),
            what: lock.what.into(),
            limits: lock.limits.into(),
            source: lock.source.into(),
            can,
            here: None,
        }
    };
    LOCKS.iter().map(entry).collect()
}

fn waits() -> Vec<Entry> {
    POLICIES
        .iter()
        .map(|(wait, info)| Entry {
            name: info.name.into(),
            what: info.what.into(),
            limits: info.limits.into(),
            source: info.source.into(),
            can: Vec::new(),
            here: Some(Native::check(*wait).is_ok()),
        })
        .collect()
}
