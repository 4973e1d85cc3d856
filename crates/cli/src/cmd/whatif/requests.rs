//! Foretells a server's throughput and latency, and prints them on a terminal.

use crate::error::BadInput;
use crate::ui;
use baton_replay::change::Change;
use baton_replay::requests::{Foretold, Row, foretell};
use baton_report::format::duration;
use baton_report::terminal::wrap;
use baton_trace::Trace;
use baton_units::Nanos;

/// Foretells the requests; refuses a rate that the recording has no requests for, or no row can answer.
pub(super) fn ask(trace: &Trace, changes: &[Change], rate: Option<f64>) -> Result<Option<Foretold>, BadInput> {
    let foretold = foretell(trace, changes, rate);
    let Some(rate) = rate else { return Ok(foretold) };
    let Some(foretold) = foretold else {
        let message = "--rate: the recording has fewer than 100 requests at sockets";
        return Err(BadInput::new(message).hint("`baton report` says which requests it has"));
    };
    if let Some(most) = foretold.too_slow_by_all() {
        let message =
            format!("--rate {rate}: more than this machine can answer, which is {most:.0} requests a second at most");
        return Err(BadInput::new(message).hint("without --rate, clients send a think time after each answer"));
    }
    Ok(Some(foretold))
}

/// The section on requests, with an empty line before it.
pub(super) fn text(foretold: &Foretold) -> String {
    let recorded = foretold.recorded_per_second;
    let how = match foretold.rate {
        Some(rate) => format!("open loop: {rate} requests a second come, whatever is answered"),
        None => "closed loop: each client sends a think time after its answer, as seen".to_owned(),
    };
    let mut out = format!("\nRequests: {} recorded, {recorded:.0} a second; {how}\n", foretold.count);
    if !foretold.rows.is_empty() {
        let rows: Vec<Vec<String>> = foretold.rows.iter().map(cells).collect();
        out += &ui::table(&["change", "requests/s", "times", "p50", "p99", "p99.9", "remark"], &rows);
    }
    for reason in &foretold.reasons {
        let word = if foretold.rows.is_empty() { "cannot tell:" } else { "not to be trusted:" };
        out += &wrap(word, word, reason);
    }
    out
}

fn cells(row: &Row) -> Vec<String> {
    if let Some(why) = &row.cannot_tell {
        let none = || "-".to_owned();
        return vec![row.name.clone(), none(), none(), none(), none(), none(), format!("cannot tell: {why}")];
    }
    let time = |ns: u64| duration(Nanos(ns));
    let remark = if row.overloaded { "falls behind: this is the most that it answers" } else { "" };
    vec![
        row.name.clone(),
        format!("{:.0}", row.per_second),
        format!("{:.2}", row.times),
        time(row.p50_ns),
        time(row.p99_ns),
        time(row.p999_ns),
        remark.to_owned(),
    ]
}
