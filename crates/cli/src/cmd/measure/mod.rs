//! `baton measure`: runs the recorded program under other locks, and shows the times beside the
//! predictions.
//!
//! | file | holds |
//! | --- | --- |
//! | [`predictions`] | the predictions of `baton whatif --json` |
//! | [`runs`] | interleaved runs of the program |

mod predictions;
pub(super) mod runs;

use crate::error::BadInput;
use crate::exact;
use crate::ui;
use anyhow::Context;
use baton_host::launch::choice;
use baton_host::launch::program::Program;
use baton_host::launch::{library, openmp, program};
use baton_omp::Settings;
use baton_report::format::duration;
use baton_report::html::{self, Predicted};
use baton_sync::barrier::BARRIERS;
use baton_sync::lock::LOCKS;
use baton_trace::{Meta, Trace};
use baton_units::Nanos;
use predictions::LockPrediction;
use runs::{Candidate, OpenMp, Taken};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `baton measure`.
#[derive(clap::Args)]
#[command(after_help = "\
The recorded command is run in its directory, without recording, by turns under the recorded
lock and the others. Each run must give the exit code and the standard output of the first; of a
program whose output differs from run to run by itself, the exit code.
DIR/report.html is written anew and shows measured beside predicted. Progress goes to standard
error.

Examples:
  baton whatif before --lock all --json > before/whatif.json
  baton measure before --predictions before/whatif.json           the best against the recorded
  baton measure before --predictions before/whatif.json --across  a good, a middling and a bad one
  baton measure before --lock mcs,ticket:pause --runs 9 --json
  baton measure before --predictions before/whatif.json --barrier two-level:futex,gomp:pause")]
pub(crate) struct Args {
    /// The directory that `baton profile` left.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// What `baton whatif --json` said of it.
    #[arg(long, value_name = "FILE")]
    predictions: Option<PathBuf>,
    /// The locks, with commas, each with or without a wait policy behind a colon.
    #[arg(long, value_name = "LOCK[:WAIT],…", value_delimiter = ',', required_unless_present_any = ["predictions", "barrier"])]
    lock: Vec<String>,
    /// Barriers, with commas, each with or without a wait policy behind a colon (left out: futex): the program runs on Baton's OpenMP
    /// runtime with each, as under `baton run --openmp baton`.
    #[arg(long, value_name = "BARRIER[:WAIT],…", value_delimiter = ',')]
    barrier: Vec<String>,
    /// Without --lock: how many of the best predicted ones.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    best: u32,
    /// Without --lock: the best, the middle and the slowest of those that are predicted to take no more than three times
    /// as long as the recorded one.
    #[arg(long, conflicts_with_all = ["lock", "best"])]
    across: bool,
    /// Runs of each.
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    // The program runs in the directory where it was recorded, so this process changes to that
    // directory.
    let directory = std::path::absolute(&args.directory).context("cannot tell the current directory")?;
    let profile = super::report::open(&args.directory)?;
    let meta = described(&profile.trace, &args.directory)?;
    let said = args.predictions.as_deref().map(predictions::read).transpose()?.unwrap_or_default();
    let mut candidates = vec![recorded(&meta)?];
    let others = match (args.lock.is_empty(), args.across) {
        (false, _) => args.lock.clone(),
        (true, _) if !args.barrier.is_empty() => Vec::new(),
        (true, true) => across(&said),
        (true, false) => best(&said, args.best),
    };
    for name in &others {
        let (lock, wait) = name.split_once(':').map_or((name.as_str(), None), |(lock, wait)| (lock, Some(wait)));
        candidates.push(Candidate::replaced(choice::check(lock, wait)?));
    }
    let (program, command) = again(&meta)?;
    candidates.extend(barriers(&args.barrier, &program)?);
    let taken = runs::interleaved(&program, &command, &library::find()?, &candidates, args.runs)?;

    let rows = rows(&said, &candidates, &taken);
    let page = directory.join("report.html");
    html::write(&profile, &rows, &page).with_context(|| format!("cannot write {}", page.display()))?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", table(&rows, &said));
        if let Some(said) = html::borne_out(&rows) {
            println!("{said}");
        }
        for doubt in rows.iter().filter(|row| row.recorded).filter_map(|row| row.remark.as_ref()) {
            ui::warn(doubt);
        }
    }
    ui::note(format_args!("{} shows measured beside predicted", page.display()));
    Ok(ExitCode::SUCCESS)
}

/// Candidates that run the program on Baton's OpenMP runtime, one for each barrier.
fn barriers(names: &[String], program: &Program) -> anyhow::Result<Vec<Candidate>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let named = |name: &String| -> Result<_, BadInput> {
        let (name, wait) = name.split_once(':').unwrap_or((name, "futex"));
        let known = || BARRIERS.iter().map(|barrier| barrier.name);
        let barrier =
            known().find(|known| *known == name).ok_or_else(|| BadInput::unknown("barrier", name, known()))?;
        let variable = |asked: &str| (asked == "BATON_OMP_BARRIER").then(|| barrier.to_owned());
        Settings::read(1, variable, |_| ())
            .map_err(|why| BadInput::new(why.replace("BATON_OMP_BARRIER", "--barrier")))?;
        Ok((barrier, wait.parse().map_err(BadInput::new)?))
    };
    let named: Vec<_> = names.iter().map(named).collect::<Result<_, _>>()?;
    let folder = openmp::find()?;
    openmp::check(&program.image, &folder)?;
    let search_path = openmp::search_path(&folder);
    let one = |(barrier, wait)| {
        let text = format!("barrier {barrier}");
        Candidate::openmp(OpenMp { text, barrier, wait, search_path: search_path.clone() })
    };
    Ok(named.into_iter().map(one).collect())
}

/// Nanoseconds of each run of the recorded program without recording. This process changes to the
/// directory in which the program was recorded.
pub(super) fn alone(trace: &Trace, directory: &Path, runs: u32) -> anyhow::Result<Vec<u64>> {
    let meta = described(trace, directory)?;
    let own = recorded(&meta)?;
    let (program, command) = again(&meta)?;
    // The library is needed only if a lock is replaced.
    let library = if own.choice.is_some() { library::find()? } else { PathBuf::new() };
    let taken = runs::interleaved(&program, &command, &library, &[own], runs)?;
    Ok(taken.iter().flat_map(|taken| &taken.times).map(|time| time.0).collect())
}

/// The launcher's description of the run, with its command.
pub(super) fn described(trace: &Trace, directory: &Path) -> Result<Meta, BadInput> {
    let meta = trace.meta.clone().filter(|meta| !meta.command.is_empty());
    meta.ok_or_else(|| {
        BadInput::new(format!("{}: it does not say which command was recorded", directory.display()))
            .hint("`baton profile` writes that into meta.json; a trace made with LD_PRELOAD alone has none")
    })
}

/// The recorded program and command. This process changes to the directory in which the program was
/// recorded, because the program is found from there and runs there.
pub(super) fn again(meta: &Meta) -> Result<(Program, Vec<OsString>), BadInput> {
    let there = directory(meta)?;
    let command = exact::words(meta, exact::COMMAND, &meta.command)?;
    std::env::set_current_dir(&there)
        .map_err(|e| BadInput::new(format!("cannot go to {}, where it was recorded: {e}", there.display())))?;
    Ok((program::find(&command[0])?, command))
}

/// The directory in which the program was recorded, byte for byte.
pub(super) fn directory(meta: &Meta) -> Result<PathBuf, BadInput> {
    let words = exact::words(meta, exact::DIRECTORY, std::slice::from_ref(&meta.directory))?;
    Ok(words.into_iter().collect())
}

/// The lock of the recorded run.
pub(super) fn recorded(meta: &Meta) -> Result<Candidate, BadInput> {
    match &meta.lock {
        None => Ok(Candidate::bare()),
        Some(lock) => {
            let wait = meta.extra.get("wait").and_then(|w| w.as_str());
            Ok(Candidate { recorded: true, ..Candidate::replaced(choice::check(lock, wait)?) })
        }
    }
}

/// The best predicted locks that do not collapse, other than the recorded one, as `lock:wait`.
fn best(said: &[LockPrediction], most: u32) -> Vec<String> {
    // A row of changed locks (`whatif --split`) is not a lock that could be run.
    let is_lock = |s: &&LockPrediction| LOCKS.iter().any(|lock| lock.name == s.lock);
    let mut others: Vec<&LockPrediction> =
        said.iter().filter(|s| !s.recorded && !s.collapses()).filter(is_lock).collect();
    others.sort_by_key(|s| s.time_ns.median);
    others.iter().take(most as usize).map(|s| format!("{}:{}", s.lock, s.wait)).collect()
}

/// The best, the middle and the slowest of the locks, without the recorded one, that are predicted
/// not to collapse and to take at most three times as long as it.
fn across(said: &[LockPrediction]) -> Vec<String> {
    let most = said.iter().find(|s| s.recorded).map_or(u64::MAX, |s| s.time_ns.median.saturating_mul(3));
    let bearable = said.iter().filter(|s| s.time_ns.median <= most).cloned().collect::<Vec<_>>();
    let ranked = best(&bearable, u32::MAX);
    let mut picked: Vec<String> = Vec::new();
    for at in [0, ranked.len() / 2, ranked.len().wrapping_sub(1)] {
        picked.extend(ranked.get(at).filter(|name| !picked.contains(name)).cloned());
    }
    picked
}

/// The rows of the predictions, with measured times where there are any; then the rows of locks
/// that were measured without a prediction.
fn rows(said: &[LockPrediction], candidates: &[Candidate], taken: &[Taken]) -> Vec<Predicted> {
    let mut rows: Vec<Predicted> = said.iter().map(LockPrediction::row).collect();
    // The recorded lock's row comes first. If the user asked for that lock as well, a second row of
    // it follows, which is dropped.
    let mut first = true;
    rows.retain(|row| !row.recorded || std::mem::take(&mut first));
    for (candidate, taken) in candidates.iter().zip(taken) {
        let same = |r: &&mut Predicted| match candidate.recorded {
            true => r.recorded,
            false => !r.recorded && (r.lock.as_str(), r.wait.as_str()) == (candidate.lock(), &candidate.wait()),
        };
        match rows.iter_mut().find(same) {
            Some(row) => {
                // The prediction names the lock that represents the recorded lock in the replay.
                (row.lock, row.wait) = (candidate.lock().to_owned(), candidate.wait());
                taken.enter(row);
            }
            None => {
                let mut row = Predicted {
                    lock: candidate.lock().to_owned(),
                    wait: candidate.wait(),
                    predicted_ns: Nanos(0),
                    low_ns: Nanos(0),
                    high_ns: Nanos(0),
                    interval_ns: None,
                    overhead_ns: None,
                    measured_ns: None,
                    measured_range_ns: None,
                    recorded: candidate.recorded,
                    remark: Some("not predicted".into()),
                };
                taken.enter(&mut row);
                rows.push(row);
            }
        }
    }
    rows
}

fn table(rows: &[Predicted], said: &[LockPrediction]) -> String {
    let dash = || "-".to_owned();
    // Only the chip of this machine gives intervals.
    let intervals = rows.iter().any(|row| row.interval_ns.is_some());
    let interval = |(low, high): (Nanos, Option<Nanos>)| match high {
        Some(high) => format!("{} – {}", duration(low), duration(high)),
        None => format!("≥ {}", duration(low)),
    };
    let cells = |row: &Predicted| {
        let predicted = (row.predicted_ns.0 > 0).then_some(row.predicted_ns);
        let off = predicted
            .zip(row.measured_ns)
            .map(|(p, m)| format!("{:+.0}%", (p.0 as f64 / m.0.max(1) as f64 - 1.0) * 100.0));
        let mut cells = vec![
            format!("{}{}", row.lock, if row.recorded { " (recorded)" } else { "" }),
            row.wait.clone(),
            predicted.map_or_else(dash, duration),
            row.measured_ns.map_or_else(dash, duration),
            row.measured_range_ns
                .filter(|(low, high)| low < high)
                .map_or_else(dash, |(low, high)| format!("{} – {}", duration(low), duration(high))),
            off.unwrap_or_else(dash),
            row.remark.as_deref().and_then(|r| r.split(':').next()).unwrap_or_default().to_owned(),
        ];
        if intervals {
            cells.insert(3, row.interval_ns.map_or_else(dash, interval));
        }
        cells
    };
    let mut header = vec!["lock", "wait", "predicted", "measured", "range", "off by", "remark"];
    if intervals {
        header.insert(3, "95% interval");
    }
    let (shown, collapsed) = apart(rows, said);
    let mut out = ui::table(&header, &shown.into_iter().map(cells).collect::<Vec<_>>());
    if !collapsed.is_empty() {
        let names: Vec<String> = collapsed.iter().map(|row| format!("{}:{}", row.lock, row.wait)).collect();
        out += &format!("predicted to collapse, and not measured: {}\n", names.join(", "));
    }
    out
}

/// The rows of the table, and the rows of locks that are predicted to collapse and were not
/// measured, which share one line below the table.
fn apart<'a>(rows: &'a [Predicted], said: &[LockPrediction]) -> (Vec<&'a Predicted>, Vec<&'a Predicted>) {
    let collapses =
        |row: &Predicted| said.iter().any(|s| s.collapses() && (&s.lock, &s.wait) == (&row.lock, &row.wait));
    rows.iter().partition(|row| row.recorded || row.measured_ns.is_some() || !collapses(row))
}

impl Candidate {
    pub(super) fn lock(&self) -> &str {
        if let Some(openmp) = &self.openmp {
            return &openmp.text;
        }
        match (&self.choice, &self.one_by_one) {
            (Some(choice), _) => choice.lock.name,
            (None, Some(one_by_one)) => &one_by_one.text,
            (None, None) => "glibc",
        }
    }

    pub(super) fn wait(&self) -> String {
        if let Some(openmp) = &self.openmp {
            return openmp.wait.to_string();
        }
        match (&self.choice, &self.one_by_one) {
            (Some(choice), _) => choice.wait.to_string(),
            (None, Some(_)) => "each its own".into(),
            (None, None) => "its own".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lock: &str, median: u64, recorded: bool, cut_off: u32) -> LockPrediction {
        let text = format!(
            r#"{{"lock":"{lock}","wait":"pause","recorded":{recorded},"cut_off":{cut_off},
                "time_ns":{{"median":{median},"low":1,"high":9}},"overhead_ns":{{"median":3,"low":1,"high":9}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_best_are_neither_the_recorded_nor_those_that_collapse() {
        let all = [
            said("futex", 1, true, 0),
            said("mcs", 7, false, 0),
            said("tas", 2, false, 1),
            said("clh", 5, false, 0),
            said("split hot=4", 3, false, 0),
        ];
        assert_eq!(best(&all, 1), ["clh:pause"]);
        assert_eq!(best(&all, 9), ["clh:pause", "mcs:pause"]);
    }

    #[test]
    fn rows_that_collapse_unmeasured_are_one_line() {
        let said =
            [said("futex", 9, true, 0), said("mcs", 7, false, 1), said("tas", 8, false, 1), said("clh", 5, false, 0)];
        let mut rows: Vec<Predicted> = said.iter().map(LockPrediction::row).collect();
        let text = table(&rows, &said);
        assert!(text.ends_with("predicted to collapse, and not measured: mcs:pause, tas:pause\n"), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
        rows[1].measured_ns = Some(Nanos(70));
        assert_eq!(table(&rows, &said).lines().count(), 5);
    }

    #[test]
    fn a_handful_lies_across_those_that_are_bearable() {
        let others = ["tas", "mcs", "clh", "ttas", "k42"];
        let mut all = vec![said("futex", 100, true, 0)];
        all.extend(others.iter().zip([40, 90, 120, 300, 301]).map(|(lock, ns)| said(lock, ns, false, 0)));
        assert_eq!(across(&all), ["tas:pause", "clh:pause", "ttas:pause"]);
        assert_eq!(across(&all[..2]), ["tas:pause"]);
        assert!(across(&all[..1]).is_empty());
    }

    #[test]
    fn measured_stands_beside_predicted() {
        let all = [said("futex", 100, true, 0), said("mcs", 200, false, 0)];
        let mcs = Candidate::replaced(choice::check("mcs", Some("pause")).unwrap());
        let clh = Candidate::replaced(choice::check("clh", Some("pause")).unwrap());
        let taken = |ns: &[u64]| Taken { times: ns.iter().map(|n| Nanos(*n)).collect() };
        let rows = rows(&all, &[Candidate::bare(), mcs, clh], &[taken(&[90, 80, 100]), taken(&[400]), taken(&[7])]);
        let got: Vec<_> = rows.iter().map(|r| (r.lock.as_str(), r.measured_ns.map(|n| n.0))).collect();
        assert_eq!(got, [("glibc", Some(90)), ("mcs", Some(400)), ("clh", Some(7))]);
        assert_eq!(rows[0].measured_range_ns, Some((Nanos(80), Nanos(100))));
        let text = table(&rows, &[]);
        assert!(!text.contains("95% interval"));
        assert!(
            text.contains("glibc (recorded)")
                && !text.contains("futex")
                && text.contains("-50%")
                && text.contains("+11%"),
            "{text}"
        );
    }

    #[test]
    fn a_measured_time_within_its_interval_bears_the_prediction_out() {
        let mut all = [said("futex", 100, true, 0), said("mcs", 200, false, 0)].map(|said| said.row());
        all[0].interval_ns = Some((Nanos(80), Some(Nanos(120))));
        all[1].interval_ns = Some((Nanos(300), None));
        let taken = |ns: u64| Taken { times: vec![Nanos(ns)] };
        taken(121).enter(&mut all[0]);
        taken(400).enter(&mut all[1]);
        let text = table(&all, &[]);
        assert!(text.contains("95% interval") && text.contains("80ns – 120ns") && text.contains("≥ 300ns"), "{text}");
        assert_eq!(html::borne_out(&all).unwrap(), "1 of 2 measured medians lies in its 95% interval.");
        taken(120).enter(&mut all[0]);
        assert_eq!(html::borne_out(&all).unwrap(), "2 of 2 measured medians lie in their 95% intervals.");
    }
}
