//! The operating system's figures: what each application and each CPU did, in JSON and as tables.

use super::apps::App;
use crate::ui;
use baton_chip::{AppFigures, CpuFigures, Outcome};
use serde::Serialize;
use std::collections::BTreeMap;

/// What an application did.
#[derive(Serialize)]
pub(super) struct Application {
    name: String,
    workload: &'static str,
    algorithm: Option<&'static str>,
    /// Threads of one run.
    threads: u32,
    /// How long each of its complete runs took.
    run_cycles: Vec<u64>,
    restarts: u64,
    forks: u64,
    exits: u64,
    acquisitions: u64,
    most_runnable: u32,
    /// Threads that could run, on the mean over the whole run.
    mean_runnable: f64,
    on_cpu_cycles: u64,
    ready_cycles: u64,
    switching_cycles: u64,
    asleep_cycles: u64,
}

/// What is known of an application before it runs.
pub(super) struct Known {
    name: String,
    workload: &'static str,
    algorithm: Option<&'static str>,
    threads: u32,
    acquisitions: Box<dyn Fn() -> u64>,
}

impl Known {
    /// The application that the command line itself describes.
    pub(super) fn new(name: &str, workload: &'static str, chosen: &super::workload::Chosen) -> Known {
        let recorder = chosen.recorder.clone();
        Known {
            name: name.to_owned(),
            workload,
            algorithm: chosen.algorithm(),
            threads: chosen.threads(),
            acquisitions: Box::new(move || recorder.acquisitions()),
        }
    }

    pub(super) fn of(app: &App) -> Known {
        Known::new(&app.name, app.args.workload.text(), &app.chosen)
    }
}

impl Application {
    fn new(known: &Known, figures: &AppFigures, cycles: u64) -> Application {
        Application {
            name: known.name.clone(),
            workload: known.workload,
            algorithm: known.algorithm,
            threads: known.threads,
            run_cycles: figures.runs.iter().map(|run| run.0).collect(),
            restarts: figures.restarts,
            forks: figures.forks,
            exits: figures.exits,
            acquisitions: (known.acquisitions)(),
            most_runnable: figures.most_runnable,
            mean_runnable: figures.runnable.0 as f64 / cycles.max(1) as f64,
            on_cpu_cycles: figures.cpu_time.0,
            ready_cycles: figures.ready.0,
            switching_cycles: figures.switching.0,
            asleep_cycles: figures.asleep.0,
        }
    }
}

/// What a CPU did.
#[derive(Serialize)]
pub(super) struct Cpu {
    cpu: u32,
    core: u32,
    /// Every cycle of the run by what the CPU did; sums to it.
    cycles: BTreeMap<String, u64>,
    switches: u64,
    /// Switches to threads that had run on another core last.
    migrations: u64,
    /// Timer interrupts: ticks, or ends of time slices.
    ticks: u64,
    /// Threads taken from other queues when it ran dry.
    steals: u64,
}

impl Cpu {
    fn new(figures: &CpuFigures) -> Cpu {
        Cpu {
            cpu: figures.cpu.0,
            core: figures.core.0,
            cycles: figures.times.iter().map(|(name, time)| (name.clone(), time.0)).collect(),
            switches: figures.counts.switches,
            migrations: figures.counts.migrations,
            ticks: figures.counts.ticks,
            steals: figures.counts.steals,
        }
    }
}

/// The figures of a run's applications, the main one first.
pub(super) fn applications(known: &[Known], outcome: &Outcome) -> Vec<Application> {
    known.iter().zip(&outcome.apps).map(|(known, figures)| Application::new(known, figures, outcome.cycles.0)).collect()
}

/// The figures of all CPUs.
pub(super) fn cpus(outcome: &Outcome) -> Vec<Cpu> {
    outcome.cpus.iter().map(Cpu::new).collect()
}

/// For people.
pub(super) fn text(apps: &[Application], cpus: &[Cpu]) -> String {
    let rows = apps.iter().map(|app| {
        let complete = app.run_cycles.len() as u64;
        let mean =
            app.run_cycles.iter().sum::<u64>().checked_div(complete).map_or("-".to_owned(), |mean| mean.to_string());
        let numbers = [app.forks, app.exits, app.restarts, complete];
        let times = [app.acquisitions, app.on_cpu_cycles, app.ready_cycles, app.switching_cycles, app.asleep_cycles];
        let mut row = vec![app.name.clone(), app.threads.to_string()];
        row.extend(numbers.map(|number| number.to_string()));
        row.push(mean);
        row.extend(times.map(|number| number.to_string()));
        row.push(format!("{:.2}", app.mean_runnable));
        row
    });
    let header = [
        "application",
        "threads",
        "forks",
        "exits",
        "restarts",
        "runs",
        "cycles a run",
        "acquisitions",
        "on CPU",
        "ready",
        "switching",
        "asleep",
        "runnable",
    ];
    let mut out = ui::table(&header, &rows.collect::<Vec<_>>());
    // CPUs that no thread ran on, and columns that say nothing, are left out.
    let used: Vec<&Cpu> = cpus.iter().filter(|cpu| cpu.switches != 0).collect();
    let names: Vec<&String> = cpus.first().map(|cpu| cpu.cycles.keys().collect()).unwrap_or_default();
    let names: Vec<&String> = names.into_iter().filter(|name| used.iter().any(|cpu| cpu.cycles[*name] != 0)).collect();
    let mut header = vec!["CPU", "core"];
    header.extend(names.iter().map(|name| name.as_str()));
    header.extend(["switches", "migrations in", "ticks", "steals"]);
    let rows = used.iter().map(|cpu| {
        let mut row = vec![cpu.cpu.to_string(), cpu.core.to_string()];
        row.extend(names.iter().map(|name| cpu.cycles[*name].to_string()));
        row.extend([cpu.switches, cpu.migrations, cpu.ticks, cpu.steals].map(|number| number.to_string()));
        row
    });
    out += &ui::table(&header, &rows.collect::<Vec<_>>());
    let off =
        cpus.iter().filter(|cpu| cpu.switches == 0 && cpu.cycles.get("off").is_some_and(|&cycles| cycles != 0)).count();
    let idle = cpus.len() - used.len() - off;
    if idle + off != 0 {
        out += &format!("{idle} more CPUs had nothing to run, {off} were off\n");
    }
    out
}
