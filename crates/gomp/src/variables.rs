//! The environment's variables under OpenMP's names, whether the user set these or LLVM's KMP_*.
//!
//! A KMP_* variable counts where the OMP_* variable of the same meaning is not set. A value that is
//! not understood is told; so is a KMP_* variable that has no effect here.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether the library warns: KMP_WARNINGS and `kmp_set_warnings_off` decide.
pub(crate) static WARNINGS: AtomicBool = AtomicBool::new(true);

/// Prints a warning, unless the user wants none.
pub(crate) fn warn(text: &str) {
    if WARNINGS.load(Relaxed) {
        eprintln!("\nlibbaton_gomp: {text}");
    }
}

/// The KMP_* variables that this library reads.
const READ: [&str; 11] = [
    "KMP_AFFINITY",
    "KMP_ALL_THREADS",
    "KMP_BLOCKTIME",
    "KMP_DEVICE_THREAD_LIMIT",
    "KMP_LIBRARY",
    "KMP_NESTED",
    "KMP_SETTINGS",
    "KMP_STACKSIZE",
    "KMP_TARGET_OFFLOAD",
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

fn truth(text: &str) -> Option<bool> {
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
    for name in ["KMP_SETTINGS", "KMP_NESTED", "KMP_WARNINGS"] {
        if let Some(text) = get(name).filter(|text| truth(text).is_none()) {
            bad(name, &format!("`{text}`; expected true or false"));
        }
    }
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
