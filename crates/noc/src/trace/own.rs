//! Baton's own trace format: text with one packet per line, in the order of cycles.
//!
//! ```text
//! baton-noc-trace 1
//! nodes 64
//! name what was recorded
//! # cycle source destination flits class [after packet packet …]
//! 0 5 12 1 0
//! 14 12 5 8 1 after 0
//! ```
//!
//! Packets are numbered from 0 in the order of their lines. `after` names earlier packets: this
//! packet is injected at its cycle or when all of them have arrived, whichever is later. Empty
//! lines and lines that begin with `#` are skipped.

use super::{Trace, TracePacket};
use crate::error::NocError;
use std::fmt::Write;

pub(super) const MAGIC: &str = "baton-noc-trace 1";

/// Reads a trace in Baton's own format. An error names `file` and the line.
pub fn read_own(file: &str, bytes: &[u8]) -> Result<Trace, NocError> {
    let fail =
        |line: usize, message: String| NocError::Trace { file: file.into(), at: format!("line {line}"), message };
    let text = std::str::from_utf8(bytes).map_err(|e| fail(1, format!("not UTF-8 at byte {}", e.valid_up_to())))?;
    let mut lines = (1..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    if lines.next().is_none_or(|(_, l)| l.trim_end() != MAGIC) {
        return Err(fail(1, format!("expected `{MAGIC}`")));
    }
    let mut trace = Trace::default();
    for (n, line) in lines {
        if let Some(rest) = line.strip_prefix("nodes ") {
            trace.nodes = rest.trim().parse().map_err(|_| fail(n, "`nodes`: expected a number".into()))?;
        } else if let Some(rest) = line.strip_prefix("name ") {
            trace.name = rest.trim().into();
        } else {
            let packet = packet(line, &mut trace).map_err(|m| fail(n, m))?;
            trace.packets.push(packet);
        }
    }
    if trace.nodes == 0 {
        return Err(fail(1, "no line `nodes N`".into()));
    }
    trace.cycles = trace.packets.last().map_or(0, |p| p.cycle);
    Ok(trace)
}

fn packet(line: &str, trace: &mut Trace) -> Result<TracePacket, String> {
    let place = trace.packets.len() as u32;
    let mut words = line.split_ascii_whitespace();
    let mut number = |what: &str, most: u64| -> Result<u64, String> {
        let word = words.next().ok_or_else(|| format!("{what} is missing"))?;
        let value: u64 = word.parse().map_err(|_| format!("{what} `{word}`: expected a number"))?;
        if value > most { Err(format!("{what} {value}: expected at most {most}")) } else { Ok(value) }
    };
    if trace.nodes == 0 {
        return Err("`nodes N` must come before the first packet".into());
    }
    let last = u64::from(trace.nodes - 1);
    let cycle = number("cycle", u64::MAX)?;
    let (src, dst) = (number("source", last)? as u32, number("destination", last)? as u32);
    let (flits, class) = (number("flits", 4096)? as u32, number("class", 7)? as u8);
    if flits == 0 {
        return Err("flits 0: expected at least 1".into());
    }
    if trace.packets.last().is_some_and(|p| p.cycle > cycle) {
        return Err(format!("cycle {cycle} comes after a later one"));
    }
    match words.next() {
        None => {}
        Some("after") => {
            for word in words {
                let id: u32 = word.parse().map_err(|_| format!("`after {word}`: expected a packet's number"))?;
                let before = trace.packets.get_mut(id as usize);
                before.ok_or_else(|| format!("after {id}: no earlier packet has this number"))?.dependents.push(place);
            }
        }
        Some(word) => return Err(format!("`{word}`: expected `after` or the end of the line")),
    }
    Ok(TracePacket { cycle, id: place, src, dst, bytes: 0, flits, class, dependents: vec![] })
}

/// Writes a trace in Baton's own format. Lengths in bytes are converted to flits of `flit_bytes`
/// bytes, rounded up.
pub fn write_own(trace: &Trace, flit_bytes: u32) -> String {
    let mut after = vec![vec![]; trace.packets.len()];
    for (place, p) in trace.packets.iter().enumerate() {
        p.dependents.iter().for_each(|d| after[*d as usize].push(place));
    }
    let mut text = format!("{MAGIC}\nnodes {}\n", trace.nodes);
    if !trace.name.is_empty() {
        let _ = writeln!(text, "name {}", trace.name.replace('\n', " "));
    }
    for (p, after) in trace.packets.iter().zip(after) {
        let flits = if p.flits > 0 { p.flits } else { p.bytes.div_ceil(flit_bytes.max(1)) };
        let _ = write!(text, "{} {} {} {flits} {}", p.cycle, p.src, p.dst, p.class);
        if !after.is_empty() {
            text.push_str(" after");
            for a in after {
                let _ = write!(text, " {a}");
            }
        }
        text.push('\n');
    }
    text
}
