//! The options as a request. All of them are checked before anything is changed.

use super::{Backend, RunArgs, scheduler, show};
use crate::error::BadInput;
use crate::ui;
use baton_daemon::policies::{self, Chosen};
use baton_daemon::run::{self as daemon, Programs, Request};
use baton_daemon::setup::{self, App, Setup};
use baton_host::launch::exec::Exec;
use baton_host::launch::program::{self, Program};
use baton_machine::discover::{self, Kinds, Topology, cpulist, kinds};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// What stands between two programs.
const BETWEEN: &str = "::";
/// How long the loop that tells kinds of cores apart runs on each CPU, three times.
const LOOP: Duration = Duration::from_millis(20);

/// Makes the request.
pub(super) fn of(options: RunArgs) -> anyhow::Result<Request> {
    let policy = policies::find(&options.policy)?;
    if policy.hears_locks && !options.attach.is_empty() {
        let why =
            format!("the policy `{}` acts on what threads tell of locks; attached programs tell nothing", policy.name);
        let hint = format!("start the program: baton sched --policy {} -- baton run ./app", policy.name);
        return Err(BadInput::new(why).hint(hint).into());
    }
    let scheduler = scheduler::of(options.backend, options.all)?;
    let parts = parts(&options.programs)?;
    if parts.is_empty() && options.attach.is_empty() {
        return Err(BadInput::new("no program is named").hint("baton sched -- ./app, or --attach PID").into());
    }
    daemon::check_attach(&options.attach)?;
    if !options.dry_run {
        let own = [std::process::id()];
        daemon::check_free(if options.attach.is_empty() { &own } else { &options.attach })?;
    }
    let names: Vec<String> = match parts.is_empty() {
        true => options.attach.iter().map(|&pid| daemon::command_of(pid)).collect(),
        false => {
            parts.iter().map(|words| words.join(std::ffi::OsStr::new(" ")).to_string_lossy().into_owned()).collect()
        }
    };
    let programs = parts.into_iter().map(exec).collect::<Result<Vec<Exec>, BadInput>>()?;
    let slice_ns = u64::try_from(options.time_slice.as_nanos()).unwrap_or(u64::MAX);
    if !(1_000_000..=60_000_000_000).contains(&slice_ns) {
        return Err(BadInput::new("--time-slice: expected 1ms to 60s").into());
    }
    let speedups = speedups(policy, options.speedup.as_deref(), names.len())?;
    let topology = Topology::discover();
    let allowed = discover::allowed_cpus();
    let fast = fast_cpus(options.fast_cpus.as_deref(), &topology, &allowed)?;
    let cpus = setup::cpus(&topology, &discover::possible_cpus(), &fast);
    let online: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.id).collect();
    let usable = (0..cpus.count() as u32).map(|cpu| online.contains(&cpu) && allowed.contains(&cpu)).collect();
    let apps = names.into_iter().zip(speedups).map(|(name, speedup)| App { name, speedup }).collect();
    let setup = Setup { policy, slice_ns, cpus, usable, apps };
    let what = match programs.is_empty() {
        true => Programs::Attach(options.attach),
        false => Programs::Start { programs, to_stderr: options.json },
    };
    let log = options.log.as_deref().map(log_file).transpose()?;
    let masks = options.backend == Backend::Affinity;
    if masks && std::fs::read_to_string("/sys/kernel/sched_ext/state").is_ok_and(|state| state.trim() == "enabled") {
        ui::warn("a sched_ext scheduler is loaded: it may place threads against the masks' purpose");
    }
    Ok(Request {
        setup,
        what,
        dry_run: options.dry_run,
        poll: options.poll,
        log,
        scheduler,
        watchdog: Some("/proc/self/exe".into()),
        view: options.view.then(show::view),
    })
}

/// Divides the words at `::`.
fn parts(words: &[OsString]) -> Result<Vec<Vec<OsString>>, BadInput> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let parts: Vec<Vec<OsString>> = words.split(|word| word == BETWEEN).map(<[OsString]>::to_vec).collect();
    match parts.iter().position(Vec::is_empty) {
        Some(at) => Err(BadInput::new(format!(
            "program {} of {} is empty; expected a program on both sides of `::`",
            at + 1,
            parts.len()
        ))),
        None => Ok(parts),
    }
}

fn exec(words: Vec<OsString>) -> Result<Exec, BadInput> {
    let path = program::locate(&words[0])?;
    Ok(Exec::new(Program { image: path.clone(), path }, words))
}

/// Opens the log. A file that exists is written anew; other things are refused.
fn log_file(path: &Path) -> Result<File, BadInput> {
    let open = || {
        let file =
            File::options().write(true).create(true).truncate(false).custom_flags(libc::O_NONBLOCK).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(std::io::Error::other("expected a regular file"));
        }
        file.set_len(0)?;
        Ok(file)
    };
    open().map_err(|error| BadInput::new(format!("cannot write the log to `{}`: {error}", path.display())))
}

/// The speed-up of each program, in thousandths.
fn speedups(policy: &Chosen, text: Option<&str>, programs: usize) -> Result<Vec<Option<u32>>, BadInput> {
    let Some(text) = text else {
        if policy.by_speedup {
            let name = policy.name;
            let bad = BadInput::new(format!("the policy `{name}` needs the programs' measured speed-ups"));
            return Err(bad.hint("--speedup 1.8,1.2: how much faster each program is on a fast core"));
        }
        return Ok(vec![None; programs]);
    };
    let wrong = || {
        BadInput::new(format!("--speedup {text}: expected {programs} numbers from 0.1 to 100, one for each program"))
    };
    let read = |word: &str| {
        let ratio = word.trim().parse::<f64>().ok().filter(|ratio| (0.1..=100.0).contains(ratio));
        Some((ratio? * 1000.0).round() as u32)
    };
    let all: Option<Vec<u32>> = text.split(',').map(read).collect();
    let all = all.filter(|all| all.len() == programs).ok_or_else(wrong)?;
    Ok(all.into_iter().map(Some).collect())
}

/// The fast CPUs: those that are named, else the fastest kind of cores.
fn fast_cpus(named: Option<&str>, topology: &Topology, allowed: &[u32]) -> Result<Vec<u32>, BadInput> {
    let online: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.id).collect();
    let Some(text) = named else { return by_kinds(&online, allowed, Kinds::discover()) };
    let expected = |what: &str| BadInput::new(format!("--fast-cpus {text}: {what}"));
    let list = cpulist::parse(text).filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| expected("expected a list of CPUs, such as 0-3,8"))?;
    if let Some(cpu) = list.iter().find(|cpu| !online.contains(cpu)) {
        return Err(expected(&format!("CPU {cpu} is not online; online are {}", cpulist::show(&online))));
    }
    if let Some(cpu) = list.iter().find(|cpu| !allowed.contains(cpu)) {
        let all = cpulist::show(allowed);
        return Err(expected(&format!("CPU {cpu} is not among the CPUs that you may use: {all}")));
    }
    if allowed.iter().all(|cpu| list.contains(cpu)) {
        return Err(expected(
            "names all CPUs that you may use; expected some of them, as the others are the slow ones",
        ));
    }
    Ok(list)
}

/// The allowed CPUs of the fastest kind.
fn by_kinds(online: &[u32], allowed: &[u32], found: Kinds) -> Result<Vec<u32>, BadInput> {
    let found = if found.disagree.is_empty() {
        found
    } else {
        found.disagree.iter().for_each(|said| ui::warn(format_args!("{said}; a timed loop decides")));
        found.decided_by(&kinds::by_loop(online, LOOP))
    };
    // The kinds are in order of speed; a kind without a CPU that the user may use does not count.
    let here =
        |kind: &discover::Kind| kind.cpus.iter().copied().filter(|cpu| allowed.contains(cpu)).collect::<Vec<_>>();
    let mut kinds = found.kinds.iter().map(here).filter(|cpus| !cpus.is_empty());
    match (kinds.next(), kinds.next()) {
        (Some(fast), Some(_)) => Ok(fast),
        _ => {
            let source = found.source.map_or("the kernel reports no speeds".into(), |by| format!("by {}", by.name()));
            let all = cpulist::show(allowed);
            let bad = BadInput::new(format!("all CPUs that you may use ({all}) are of one kind, {source}"));
            Err(bad.hint("name the fast ones: --fast-cpus 0"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn programs_stand_between_colons() {
        assert_eq!(parts(&words("a x :: b")).unwrap(), [words("a x"), words("b")]);
        assert_eq!(parts(&[]).unwrap(), Vec::<Vec<OsString>>::new());
        for (text, told) in
            [("a ::", "program 2 of 2 is empty"), (":: a", "program 1 of 2"), ("a :: :: b", "program 2 of 3")]
        {
            assert!(parts(&words(text)).unwrap_err().to_string().contains(told), "{text}");
        }
    }

    #[test]
    fn speedups_are_one_a_program() {
        let pa = policies::find("pa").unwrap();
        assert_eq!(speedups(pa, None, 2).unwrap(), [None, None]);
        assert_eq!(speedups(pa, Some("1.8, 1.25"), 2).unwrap(), [Some(1800), Some(1250)]);
        for bad in ["1.8", "1,x", "0,1", "nan,1", "1,2,3", ""] {
            assert!(speedups(pa, Some(bad), 2).is_err(), "{bad}");
        }
        let needs = speedups(policies::find("static-ipc").unwrap(), None, 1).unwrap_err().to_string();
        assert!(needs.contains("needs the programs' measured speed-ups"), "{needs}");
    }

    #[test]
    fn the_fast_cpus_are_of_the_fastest_kind_that_is_allowed() {
        let kind = |cpus: &[u32], speed| discover::Kind { cpus: cpus.to_vec(), speed: Some(speed), core_type: None };
        let all = [kind(&[0, 1], 1024), kind(&[2, 3], 700), kind(&[4], 400)];
        let found = Kinds { kinds: all.to_vec(), source: Some(kinds::Source::Capacity), disagree: Vec::new() };
        let online = [0, 1, 2, 3, 4];
        assert_eq!(by_kinds(&online, &online, found.clone()).unwrap(), [0, 1]);
        assert_eq!(by_kinds(&online, &[1, 4], found.clone()).unwrap(), [1]);
        assert_eq!(by_kinds(&online, &[2, 4], found.clone()).unwrap(), [2]);
        let said = by_kinds(&online, &[2, 3], found).unwrap_err().to_string();
        assert_eq!(said, "all CPUs that you may use (2-3) are of one kind, by cpu_capacity");
    }
}
