//! Variables of the environment that only this interface uses.

pub(crate) use crate::variables::is_llvms;
use crate::variables::{invalid, truth, variable};
use baton_omp::places::bind;
use std::sync::OnceLock;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// Names of the predefined allocators, by their numbers from 1.
pub(crate) const ALLOCATORS: [&str; 8] = [
    "omp_default_mem_alloc",
    "omp_large_cap_mem_alloc",
    "omp_const_mem_alloc",
    "omp_high_bw_mem_alloc",
    "omp_low_lat_mem_alloc",
    "omp_cgroup_mem_alloc",
    "omp_pteam_mem_alloc",
    "omp_thread_mem_alloc",
];

/// The values of OMP_TARGET_OFFLOAD.
pub(crate) const OFFLOAD: [&str; 3] = ["DEFAULT", "MANDATORY", "DISABLED"];

/// The way of clang's reductions that the user names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Any,
    Lock,
    Atomic,
    Tree,
}

/// The variables as they were read before `main`.
pub(crate) struct Environment {
    /// OMP_NUM_TEAMS and OMP_TEAMS_THREAD_LIMIT, which the program may change; 0: the variable is
    /// not set.
    pub(crate) teams: AtomicU32,
    pub(crate) teams_limit: AtomicU32,
    /// KMP_TEAMS_PROC_BIND: how the teams of a league divide the places, by the numbers of
    /// `omp_proc_bind_t`.
    pub(crate) teams_bind: u32,
    /// OMP_MAX_TASK_PRIORITY.
    pub(crate) priority: i32,
    /// OMP_DEFAULT_DEVICE.
    pub(crate) device: i32,
    /// OMP_ALLOCATOR, by its number.
    pub(crate) allocator: usize,
    /// OMP_TARGET_OFFLOAD, by its place in [`OFFLOAD`], which a program may change.
    pub(crate) offload: AtomicUsize,
    /// KMP_FORCE_REDUCTION and KMP_DETERMINISTIC_REDUCTION.
    pub(crate) reduction: Reduction,
    /// OMP_DISPLAY_AFFINITY.
    pub(crate) display_affinity: bool,
    /// OMP_AFFINITY_FORMAT, which the program may change.
    pub(crate) format: RwLock<Vec<u8>>,
}

/// The variables as they were read before `main`; the first call reads them.
pub(crate) fn environment() -> &'static Environment {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    ENVIRONMENT.get_or_init(read)
}

/// A variable's value as `parse` reads it. A value that `parse` rejects is named in a warning and
/// ignored.
fn value<T>(name: &str, default: T, parse: impl FnOnce(&str) -> Option<T>) -> T {
    let Some(text) = variable(name) else { return default };
    parse(text.trim()).unwrap_or_else(|| {
        invalid(name, &text);
        default
    })
}

/// The place of a name among `names`, in capitals or not.
fn named(names: &[&str], text: &str) -> Option<usize> {
    names.iter().position(|name| name.eq_ignore_ascii_case(text))
}

fn read() -> Environment {
    let positive = |text: &str| text.parse::<u32>().ok().filter(|n| *n > 0 && *n <= i32::MAX as u32);
    let number = |text: &str| text.parse::<i32>().ok().filter(|n| *n >= 0);
    let allocator = |text: &str| named(&ALLOCATORS, text).map(|at| at + 1);
    let flag = |text: &str| named(&["false", "true"], text).map(|at| at == 1);
    let format = std::env::var("OMP_AFFINITY_FORMAT").unwrap_or_else(|_| usual_format().to_owned());
    Environment {
        teams: AtomicU32::new(value("OMP_NUM_TEAMS", 0, positive)),
        teams_limit: AtomicU32::new(value("OMP_TEAMS_THREAD_LIMIT", 0, positive)),
        teams_bind: value("KMP_TEAMS_PROC_BIND", bind::SPREAD, |text| {
            let known = named(&["master", "primary", "close", "spread"], text)?;
            Some([bind::MASTER, bind::MASTER, bind::CLOSE, bind::SPREAD][known])
        }),
        priority: value("OMP_MAX_TASK_PRIORITY", 0, number),
        device: value("OMP_DEFAULT_DEVICE", 0, number),
        allocator: value("OMP_ALLOCATOR", 1, allocator),
        offload: AtomicUsize::new(value("OMP_TARGET_OFFLOAD", 0, |text| named(&OFFLOAD, text))),
        reduction: reduction(),
        display_affinity: value("OMP_DISPLAY_AFFINITY", false, flag),
        format: RwLock::new(format.into_bytes()),
    }
}

/// Reads KMP_FORCE_REDUCTION and KMP_DETERMINISTIC_REDUCTION, which asks for a tree.
fn reduction() -> Reduction {
    let flag = |text: &str| truth(text).map(|is| if is { Reduction::Tree } else { Reduction::Any });
    let usual = value("KMP_DETERMINISTIC_REDUCTION", Reduction::Any, flag);
    value("KMP_FORCE_REDUCTION", usual, |text| {
        let known = named(&["critical", "atomic", "tree"], text)?;
        Some([Reduction::Lock, Reduction::Atomic, Reduction::Tree][known])
    })
}

/// The format of affinities under which the library that is stood in for shows them.
fn usual_format() -> &'static str {
    if is_llvms() { "OMP: pid %P tid %i thread %n bound to OS proc set {%A}" } else { "level %L thread %i affinity %A" }
}

impl Environment {
    /// Sets a count; an `n` of 0 or less unsets it.
    pub(crate) fn set(count: &AtomicU32, n: i32) {
        // Relaxed: the store orders nothing.
        count.store(n.max(0) as u32, Relaxed);
    }

    /// The place of OMP_TARGET_OFFLOAD in [`OFFLOAD`].
    pub(crate) fn offload(&self) -> usize {
        // Relaxed: the load orders nothing.
        self.offload.load(Relaxed)
    }

    /// Sets OMP_TARGET_OFFLOAD; a value that is not understood is told, and is the default.
    pub(crate) fn set_offload(&self, text: &str) {
        let offload = named(&OFFLOAD, text.trim());
        if offload.is_none() {
            invalid("OMP_TARGET_OFFLOAD", text);
        }
        // Relaxed: the store orders nothing.
        self.offload.store(offload.unwrap_or(0), Relaxed);
    }

    pub(crate) fn get(count: &AtomicU32) -> u32 {
        // Relaxed: the load orders nothing.
        count.load(Relaxed)
    }
}

/// OMP_STACKSIZE in bytes, as the first call reads it: `None` if the variable is not set, or has a bad
/// value, which is named in a warning.
pub(crate) fn stack() -> Option<usize> {
    static STACK: OnceLock<Option<usize>> = OnceLock::new();
    *STACK.get_or_init(read_stack)
}

/// Reads OMP_STACKSIZE: a number of KiB, or one with B, K, M or G.
fn read_stack() -> Option<usize> {
    let given = variable("OMP_STACKSIZE")?;
    let text = given.trim().to_ascii_uppercase();
    let digits = text.trim_end_matches(['B', 'K', 'M', 'G']).trim();
    let unit = match text.chars().last()? {
        'B' => 1,
        'M' => 1 << 20,
        'G' => 1 << 30,
        _ => 1 << 10,
    };
    let bytes = digits.parse::<usize>().ok().and_then(|n| n.checked_mul(unit));
    if bytes.is_none() {
        invalid("OMP_STACKSIZE", &given);
    }
    bytes
}
