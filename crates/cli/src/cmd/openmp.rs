//! `baton run --openmp`: runs a program of GCC's or clang's OpenMP on Baton's runtime.

use crate::error::BadInput;
use crate::ui;
use baton_host::launch::{child, choice, exec::Exec, openmp, program};
use baton_machine::wait::POLICIES;
use baton_omp::settings::{Settings, TaskQueue};
use baton_omp::waits::REASONS;
use baton_sync::lock::LOCKS;
use std::ffi::OsString;
use std::process::ExitCode;

/// The names of the runtime, and of the lock, barrier, waits and queue of tasks that it uses.
pub(super) struct Names {
    pub(super) runtime: String,
    pub(super) lock: Option<String>,
    pub(super) barrier: Option<String>,
    pub(super) wait: Option<String>,
    pub(super) tasks: Option<String>,
}

/// Runs the program. Every error comes before the program starts.
pub(super) fn run(names: &Names, args: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let variables = names.check()?;
    let program = program::find(&args[0])?;
    let folder = openmp::find()?;
    let loads = openmp::loads(&program.image, &folder)?;
    let mut exec = Exec::new(program, args);
    if loads == openmp::Loads::WhileItRuns {
        ui::note(
            "the program loads no OpenMP library when it starts: Baton's is preloaded for libraries that it opens while it runs",
        );
        exec.preload(&openmp::preloaded(&folder)?);
    }
    exec.set("LD_LIBRARY_PATH", openmp::search_path(&folder));
    for (name, value) in variables {
        exec.set(name, value);
    }
    Ok(child::run(exec, None, None, |_| {}, ui::warn)?.exit())
}

impl Names {
    /// The variables that pass the names to the runtime, if the runtime knows each name.
    pub(super) fn check(&self) -> Result<Vec<(&'static str, &str)>, BadInput> {
        if self.runtime != "baton" {
            return Err(BadInput::unknown("OpenMP runtime", &self.runtime, ["baton"]));
        }
        if let Some(lock) = &self.lock
            && !LOCKS.iter().any(|known| known.name == lock)
        {
            return Err(BadInput::unknown("lock", lock, LOCKS.iter().map(|known| known.name)));
        }
        self.barrier.as_deref().map(choice::barrier).transpose()?;
        self.wait.as_deref().map_or(Ok(()), waits)?;
        let queues = TaskQueue::ALL.map(|(_, name)| name);
        if let Some(tasks) = self.tasks.as_deref().filter(|tasks| !queues.contains(tasks)) {
            return Err(BadInput::unknown("queue of tasks", tasks, queues));
        }
        let all = [
            ("BATON_OMP_LOCK", &self.lock),
            ("BATON_OMP_BARRIER", &self.barrier),
            ("BATON_OMP_WAIT", &self.wait),
            ("BATON_OMP_TASKS", &self.tasks),
        ];
        let given: Vec<_> = all.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect();
        // The runtime's own reading decides, because this machine may lack a wait policy.
        let variable =
            |asked: &str| given.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned());
        Settings::read(1, variable, |_| ()).map_err(|why| {
            let (name, rest) = why.split_once(": ").unwrap_or(("", &why));
            BadInput::new(format!("{}: {rest}", name.replace("BATON_OMP_", "--").to_lowercase()))
        })?;
        Ok(given)
    }
}

/// Checks the names in `WAIT` or `REASON=WAIT,...`.
fn waits(text: &str) -> Result<(), BadInput> {
    for part in text.split(',') {
        let (reason, policy) =
            part.split_once('=').map_or((None, part), |(reason, policy)| (Some(reason.trim()), policy));
        if let Some(reason) = reason.filter(|reason| !REASONS.iter().any(|(_, known)| known == reason)) {
            return Err(BadInput::unknown("reason to wait", reason, REASONS.iter().map(|(_, name)| *name)));
        }
        if policy.trim().parse::<baton_machine::Wait>().is_err() {
            return Err(BadInput::unknown("wait policy", policy.trim(), POLICIES.iter().map(|(_, info)| info.name)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(lock: Option<&str>, barrier: Option<&str>, wait: Option<&str>) -> Names {
        let own = |name: Option<&str>| name.map(ToOwned::to_owned);
        Names { runtime: "baton".into(), lock: own(lock), barrier: own(barrier), wait: own(wait), tasks: None }
    }

    #[test]
    fn each_wrong_name_has_its_hint() {
        let right = names(Some("mcs"), Some("two-level"), Some("pause,idle=futex"));
        let right = Names { tasks: Some("steal".into()), ..right };
        assert_eq!(right.check().map(|variables| variables.len()), Ok(4));
        let several = names(None, None, Some("umwait,pause"));
        assert_eq!(several.check().map(|variables| variables.len()), Ok(1), "one of them is here");
        for (wrong, hint) in [
            (Names { runtime: "batn".into(), ..names(None, None, None) }, "`baton`"),
            (names(Some("tiket"), None, None), "`ticket`"),
            (names(None, Some("gom"), None), "`gomp`"),
            (names(None, None, Some("paus")), "`pause`"),
            (names(None, None, Some("idel=pause")), "`idle`"),
            (names(None, None, Some("umwait,paus")), "`pause`"),
            (Names { tasks: Some("stael".into()), ..names(None, None, None) }, "`steal`"),
        ] {
            let error = wrong.check().unwrap_err();
            assert!(error.advice().is_some_and(|advice| advice.contains(hint)), "{error}: {:?}", error.advice());
        }
    }

    /// The defaults in the help of `run` are those of an empty environment.
    #[test]
    fn the_help_names_the_defaults() {
        use clap::Args as _;
        let command = crate::cmd::run::Args::augment_args(clap::Command::new("run"));
        let empty = Settings::read(1, |_| None, |_| ()).unwrap();
        let tasks = TaskQueue::ALL.into_iter().find(|(queue, _)| *queue == empty.tasks).unwrap().1;
        for (name, default) in [("tasks", tasks), ("barrier", &empty.barrier), ("lock", &empty.lock)] {
            let argument = command.get_arguments().find(|of| of.get_id() == name).unwrap();
            let help = argument.get_help().unwrap().to_string();
            assert!(help.contains(&format!("{default}]")), "{name}, default {default}: {help}");
        }
    }
}
