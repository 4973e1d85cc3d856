//! `baton list`: lists what a user can choose, from the registries themselves.

use crate::ui;
use baton_machine::Native;
use baton_machine::wait;
use baton_noc::arbiter::{self, ArbiterInfo};
use baton_studies::STUDIES;
use baton_sync::barrier::BARRIERS;
use baton_sync::event::EVENTS;
use baton_sync::lock::{self, Posix, Waits};
use baton_sync::queue::{self, QUEUES, QueueVisitor, RawQueue, Side};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `baton list`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  baton list locks
  baton list chips
  baton list waits --json | jq -r '.[] | select(.here) | .name'")]
pub(crate) struct Args {
    /// The registry.
    #[arg(value_enum)]
    what: What,
    /// Where to look for chip files. Left out: chips/ here, this machine's calibration, and what is shipped.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
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
    /// Barriers for `run` and the simulator.
    Barriers,
    /// Events, which condition variables are built on.
    Events,
    /// Bounded queues for C, Rust and the simulator.
    Queues,
    /// Arbiters for `noc` and chip files (`network.arbiter`).
    Arbiters,
    /// Chip files for `whatif` and the simulator.
    Chips,
    /// Papers whose claims `study` judges.
    Studies,
    /// Figures of `sim`, with their units: what --figure may name. As JSON: the schema of its results.
    Figures,
}

/// One line of a list.
#[derive(Serialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) what: String,
    /// Limitations and requirements of the entry; empty if there are none.
    pub(super) limits: String,
    /// Source of the entry: a paper, or another project.
    pub(super) source: String,
    /// Abilities of the entry, one word each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) can: Vec<String>,
    /// Whether this machine can carry out the entry, such as a wait policy; `None` for kinds of
    /// entries of which this is not asked, such as barriers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) here: Option<bool>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let entries = match args.what {
        What::Locks => locks(),
        What::Waits => waits(),
        What::Barriers => barriers(),
        What::Events => events(),
        What::Queues => queues(),
        What::Arbiters => arbiters(),
        What::Chips => super::chips::files(args.dir.as_deref())?,
        What::Studies => studies(),
        What::Figures => return super::sim::list_figures(args.json),
    };
    print(&entries, args.json)
}

/// Prints entries as a table or as JSON.
pub(super) fn print(entries: &[Entry], json: bool) -> anyhow::Result<ExitCode> {
    if json {
        println!("{}", serde_json::to_string_pretty(entries)?);
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
        let posix = lock.posix == Posix::Yes;
        let general = ("general", lock.general);
        let mut can =
            words(&[general, ("fifo", lock.fifo), ("try", lock.try_lock), ("timed", lock.timed), ("posix", posix)]);
        can.push(match lock.waits {
            Waits::Any => "any-wait".to_owned(),
            Waits::Spinning => "spinning-waits".to_owned(),
            Waits::Fixed(own) => own.to_string(),
        });
        Entry {
            name: lock.name.into(),
            what: lock.what.into(),
            limits: match lock.posix {
                Posix::No(why) => {
                    [lock.limits, why].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("; ")
                }
                Posix::Yes => lock.limits.into(),
            },
            source: lock.source.into(),
            can,
            here: None,
        }
    };
    lock::locks().iter().map(entry).collect()
}

fn studies() -> Vec<Entry> {
    let entry = |study: &baton_studies::Entry| Entry {
        name: study.name.into(),
        what: study.paper.into(),
        limits: String::new(),
        source: study.page.into(),
        can: Vec::new(),
        here: None,
    };
    STUDIES.0.iter().map(entry).collect()
}

/// The words whose condition holds.
fn words(all: &[(&str, bool)]) -> Vec<String> {
    all.iter().filter(|(_, holds)| *holds).map(|(word, _)| (*word).to_owned()).collect()
}

fn barriers() -> Vec<Entry> {
    let entry = |barrier: &baton_sync::barrier::BarrierInfo| Entry {
        name: barrier.name.into(),
        what: barrier.what.into(),
        limits: barrier.limits.into(),
        source: barrier.source.into(),
        // `run` numbers the arrivals at a pthread barrier, so every barrier can stand in for one.
        can: words(&[("posix", true), ("indexed", barrier.indexed), ("drops", barrier.drops)]),
        here: None,
    };
    BARRIERS.iter().map(entry).collect()
}

fn events() -> Vec<Entry> {
    let entry = |event: &baton_sync::event::EventInfo| Entry {
        name: event.name.into(),
        what: event.what.into(),
        limits: event.limits.into(),
        source: event.source.into(),
        can: words(&[("fifo", event.fifo)]),
        here: None,
    };
    EVENTS.iter().map(entry).collect()
}

/// Names the queue that a queue of the registry is on this machine: `auto` chooses one.
struct Took;

impl QueueVisitor<Native> for Took {
    type Out = Option<&'static str>;
    fn visit<Q: RawQueue<Native, Item = u64>>(self) -> Self::Out {
        Q::with_capacity(2).ok().map(|queue| queue.took())
    }
}

fn queues() -> Vec<Entry> {
    let side = |side, one: &str, many: &str| match side {
        Side::Single => one.to_owned(),
        Side::Multi => many.to_owned(),
    };
    let entry = |queue: &queue::QueueInfo| {
        let mut can = vec![
            side(queue.producers, "one-producer", "many-producers"),
            side(queue.consumers, "one-consumer", "many-consumers"),
        ];
        can.extend(words(&[("bulk", queue.bulk), ("in-a-device", queue.device)]));
        let took = queue::visit::<Native, _>(queue.name, Took).ok().flatten();
        can.extend(took.filter(|took| *took != queue.name).map(|took| format!("{took}-here")));
        Entry {
            name: queue.name.into(),
            what: queue.what.into(),
            limits: queue.limits.into(),
            source: queue.source.into(),
            can,
            here: None,
        }
    };
    QUEUES.iter().map(entry).collect()
}

fn arbiters() -> Vec<Entry> {
    let entry = |arbiter: ArbiterInfo| Entry {
        name: arbiter.name.into(),
        what: arbiter.what.into(),
        limits: if arbiter.starves { "packets can starve".into() } else { String::new() },
        source: String::new(),
        can: Vec::new(),
        here: None,
    };
    arbiter::arbiters().iter().map(|(_, arbiter)| entry(arbiter.info())).collect()
}

fn waits() -> Vec<Entry> {
    wait::policies()
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
