//! The reasons to doubt the verdict: a recording that was cut off, or that slowed the program down.

use crate::format::duration;
use crate::model::{Report, ratio};
use baton_trace::Trace;
use baton_units::Nanos;

/// If a recording misses less than this share of the run, that is not worth a doubt.
const WORTH_A_DOUBT: f64 = 0.02;

/// If recording makes a program take more than this many times as long, the program may wait
/// elsewhere without it.
const DILATED: f64 = 1.25;

/// Adds the doubts of the recording to those of the verdict; a recording that was cut off comes
/// first.
pub(super) fn add(trace: &Trace, report: &mut Report) {
    let (first, last) = (cut_off(trace, report), dilated(report));
    report.verdict.doubts.splice(0..0, first);
    report.verdict.doubts.extend(last);
}

/// Says that recording slowed the program down, and by how much.
fn dilated(report: &Report) -> Option<String> {
    let dilation = report.run.dilation.as_ref().filter(|dilation| dilation.times > DILATED)?;
    let how = match dilation.alone_ns {
        Some(alone) => format!("alone it took {}", duration(alone)),
        None => "at least; `baton profile --check 1` measures it".to_owned(),
    };
    let mostly = "threads that lock or wait often are slowed down most";
    Some(format!("recorded, the program took {:.2} times as long ({how}): {mostly}", dilation.times))
}

/// Says that recording stopped before the program ended, and why.
fn cut_off(trace: &Trace, report: &Report) -> Option<String> {
    let until = report.limits.complete_until_ns?;
    let all = report.run.elapsed_ns.unwrap_or(Nanos(0)).max(until);
    let missing = ratio(all.0 - until.0, all.0);
    if report.run.elapsed_ns.is_some() && missing < WORTH_A_DOUBT {
        return None;
    }
    let stops = trace.processes.iter().filter_map(|process| process.stopped).min_by_key(|(_, at)| *at);
    let why = stops.map_or("it was cut off", |(reason, _)| reason.text());
    let of = report.run.elapsed_ns.map_or_else(String::new, |all| format!(" of {}", duration(all)));
    Some(format!(
        "recording stopped after {}{of}, as {why}: all that follows is of that part of the run alone",
        duration(until)
    ))
}
