//! The environment's variables under OpenMP's names, whether the user set these or LLVM's KMP_*.
//!
//! A KMP_* variable counts where the OMP_* variable of the same meaning is not set. A value that is
//! not understood is told; so is a KMP_* variable that has no effect here.

use baton_machine::discover::{Topology, allowed_cpus, stay_on};
use baton_omp::subset;
use core::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether the loader found this library by one of the names of LLVM's.
pub(crate) fn is_llvms() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(has_llvms_name)
}

fn has_llvms_name() -> bool {
    // SAFETY: zeroes are a value of this type, which has pointers alone.
    let mut found: libc::Dl_info = unsafe { core::mem::zeroed() };
    let own = is_llvms as fn() -> bool as *const c_void;
    // SAFETY: the call gets an address of this library and writes the local variable; the name that
    // it returns stays as long as the library.
    let name = unsafe {
        if libc::dladdr(own, &raw mut found) == 0 || found.dli_fname.is_null() {
            return false;
        }
        CStr::from_ptr(found.dli_fname).to_string_lossy()
    };
    let file = name.rsplit('/').next().unwrap_or("");
    file.starts_with("libomp") || file.starts_with("libiomp")
}

/// Whether the library warns: KMP_WARNINGS and `kmp_set_warnings_off` decide.
pub(crate) static WARNINGS: AtomicBool = AtomicBool::new(true);

/// Prints a warning, unless the user wants none.
pub(crate) fn warn(text: &str) {
    if WARNINGS.load(Relaxed) {
        eprintln!("\nlibbaton_gomp: {text}");
    }
}

/// LLVM's numbers of the warnings about a value that is left out, one that is out of range, and a
/// list of places that is not understood. Scripts look for them.
const INVALID: u32 = 42;
const RANGE: u32 = 80;
const PLACES: u32 = 250;

/// Prints a warning in the form of LLVM's library.
fn warn_as_llvm(number: u32, text: &str) {
    if WARNINGS.load(Relaxed) {
        eprintln!("OMP: Warning #{number}: {text}");
    }
}

/// Tells of a variable's value that is left out, in the words of the library that is stood in for.
pub(crate) fn invalid(name: &str, value: &str) {
    if is_llvms() {
        warn_as_llvm(INVALID, &format!("{name}: \"{value}\" is an invalid value; ignored."));
    } else {
        bad(name, value);
    }
}

/// Tells what is wrong with the settings, as `baton_omp` says it.
pub(crate) fn warn_of(text: &str) {
    let value = text.strip_prefix("Invalid value for environment variable ").and_then(|text| text.split_once(": "));
    match value {
        Some((name, value)) => invalid(name, value),
        None if text.starts_with("OMP_PLACES: ") => warn_as_llvm(PLACES, text),
        None => warn(text),
    }
}

/// Whether KMP_SETTINGS asks for the settings.
pub(crate) fn shows_settings() -> bool {
    get("KMP_SETTINGS").and_then(|text| truth(&text)) == Some(true)
}

/// The variables of OpenMP and of LLVM's library that the user has set.
pub(crate) fn of_user() -> Vec<(String, String)> {
    let all =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut of_user: Vec<_> = all.filter(|(name, _)| name.starts_with("OMP_") || name.starts_with("KMP_")).collect();
    of_user.sort();
    of_user
}

/// Whether KMP_AFFINITY asks that an initial thread is bound within its regions alone.
pub(crate) fn resets() -> bool {
    get("KMP_AFFINITY").is_some_and(|text| text.to_ascii_lowercase().split(',').any(|word| word.trim() == "reset"))
}

/// Lets the calling thread, and those that it starts, run on the part of the machine that
/// KMP_HW_SUBSET names. Returns where the thread ran before; `None`: the variable names no part.
pub(crate) fn stay_on_subset() -> Option<Vec<u32>> {
    let (text, before) = (get("KMP_HW_SUBSET")?, allowed_cpus());
    let cpus = subset::read(&text, &Topology::discover(), &before);
    match cpus.and_then(|cpus| stay_on(&cpus).map_err(|error| error.to_string())) {
        Ok(()) => Some(before),
        Err(why) => {
            bad("KMP_HW_SUBSET", &why);
            None
        }
    }
}

/// Tells of a KMP_DISP_NUM_BUFFERS out of LLVM's range. The number itself is not needed here, as
/// buffers grow.
fn tell_buffers() {
    const MOST: u64 = 4096;
    let name = "KMP_DISP_NUM_BUFFERS";
    let Some(text) = get(name) else { return };
    let wrong = match text.parse::<u64>() {
        Ok(0) => "too small",
        Ok(1..=MOST) => return,
        Ok(_) => "too large",
        Err(_) => return invalid(name, &text),
    };
    if is_llvms() {
        warn_as_llvm(RANGE, &format!("{name}=\"{text}\": value {wrong}."));
    } else {
        bad(name, &format!("`{text}` is {wrong}; expected 1 to {MOST}"));
    }
}

/// The KMP_* variables that this library reads.
const READ: [&str; 17] = [
    "KMP_AFFINITY",
    "KMP_ALL_THREADS",
    "KMP_BLOCKTIME",
    "KMP_DETERMINISTIC_REDUCTION",
    "KMP_DEVICE_THREAD_LIMIT",
    "KMP_DISP_NUM_BUFFERS",
    "KMP_ENABLE_TASK_THROTTLING",
    "KMP_FORCE_REDUCTION",
    "KMP_HW_SUBSET",
    "KMP_LIBRARY",
    "KMP_NESTED",
    "KMP_SETTINGS",
    "KMP_STACKSIZE",
    "KMP_TARGET_OFFLOAD",
    "KMP_TEAMS_PROC_BIND",
    "KMP_TEAMS_THREAD_LIMIT",
    "KMP_WARNINGS",
];
/// Variables that ask for what this library does in any case, or for messages that it does not have.
const HARMLESS: [&str; 6] = [
    "KMP_DUPLICATE_LIB_OK",
    "KMP_FOREIGN_THREADS_THREADPRIVATE",
    "KMP_HANDLE_SIGNALS",
    "KMP_INIT_AT_FORK",
    "KMP_USE_YIELD",
    "KMP_VERSION",
];

fn get(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned())
}

/// The value of a variable of OpenMP or GCC.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().or_else(|| stands_for(name, get))
}

pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | ".true." | "t" | "on" | "yes" | "enabled" => Some(true),
        "0" | "false" | ".false." | "f" | "off" | "no" | "disabled" => Some(false),
        _ => None,
    }
}

/// What the KMP_* variables say about a variable of OpenMP.
fn stands_for(name: &str, get: impl Fn(&str) -> Option<String>) -> Option<String> {
    let flag = |name: &str| get(name).and_then(|text| truth(&text)).map(|on| on.to_string());
    let library = |kind: &str, value: &str| get("KMP_LIBRARY").filter(|is| is == kind).map(|_| value.to_owned());
    match name {
        "OMP_THREAD_LIMIT" => get("KMP_DEVICE_THREAD_LIMIT").or_else(|| get("KMP_ALL_THREADS")),
        "OMP_TEAMS_THREAD_LIMIT" => get("KMP_TEAMS_THREAD_LIMIT"),
        "OMP_TARGET_OFFLOAD" => get("KMP_TARGET_OFFLOAD"),
        "OMP_NESTED" => flag("KMP_NESTED"),
        "OMP_DISPLAY_ENV" => flag("KMP_SETTINGS"),
        "OMP_NUM_THREADS" => library("serial", "1"),
        "OMP_WAIT_POLICY" => library("turnaround", "active").or_else(|| blocktime(&get("KMP_BLOCKTIME")?)?.policy()),
        // A number without a unit is one of bytes, where OMP_STACKSIZE has one of KiB.
        "OMP_STACKSIZE" => get("KMP_STACKSIZE").map(|text| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text + "B",
            false => text,
        }),
        "OMP_PROC_BIND" => affinity(&get("KMP_AFFINITY")?).ok()?.bind,
        // Places go with the binding that the same variable says.
        "OMP_PLACES" if get("OMP_PROC_BIND").is_none() => affinity(&get("KMP_AFFINITY")?).ok()?.places,
        _ => None,
    }
}

/// How long a worker without work tries before it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocktime {
    For(u32),
    Ever,
}

impl Blocktime {
    /// The OMP_WAIT_POLICY that says the same, if there is one.
    fn policy(self) -> Option<String> {
        match self {
            Blocktime::For(0) => Some("passive".to_owned()),
            Blocktime::Ever => Some("active".to_owned()),
            Blocktime::For(_) => None,
        }
    }
}

/// Reads KMP_BLOCKTIME: milliseconds, a number with `ms` or `us`, or `infinite`.
fn blocktime(text: &str) -> Option<Blocktime> {
    let text = text.to_ascii_lowercase();
    if matches!(text.as_str(), "infinite" | "infinity") || text.parse() == Ok(i32::MAX) {
        return Some(Blocktime::Ever);
    }
    let (number, unit) = match text.strip_suffix("us") {
        Some(number) => (number, 1_000),
        None => (text.strip_suffix("ms").unwrap_or(&text), 1_000_000),
    };
    let nanoseconds = number.trim().parse::<u64>().ok()?.checked_mul(unit)?;
    Some(Blocktime::For(u32::try_from(nanoseconds).unwrap_or(u32::MAX)))
}

/// The nanoseconds of KMP_BLOCKTIME, if it says a time.
pub(crate) fn block_ns() -> Option<u32> {
    match blocktime(&get("KMP_BLOCKTIME")?)? {
        Blocktime::For(nanoseconds) if nanoseconds > 0 => Some(nanoseconds),
        _ => None,
    }
}

/// Whether a thread runs new tasks at once where many wait: unless KMP_ENABLE_TASK_THROTTLING says no.
pub(crate) fn throttles() -> bool {
    get("KMP_ENABLE_TASK_THROTTLING").and_then(|text| truth(&text)).unwrap_or(true)
}

/// What KMP_AFFINITY says, in the values of OMP_PROC_BIND and OMP_PLACES.
#[derive(Debug, Default, PartialEq, Eq)]
struct Affinity {
    bind: Option<String>,
    places: Option<String>,
}

/// Reads KMP_AFFINITY: modifiers and a type, with commas.
fn affinity(text: &str) -> Result<Affinity, String> {
    let text = text.to_ascii_lowercase();
    let (mut granularity, mut kind) = ("cores", None);
    let (listed, rest) = match text.split_once("proclist=[") {
        Some((before, after)) => {
            let (inside, behind) = after.split_once(']').ok_or("`proclist=[` without `]`")?;
            (Some(inside.to_owned()), format!("{before}{}", behind.trim_start_matches(',')))
        }
        None => (None, text),
    };
    for word in rest.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word {
            "granularity=fine" | "granularity=thread" | "fine" | "thread" => granularity = "threads",
            "granularity=core" | "core" => granularity = "cores",
            "granularity=socket" | "granularity=package" | "granularity=die" => granularity = "sockets",
            "verbose" | "noverbose" | "warnings" | "nowarnings" | "respect" | "norespect" | "reset" | "noreset" => {}
            "none" | "disabled" | "compact" | "scatter" | "balanced" | "explicit" => kind = Some(word),
            // Permute and offset, of which only 0 changes nothing.
            "0" if kind.is_some() => {}
            other => return Err(format!("`{other}` is not understood")),
        }
    }
    let list = listed.map(|listed| places(&listed)).transpose()?;
    let bind = |bind: &str, places: String| Affinity { bind: Some(bind.to_owned()), places: Some(places) };
    match kind {
        None | Some("none" | "disabled") => Ok(Affinity::default()),
        Some("compact") => Ok(bind("close", granularity.to_owned())),
        Some("explicit") => {
            list.map(|list| bind("close", list)).ok_or_else(|| "`explicit` without `proclist=[...]`".into())
        }
        Some(_) => Ok(bind("spread", granularity.to_owned())),
    }
}

/// Turns a `proclist` into OMP_PLACES: `0,2-4,{6,7}` becomes `{0},{2},{3},{4},{6,7}`.
fn places(list: &str) -> Result<String, String> {
    let (mut out, mut rest) = (Vec::new(), list.trim());
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| format!("`{text}` in `proclist` is no CPU"));
    let span = |text: &str| -> Result<Vec<u32>, String> {
        let (ends, step) = text.split_once(':').unwrap_or((text, "1"));
        let (from, to) = ends.split_once('-').unwrap_or((ends, ends));
        Ok((number(from)?..=number(to)?).step_by(number(step)?.max(1) as usize).collect())
    };
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('{') {
            let (set, after) = inside.split_once('}').ok_or("`{` without `}` in `proclist`")?;
            let all: Vec<Vec<u32>> = set.split(',').map(span).collect::<Result<_, _>>()?;
            let all: Vec<String> = all.concat().iter().map(ToString::to_string).collect();
            out.push(format!("{{{}}}", all.join(",")));
            rest = after.trim_start_matches([',', ' ']);
        } else {
            let (one, after) = rest.split_once(',').unwrap_or((rest, ""));
            out.extend(span(one)?.iter().map(|cpu| format!("{{{cpu}}}")));
            rest = after.trim();
        }
    }
    if out.is_empty() { Err("an empty `proclist`".into()) } else { Ok(out.join(",")) }
}

/// Tells of a variable's value that is left out.
pub(crate) fn bad(name: &str, why: &str) {
    warn(&format!("Invalid value for environment variable {name}: {why}"));
}

/// Tells of KMP_* variables that are not understood or have no effect. Called once, before `main`.
pub(crate) fn tell() {
    if get("KMP_WARNINGS").and_then(|text| truth(&text)) == Some(false) {
        WARNINGS.store(false, Relaxed);
    }
    if let Some(Err(why)) = get("KMP_AFFINITY").map(|text| affinity(&text)) {
        bad("KMP_AFFINITY", &why);
    }
    if let Some(text) = get("KMP_BLOCKTIME").filter(|text| blocktime(text).is_none()) {
        bad("KMP_BLOCKTIME", &format!("`{text}`; expected milliseconds, a number with `ms` or `us`, or `infinite`"));
    }
    if let Some(text) =
        get("KMP_LIBRARY").filter(|text| !["serial", "turnaround", "throughput"].contains(&text.as_str()))
    {
        bad("KMP_LIBRARY", &format!("`{text}`; expected serial, turnaround or throughput"));
    }
    for name in ["KMP_ENABLE_TASK_THROTTLING", "KMP_SETTINGS", "KMP_NESTED", "KMP_WARNINGS"] {
        if let Some(text) = get(name).filter(|text| truth(text).is_none()) {
            bad(name, &format!("`{text}`; expected true or false"));
        }
    }
    tell_buffers();
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut vain: Vec<String> = names.filter(|name| name.starts_with("KMP_") && !known(name)).collect();
    vain.sort();
    if !vain.is_empty() {
        warn(&format!("without effect: {}", vain.join(", ")));
    }
}

fn known(name: &str) -> bool {
    READ.contains(&name) || HARMLESS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_llvm_stand_for_those_of_openmp() {
        let said = |set: &[(&str, &str)], name: &str| {
            let get = |asked: &str| set.iter().find(|(known, _)| *known == asked).map(|(_, value)| (*value).to_owned());
            stands_for(name, get)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(said(&[("KMP_STACKSIZE", "65536")], "OMP_STACKSIZE"), some("65536B"));
        assert_eq!(said(&[("KMP_STACKSIZE", "4m")], "OMP_STACKSIZE"), some("4m"));
        assert_eq!(said(&[("KMP_BLOCKTIME", "0")], "OMP_WAIT_POLICY"), some("passive"));
        assert_eq!(said(&[("KMP_BLOCKTIME", "infinite")], "OMP_WAIT_POLICY"), some("active"));
        assert_eq!(said(&[("KMP_BLOCKTIME", "200")], "OMP_WAIT_POLICY"), None);
        assert_eq!(said(&[("KMP_LIBRARY", "turnaround")], "OMP_WAIT_POLICY"), some("active"));
        assert_eq!(said(&[("KMP_LIBRARY", "serial")], "OMP_NUM_THREADS"), some("1"));
        assert_eq!(said(&[("KMP_SETTINGS", "1")], "OMP_DISPLAY_ENV"), some("true"));
        assert_eq!(said(&[("KMP_ALL_THREADS", "7")], "OMP_THREAD_LIMIT"), some("7"));
        let compact = ("KMP_AFFINITY", "verbose,granularity=fine,compact,0,0");
        assert_eq!(said(&[compact], "OMP_PROC_BIND"), some("close"));
        assert_eq!(said(&[compact], "OMP_PLACES"), some("threads"));
        assert_eq!(said(&[compact, ("OMP_PROC_BIND", "spread")], "OMP_PLACES"), None);
    }

    #[test]
    fn an_affinity_is_read_or_refused_by_its_word() {
        let list = affinity("explicit,proclist=[0,2-4,{6,8-9}]").unwrap();
        assert_eq!(list.places.as_deref(), Some("{0},{2},{3},{4},{6,8,9}"));
        assert_eq!(affinity("scatter").unwrap().bind.as_deref(), Some("spread"));
        assert_eq!(affinity("disabled"), Ok(Affinity::default()));
        for (text, named) in [
            ("compakt", "`compakt`"),
            ("compact,1", "`1`"),
            ("explicit", "proclist"),
            ("explicit,proclist=[a]", "`a`"),
            ("explicit,proclist=[1", "without `]`"),
        ] {
            assert!(affinity(text).unwrap_err().contains(named), "{text}");
        }
        assert_eq!(blocktime("5"), Some(Blocktime::For(5_000_000)));
        assert_eq!((blocktime("7us"), blocktime("soon")), (Some(Blocktime::For(7_000)), None));
    }
}
