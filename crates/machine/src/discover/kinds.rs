//! Kinds of cores: which CPUs are about equally fast, by what the kernel reports.
//!
//! | source | where | what it says |
//! | --- | --- | --- |
//! | [`Source::CoreType`] | `cpu_core/cpus`, `cpu_atom/cpus`, `cpu_lowpower/cpus` | types of cores on Intel's hybrid processors, without a ratio |
//! | [`Source::Capacity`] | `cpu_capacity` | the kernel's own figure, 1024 for the fastest |
//! | [`Source::Cppc`] | `acpi_cppc/highest_perf` | the firmware's scale of performance |
//! | [`Source::MaxFrequency`] | `cpufreq/cpuinfo_max_freq` | the highest clock |
//! | [`Source::Loop`] | [`by_loop`] | a timed loop on each CPU |
//!
//! CPUs within 10% of a kind's fastest CPU are of that kind: favoured cores of one design are. The
//! first source with figures that is there decides, and types of cores divide further. Figures of
//! different sources may group CPUs differently; [`Kinds::disagree`] says so, and [`by_loop`] can
//! decide.

use super::cpulist;
use std::path::Path;
use std::time::{Duration, Instant};

/// CPUs whose figure is at least this part of the fastest one are of one kind.
const ALIKE: f64 = 0.9;

/// What a figure of speed comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The kernel's lists of core types.
    CoreType,
    /// `cpu_capacity`.
    Capacity,
    /// CPPC's `highest_perf`.
    Cppc,
    /// `cpuinfo_max_freq`.
    MaxFrequency,
    /// A timed loop.
    Loop,
}

impl Source {
    /// The sources with figures that the kernel reports, the most trusted first.
    const FIGURES: [Source; 3] = [Source::Capacity, Source::Cppc, Source::MaxFrequency];

    /// The name of the kernel's file, or what was done.
    pub fn name(self) -> &'static str {
        match self {
            Source::CoreType => "core type",
            Source::Capacity => "cpu_capacity",
            Source::Cppc => "CPPC highest_perf",
            Source::MaxFrequency => "cpuinfo_max_freq",
            Source::Loop => "a timed loop",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Source::Capacity => "cpu_capacity",
            Source::Cppc => "acpi_cppc/highest_perf",
            _ => "cpufreq/cpuinfo_max_freq",
        }
    }
}

/// CPUs that are about equally fast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The online CPUs of this kind, ascending.
    pub cpus: Vec<u32>,
    /// Speed of the fastest of them, in 1024ths of the machine's fastest CPU; `None` if no source
    /// has a figure.
    pub speed: Option<u32>,
    /// The kernel's name of the core type, such as `cpu_core`.
    pub core_type: Option<String>,
}

/// The kinds of this machine's cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// All kinds, the fastest first; at least one.
    pub kinds: Vec<Kind>,
    /// What told the kinds apart, or told that all CPUs are alike; `None` if the kernel reports
    /// nothing.
    pub source: Option<Source>,
    /// A sentence for each source that groups the CPUs differently.
    pub disagree: Vec<String>,
}

/// A figure of speed for each CPU.
type Figures = Vec<(u32, f64)>;

impl Kinds {
    /// Reads `/sys/devices` of this machine.
    pub fn discover() -> Kinds {
        Kinds::read(Path::new("/sys/devices"))
    }

    /// Reads a directory laid out like `/sys/devices`.
    pub fn read(devices: &Path) -> Kinds {
        let system = devices.join("system/cpu");
        let online = text(&system.join("online")).and_then(|list| cpulist::parse(&list));
        let online = online.filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| vec![0]);
        let types = core_types(devices, &online);
        let told: Vec<(Source, Figures)> = Source::FIGURES
            .into_iter()
            .filter_map(|source| Some((source, figures(&system, source, &online)?)))
            .collect();
        let Some((source, first)) = told.first() else {
            let kinds = divide(vec![Kind { cpus: online, speed: None, core_type: None }], &types);
            let source = (!types.is_empty()).then_some(Source::CoreType);
            return Kinds { kinds, source, disagree: Vec::new() };
        };
        let groups = group(first);
        let differs = |(other, figures): &(Source, Figures)| {
            let theirs = group(figures);
            let alike = theirs.iter().map(|kind| &kind.cpus).eq(groups.iter().map(|kind| &kind.cpus));
            (!alike)
                .then(|| format!("{} says {}, {} says {}", source.name(), words(&groups), other.name(), words(&theirs)))
        };
        let disagree = told[1..].iter().filter_map(differs).collect();
        let kinds = divide(groups, &types);
        Kinds { kinds, source: Some(*source), disagree }
    }

    /// Groups CPUs by measured speeds (work per time, in any unit); [`by_loop`] measures them.
    /// The types of cores are kept from `self`.
    pub fn decided_by(&self, speeds: &[(u32, f64)]) -> Kinds {
        let name = |cpu: u32| self.kinds.iter().find(|kind| kind.cpus.contains(&cpu))?.core_type.clone();
        let types: Vec<(u32, String)> = speeds.iter().filter_map(|&(cpu, _)| Some((cpu, name(cpu)?))).collect();
        Kinds { kinds: divide(group(speeds), &types), source: Some(Source::Loop), disagree: self.disagree.clone() }
    }

    /// The CPUs of the fastest kind, if there is another kind.
    pub fn fast(&self) -> Option<&[u32]> {
        (self.kinds.len() > 1).then(|| &*self.kinds[0].cpus)
    }
}

/// Groups as text: `0-7 (1024), 8-15 (640)`.
fn words(kinds: &[Kind]) -> String {
    if let [one] = kinds {
        return format!("all {} are alike", one.cpus.len());
    }
    let each = kinds.iter().map(|kind| format!("{} ({})", cpulist::show(&kind.cpus), kind.speed.unwrap_or(0)));
    each.collect::<Vec<_>>().join(", ")
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Reads a source's figure of each CPU; `None` unless all of them have a positive one.
fn figures(system: &Path, source: Source, online: &[u32]) -> Option<Figures> {
    let figure = |&cpu: &u32| {
        let read: f64 = text(&system.join(format!("cpu{cpu}")).join(source.file()))?.trim().parse::<u64>().ok()? as f64;
        (read > 0.0).then_some((cpu, read))
    };
    online.iter().map(figure).collect()
}

/// Reads the kernel's lists of core types; CPUs that are offline are left out.
fn core_types(devices: &Path, online: &[u32]) -> Vec<(u32, String)> {
    let mut types = Vec::new();
    for name in ["cpu_core", "cpu_atom", "cpu_lowpower"] {
        let cpus = text(&devices.join(name).join("cpus")).and_then(|list| cpulist::parse(&list)).unwrap_or_default();
        types.extend(cpus.into_iter().filter(|cpu| online.contains(cpu)).map(|cpu| (cpu, name.to_owned())));
    }
    types
}

/// Groups CPUs of about equal figures, the fastest group first.
fn group(figures: &[(u32, f64)]) -> Vec<Kind> {
    let mut sorted: Figures = figures.to_vec();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let most = sorted.first().map_or(1.0, |&(_, figure)| figure);
    let mut kinds: Vec<Kind> = Vec::new();
    let mut head = f64::INFINITY;
    for (cpu, figure) in sorted {
        match kinds.last_mut() {
            Some(kind) if figure >= head * ALIKE => kind.cpus.push(cpu),
            _ => {
                head = figure;
                let speed = Some((figure / most * 1024.0).round() as u32);
                kinds.push(Kind { cpus: vec![cpu], speed, core_type: None });
            }
        }
    }
    kinds.iter_mut().for_each(|kind| kind.cpus.sort_unstable());
    kinds
}

/// Divides each group by core types, in the order in which the kernel's lists are read. A CPU that
/// is in no list has no type.
fn divide(groups: Vec<Kind>, types: &[(u32, String)]) -> Vec<Kind> {
    let of = |cpu: u32| types.iter().position(|(typed, _)| *typed == cpu).map(|at| &types[at].1);
    let mut kinds = Vec::new();
    for group in groups {
        let mut names: Vec<Option<&String>> = types.iter().map(|(_, name)| Some(name)).collect();
        names.dedup();
        names.push(None);
        for name in names {
            let cpus: Vec<u32> = group.cpus.iter().copied().filter(|&cpu| of(cpu) == name).collect();
            if !cpus.is_empty() {
                kinds.push(Kind { cpus, speed: group.speed, core_type: name.cloned() });
            }
        }
    }
    kinds
}

/// Measures the speed of each CPU by a loop of dependent integer operations, `each` long, three
/// times, and takes the fastest time. Returns turns per second for each CPU; CPUs on which the
/// caller may not run are left out. Other programs on a CPU make it look slower.
pub fn by_loop(cpus: &[u32], each: Duration) -> Vec<(u32, f64)> {
    let speed = |&cpu: &u32| {
        let measured = std::thread::spawn(move || {
            super::pin(cpu).ok()?;
            (0..3).map(|_| turns_a_second(each)).max_by(f64::total_cmp)
        });
        Some((cpu, measured.join().ok()??))
    };
    cpus.iter().filter_map(speed).collect()
}

fn turns_a_second(each: Duration) -> f64 {
    const TURNS: u64 = 10_000;
    let (start, mut turns, mut value) = (Instant::now(), 0_u64, 1_u64);
    loop {
        for _ in 0..TURNS {
            value = std::hint::black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (value >> 29));
        }
        turns += TURNS;
        let elapsed = start.elapsed();
        if elapsed >= each {
            return turns as f64 / elapsed.as_secs_f64();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of `cpus` CPUs, with the files that are named by their path and text.
    fn tree(online: &str, files: &[(&str, &str)]) -> Kinds {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [("system/cpu/online", online)].iter().chain(files) {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        Kinds::read(dir.path())
    }

    /// The files of one source: a figure for each CPU from 0 on.
    fn figures_of(file: &str, figures: &[&str]) -> Vec<(String, String)> {
        let path = |cpu| format!("system/cpu/cpu{cpu}/{file}");
        figures.iter().enumerate().map(|(cpu, figure)| (path(cpu), (*figure).to_owned())).collect()
    }

    fn read(online: &str, lists: &[(&str, &str)], sources: &[(&str, &[&str])]) -> Kinds {
        let owned: Vec<(String, String)> = sources.iter().flat_map(|(file, all)| figures_of(file, all)).collect();
        let mut files: Vec<(&str, &str)> = owned.iter().map(|(path, text)| (&**path, &**text)).collect();
        files.extend(lists);
        tree(online, &files)
    }

    fn cpus(kinds: &Kinds) -> Vec<(String, Option<u32>)> {
        kinds.kinds.iter().map(|kind| (cpulist::show(&kind.cpus), kind.speed)).collect()
    }

    const CPPC: &str = "acpi_cppc/highest_perf";
    const CLOCK: &str = "cpufreq/cpuinfo_max_freq";

    #[test]
    fn a_hybrid_has_p_and_e_cores() {
        let lists = [("cpu_core/cpus", "0-3"), ("cpu_atom/cpus", "4-5")];
        let capacity = ["1024", "1024", "1009", "1009", "623", "623"];
        let kinds = read("0-5", &lists, &[("cpu_capacity", &capacity)]);
        assert_eq!(cpus(&kinds), [("0-3".into(), Some(1024)), ("4-5".into(), Some(623))]);
        assert_eq!(kinds.kinds[1].core_type.as_deref(), Some("cpu_atom"));
        assert_eq!((kinds.source, kinds.fast()), (Some(Source::Capacity), Some(&[0, 1, 2, 3][..])));
        assert!(kinds.disagree.is_empty());
        // Types alone tell kinds apart, without a ratio.
        let kinds = read("0-5", &lists, &[]);
        assert_eq!(cpus(&kinds), [("0-3".into(), None), ("4-5".into(), None)]);
        assert_eq!(kinds.source, Some(Source::CoreType));
        // Types divide CPUs of equal figures as well.
        let kinds = read("0-5", &lists, &[(CLOCK, &["4000000"; 6])]);
        assert_eq!(cpus(&kinds), [("0-3".into(), Some(1024)), ("4-5".into(), Some(1024))]);
    }

    #[test]
    fn favoured_cores_are_of_one_kind() {
        let kinds = read("0-3", &[], &[(CPPC, &["62", "65", "62", "62"]), (CLOCK, &["4900000"; 4])]);
        assert_eq!(cpus(&kinds), [("0-3".into(), Some(1024))]);
        assert_eq!((kinds.source, kinds.fast(), kinds.disagree.len()), (Some(Source::Cppc), None, 0));
    }

    #[test]
    fn three_kinds_are_in_order_of_speed() {
        let kinds = read("0-7", &[], &[("cpu_capacity", &["250", "250", "250", "250", "720", "720", "720", "1024"])]);
        let right = [("7".into(), Some(1024)), ("4-6".into(), Some(720)), ("0-3".into(), Some(250))];
        assert_eq!(cpus(&kinds), right);
        // Two types, of which the capacities divide one.
        let lists = [("cpu_core/cpus", "0-1"), ("cpu_atom/cpus", "2-5")];
        let kinds = read("0-5", &lists, &[("cpu_capacity", &["1024", "1024", "700", "700", "400", "400"])]);
        assert_eq!(kinds.kinds.len(), 3);
        assert_eq!(kinds.kinds[2].core_type.as_deref(), Some("cpu_atom"));
    }

    #[test]
    fn steps_within_ten_percent_count_from_the_fastest_of_a_kind() {
        let kinds = read("0-3", &[], &[("cpu_capacity", &["1000", "900", "899", "812"])]);
        assert_eq!(cpus(&kinds), [("0-1".into(), Some(1024)), ("2-3".into(), Some(921))]);
    }

    #[test]
    fn flat_machines_have_one_kind() {
        let kinds = read("0-1", &[], &[("cpu_capacity", &["1024", "1024"])]);
        assert_eq!((cpus(&kinds), kinds.fast()), (vec![("0-1".into(), Some(1024))], None));
        let kinds = read("0-1", &[], &[]);
        assert_eq!((cpus(&kinds), kinds.source), (vec![("0-1".into(), None)], None));
        assert_eq!(cpus(&tree("", &[])), [("0".into(), None)], "an empty list is one CPU");
    }

    #[test]
    fn offline_cpus_are_left_out() {
        let lists = [("cpu_core/cpus", "0-1"), ("cpu_atom/cpus", "2-3")];
        let kinds = read("0,3", &lists, &[("cpu_capacity", &["1024", "1024", "500", "500"])]);
        assert_eq!(cpus(&kinds), [("0".into(), Some(1024)), ("3".into(), Some(500))]);
    }

    #[test]
    fn sources_that_disagree_are_told_and_a_loop_decides() {
        let sources: [(&str, &[&str]); 2] = [(CPPC, &["231", "166"]), (CLOCK, &["5000000", "4900000"])];
        let kinds = read("0-1", &[], &sources);
        assert_eq!(cpus(&kinds), [("0".into(), Some(1024)), ("1".into(), Some(736))]);
        assert_eq!(kinds.disagree.len(), 1);
        let said = &kinds.disagree[0];
        assert!(
            said.contains("CPPC highest_perf says 0 (1024), 1 (736)") && said.contains("all 2 are alike"),
            "{said}"
        );
        let decided = kinds.decided_by(&[(0, 98.0), (1, 100.0)]);
        assert_eq!((cpus(&decided), decided.source), (vec![("0-1".into(), Some(1024))], Some(Source::Loop)));
    }

    #[test]
    fn damaged_files_are_no_figures() {
        let kinds = read("0-1", &[], &[("cpu_capacity", &["1024", "x"]), (CLOCK, &["3000000", "1500000"])]);
        assert_eq!((cpus(&kinds).len(), kinds.source), (2, Some(Source::MaxFrequency)));
        let kinds = read("0-1", &[], &[("cpu_capacity", &["1024", "0"])]);
        assert_eq!(kinds.source, None, "no CPU has no capacity at all");
    }

    #[test]
    fn the_loop_measures_allowed_cpus() {
        let allowed = super::super::allowed_cpus();
        let speeds = by_loop(&[allowed[0], 1023], Duration::from_millis(2));
        assert_eq!(speeds.len(), 1);
        assert!(speeds[0].1 > 1e6, "{speeds:?}");
    }
}
