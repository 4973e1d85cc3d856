//! Reads the environment variables, once at start. `docs/reference/preload.md` says what each
//! means.

use baton_machine::native::notices;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Native, Wait};
use baton_sync::barrier::{BARRIERS, UnknownBarrier};
use baton_sync::lock::assign::{self, DEFAULT, MutexRange, ObjectRange, Part};
use baton_sync::lock::{LockInfo, info, plugin};
use baton_trace::counts;
use baton_trace::point::CALLS;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;

/// What the environment variables ask for.
#[derive(Debug, Default)]
pub struct Config {
    /// Whether the library does nothing, because the variables were meant for another process.
    pub inert: bool,
    /// The locks that replace the program's mutexes; `None`: glibc's serve them.
    pub lock: Option<Locks>,
    /// The barrier that replaces the program's barriers, by its name, and how its waiters wait.
    pub barrier: Option<(&'static str, Wait)>,
    /// Whether waiters that only spin go on spinning when the program stands still.
    pub keep_spinning: bool,
    /// The trace's directory.
    pub trace: Option<CString>,
    /// The trace's size limit in bytes.
    pub trace_max: Option<u64>,
    /// Whether call stacks are walked: of waits for locks and in futex calls, of calls of input,
    /// output and sleep, of calls that create a thread or initialise an object, and of first
    /// acquisitions.
    pub stacks: bool,
    /// Whether the trace has context switches, where the kernel lets the process record them.
    pub switches: bool,
    /// The file to which the counters are written at exit.
    pub stats: Option<CString>,
    /// The name of the socket at which `baton` listens for messages.
    pub say: Option<String>,
    /// The calls that are counted while the program runs.
    pub progress: Option<Progress>,
    /// The page that `baton sched` reads.
    pub page: Option<CString>,
}

/// Which calls are counted in a file while the program runs, and which of them are the progress
/// point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The file of the counts, which `baton` has made.
    pub file: CString,
    /// The progress point.
    pub point: Point,
    /// The call sites that count; if empty, all do.
    pub sites: Vec<ObjectRange>,
}

/// A progress point, whose symbols have been resolved to addresses in object files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// A call of a function, given by its column in the file of counts.
    Call(usize),
    /// Acquisitions of mutexes that lie at these places, or that were made or taken there.
    Lock(Vec<ObjectRange>),
    /// Condition waits that a signal ended, if the variable lies at one of these places or the wait
    /// was called there.
    Cond(Vec<ObjectRange>),
    /// Calls of `baton_marker` with this name.
    Mark(CString),
}

/// The locks that replace mutexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locks {
    /// The same lock replaces every mutex.
    One(Served),
    /// Mutexes of listed places have a lock for each place; a default serves all other mutexes.
    Each(Each),
}

impl Locks {
    /// The wait policies of all locks in use.
    pub fn waits(&self) -> impl Iterator<Item = Wait> {
        let (one, each) = match self {
            Locks::One(served) => (Some(*served), None),
            Locks::Each(each) => (each.default, Some(&each.places)),
        };
        one.into_iter().chain(each.into_iter().flatten().filter_map(|(_, served)| *served)).map(|served| served.wait)
    }
}

/// A lock, and how its waiters wait.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// The lock.
    pub lock: &'static LockInfo,
    /// The policy.
    pub wait: Wait,
}

impl PartialEq for Served {
    fn eq(&self, other: &Served) -> bool {
        self.lock.name == other.lock.name && self.wait == other.wait
    }
}

impl Eq for Served {}

/// Locks for the mutexes of some places of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Each {
    /// Each place with its lock, in the order of the variable; `None`: glibc serves its mutexes.
    pub places: Vec<(MutexRange, Option<Served>)>,
    /// The lock of mutexes that belong to no listed place; `None`: glibc serves them.
    pub default: Option<Served>,
}

/// Reads the variables; an error is one line that names the variable and what was expected.
pub fn read(get: impl Fn(&str) -> Option<OsString>) -> Result<Config, String> {
    let text = |name: &str| -> Result<Option<String>, String> {
        match get(name).filter(|value| !value.is_empty()).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(value)) => Err(format!("{name}={}: not valid UTF-8", value.display())),
        }
    };
    let file = |name: &str| -> Result<Option<CString>, String> {
        let Some(value) = get(name).filter(|value| !value.is_empty()) else { return Ok(None) };
        // Makes the path absolute, because the program may change its directory and fork there.
        let path = std::path::absolute(&value).map_err(|error| format!("{name}={}: {error}", value.display()))?;
        let path = CString::new(path.into_os_string().into_vec());
        path.map(Some).map_err(|_| format!("{name}: a zero byte in a file name"))
    };
    let mut config = Config { say: text("BATON_SAY")?, ..Config::default() };
    if let Some(pid) = text("BATON_ONLY_PID")? {
        let pid: u32 = pid.parse().map_err(|_| format!("BATON_ONLY_PID={pid}: expected a process id"))?;
        if pid != std::process::id() {
            return Ok(Config { inert: true, ..Config::default() });
        }
    }
    let asked = text("BATON_WAIT")?;
    if let Some(name) = text("BATON_LOCK")? {
        let asked = asked.as_deref();
        config.lock = Some(if assign::is_assignment(&name) {
            Locks::Each(each(&name, asked)?)
        } else {
            Locks::One(one(&name, asked)?)
        });
    }
    if let Some(name) = text("BATON_BARRIER")? {
        let barrier = BARRIERS.iter().find(|barrier| barrier.name == name);
        let barrier = barrier.ok_or_else(|| format!("BATON_BARRIER: {}", UnknownBarrier(name)))?;
        config.barrier =
            Some((barrier.name, wait(asked.as_deref(), |policy| Ok(policy.unwrap_or(Wait::SpinPark(SPIN_TRIES))))?));
    }
    if let (Some(wait), None, None) = (asked, &config.lock, config.barrier) {
        return Err(format!(
            "BATON_WAIT={wait}: only with BATON_LOCK or BATON_BARRIER, as glibc's mutexes wait in their own way"
        ));
    }
    config.page = file(notices::VARIABLE)?;
    config.trace = file("BATON_TRACE")?;
    config.trace_max = text("BATON_TRACE_MAX")?.map(|value| size(&value)).transpose()?;
    config.keep_spinning = on(text("BATON_KEEP_SPINNING")?, "BATON_KEEP_SPINNING", false)?;
    config.stacks = on(text("BATON_STACKS")?, "BATON_STACKS", true)?;
    config.switches = on(text("BATON_SWITCHES")?, "BATON_SWITCHES", true)?;
    config.stats = file("BATON_STATS")?;
    config.progress = match (text("BATON_PROGRESS")?, file("BATON_PROGRESS_FILE")?) {
        (None, _) => None,
        (Some(point), None) => return Err(format!("BATON_PROGRESS={point}: only with BATON_PROGRESS_FILE")),
        (Some(point), Some(file)) => {
            Some(progress(&point, file).map_err(|error| format!("BATON_PROGRESS={point}: {error}"))?)
        }
    };
    if config.progress.is_some() && config.trace.is_some() {
        return Err("BATON_PROGRESS: not with BATON_TRACE, as recording slows the program down".to_owned());
    }
    Ok(config)
}

/// Parses a progress point: `recv`, `recv@PLACE;PLACE`, `lock:PLACE;PLACE`, `lock:PLACE@PLACE`,
/// `cond:PLACE`, `mark:NAME`.
fn progress(text: &str, file: CString) -> Result<Progress, String> {
    let places = |text: &str| text.split(';').map(str::parse).collect::<Result<Vec<ObjectRange>, String>>();
    if let Some(name) = text.strip_prefix("mark:") {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        return Ok(Progress { file, point: Point::Mark(name), sites: Vec::new() });
    }
    let (what, sites) = text.split_once('@').map_or((text, None), |(what, sites)| (what, Some(sites)));
    let point = match what.split_once(':') {
        Some(("lock", named)) => Point::Lock(places(named)?),
        Some(("cond", named)) => Point::Cond(places(named)?),
        _ => Point::Call(counts::column(what).ok_or_else(|| format!("expected one of {}", CALLS.join(", ")))?),
    };
    Ok(Progress { file, point, sites: sites.map(places).transpose()?.unwrap_or_default() })
}

/// Finds the lock called `name`, with the first usable one of the wait policies in `asked`.
fn one(name: &str, asked: Option<&str>) -> Result<Served, String> {
    let lock = match plugin::parse(name) {
        Some(_) => plugin::load(name).map_err(|error| format!("BATON_LOCK: {error}"))?,
        None => info(name).map_err(|unknown| format!("BATON_LOCK: {unknown}"))?,
    };
    Ok(Served { lock, wait: wait(asked, |policy| lock.wait_of_a_mutex(policy))? })
}

/// Parses locks for places. A part that names no wait policy takes the policies in `asked`.
fn each(text: &str, asked: Option<&str>) -> Result<Each, String> {
    let of = |part: &Part| match part.is_glibc() {
        true => Ok(None),
        false => one(&part.lock, part.wait.as_deref().or(asked)).map(Some),
    };
    let mut each = Each::default();
    for part in assign::parse(text).map_err(|error| format!("BATON_LOCK: {error}"))? {
        if part.name == DEFAULT {
            each.default = of(&part)?;
            continue;
        }
        let place = part.name.parse().map_err(|error| {
            format!("BATON_LOCK: {error}, or `default`; `baton run --lock` looks the program's names up")
        })?;
        each.places.push((place, of(&part)?));
    }
    Ok(each)
}

unsafe extern "C" {
    static environ: *const *mut u8;
}

/// Whether the C library has set up the environment yet.
pub fn has_environment() -> bool {
    // SAFETY: `environ` is a word of the C library; it is read before `main`, when there is one
    // thread.
    unsafe { !environ.is_null() }
}

/// Sets `BATON_TRACE` to an empty value, which counts as unset, for the programs that this process
/// executes.
pub fn forget_trace() {
    const NAME: &[u8] = b"BATON_TRACE=";
    // SAFETY: called before `main`, with one thread. The C library's array of strings ends with a
    // null pointer, and each string with a zero byte, so the comparison stays inside the string;
    // the byte behind the name is the value's first byte, or that zero.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let string = *entry;
            if NAME.iter().enumerate().all(|(i, byte)| *string.add(i) == *byte) {
                *string.add(NAME.len()) = 0;
            }
            entry = entry.add(1);
        }
    }
}

/// The first policy of the list `asked` that this machine has; without a list, the policy that the
/// lock or barrier has of its own. `take` says which policies the lock or barrier accepts.
fn wait(asked: Option<&str>, take: impl Fn(Option<Wait>) -> Result<Wait, String>) -> Result<Wait, String> {
    let Some(asked) = asked else {
        return take(None).map_err(|error| format!("BATON_WAIT: {error}"));
    };
    let mut missing = None;
    for name in asked.split(',') {
        let policy: Wait = name.trim().parse().map_err(|error| format!("BATON_WAIT: {error}"))?;
        let policy = take(Some(policy)).map_err(|error| format!("BATON_WAIT: {error}"))?;
        match Native::check(policy) {
            Ok(()) => return Ok(policy),
            Err(error) => missing = missing.or(Some(error)),
        }
    }
    match missing {
        Some(error) => Err(format!("BATON_WAIT: {error}; name another after a comma to fall back on")),
        None => Err("BATON_WAIT: no policy named".to_owned()),
    }
}

/// Parses `on` or `off`; `unset` is the result for a variable that is not set.
fn on(value: Option<String>, name: &str, unset: bool) -> Result<bool, String> {
    match value.as_deref() {
        None => Ok(unset),
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(format!("{name}={other}: expected on or off")),
    }
}

/// Parses a size in bytes: `500`, `64K`, `20M`, `2G`.
fn size(value: &str) -> Result<u64, String> {
    let bad = || format!("BATON_TRACE_MAX={value}: expected bytes, as a number with K, M or G behind it or nothing");
    let (number, shift) = match value.as_bytes().last() {
        Some(b'K' | b'k') => (&value[..value.len() - 1], 10),
        Some(b'M' | b'm') => (&value[..value.len() - 1], 20),
        Some(b'G' | b'g') => (&value[..value.len() - 1], 30),
        _ => (value, 0),
    };
    let number: u64 = number.parse().map_err(|_| bad())?;
    number.checked_mul(1 << shift).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<Config, String> {
        read(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn nothing_asked_is_nothing_done() {
        let config = with(&[("BATON_LOCK", "")]).unwrap();
        assert!(config.lock.is_none() && config.trace.is_none() && config.stats.is_none() && !config.inert);
    }

    #[test]
    fn a_lock_brings_its_own_wait_or_takes_one() {
        let lock = |variables| match with(variables).unwrap().lock {
            Some(Locks::One(served)) => Some((served.lock.name, served.wait)),
            _ => None,
        };
        assert_eq!(lock(&[("BATON_LOCK", "mcs")]), Some(("mcs", Wait::SpinPark(128))));
        assert_eq!(lock(&[("BATON_LOCK", "mcs"), ("BATON_WAIT", "futex")]), Some(("mcs", Wait::Futex)));
        assert_eq!(lock(&[("BATON_LOCK", "spin-park")]), Some(("spin-park", Wait::SpinPark(128))));
    }

    #[test]
    fn each_place_brings_its_own_wait_or_takes_the_one_asked_for() {
        let text = "app+0x10-0x38=mcs:spin,libx.so.1+0x20=glibc,app+0x40=ticket,default=spin-park";
        let config = with(&[("BATON_LOCK", text), ("BATON_WAIT", "spin-park(7)")]).unwrap();
        let Some(Locks::Each(each)) = config.lock else { panic!("{config:?}") };
        let served = |served: &Option<Served>| served.map(|served| (served.lock.name, served.wait));
        let said: Vec<_> = each.places.iter().map(|(place, by)| (place.to_string(), served(by))).collect();
        let expected = [
            ("app+0x10-0x38".to_owned(), Some(("mcs", Wait::Spin))),
            ("libx.so.1+0x20-0x21".to_owned(), None),
            ("app+0x40-0x41".to_owned(), Some(("ticket", Wait::SpinPark(7)))),
        ];
        assert_eq!(said, expected);
        assert_eq!(each.default, Some(Served { lock: info("spin-park").unwrap(), wait: Wait::SpinPark(7) }));
    }

    #[test]
    fn a_barrier_takes_any_wait() {
        let barrier = |variables| with(variables).unwrap().barrier;
        assert_eq!(barrier(&[("BATON_BARRIER", "central")]), Some(("central", Wait::SpinPark(128))));
        assert_eq!(barrier(&[("BATON_BARRIER", "tree"), ("BATON_WAIT", "futex")]), Some(("tree", Wait::Futex)));
    }

    #[test]
    fn a_policy_that_is_missing_falls_back_only_if_told() {
        let config = with(&[("BATON_LOCK", "mcs"), ("BATON_WAIT", "wfe,spin")]).unwrap();
        assert_eq!(config.lock, Some(Locks::One(Served { lock: info("mcs").unwrap(), wait: Wait::Spin })));
        let error = with(&[("BATON_LOCK", "mcs"), ("BATON_WAIT", "wfe")]).unwrap_err();
        assert!(error.contains("wfe") && error.contains("Arm") && error.contains("comma"), "{error}");
    }

    #[test]
    fn bad_values_are_named() {
        for (variable, value, says) in [
            ("BATON_LOCK", "msc", "expected one of"),
            ("BATON_LOCK", "app+0x10=msc", "expected one of"),
            ("BATON_LOCK", "cache_lock=mcs", "`baton run --lock` looks the program's names up"),
            ("BATON_LOCK", "app+0x10=mcs,clh", "expected NAME=LOCK"),
            ("BATON_WAIT", "pause", "only with BATON_LOCK"),
            ("BATON_BARRIER", "fence", "expected one of"),
            ("BATON_TRACE_MAX", "2T", "K, M or G"),
            ("BATON_SWITCHES", "yes", "on or off"),
            ("BATON_STACKS", "1", "on or off"),
            ("BATON_KEEP_SPINNING", "yes", "on or off"),
            ("BATON_TRACE_MAX", "99999999999G", "K, M or G"),
            ("BATON_ONLY_PID", "me", "process id"),
            ("BATON_PROGRESS", "recv", "only with BATON_PROGRESS_FILE"),
        ] {
            let error = with(&[(variable, value)]).unwrap_err();
            assert!(error.contains(variable) && error.contains(says), "{error}");
        }
        let error = with(&[("BATON_LOCK", "spin-park"), ("BATON_WAIT", "pause")]).unwrap_err();
        assert!(error.contains("its own policy"), "{error}");
    }

    #[test]
    fn a_progress_point_is_a_call_a_lock_a_variable_or_a_marker() {
        let point = |text| {
            with(&[("BATON_PROGRESS", text), ("BATON_PROGRESS_FILE", "/dev/shm/x")]).map(|config| {
                let progress = config.progress.unwrap();
                (progress.point, progress.sites)
            })
        };
        let place = |start: u64| ObjectRange { module: "app".into(), range: start..start + 1 };
        assert_eq!(point("read"), Ok((Point::Call(1), Vec::new())));
        assert_eq!(point("read@app+0x10;app+0x20"), Ok((Point::Call(1), vec![place(16), place(32)])));
        assert_eq!(point("lock:app+0x10@app+0x20"), Ok((Point::Lock(vec![place(16)]), vec![place(32)])));
        assert_eq!(point("cond:app+0x10"), Ok((Point::Cond(vec![place(16)]), Vec::new())));
        assert_eq!(point("mark:a@b:c"), Ok((Point::Mark(c"a@b:c".into()), Vec::new())));
        assert!(point("reed").unwrap_err().contains("expected one of read, "));
        assert!(point("lock:cache_lock").unwrap_err().contains("no place of an object file"));
    }

    #[test]
    fn sizes() {
        assert_eq!(size("64K"), Ok(65536));
        assert_eq!(size("2G"), Ok(2 << 30));
        assert_eq!(size("500"), Ok(500));
    }

    #[test]
    fn another_process_is_left_alone() {
        let other = (std::process::id() + 1).to_string();
        assert!(with(&[("BATON_ONLY_PID", &other), ("BATON_LOCK", "nonsense")]).unwrap().inert);
    }
}
