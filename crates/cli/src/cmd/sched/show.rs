//! Statistics at the end, and the live view.

use crate::ui;
use baton_daemon::LockNotice;
use baton_daemon::core::{Core, Where};
use baton_daemon::report::{Had, InKernel, Percentiles, Report};
use baton_daemon::run::View;
use baton_machine::discover::cpulist;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};

/// The most threads that the view shows.
const ROWS: usize = 20;

/// The statistics as text.
pub(super) fn text(report: &Report) -> String {
    let seconds = report.elapsed_ns as f64 / 1e9;
    let mut out = format!(
        "\n{} for {seconds:.1} s, by {}; fast CPUs {}, slow CPUs {}\n",
        report.policy,
        report.by.source,
        cpulist::show(&report.fast_cpus),
        cpulist::show(&report.slow_cpus),
    );
    if let Some(because) = &report.by.source_because {
        let _ =
            writeln!(out, "/proc, because {because}: what happens between two looks, 4 to 12 ms apart, is not seen");
    }
    let rows = report.apps.iter().map(|app| {
        let Had { threads, fast_ns, slow_ns, waits_ns, moves, swaps, widened, demotions } = app.had;
        let busy = fast_ns + slow_ns;
        let share = if busy == 0 { "-".into() } else { format!("{:.0}%", 100.0 * fast_ns as f64 / busy as f64) };
        let counts = [threads, moves, swaps, widened, demotions].map(|count| count.to_string());
        let [threads, moves, swaps, widened, demotions] = counts;
        vec![app.command.clone(), threads, time(busy), share, time(waits_ns), moves, swaps, widened, demotions]
    });
    let header = ["application", "threads", "ran", "on fast CPUs", "waited", "moves", "swaps", "widened", "demotions"];
    out += &ui::table(&header, &rows.collect::<Vec<_>>());
    if report.dry_run {
        out += "a dry run: no mask was changed\n";
    } else if let Some(InKernel { left, counts }) = &report.by.in_kernel {
        let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let _ = writeln!(out, "{} placements by the scheduler in the kernel: {}", report.masks, counts.join(", "));
        if let Some(why) = left {
            let _ = writeln!(
                out,
                "the scheduler in the kernel ended before the programs did ({why}); the kernel placed them then"
            );
        }
    } else {
        let _ = writeln!(out, "{} masks changed, {} given back at the end", report.masks, report.given_back);
    }
    let mut line = |what: &str, times: Option<Percentiles>| {
        if let Some(Percentiles { samples, p50_us, p90_us, p99_us, most_us }) = times {
            let _ = writeln!(
                out,
                "{what}: {p50_us} µs in half of {samples} cases, {p90_us} in 90%, {p99_us} in 99%, {most_us} at most"
            );
        }
    };
    line("from a context switch to its notice", report.notices);
    line("from a new mask to running under it", report.follows);
    line("from a wait for a lock or barrier to its notice", report.told.waits);
    if report.told.heard && report.told.threads == 0 {
        let policy = report.policy;
        let _ =
            writeln!(out, "no thread told of locks, so {policy} had nothing to act on: start programs with baton run");
    } else if report.told.heard {
        let _ = writeln!(out, "{} threads told of locks", report.told.threads);
    }
    let counts = [
        (report.left_alone, "threads left alone (real-time, deadline, or refused by the kernel)"),
        (report.changed_own, "masks that the programs changed themselves"),
        (report.cut, "masks that a cpuset cut"),
        (report.told.without_room, "threads that could not tell of locks: all rows of the page were in use"),
        (report.lost, "records lost; the threads' states were read anew"),
        (report.watchdog_restarts, "times the watchdog was started again"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(out, "{count} {what}");
    }
    let share = 100.0 * report.own_cpu_ns as f64 / report.elapsed_ns.max(1) as f64;
    let _ = writeln!(out, "baton itself used {share:.2}% of a CPU");
    out
}

fn time(ns: u64) -> String {
    format!("{:.2} s", ns as f64 / 1e9)
}

/// The live view: on a terminal it is drawn over itself.
pub(super) fn view() -> View {
    let terminal = std::io::stderr().is_terminal();
    let mut lines = 0;
    Box::new(move |core, elapsed| {
        let text = drawn(core, elapsed);
        let over = if terminal && lines > 0 { format!("\x1b[{lines}A\x1b[J") } else { String::new() };
        lines = text.lines().count();
        std::io::stderr().lock().write_all((over + &text).as_bytes())
    })
}

/// Where the threads are, and why.
fn drawn(core: &Core, elapsed: u64) -> String {
    let mut threads: Vec<_> = core.threads().collect();
    let (all, asleep) = (threads.len(), threads.iter().filter(|at| at.state == "sleeps").count());
    threads.retain(|at| at.state != "sleeps");
    threads.sort_by_key(|at| (at.state == "waits", at.cpu.map(|cpu| cpu.0), at.id));
    let apps = &core.setup().apps;
    let is_fast = |cpu: u32| core.setup().cpus.0[cpu as usize].fast == Some(true);
    let rows = threads.iter().take(ROWS).map(|at| {
        let cpu = at.cpu.map_or("-".into(), |cpu| format!("{}{}", cpu.0, if is_fast(cpu.0) { " fast" } else { "" }));
        let mask = match at.given {
            Some(true) => "fast CPUs",
            Some(false) => "slow CPUs",
            None => "all",
        };
        let why = match (at.known, at.why) {
            (false, _) => "young",
            (true, Some(why)) => why.name(),
            (true, None) => "",
        };
        let app = at.begins.app.0 as usize;
        let class = core.classes()[app].name();
        let tid = at.begins.tid.to_string();
        vec![apps[app].name.clone(), class.into(), tid, at.state.into(), lock(at), cpu, mask.into(), why.into()]
    });
    let table = ui::table(
        &["application", "class", "thread", "state", "lock", "CPU", "may use", "why"],
        &rows.collect::<Vec<_>>(),
    );
    let hidden = (all - asleep).saturating_sub(ROWS);
    format!("{:.1} s: {all} threads, {asleep} sleep, {hidden} more than shown\n{table}", elapsed as f64 / 1e9)
}

/// What a thread has told of locks and barriers. A thread that waits and runs spins.
fn lock(at: &Where) -> String {
    let spins = at.state != "sleeps";
    match at.waits_for {
        Some(LockNotice::Arrived) if spins => "spins at a barrier".into(),
        Some(LockNotice::Arrived) => "waits at a barrier".into(),
        Some(_) if spins => "spins".into(),
        Some(_) => "waits".into(),
        None if at.holds == 0 => String::new(),
        None => format!("holds {}", at.holds),
    }
}
