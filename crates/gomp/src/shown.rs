//! The settings and a thread's affinity as text: for `display`, and for threads that print their
//! affinity.

use crate::environment::{ALLOCATORS, Environment, OFFLOAD, environment, is_llvms, stack};
use crate::variables::{self, variable};
use baton_machine::Native;
use baton_machine::discover::{allowed_cpus, cpulist};
use baton_omp::places;
use baton_omp::settings::{NO_LIMIT, TaskQueue};
use baton_omp::team::Context;
use baton_omp::waits::REASONS;
use baton_omp::{ScheduleKind, Settings};
use core::ffi::CStr;
use std::ffi::CString;
use std::fmt::Write;
use std::sync::PoisonError;

/// The names and values of OpenMP's settings.
fn values(settings: &Settings) -> Vec<(&'static str, String)> {
    let set = environment();
    let icv = settings.icv;
    let flag = |on: bool| if on { "TRUE" } else { "FALSE" };
    let threads: Vec<String> = match settings.threads.as_slice() {
        [] => vec![icv.threads.to_string()],
        each => each.iter().map(ToString::to_string).collect(),
    };
    let kind = match icv.schedule.kind {
        ScheduleKind::Static => "STATIC",
        ScheduleKind::Dynamic => "DYNAMIC",
        ScheduleKind::Guided => "GUIDED",
        ScheduleKind::Auto => "AUTO",
        ScheduleKind::Trapezoidal => "TRAPEZOIDAL",
    };
    let unnamed = if icv.schedule.kind == ScheduleKind::Static { 0 } else { 1 };
    let chunk = if icv.schedule.chunk <= unnamed { String::new() } else { format!(",{}", icv.schedule.chunk) };
    let bind =
        |bind: &u32| ["FALSE", "TRUE", "MASTER", "CLOSE", "SPREAD"].get(*bind as usize).copied().unwrap_or("FALSE");
    let binds: Vec<_> = match settings.binds.as_slice() {
        [] => vec![bind(&icv.bind)],
        each => each.iter().map(bind).collect(),
    };
    let format = set.format.read().unwrap_or_else(PoisonError::into_inner);
    let limit = if icv.limit == NO_LIMIT { u32::MAX } else { icv.limit };
    vec![
        ("_OPENMP", "201511".to_owned()),
        ("OMP_DYNAMIC", flag(icv.dynamic).to_owned()),
        ("OMP_NESTED", flag(icv.levels > 1).to_owned()),
        ("OMP_NUM_THREADS", threads.join(",")),
        ("OMP_SCHEDULE", format!("{}{kind}{chunk}", if icv.schedule.monotonic { "MONOTONIC:" } else { "" })),
        ("OMP_PROC_BIND", binds.join(",")),
        ("OMP_PLACES", baton_omp::places::shown(&settings.places)),
        ("OMP_STACKSIZE", stack().unwrap_or(0).to_string()),
        ("OMP_WAIT_POLICY", if settings.spin.unwrap_or(0) > 300_000 { "ACTIVE" } else { "PASSIVE" }.to_owned()),
        ("OMP_THREAD_LIMIT", limit.to_string()),
        ("OMP_MAX_ACTIVE_LEVELS", icv.levels.to_string()),
        ("OMP_NUM_TEAMS", Environment::get(&set.teams).to_string()),
        ("OMP_TEAMS_THREAD_LIMIT", Environment::get(&set.teams_limit).to_string()),
        ("OMP_CANCELLATION", flag(settings.cancellation).to_owned()),
        ("OMP_DEFAULT_DEVICE", set.device.to_string()),
        ("OMP_MAX_TASK_PRIORITY", set.priority.to_string()),
        ("OMP_DISPLAY_AFFINITY", flag(set.display_affinity).to_owned()),
        ("OMP_AFFINITY_FORMAT", String::from_utf8_lossy(&format).into_owned()),
        ("OMP_ALLOCATOR", ALLOCATORS.get(set.allocator.wrapping_sub(1)).copied().unwrap_or("").to_owned()),
        ("OMP_TARGET_OFFLOAD", OFFLOAD[set.offload()].to_owned()),
    ]
}

/// The lines of `omp_display_env`.
fn lines(settings: &Settings) -> String {
    values(settings).iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "  {name} = '{value}'");
        text
    })
}

/// Prints what the user has set and what holds, in the form of LLVM's library. Places stand by the
/// name that was taken for them.
pub(crate) fn show_as_llvm(settings: &Settings) {
    let mut text = String::from("\nUser settings:\n\n");
    for (name, value) in variables::of_user() {
        let _ = writeln!(text, "   {name}={value}");
    }
    text += "\nEffective settings:\n\n";
    for (name, value) in values(settings).into_iter().filter(|(name, _)| name.starts_with("OMP_")) {
        let places = || variable(name).filter(|_| !settings.places.is_empty());
        let named = if name == "OMP_PLACES" { places().and_then(|text| places::named(&text)) } else { None };
        let _ = writeln!(text, "   {name}='{}'", named.unwrap_or(value));
    }
    eprintln!("{text}");
}

/// The lines of the settings that only Baton has, each under its variable.
fn chosen(own: &Settings) -> String {
    let tasks = TaskQueue::ALL.iter().find(|(queue, _)| *queue == own.tasks).map_or("", |(_, name)| name);
    let wake = if own.task_wakes == 1 { "one" } else { "all" };
    // Without the variable, waits follow from the number of threads: the value is empty.
    let waits = own
        .waits
        .map_or_else(String::new, |waits| REASONS.map(|(why, name)| format!("{name}={}", waits.of(why))).join(","));
    let all = [
        ("BARRIER", own.barrier.as_str()),
        ("LOCK", own.lock.as_str()),
        ("WAIT", waits.as_str()),
        ("TASKS", tasks),
        ("TASK_WAKE", wake),
    ];
    all.map(|(name, value)| format!("  BATON_OMP_{name} = '{value}'\n")).concat()
}

/// Prints the settings; with a `verbose` other than 0 also the settings that only Baton has.
pub(crate) fn show_settings(own: &Settings, verbose: i32) {
    let more = if verbose == 0 { String::new() } else { chosen(own) };
    eprint!("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n{}{more}OPENMP DISPLAY ENVIRONMENT END\n", lines(own));
}

/// Names of fields in a format, each with its letter.
const FIELDS: [(&str, u8); 11] = [
    ("team_num", b't'),
    ("num_teams", b'T'),
    ("nesting_level", b'L'),
    ("thread_num", b'n'),
    ("num_threads", b'N'),
    ("ancestor_tnum", b'a'),
    ("host", b'H'),
    ("process_id", b'P'),
    ("native_thread_id", b'i'),
    ("thread_affinity", b'A'),
    ("", 0),
];

/// Ends the program because of a bad format, with libgomp's message. Under the name of LLVM's library,
/// which takes any format, does nothing.
fn bad(what: &str) {
    if !is_llvms() {
        eprintln!("\nlibgomp: {what} in affinity format");
        std::process::exit(1);
    }
}

/// The CPUs that the calling thread may run on, as `0-3,8`.
fn affinity() -> String {
    cpulist::show(&allowed_cpus())
}

/// The value of a field for the calling thread, whose context is `place`, and whether the value is
/// a number.
fn field(place: &Context<Native>, letter: u8) -> (Vec<u8>, bool) {
    let number = |n: i64| (n.to_string().into_bytes(), true);
    match letter {
        b't' => number(i64::from(place.league.get().team as i32)),
        b'T' => number(i64::from(place.league.get().teams as i32)),
        b'L' => number(place.region.level.into()),
        b'n' => number(place.id.into()),
        b'N' => number(place.team().size.into()),
        b'a' => number(place.outer().map_or(-1, |outer| outer.id.into())),
        b'P' => number(std::process::id().into()),
        // SAFETY: `gettid` takes no argument and cannot fail.
        b'i' if is_llvms() => number(unsafe { libc::gettid() }.into()),
        // SAFETY: `pthread_self` takes no argument and cannot fail.
        b'i' => (format!("{:#x}", unsafe { libc::pthread_self() }).into_bytes(), true),
        b'A' => (affinity().into_bytes(), false),
        b'H' => {
            let mut name = [0u8; 256];
            // SAFETY: the buffer has one byte more than the call may write, so the name ends with a
            // zero.
            unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
            (CStr::from_bytes_until_nul(&name).map_or(Vec::new(), |name| name.to_bytes().to_vec()), false)
        }
        other => {
            bad(&format!("unsupported type {}", other as char));
            (b"undefined".to_vec(), false)
        }
    }
}

/// Fills a format with the values of the calling thread, whose context is `place`.
pub(crate) fn formatted(place: &Context<Native>, format: &[u8]) -> Vec<u8> {
    let (mut text, mut rest) = (Vec::new(), format);
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            text.push(first);
            continue;
        }
        let mut take = |byte: u8| {
            let found = rest.first() == Some(&byte);
            rest = if found { &rest[1..] } else { rest };
            found
        };
        if take(b'%') {
            text.push(b'%');
            continue;
        }
        let zeros = take(b'0');
        let right = take(b'.');
        if zeros && !right {
            bad("leading zero not followed by dot");
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let width = std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse::<usize>().ok());
        if width.is_none() && right {
            bad("leading zero or right justification requires size");
        }
        rest = &rest[digits..];
        let Some((&letter, after)) = rest.split_first() else {
            bad("unsupported type \0");
            break;
        };
        rest = after;
        let letter = if letter == b'{' { long(&mut rest) } else { letter };
        let (value, is_number) = field(place, letter);
        pad(&mut text, &value, width.unwrap_or(0), right, zeros && right && is_number);
    }
    text
}

/// Reads the long name of a field up to its closing brace. Returns the field's letter; 0 if there is
/// no such field.
fn long(rest: &mut &[u8]) -> u8 {
    let end = rest.iter().position(|byte| *byte == b'}').unwrap_or_else(|| {
        bad("unterminated long type name");
        rest.len()
    });
    let name = &rest[..end];
    *rest = rest.get(end + 1..).unwrap_or(&[]);
    let known = FIELDS.iter().find(|(known, letter)| *letter != 0 && known.as_bytes() == name);
    known.map_or_else(
        || {
            bad(&format!("unsupported long type name '{}'", String::from_utf8_lossy(name)));
            0
        },
        |known| known.1,
    )
}

/// Appends a value, padded to the width of its field.
fn pad(text: &mut Vec<u8>, value: &[u8], width: usize, right: bool, zeros: bool) {
    let missing = width.saturating_sub(value.len());
    let fill = |text: &mut Vec<u8>, byte: u8| text.resize(text.len() + missing, byte);
    if zeros {
        let sign = if value.starts_with(b"-") { 1 } else { 2 * usize::from(value.starts_with(b"0x")) };
        text.extend(&value[..sign]);
        fill(text, b'0');
        text.extend(&value[sign..]);
    } else if right {
        fill(text, b' ');
        text.extend(value);
    } else {
        text.extend(value);
        fill(text, b' ');
    }
}

/// The format of affinities that the environment or the program set last.
pub(crate) fn format() -> Vec<u8> {
    environment().format.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Prints the affinity of the calling thread, whose context is `place`, in a format: on standard
/// error, or on C's standard output under the name of LLVM's library, as that does.
pub(crate) fn show_affinity(place: &Context<Native>, format: &[u8]) {
    let text = formatted(place, format);
    match CString::new(text) {
        // SAFETY: the text ends with a zero.
        Ok(text) if is_llvms() => _ = unsafe { libc::puts(text.as_ptr()) },
        Ok(text) => eprintln!("{}", text.to_string_lossy()),
        Err(error) => eprintln!("{}", String::from_utf8_lossy(&error.into_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_padded_as_their_format_says() {
        let padded = |value: &str, width, right, zeros| {
            let mut text = Vec::new();
            pad(&mut text, value.as_bytes(), width, right, zeros);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(padded("12", 4, false, false), "12  ");
        assert_eq!(padded("12", 4, true, false), "  12");
        assert_eq!(padded("-2", 4, true, true), "-002");
        assert_eq!(padded("0x1f", 6, true, true), "0x001f");
        assert_eq!(padded("12345", 4, true, true), "12345");
    }

    /// Every BATON_OMP_* variable is shown, with a value that the variable takes.
    #[test]
    fn what_only_baton_has_is_shown_as_it_may_be_set() {
        let read = |value: &'static [(&'static str, &'static str)]| {
            let variable =
                |asked: &str| value.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned());
            Settings::read(4, variable, |_| ()).unwrap()
        };
        let shown = chosen(&read(&[("BATON_OMP_WAIT", "pause,idle=futex"), ("BATON_OMP_TASK_WAKE", "all")]));
        let waits = "lock=pause,barrier=pause,task=pause,join=pause,idle=futex";
        let lines = [
            "BARRIER = 'gomp'",
            "LOCK = 'adaptive'",
            &format!("WAIT = '{waits}'"),
            "TASKS = 'steal'",
            "TASK_WAKE = 'all'",
        ];
        assert_eq!(shown, lines.map(|line| format!("  BATON_OMP_{line}\n")).concat());
        assert!(chosen(&read(&[])).contains("BATON_OMP_WAIT = ''\n"));
    }
}
