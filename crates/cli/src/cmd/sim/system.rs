//! The figures of the operating system, as JSON and as tables: what each application and each CPU
//! did.

use super::apps::App;
use super::shape::{Group, figures};
use crate::ui;
use baton_chip::{AmpCounts, AppCounts, AppFigures, AppTimes, Counters, CpuCounts, CpuFigures, Outcome};
use std::collections::BTreeMap;

figures! {
    /// The figures of an application.
    pub(super) struct Application {
        /// Name of the application.
        name: String,
        /// Workload of its threads.
        workload: &'static str,
        /// Name of its lock, barrier or queue; null for other workloads.
        algorithm: Option<&'static str>,
        /// Cycle at which it began, or should have begun; absent: at the beginning of the
        /// simulation.
        @left_out start_cycles: Option<u64> as "cycles",
        /// Number of threads of one run.
        threads: u32 as "threads",
        /// Length of each of its complete runs; empty for the first application, whose run is the
        /// whole run.
        run_cycles: Vec<u64> as "cycles",
        @flat counts: AppCounts,
        /// Acquisitions of its locks.
        acquisitions: u64 as "acquisitions",
        /// Largest number of its threads that could run at one moment.
        most_runnable: u32 as "threads",
        /// Number of its threads that could run, as the mean over the whole run.
        mean_runnable: f64 as "threads",
        @flat times: AppTimes,
        /// Its time on fast and on slow cores; absent if the policy does not distinguish them.
        @left_out amp: Option<Group<AmpCounts>>,
    }
}

/// The properties of an application before it runs.
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
            start_cycles: Some(figures.start.0).filter(|&start| start != 0),
            threads: known.threads,
            run_cycles: figures.runs.iter().map(|run| run.0).collect(),
            counts: figures.counts,
            acquisitions: (known.acquisitions)(),
            most_runnable: figures.most_runnable,
            mean_runnable: figures.runnable.0 as f64 / cycles.max(1) as f64,
            times: figures.times,
            amp: figures.amp.map(Group),
        }
    }
}

figures! {
    /// The figures of a CPU.
    pub(super) struct Cpu {
        /// Number of the CPU.
        cpu: u32,
        /// The core of which the CPU is a context.
        core: u32,
        /// Every cycle of the run by the CPU's state: busy, switching, waking, polling, halted,
        /// idle_1 and deeper, off. The cycles sum to cycles.
        cycles: BTreeMap<String, u64>,
        @flat counts: CpuCounts,
    }
}

impl Cpu {
    fn new(figures: &CpuFigures) -> Cpu {
        Cpu {
            cpu: figures.cpu.0,
            core: figures.core.0,
            cycles: figures.times.iter().map(|(name, time)| (name.clone(), time.0)).collect(),
            counts: figures.counts,
        }
    }
}

/// The figures of a run's applications, the main application first.
pub(super) fn applications(known: &[Known], outcome: &Outcome) -> Vec<Application> {
    known.iter().zip(&outcome.apps).map(|(known, figures)| Application::new(known, figures, outcome.cycles.0)).collect()
}

/// The figures of all CPUs.
pub(super) fn cpus(outcome: &Outcome) -> Vec<Cpu> {
    outcome.cpus.iter().map(Cpu::new).collect()
}

/// The figures as text.
pub(super) fn text(apps: &[Application], cpus: &[Cpu]) -> String {
    // If all applications begin with the simulation, the begin is left out.
    let later = apps.iter().any(|app| app.start_cycles.is_some());
    let rows = apps.iter().map(|app| {
        let complete = app.run_cycles.len() as u64;
        let mean =
            app.run_cycles.iter().sum::<u64>().checked_div(complete).map_or("-".to_owned(), |mean| mean.to_string());
        let mut row = vec![app.name.clone(), app.threads.to_string()];
        row.extend(app.counts.values().map(|(_, number)| number.to_string()));
        row.extend([complete.to_string(), mean, app.acquisitions.to_string()]);
        row.extend(app.times.values().map(|(_, number)| number.to_string()));
        row.push(format!("{:.2}", app.mean_runnable));
        if later {
            row.insert(2, app.start_cycles.unwrap_or(0).to_string());
        }
        row
    });
    let mut header = vec!["application", "threads"];
    header.extend(AppCounts::DECLARED.iter().map(|counter| counter.name));
    header.extend(["runs", "cycles a run", "acquisitions"]);
    header.extend(AppTimes::DECLARED.iter().map(|counter| counter.name));
    header.push("runnable");
    if later {
        header.insert(2, "start");
    }
    let mut out = ui::table(&header, &rows.collect::<Vec<_>>());
    out += &amp_text(apps);
    // CPUs on which no thread ran, and columns without information, are left out.
    let used: Vec<&Cpu> = cpus.iter().filter(|cpu| cpu.counts.switches != 0).collect();
    let names: Vec<&String> = cpus.first().map(|cpu| cpu.cycles.keys().collect()).unwrap_or_default();
    let names: Vec<&String> = names.into_iter().filter(|name| used.iter().any(|cpu| cpu.cycles[*name] != 0)).collect();
    let mut header = vec!["CPU", "core"];
    header.extend(names.iter().map(|name| name.as_str()));
    header.extend(CpuCounts::DECLARED.iter().map(|counter| counter.name));
    let rows = used.iter().map(|cpu| {
        let mut row = vec![cpu.cpu.to_string(), cpu.core.to_string()];
        row.extend(names.iter().map(|name| cpu.cycles[*name].to_string()));
        row.extend(cpu.counts.values().map(|(_, number)| number.to_string()));
        row
    });
    out += &ui::table(&header, &rows.collect::<Vec<_>>());
    let off = cpus
        .iter()
        .filter(|cpu| cpu.counts.switches == 0 && cpu.cycles.get("off").is_some_and(|&cycles| cycles != 0))
        .count();
    let idle = cpus.len() - used.len() - off;
    if idle + off != 0 {
        out += &format!("{idle} more CPUs had nothing to run, {off} were off\n");
    }
    out
}

/// The time of applications on fast and on slow cores as text; empty if the policy does not
/// distinguish them.
fn amp_text(apps: &[Application]) -> String {
    let rows = apps.iter().filter_map(|app| {
        let Group(amp) = app.amp.as_ref()?;
        let numbers = amp.values().map(|(_, number)| number.to_string());
        Some(std::iter::once(app.name.clone()).chain(numbers).collect())
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut header = vec!["application"];
    header.extend(AmpCounts::DECLARED.iter().map(|counter| counter.name));
    ui::table(&header, &rows)
}
