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
    /// The number of requests that are answered per second.
    pub per_second: f64,
    /// `per_second` divided by that of the first row.
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
/// fewer than [`LEAST`] requests or they take no time.
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
    let recorded_cpus = recorded_cpus(trace);
    if recorded_cpus == 0 {
        foretold.reasons.push("the number of CPUs was not recorded; the server is replayed on one".to_owned());
    }
    let cpus = recorded_cpus.max(1) as usize;
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
    foretold.reasons.extend(not_quiet(trace));
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

/// Returns why the server may not have had the recorded CPUs for itself; `None` if it had.
fn not_quiet(trace: &Trace) -> Option<String> {
    let Some(meta) = &trace.meta else {
        return Some("without meta.json, nothing tells whether other programs used the CPUs".to_owned());
    };
    if let Some(held_back) = baton_trace::disturbance::held_back(meta) {
        return Some(held_back);
    }
    let others = baton_trace::disturbance::disturbed(meta)?;
    Some(format!("{others}; clients on the same machine are among them"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use baton_trace::point::call;
    use baton_trace::{Clock, Outcome, SiteId, SystemCall, ThreadIndex, Ticks, TraceBuilder, What};

    /// A server's thread that reads a request from one connection and answers it, 200 times.
    fn server() -> Trace {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        let mut push = |time, what| {
            trace.push(Ticks(time), ThreadIndex(0), what);
        };
        let called = |name, ticks| {
            let number = call(name).expect("a name of the list");
            let call = SystemCall { number, outcome: Outcome::Done, file: Some(7), ticks };
            What::Called { call, site: SiteId::UNKNOWN }
        };
        push(0, What::ThreadStart { handle: 1 });
        for at in (1..=200).map(|request| request * 10_000) {
            push(at, called("read", 5));
            push(at + 5_000, called("write", 5));
        }
        push(2_020_000, What::ThreadEnd { handle: 1 });
        trace.build()
    }

    #[test]
    fn without_a_description_of_the_run_the_requests_are_foretold_with_a_warning() {
        let trace = server();
        assert!(trace.meta.is_none());
        let foretold = foretell(&trace, &[], None).expect("200 requests");
        assert_eq!((foretold.count, foretold.rows.len()), (200, 1), "{foretold:?}");
        assert!(foretold.reasons.iter().any(|reason| reason.contains("without meta.json")), "{foretold:?}");
        assert!(foretold.reasons.iter().any(|reason| reason.contains("number of CPUs")), "{foretold:?}");
    }
}
