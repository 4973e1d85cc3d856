//! The findings as text for a terminal.

use super::findings::{Apart, Findings, Kinds, UmwaitLimits, WakeBySleep};
use crate::ui;
use baton_host::costs::Spread;
use baton_host::costs::instructions::Outcome;
use baton_host::costs::place::Share;
use baton_machine::discover::cpulist;
use std::fmt::Write;

/// All findings as text.
pub(crate) fn text(f: &Findings) -> String {
    let mut out = machine(f);
    out.push('\n');
    out += &waits(f);
    out.push('\n');
    out += &figures(f);
    out += &pairs(f);
    out += &remote(f);
    if !f.wake_by_sleep.is_empty() {
        out.push('\n');
        let call = |w: &WakeBySleep| format!("the waker's call: {}", time(w.call.median));
        let rows: Vec<_> =
            f.wake_by_sleep.iter().map(|w| row(f, &time(w.slept_ns as f64), &w.latency, &call(w))).collect();
        out += &ui::table(&["woken after sleeping", "first instruction", "(four fifths within)", "cycles", ""], &rows);
    }
    out
}

/// The machine as it describes itself, with a line for each item.
fn machine(f: &Findings) -> String {
    let mut out = String::new();
    let mut line = |key: &str, value: String| {
        let _ = writeln!(out, "{} {value}", ui::paint(&format!("{key:<12}"), ui::BOLD));
    };
    let under = f.processor.hypervisor.as_ref().map_or(String::new(), |h| format!(", in a virtual machine ({h})"));
    line("processor", format!("{} ({}){under}", f.processor.model, f.processor.architecture));
    let c = &f.cpus;
    let smt = if c.threads_per_core > 1 { format!("{} threads a core", c.threads_per_core) } else { "no SMT".into() };
    line(
        "CPUs",
        format!(
            "{} online, {} allowed; {}, {smt}, {}, {}, {} with a last-level cache each",
            c.online,
            c.allowed.len(),
            count(c.cores, "core"),
            count(c.sockets, "socket"),
            count(c.numa_nodes, "NUMA node"),
            count(c.clusters, "group"),
        ),
    );
    line("kinds", kinds(&c.kinds));
    let caches = c.caches.iter().filter(|c| c.kind != "Instruction").map(|c| {
        let shared = if c.shared_by > 1 { format!(" shared by {}", c.shared_by) } else { String::new() };
        format!("L{} {} KiB{shared}", c.level, c.bytes >> 10)
    });
    line("caches", format!("{}, lines of {} bytes", caches.collect::<Vec<_>>().join(", "), c.line_bytes));
    let clock = match f.tsc_hz {
        Some(hz) => format!("invariant time-stamp counter at {:.3} GHz; cycles below are its ticks", hz as f64 / 1e9),
        None => "no invariant time-stamp counter: traces use clock_gettime; cycles are not shown".into(),
    };
    line("clock", clock);
    let tick = format!("tick {} ms", f.kernel.tick_ns as f64 / 1e6);
    line("kernel", format!("{}, {}, {tick}", f.kernel.name, f.kernel.libc));
    line("perf", perf(f));
    line("slices", slices(f.kernel.slice_extension).into());
    let offered = |on: bool| {
        let names = f.processor.features.iter().filter(|x| x.offered == on).map(|x| x.name);
        names.collect::<Vec<_>>().join(", ")
    };
    line("offered", offered(true));
    line("not offered", offered(false));
    if f.processor.offers("WAITPKG") || f.processor.umwait_control.is_some() {
        line("UMWAIT", umwait(f.processor.umwait_control));
    }
    out
}

/// The kinds of cores, what told them apart, and which sources disagree.
fn kinds(kinds: &Kinds) -> String {
    let source = kinds.source.map_or("the kernel reports no speeds".to_owned(), |source| format!("by {source}"));
    let each = kinds.all.iter().map(|kind| {
        let speed = kind.speed.map(|speed| format!("speed {speed}"));
        let told: Vec<String> = kind.core_type.iter().cloned().chain(speed).collect();
        format!("CPUs {} ({})", cpulist::show(&kind.cpus), told.join(", "))
    });
    let mut out = match &kinds.all[..] {
        [_] => format!("one kind of cores, {source}"),
        all => format!("{}, {source}: {}", count(all.len(), "kind"), each.collect::<Vec<_>>().join("; ")),
    };
    for sentence in &kinds.disagree {
        let _ = write!(out, "; sources disagree: {sentence}");
    }
    out
}

/// Whether a holder of a lock could keep its CPU at the end of its time slice.
fn slices(extension: Option<bool>) -> &'static str {
    match extension {
        Some(true) => "a thread may ask to keep its CPU for some microseconds more (rseq); Baton's locks do not ask",
        Some(false) => "the kernel knows of extensions (rseq), and refuses them",
        None => "no extensions for holders of locks (rseq): Linux has them since 7.0",
    }
}

/// What the kernel allows UMWAIT and TPAUSE to do.
fn umwait(control: Option<UmwaitLimits>) -> String {
    let Some(UmwaitLimits { c02, max_ticks }) = control else {
        return "the kernel does not say how deep and how long it may rest (no umwait_control)".into();
    };
    let depth = if c02 {
        "C0.2 and C0.1 (umwait_control/enable_c02 is 1)"
    } else {
        "C0.1 alone (umwait_control/enable_c02 is 0)"
    };
    match max_ticks {
        0 => format!("may rest at {depth}, without bound (umwait_control/max_time is 0)"),
        ticks => format!("may rest at {depth}, for {ticks} ticks at most (umwait_control/max_time)"),
    }
}

/// The wait policies as text.
fn waits(f: &Findings) -> String {
    let rows = f.waits.iter().map(|w| {
        let tried = match w.trial {
            Outcome::NotTried if w.here => "always there".to_owned(),
            _ => w.words(),
        };
        vec![w.name.to_owned(), if w.here { "yes" } else { "no" }.to_owned(), tried]
    });
    ui::table(&["wait", "here", "tried"], &rows.collect::<Vec<_>>())
}

/// The times of single operations, the store buffer, where woken threads go, and which figures
/// could not be measured.
fn figures(f: &Findings) -> String {
    let rows: Vec<_> = f.figures.iter().map(|x| row(f, x.what, &x.spread, x.how)).collect();
    let mut out = ui::table(&["measured", "time", "(four fifths within)", "cycles", "how"], &rows);
    if let Some(stores) = f.store_buffer {
        let _ = writeln!(out, "stores that wait while one misses: {stores}");
    }
    if let Some(places) = f.places {
        let _ = writeln!(
            out,
            "woken where it ran last, by that CPU's thread: {} go to an idle CPU; woken from another, quiet CPU while \
             its own idles after work: {} come to the waker's",
            share(places.sought_idle),
            share(places.pulled),
        );
    }
    for left in &f.left_out {
        let _ = writeln!(out, "not told: {}: {}", left.what, left.why);
    }
    out
}

/// A share of wake-ups as text: a percentage of the samples, or, if batches disagree, the least and
/// the greatest percentage.
fn share(share: Share) -> String {
    let percent = |x: f64| format!("{:.0}%", x * 100.0);
    match share.share {
        Some(x) => format!("{} of {}", percent(x), share.samples),
        None => format!("no steady share, {} to {} by batch,", percent(share.low), percent(share.high)),
    }
}

fn count(n: usize, of: &str) -> String {
    format!("{n} {of}{}", if n == 1 { "" } else { "s" })
}

fn perf(f: &Findings) -> String {
    let level =
        f.kernel.perf_event_paranoid.map_or("no performance events".into(), |p| format!("perf_event_paranoid {p}"));
    let switches = match f.kernel.context_switch_records {
        true => "context-switch records are granted",
        false => "no context-switch records: off-CPU time comes from thread CPU time",
    };
    format!("{level}; {switches}")
}

fn row(f: &Findings, what: &str, s: &Spread, how: &str) -> Vec<String> {
    let cycles = f.tsc_hz.map_or("-".into(), |hz| format!("{:.0}", s.median * hz as f64 / 1e9));
    vec![what.into(), time(s.median), format!("({} – {})", time(s.low), time(s.high)), cycles, how.into()]
}

/// Nanoseconds as text, in a unit that fits.
pub(super) fn time(ns: f64) -> String {
    match ns {
        _ if ns >= 1e6 => format!("{:.2} ms", ns / 1e6),
        _ if ns >= 1e4 => format!("{:.1} µs", ns / 1e3),
        _ if ns >= 100.0 => format!("{ns:.0} ns"),
        _ => format!("{ns:.2} ns"),
    }
}

/// Largest number of CPUs for which the whole matrix is shown; with more CPUs, a line for each
/// distance is shown.
const MATRIX: usize = 16;

fn pairs(f: &Findings) -> String {
    if f.line_round_trips.is_empty() {
        return "\none CPU: nothing passes between CPUs\n".into();
    }
    let cpus = &f.cpus.allowed;
    let mut out = String::from("\n");
    if cpus.len() <= MATRIX {
        let header: Vec<String> =
            std::iter::once("line there and back".into()).chain(cpus.iter().map(|c| format!("CPU {c}"))).collect();
        let cell = |a: u32, b: u32| {
            let pair = f.line_round_trips.iter().find(|p| p.cpus == (a.min(b), a.max(b)));
            match pair.map(|p| p.round_trip) {
                None => "-".into(),
                Some(None) => "busy".into(),
                Some(Some(s)) => time(s.median),
            }
        };
        let row = |&a: &u32| std::iter::once(format!("CPU {a}")).chain(cpus.iter().map(|&b| cell(a, b))).collect();
        let rows: Vec<Vec<String>> = cpus.iter().map(row).collect();
        out += &ui::table(&header.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
        return out;
    }
    let rows: Vec<_> = [Apart::SameCore, Apart::SameCluster, Apart::SameSocket, Apart::CrossSocket]
        .into_iter()
        .filter_map(|apart| Some(row(f, words(apart), &between(f, apart)?, "")))
        .collect();
    out += &ui::table(&["line there and back", "time", "(four fifths of pairs)", "cycles", ""], &rows);
    out
}

/// Loads of lines that another CPU has written, by distance.
fn remote(f: &Findings) -> String {
    let rows: Vec<_> = [Apart::SameCore, Apart::SameCluster, Apart::SameSocket, Apart::CrossSocket]
        .into_iter()
        .filter_map(|apart| {
            let pairs = f.line_round_trips.iter().filter(|p| p.apart == apart);
            let all = Spread::of(pairs.filter_map(|p| Some(p.remote?.median)).collect())?;
            Some(row(f, words(apart), &all, "a chain of dependent loads over lines that the other CPU has written"))
        })
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => {
            let header = ["line that another CPU wrote", "time", "(four fifths of pairs)", "cycles", "how"];
            format!("\n{}", ui::table(&header, &rows))
        }
    }
}

/// The spread of the round trips of all pairs at that distance.
pub(crate) fn between(f: &Findings, apart: Apart) -> Option<Spread> {
    let pairs = f.line_round_trips.iter().filter(|p| p.apart == apart);
    Spread::of(pairs.filter_map(|p| Some(p.round_trip?.median)).collect())
}

/// A distance in words.
pub(crate) fn words(apart: Apart) -> &'static str {
    match apart {
        Apart::SameCore => "between threads of a core",
        Apart::SameCluster => "under one last-level cache",
        Apart::SameSocket => "within a socket",
        Apart::CrossSocket => "between sockets",
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings::Kind;
    use super::*;

    #[test]
    fn kinds_of_cores_are_told() {
        let kind = |cpus, speed, core_type: Option<&str>| Kind { cpus, speed, core_type: core_type.map(str::to_owned) };
        let one = Kinds { all: vec![kind(vec![0, 1], None, None)], source: None, disagree: Vec::new() };
        assert_eq!(kinds(&one), "one kind of cores, the kernel reports no speeds");
        let all = vec![kind(vec![0, 1], Some(1024), Some("cpu_core")), kind(vec![2], Some(600), None)];
        let two = Kinds { all, source: Some("cpu_capacity"), disagree: vec!["A says B".into()] };
        let right =
            "2 kinds, by cpu_capacity: CPUs 0-1 (cpu_core, speed 1024); CPUs 2 (speed 600); sources disagree: A says B";
        assert_eq!(kinds(&two), right);
    }

    #[test]
    fn the_kernels_limits_of_umwait_are_told() {
        let told = |c02, max_ticks| umwait(Some(UmwaitLimits { c02, max_ticks }));
        let both = told(true, 100_000);
        assert!(both.contains("C0.2 and C0.1") && both.contains("100000 ticks at most"), "{both}");
        let one = told(false, 0);
        assert!(one.contains("C0.1 alone") && one.contains("without bound"), "{one}");
        assert!(umwait(None).contains("does not say"));
    }

    #[test]
    fn times_have_a_unit_that_fits() {
        assert_eq!(time(1.234), "1.23 ns");
        assert_eq!(time(812.0), "812 ns");
        assert_eq!(time(20_500.0), "20.5 µs");
        assert_eq!(time(4e6), "4.00 ms");
    }
}
