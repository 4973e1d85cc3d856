//! The C program with the measurements: compiled once, run under each runtime.

use super::runtime::Runtime;
use crate::cmd::measure::runs;
use crate::error::BadInput;
use anyhow::{Context, bail, ensure};
use baton_host::launch::exec::Exec;
use baton_host::launch::program::{self, Program};
use serde::Deserialize;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The source files.
const SOURCES: [(&str, &str); 8] = [
    ("bench.h", include_str!("epcc/bench.h")),
    ("main.c", include_str!("epcc/main.c")),
    ("sync.c", include_str!("epcc/sync.c")),
    ("sched.c", include_str!("epcc/sched.c")),
    ("chunk.c", include_str!("epcc/chunk.c")),
    ("array.c", include_str!("epcc/array.c")),
    ("task.c", include_str!("epcc/task.c")),
    ("manners.c", include_str!("epcc/manners.c")),
];

/// Groups of measurements.
pub(super) const GROUPS: [&str; 6] = ["sync", "sched", "chunk", "array", "task", "manners"];

/// The result of one measurement in one run, in nanoseconds per construct.
#[derive(Deserialize)]
pub(super) struct Measured {
    pub(super) group: String,
    pub(super) name: String,
    /// The number of constructs in each of the times.
    pub(super) reps: u64,
    /// The time of the work without the construct.
    pub(super) reference_ns: f64,
    /// The overhead in each repetition; in the group `manners`, the measured time itself.
    pub(super) ns: Vec<f64>,
}

/// The extent of a run.
pub(super) struct Extent<'a> {
    pub(super) groups: &'a [String],
    /// The number of repetitions of each measurement.
    pub(super) outer: u32,
    /// The least duration of a repetition.
    pub(super) target: Duration,
    /// The steps of a delay.
    pub(super) steps: u64,
    /// A run that takes longer is an error.
    pub(super) limit: Duration,
}

/// The compiled program.
pub(super) struct Bench(Program);

impl Bench {
    /// Compiles the program in `folder`.
    pub(super) fn build(compiler: &str, folder: &Path) -> anyhow::Result<Bench> {
        for (name, text) in SOURCES {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let binary = folder.join("epcc");
        let sources = SOURCES.iter().filter(|(name, _)| name.ends_with(".c")).map(|(name, _)| folder.join(name));
        let mut compile = Command::new(compiler);
        compile.args(["-O2", "-fopenmp", "-Wl,--enable-new-dtags", "-o"]).arg(&binary).args(sources);
        let output = compile.output().map_err(|why| {
            BadInput::new(format!("cannot start the C compiler `{compiler}`: {why}"))
                .hint("install gcc, or name another compiler of GCC's OpenMP: --cc CC")
        })?;
        if !output.status.success() {
            bail!("`{compiler} -fopenmp` failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        Ok(Bench(program::find(binary.as_os_str())?))
    }

    /// Runs the program to find how many steps a delay of `delay` nanoseconds has.
    pub(super) fn calibrate(&self, delay: u32) -> anyhow::Result<u64> {
        let exec = Exec::new(self.0.clone(), self.words(&["calibrate".into(), delay.to_string()]));
        let output = output(exec, Duration::from_secs(60), "the calibration")?;
        output.trim().parse().with_context(|| format!("the calibration printed {output:?}"))
    }

    /// Runs the program once.
    pub(super) fn run(&self, runtime: &Runtime, threads: u32, extent: &Extent<'_>) -> anyhow::Result<Vec<Measured>> {
        let words = [
            extent.groups.join(","),
            extent.outer.to_string(),
            extent.target.as_nanos().to_string(),
            extent.steps.to_string(),
        ];
        let mut exec = Exec::new(self.0.clone(), self.words(&words));
        exec.set("OMP_NUM_THREADS", threads.to_string()).set("OMP_DYNAMIC", "false");
        runtime.set(&mut exec);
        let what = format!("{} with {threads} threads", runtime.name);
        read(&output(exec, extent.limit, &what)?, &what)
    }

    fn words(&self, words: &[String]) -> Vec<OsString> {
        let name = self.0.image.clone().into_os_string();
        std::iter::once(name).chain(words.iter().map(OsString::from)).collect()
    }
}

fn output(exec: Exec, limit: Duration, what: &str) -> anyhow::Result<String> {
    let Some((result, _)) = runs::once(exec, Some(limit))? else {
        bail!("{what} took longer than {} s and was ended: it hangs, or --limit is too short", limit.as_secs());
    };
    ensure!(result.code == 0, "{what} ended with exit code {}", result.code);
    String::from_utf8(result.output).with_context(|| format!("what {what} printed"))
}

/// Reads the output of a run: a line for each measurement.
fn read(text: &str, what: &str) -> anyhow::Result<Vec<Measured>> {
    let line = |line: &str| serde_json::from_str(line).with_context(|| format!("{what} printed {line:?}"));
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_broken_ones_are_shown() {
        let line = r#"{"group":"sync","name":"for","reps":8,"reference_ns":80.5,"ns":[1.0,-2.5]}"#;
        let read_one = read(line, "x").unwrap();
        assert_eq!(
            (read_one[0].name.as_str(), read_one[0].reps, read_one[0].ns.as_slice()),
            ("for", 8, &[1.0, -2.5][..])
        );
        let error = read("{\"group\":", "libomp with 2 threads").err().unwrap();
        assert!(error.to_string().contains("libomp with 2 threads printed"), "{error}");
    }
}
