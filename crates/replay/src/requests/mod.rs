//! Throughput and latency of a server after a change: the recorded requests are served again, those
//! of a connection by the thread that served its first one. Each client sends its next request a
//! think time after its last answer, or requests come at a rate that was asked for.
//!
//! | file | holds |
//! | --- | --- |
//! | [`script`] | what each request did, from the trace |
//! | [`serve`] | serves the requests on simulated CPUs and locks |

mod script;
mod serve;

use crate::change::{Change, Treatment};
use crate::compile::recorded_cpus;
use baton_trace::Trace;
use baton_trace::analysis::requests::{Asked, Requests};
use script::Script;
use serde::Serialize;
use serve::{Arrivals, Effect, Served};

/// The throughput and latency of a server, as recorded and as predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Foretold {
    /// Number of requests in the recording.
    pub count: u64,
    /// Requests a second in the recording.
    pub recorded_per_second: f64,
    /// The rate that was asked for: requests a second that come whatever is answered (an open
    /// loop); `None` for the recorded clients.
    pub rate: Option<f64>,
    /// One row without a change, then one row for each change; empty if nothing can be predicted.
    pub rows: Vec<Row>,
    /// Why rows are missing, or not to be trusted, as sentences.
    pub reasons: Vec<String>,
}

impl Foretold {
    /// Returns the most requests a second that any row answers, if no row can answer the rate that
    /// was asked for.
    pub fn too_slow_by_all(&self) -> Option<f64> {
        let told = || self.rows.iter().filter(|row| row.cannot_tell.is_none());
        let all = told().next().is_some() && told().all(|row| row.overloaded);
        all.then(|| told().map(|row| row.per_second).fold(0.0, f64::max))
    }
}

/// The predicted figures of one change, or of the unchanged server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The change as the user wrote it; `as it is` for the row without a change.
    pub name: String,
    /// Requests answered a second; and, as `times`, that number divided by the first row's.
    pub per_second: f64,
    pub times: f64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    /// Whether a rate was asked for that is more than the server can answer.
    pub overloaded: bool,
    /// Why this change cannot be predicted; its figures are 0 then.
    pub cannot_tell: Option<String>,
}

/// With fewer requests than this, nothing is predicted.
const LEAST: usize = 100;
/// The replay without a change may be wrong by at most this much; else a reason says not to trust
/// the rows.
const MOST_ERROR: f64 = 0.2;
/// If more than this share of the requests is passed from thread to thread, or of their time is
/// waiting for other threads, nothing is predicted.
const MOST_LEFT_OUT: f64 = 0.1;

/// Predicts throughput and latency. With `rate`, that many requests come a second, whatever is
/// answered (an open loop); without, the recorded clients send them. `None` if the recording has
/// fewer than [`LEAST`] requests or they take no time, or, where they can be replayed, if it has no
/// `meta.json`.
pub fn foretell(trace: &Trace, changes: &[Change], rate: Option<f64>) -> Option<Foretold> {
    let requests = Requests::of(trace, &Asked::Find);
    if requests.all.len() < LEAST {
        return None;
    }
    let (begin, end) = requests.span();
    let span = trace.clock.nanos(end.since(begin).0).0;
    if span == 0 {
        return None;
    }
    let count = requests.all.len() as u64;
    let recorded_per_second = count as f64 * 1e9 / span as f64;
    let mut foretold = Foretold { count, recorded_per_second, rate, ..Foretold::default() };
    let script = Script::of(trace, &requests);
    if let Some(reason) = refused(&requests, &script) {
        foretold.reasons.push(reason);
        return Some(foretold);
    }
    let cpus = recorded_cpus(trace).max(1) as usize;
    let closed = serve::serve(&script, cpus, &Effect::default(), Arrivals::Closed);
    let error = closed.per_second() / foretold.recorded_per_second - 1.0;
    if error.abs() > MOST_ERROR {
        foretold.reasons.push(format!(
            "replayed without a change, the server answers {:.0} requests a second, and recorded were {:.0} ({:+.0}%; at most \
             {:.0}% is trusted)",
            closed.per_second(),
            foretold.recorded_per_second,
            error * 100.0,
            MOST_ERROR * 100.0
        ));
    }
    if let Some(others) = baton_trace::disturbance::disturbed(trace.meta.as_ref()?) {
        foretold.reasons.push(format!("{others}; clients on the same machine are among them"));
    }
    let arrivals = rate.map_or(Arrivals::Closed, Arrivals::Open);
    let first = if rate.is_some() { serve::serve(&script, cpus, &Effect::default(), arrivals) } else { closed };
    let base = first.per_second();
    foretold.rows.push(row("as it is", &first, base, rate.is_some()));
    for change in changes {
        foretold.rows.push(match effect(change, &script) {
            Ok(effect) => row(&change.text, &serve::serve(&script, cpus, &effect, arrivals), base, rate.is_some()),
            Err(why) => cannot_tell(&change.text, why),
        });
    }
    Some(foretold)
}

/// Returns why the requests cannot be served again; `None` if they can.
fn refused(requests: &Requests, script: &Script) -> Option<String> {
    let passed = requests.all.iter().filter(|request| request.thread != request.answered_by).count();
    let all = requests.all.len() as f64;
    if passed as f64 > all * MOST_LEFT_OUT {
        return Some(format!("{passed} of {all} requests are passed from thread to thread, which is not replayed"));
    }
    if script.waits_for_threads > script.busy * MOST_LEFT_OUT {
        return Some("requests wait for other threads (conditions, semaphores), which is not replayed".to_owned());
    }
    None
}

fn row(name: &str, served: &Served, base: f64, open: bool) -> Row {
    let per_second = served.per_second();
    Row {
        name: name.to_owned(),
        per_second,
        times: if base > 0.0 { per_second / base } else { 0.0 },
        p50_ns: served.quantile(0.5),
        p99_ns: served.quantile(0.99),
        p999_ns: served.quantile(0.999),
        overloaded: open && served.falls_behind(),
        cannot_tell: None,
    }
}

fn cannot_tell(name: &str, why: &str) -> Row {
    Row {
        name: name.to_owned(),
        per_second: 0.0,
        times: 0.0,
        p50_ns: 0,
        p99_ns: 0,
        p999_ns: 0,
        overloaded: false,
        cannot_tell: Some(why.to_owned()),
    }
}

/// Returns the effect of a change on the locks of the script, or why the change cannot be
/// predicted.
fn effect(change: &Change, script: &Script) -> Result<Effect, &'static str> {
    let mut effect = Effect::default();
    if change.barrier.is_some() || change.parts.is_empty() {
        return Err("only shorter and split sections are foretold for requests");
    }
    for part in &change.parts {
        for (number, (process, address)) in script.locks.iter().enumerate() {
            if !part.locks.iter().any(|life| (life.process, life.address) == (*process, *address)) {
                continue;
            }
            match part.treatment {
                Treatment::Shrink(factor) => drop(effect.factors.insert(number as u32, factor)),
                Treatment::Split(ways) => drop(effect.ways.insert(number as u32, ways)),
                Treatment::Lock(_) | Treatment::ReadWrite(_) => {
                    return Err("only shorter and split sections are foretold for requests");
                }
            }
        }
    }
    match effect == Effect::default() {
        true => Err("no request takes this lock"),
        false => Ok(effect),
    }
}
