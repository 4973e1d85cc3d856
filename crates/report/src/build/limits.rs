//! What the trace lacks, or leaves uncertain, as sentences.

use super::figures::nanos;
use crate::format::duration;
use crate::model::{Limits, Note, ProgramRun, Thread};
use baton_trace::analysis::Analysis;
use baton_trace::{Source, Trace, notes};
use std::collections::BTreeMap;

/// Facts that other parts of the report have found.
pub(super) struct Seen<'a> {
    /// Names the object at an address of a process.
    pub(super) name_of: &'a dyn Fn(baton_trace::ProcessIndex, u64) -> String,
    /// Sentences about object files that gave no names, or no lines.
    pub(super) symbols: Vec<String>,
    pub(super) threads: &'a [Thread],
    /// Time off the CPU that nothing explains, added over threads.
    pub(super) unexplained: baton_units::Nanos,
}

pub(super) fn limits(trace: &Trace, analysis: &Analysis, run: &ProgramRun, seen: Seen<'_>) -> Limits {
    let mut lost: Vec<String> = trace.losses.iter().map(ToString::to_string).collect();
    if let Some(from) = trace.complete_until() {
        lost.push(format!("after {} events are missing; figures end there", duration(nanos(&trace.clock, from))));
    }
    let mut unseen = trace.meta.as_ref().map_or(Vec::new(), |m| m.unseen.clone());
    let unseen_runtimes = super::unseen::runtimes(trace);
    unseen.extend(unseen_runtimes.iter().cloned());
    let lost_switches = analysis.notes.iter().any(|(.., code)| *code == notes::RING_FULL);
    unseen.extend(super::unseen::off_cpu(trace, seen.threads, seen.unexplained, lost_switches));
    for process in trace.processes.iter().filter(|p| !p.finished) {
        unseen.push(format!(
            "process {} did not end in order (killed, or replaced itself): its last acts may be missing",
            process.pid
        ));
    }
    let mut found: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for (process, address, code) in &analysis.notes {
        *found.entry(((seen.name_of)(*process, *address), notes::text(*code))).or_default() += 1;
    }
    Limits {
        lost,
        complete_until_ns: trace.complete_until().map(|t| nanos(&trace.clock, t)),
        unseen,
        unseen_runtimes,
        notes: found.into_iter().map(|((object, text), times)| Note { object, text: text.to_owned(), times }).collect(),
        symbols: seen.symbols,
        disturbed: trace.meta.as_ref().and_then(baton_trace::disturbance::disturbed),
        cpu_limit: super::cpu_limit::of(trace),
        bias: bias(trace, analysis, run),
    }
}

fn bias(trace: &Trace, analysis: &Analysis, run: &ProgramRun) -> Vec<String> {
    if trace.clock.source == Source::Simulated {
        return vec!["Simulated time: recording costs nothing, and no figure is biased by it.".to_owned()];
    }
    let handoffs: u64 = analysis.locks.iter().map(|l| l.stats.handoff.count).sum();
    let mut out = vec![
        "A release is stamped before its store, an acquisition after it succeeded. So a hand-off contains the rest of the \
         releaser's probe and the first part of the acquirer's: competition overhead comes out too long, critical sections \
         too short, by about one event's cost a hand-off; no hand-off is ever negative."
            .to_owned(),
    ];
    match run.probe_event_ns {
        Some(cost) => {
            let total = baton_units::Nanos((cost * handoffs as f64).round() as u64);
            let overhead: u64 = analysis.locks.iter().map(|l| nanos(&trace.clock, l.stats.overhead).0).sum();
            let share = if overhead > 0 { 100.0 * total.0 as f64 / overhead as f64 } else { 0.0 };
            out.push(format!(
                "Measured on this machine: {cost:.1} ns an event, over {handoffs} hand-offs some {} of the competition \
                 overhead reported ({share:.1}%).",
                duration(total)
            ));
        }
        None => out.push("The cost of an event was not measured in this run.".to_owned()),
    }
    if analysis.pauses.0 > 0 {
        out.push(format!(
            "The recorder itself took {} (new segments), added over threads; it lies in the figures.",
            duration(nanos(&trace.clock, analysis.pauses))
        ));
    }
    out
}
