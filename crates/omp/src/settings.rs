//! The settings that the environment gives. A bad OMP_* or GOMP_* value is reported and ignored, as
//! in libgomp; a bad BATON_OMP_* value is an error.

use crate::objects;
use crate::places::{self, Found, Place, bind};
use crate::space::{Schedule, ScheduleKind};
use crate::waits::{REASONS, Waits, Why};
use baton_machine::discover::Topology;
use baton_machine::{Native, Wait};
use core::num::NonZeroU32;
use std::sync::Arc;

/// The variables of which each thread has a copy (OpenMP's internal control variables).
#[derive(Clone, Copy, Debug)]
pub struct Icv {
    /// The number of threads of a region that names none.
    pub threads: u32,
    /// Whether the runtime may give a region fewer threads than it asks for.
    pub dynamic: bool,
    /// What `schedule(runtime)` means.
    pub schedule: Schedule,
    /// How many levels of regions may be active.
    pub levels: u32,
    /// The default device's number. The host is the only device.
    pub device: i32,
    /// The greatest number of threads that an initial thread and its regions have at once.
    pub limit: u32,
    /// The default allocator, by the interface's number.
    pub allocator: usize,
    /// How threads are bound, by the numbers of `omp_proc_bind_t`.
    pub bind: u32,
}

/// The limit of threads if none is set.
pub const NO_LIMIT: u32 = i32::MAX as u32;

/// The most levels that can be active, as in libgomp.
pub const MOST_LEVELS: u32 = 255;

/// Where a team's tasks wait until a thread runs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskQueue {
    /// In one queue behind the team's lock.
    Team,
    /// In the list of the thread that made them, from which other threads steal.
    Steal,
}

impl TaskQueue {
    /// Both kinds, each with its name in `BATON_OMP_TASKS`.
    pub const ALL: [(TaskQueue, &str); 2] = [(TaskQueue::Team, "team"), (TaskQueue::Steal, "steal")];
}

/// The settings of a runtime.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The variables with which threads begin.
    pub icv: Icv,
    /// OMP_NUM_THREADS as given: the threads of a region at each level, from the outermost on.
    pub threads: Vec<u32>,
    /// Whether cancellation is on.
    pub cancellation: bool,
    /// The barrier's name.
    pub barrier: String,
    /// The lock's name, also for the runtime's internal locks.
    pub lock: String,
    /// How threads wait; `None`: a waiter tries `spin` times and then sleeps in the kernel.
    pub waits: Option<Waits>,
    /// Tries before a waiter sleeps; `None`: a waiter tries for a fixed time. With more threads
    /// than CPUs, a waiter yields the CPU a few times instead; for a lock it tries 1,000 times at
    /// most.
    pub spin: Option<u32>,
    /// Nanoseconds for which a waiter that is not one for a lock tries before it sleeps, if each
    /// thread has a CPU and `spin` is `None`; `None`: the runtime's own times.
    pub block_ns: Option<u32>,
    /// Where tasks wait.
    pub tasks: TaskQueue,
    /// How many threads are woken for a new task.
    pub task_wakes: u32,
    /// Whether a thread runs new tasks at once where many wait.
    pub throttles: bool,
    /// Whether LLVM's library is stood in for, where it differs from libgomp: an initial thread is
    /// bound at its first region, a bad OMP_PLACES stands for places by name, and a team is shown if
    /// it differs from its first thread's last one.
    pub llvms: bool,
    /// Whether teams may be shown.
    pub shows: bool,
    /// Whether an initial thread runs where it ran before, outside of its regions.
    pub resets: bool,
    /// A ring of work-shares that has no room is followed by one of 2^`ring_growth` times as many
    /// slots; 0: threads wait for room.
    pub ring_growth: u32,
    /// OMP_PROC_BIND as given: how the threads of a region are bound at each level, from the
    /// outermost on.
    pub binds: Vec<u32>,
    /// The places to which threads are bound; empty: threads are not bound.
    pub places: Arc<[Place]>,
}

/// How long a waiter tries before it sleeps, if each thread has a CPU: several times the cost of a
/// sleep and a wake-up. libgomp tries 300,000 times, for 7 ms and more. If two threads have come to
/// share a CPU after all, or another program runs on one, the team makes no progress during these
/// tries.
const BUSY_NS: u32 = 100_000;
/// How long a worker without a team tries before it sleeps, in nanoseconds: the next region often
/// comes soon.
const IDLE_NS: u32 = 500_000;
/// Tries of a waiter for a lock before it sleeps. A holder that runs keeps the lock for a short
/// time, and waking a sleeper takes a system call.
const LOCK_TRIES: u32 = 1000;
/// How often a waiter yields the CPU before it sleeps, with more threads than CPUs: the thread that
/// it waits for may itself wait for a CPU.
const OFFERS: u32 = 20;
/// How often a worker without a team yields the CPU at least, with more threads than CPUs. With `n`
/// threads a CPU it yields `OFFERS / n` times: each yield lasts as long as other threads run, so the
/// worker waits for its next team for about the same time in teams of all sizes.
const IDLE_OFFERS: u32 = 5;

/// Rings of work-shares have 8, 64, 512, 4096 slots, and up to 2,097,152. With more threads than
/// CPUs, a thread in loops without barriers gets far ahead of a thread that has no CPU.
const GROWTH: u32 = 3;

impl Settings {
    /// The settings of an empty environment on `cpus` CPUs, except that tasks are in the team's
    /// queue, and a team has one ring of work-shares. With the settings that are read from an
    /// environment, threads steal and rings grow.
    pub fn new(cpus: u32) -> Settings {
        let schedule = Schedule { kind: ScheduleKind::Dynamic, chunk: 1, monotonic: false };
        Settings {
            icv: Icv {
                threads: cpus,
                dynamic: false,
                schedule,
                levels: 1,
                device: 0,
                limit: NO_LIMIT,
                allocator: 1,
                bind: bind::FALSE,
            },
            threads: Vec::new(),
            cancellation: false,
            barrier: "gomp".to_owned(),
            lock: "adaptive".to_owned(),
            waits: None,
            spin: None,
            block_ns: None,
            tasks: TaskQueue::Team,
            task_wakes: 1,
            throttles: true,
            llvms: false,
            shows: false,
            resets: false,
            ring_growth: 0,
            binds: Vec::new(),
            places: Arc::new([]),
        }
    }

    /// How the threads of a team of `size` wait, on `cpus` CPUs. With more threads than CPUs, a
    /// number of tries that the user sets bounds the yields of the CPU. Policies that the user
    /// names are taken as they are.
    pub fn waits(&self, size: u32, cpus: u32) -> Waits {
        if let Some(waits) = self.waits {
            return waits;
        }
        if self.spin == Some(0) {
            return Waits::all(Wait::Futex);
        }
        let tries = self.spin.unwrap_or(u32::MAX);
        if size > cpus {
            let mut waits = Waits::all(Wait::YieldPark(OFFERS.min(tries)));
            waits.set(Why::Lock, Wait::SpinPark(LOCK_TRIES.min(tries)));
            let idle = (u64::from(OFFERS) * u64::from(cpus) / u64::from(size)) as u32;
            waits.set(Why::Idle, Wait::YieldPark(idle.max(IDLE_OFFERS).min(tries)));
            return waits;
        }
        if self.spin.is_some() {
            return Waits::all(Wait::SpinPark(tries));
        }
        let mut waits = Waits::all(Wait::SpinFor(self.block_ns.unwrap_or(BUSY_NS)));
        waits.set(Why::Lock, Wait::SpinPark(LOCK_TRIES));
        waits.set(Why::Idle, Wait::SpinFor(self.block_ns.unwrap_or(IDLE_NS)));
        waits
    }

    /// Reads the settings from an environment. Each bad OMP_* or GOMP_* value is passed to `warn`;
    /// a bad BATON_OMP_* value is the error.
    pub fn read(
        cpus: u32,
        variable: impl Fn(&str) -> Option<String>,
        mut warn: impl FnMut(String),
    ) -> Result<Settings, String> {
        let mut settings = Settings { tasks: TaskQueue::Steal, ring_growth: GROWTH, ..Settings::new(cpus) };
        let mut take = |name: &str, set: &mut dyn FnMut(&str) -> Option<()>| {
            if let Some(value) = variable(name)
                && set(value.trim()).is_none()
            {
                warn(format!("Invalid value for environment variable {name}: {value}"));
            }
        };
        let icv = &mut settings.icv;
        take("OMP_NUM_THREADS", &mut |text| {
            let number = |word: &str| word.trim().parse::<NonZeroU32>().ok().map(NonZeroU32::get);
            settings.threads = text.split(',').map(number).collect::<Option<_>>()?;
            icv.threads = settings.threads[0];
            icv.levels = if settings.threads.len() > 1 { MOST_LEVELS } else { icv.levels };
            Some(())
        });
        take("OMP_DYNAMIC", &mut |text| flag(text).map(|on| icv.dynamic = on));
        take("OMP_SCHEDULE", &mut |text| schedule(text, &SCHEDULES).map(|schedule| icv.schedule = schedule));
        take("OMP_THREAD_LIMIT", &mut |text| text.parse::<NonZeroU32>().ok().map(|n| icv.limit = n.get()));
        take("OMP_PROC_BIND", &mut |text| {
            settings.binds = binds(text)?;
            icv.bind = settings.binds[0];
            icv.levels = if settings.binds.len() > 1 { MOST_LEVELS } else { icv.levels };
            Some(())
        });
        take("OMP_NESTED", &mut |text| flag(text).map(|on| icv.levels = if on { MOST_LEVELS } else { 1 }));
        take("OMP_MAX_ACTIVE_LEVELS", &mut |text| {
            text.parse::<u32>().ok().map(|levels| icv.levels = levels.min(MOST_LEVELS))
        });
        take("OMP_CANCELLATION", &mut |text| flag(text).map(|on| settings.cancellation = on));
        take("OMP_WAIT_POLICY", &mut |text| match text.to_ascii_lowercase().as_str() {
            "active" => {
                settings.spin = Some(u32::MAX - 1);
                Some(())
            }
            "passive" => {
                settings.spin = Some(0);
                Some(())
            }
            _ => None,
        });
        take("GOMP_SPINCOUNT", &mut |text| spin_count(text).map(|n| settings.spin = Some(n)));
        settings.choose(variable)?;
        Ok(settings)
    }

    /// Reads OMP_PLACES and GOMP_CPU_AFFINITY. `here` returns the machine's topology and the CPUs
    /// that may be used; it is called only if a variable asks for threads to be bound. Each bad
    /// value is passed to `warn`.
    pub fn read_places(
        &mut self,
        variable: impl Fn(&str) -> Option<String>,
        mut warn: impl FnMut(String),
        here: impl FnOnce() -> (Topology, Vec<u32>),
    ) {
        let texts = ["OMP_PLACES", "GOMP_CPU_AFFINITY"].map(|name| variable(name).map(|text| (name, text)));
        let said = !self.binds.is_empty();
        if if said { self.icv.bind == bind::FALSE } else { texts.iter().all(Option::is_none) } {
            return;
        }
        let (topology, allowed) = here();
        let mut places = Vec::new();
        for (name, text) in texts.into_iter().flatten() {
            if !places.is_empty() {
                break;
            }
            let Found { places: found, note } = match name {
                "OMP_PLACES" => places::read(&text, &topology, &allowed),
                _ => places::read_cpus(&text, &allowed),
            };
            note.into_iter().for_each(&mut warn);
            if found.is_empty() && self.llvms && name == "OMP_PLACES" {
                let name = places::name_of(&text);
                warn(format!("OMP_PLACES: syntax error, using {name}."));
                places = places::read(name, &topology, &allowed).places;
                continue;
            }
            if found.is_empty() {
                warn(format!("Invalid value for environment variable {name}: {text}"));
            }
            places = found;
        }
        if said && places.is_empty() {
            places = places::threads(&topology, &allowed);
        }
        if !said && !places.is_empty() {
            self.icv.bind = bind::TRUE;
        }
        self.places = places.into();
    }

    /// Reads the BATON_OMP_* variables.
    fn choose(&mut self, variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        if let Some(name) = variable("BATON_OMP_BARRIER") {
            objects::barrier::<Native>(&name, NonZeroU32::MIN)
                .map_err(|error| format!("BATON_OMP_BARRIER: {error}"))?;
            if !objects::telling_barriers().any(|telling| telling == name) {
                let those: Vec<_> = objects::telling_barriers().collect();
                return Err(format!(
                    "BATON_OMP_BARRIER: `{name}` cannot tell threads that have arrived of new tasks, and a program could hang; expected \
                     one of {}",
                    those.join(", ")
                ));
            }
            self.barrier = name;
        }
        if let Some(name) = variable("BATON_OMP_LOCK") {
            objects::lock::<Native>(&name).map_err(|error| format!("BATON_OMP_LOCK: {error}"))?;
            self.lock = name;
        }
        if let Some(text) = variable("BATON_OMP_TASKS") {
            let known = TaskQueue::ALL.iter().find(|(_, name)| *name == text.trim());
            self.tasks = known.ok_or_else(|| format!("BATON_OMP_TASKS: `{text}`; expected `team` or `steal`"))?.0;
        }
        if let Some(text) = variable("BATON_OMP_TASK_WAKE") {
            self.task_wakes = match text.trim() {
                "one" => 1,
                "all" => u32::MAX,
                _ => return Err(format!("BATON_OMP_TASK_WAKE: `{text}`; expected `one` or `all`")),
            };
        }
        if let Some(text) = variable("BATON_OMP_WAIT") {
            self.waits = Some(waits(&text).map_err(|error| format!("BATON_OMP_WAIT: {error}"))?);
        }
        Ok(())
    }
}

/// Reads the policies from parts separated by commas: `policy` is for all reasons, `reason=policy`
/// for one. If a reason has several policies, the first one that this machine has is taken. The
/// order of parts for different reasons does not matter. A reason for which there is no part waits
/// by `spin-park`.
fn waits(text: &str) -> Result<Waits, String> {
    let mut asked: Vec<(Option<Why>, Vec<Wait>)> = Vec::new();
    for part in text.split(',') {
        let (why, name) = match part.split_once('=') {
            None => (None, part),
            Some((reason, name)) => (Some(reason_named(reason.trim())?), name),
        };
        let wait = name.trim().parse().map_err(|error: baton_machine::wait::UnknownWait| error.to_string())?;
        match asked.iter_mut().find(|(known, _)| *known == why) {
            Some((_, all)) => all.push(wait),
            None => asked.push((why, vec![wait])),
        }
    }
    let mut waits = Waits::all(Wait::SpinPark(baton_machine::wait::SPIN_TRIES));
    // The policy for all reasons comes first, because each of the others replaces it.
    asked.sort_by_key(|(why, _)| why.is_some());
    for (why, policies) in asked {
        let here = policies.iter().copied().find(|&wait| Native::check(wait).is_ok());
        // Where the machine has none of them, the first one's error says what it lacks.
        let wait = here.map_or_else(|| Native::check(policies[0]).map(|()| policies[0]), Ok);
        let wait = wait.map_err(|error| error.to_string())?;
        match why {
            None => waits = Waits::all(wait),
            Some(why) => waits.set(why, wait),
        }
    }
    Ok(waits)
}

fn reason_named(reason: &str) -> Result<Why, String> {
    let found = REASONS.iter().find(|(_, known)| *known == reason);
    found.map(|(why, _)| *why).ok_or_else(|| {
        let known: Vec<_> = REASONS.iter().map(|(_, name)| *name).collect();
        format!("unknown reason to wait `{reason}`; expected one of {}", known.join(", "))
    })
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Reads `false`, `true`, or a list of ways to bind, one for each level.
fn binds(text: &str) -> Option<Vec<u32>> {
    let text = text.to_ascii_lowercase();
    let one = |word: &str| match word.trim() {
        "master" | "primary" => Some(bind::MASTER),
        "close" => Some(bind::CLOSE),
        "spread" => Some(bind::SPREAD),
        _ => None,
    };
    match flag(&text) {
        Some(on) => Some(vec![u32::from(on)]),
        None => text.split(',').map(one).collect(),
    }
}

fn spin_count(text: &str) -> Option<u32> {
    if matches!(text.to_ascii_lowercase().as_str(), "infinite" | "infinity") {
        return Some(u32::MAX - 1);
    }
    text.parse::<u64>().ok().map(|n| n.min(u64::from(u32::MAX - 1)) as u32)
}

/// The kinds of schedules that OMP_SCHEDULE names.
pub const SCHEDULES: [(&str, ScheduleKind); 4] = [
    ("static", ScheduleKind::Static),
    ("dynamic", ScheduleKind::Dynamic),
    ("guided", ScheduleKind::Guided),
    ("auto", ScheduleKind::Auto),
];

/// Reads a schedule of one of these kinds in the form of OMP_SCHEDULE:
/// `[monotonic:|nonmonotonic:]kind[,chunk]`.
pub fn schedule(text: &str, kinds: &[(&str, ScheduleKind)]) -> Option<Schedule> {
    let text = text.to_ascii_lowercase();
    let (modifier, rest) = text.split_once(':').map_or(("", text.as_str()), |(m, rest)| (m.trim(), rest));
    let (kind, chunk) = rest.split_once(',').map_or((rest, None), |(kind, chunk)| (kind, Some(chunk)));
    let kind = kinds.iter().find(|(name, _)| *name == kind.trim())?.1;
    let monotonic = match modifier {
        "" => kind == ScheduleKind::Static,
        "monotonic" => true,
        "nonmonotonic" => false,
        _ => return None,
    };
    let least = u64::from(kind != ScheduleKind::Static);
    let chunk = match chunk {
        None => least,
        Some(chunk) => chunk.trim().parse().ok().filter(|n: &u64| *n <= i32::MAX as u64)?,
    };
    Some(Schedule { kind, chunk: chunk.max(least), monotonic })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &'static str) -> (Result<Settings, String>, Vec<String>) {
        let mut warnings = Vec::new();
        let settings = Settings::read(4, |asked| (asked == name).then(|| value.to_owned()), |text| warnings.push(text));
        (settings, warnings)
    }

    #[test]
    fn values_are_taken_and_bad_ones_named() {
        assert_eq!(read("OMP_NUM_THREADS", "3,2").0.unwrap().icv.threads, 3);
        let (settings, warnings) = read("OMP_NUM_THREADS", "0");
        assert_eq!((settings.unwrap().icv.threads, warnings.len()), (4, 1));
        let levels = |name, value| read(name, value).0.unwrap().icv.levels;
        assert_eq!([levels("OMP_NUM_THREADS", "3,2"), levels("OMP_NUM_THREADS", "3")], [MOST_LEVELS, 1]);
        assert_eq!([levels("OMP_NESTED", "true"), levels("OMP_MAX_ACTIVE_LEVELS", "2")], [MOST_LEVELS, 2]);
        assert_eq!(read("OMP_NUM_THREADS", "3,x").1.len(), 1);
        let schedule = read("OMP_SCHEDULE", "monotonic:guided,7").0.unwrap().icv.schedule;
        assert_eq!(schedule, Schedule { kind: ScheduleKind::Guided, chunk: 7, monotonic: true });
        assert_eq!(read("OMP_SCHEDULE", "guided,x").1.len(), 1);
        assert_eq!(read("OMP_WAIT_POLICY", "PASSIVE").0.unwrap().waits(2, 4), Waits::all(Wait::Futex));
        let crowded = read("", "").0.unwrap().waits(8, 4);
        assert_eq!([Why::Barrier, Why::Idle].map(|why| crowded.of(why)), [20, 10].map(Wait::YieldPark));
        let idle = |threads| read("", "").0.unwrap().waits(threads, 4).of(Why::Idle);
        assert_eq!([5, 16, 17, u32::MAX].map(idle), [16, 5, 5, 5].map(Wait::YieldPark));
        assert_eq!(crowded.of(Why::Lock), Wait::SpinPark(1000));
    }

    #[test]
    fn a_crowd_offers_the_cpu_whatever_the_user_sets() {
        const FREE: u32 = 4;
        const CROWDED: u32 = 5;
        let parks = |tries| Waits::all(Wait::SpinPark(tries));
        let offers = |offers: u32, tries| {
            let mut waits = Waits::all(Wait::YieldPark(offers));
            waits.set(Why::Lock, Wait::SpinPark(tries));
            waits.set(Why::Idle, Wait::YieldPark(offers.min(16)));
            waits
        };
        let endless = u32::MAX - 1;
        let product = [
            ("OMP_WAIT_POLICY", "active", parks(endless), offers(20, 1000)),
            ("OMP_WAIT_POLICY", "passive", Waits::all(Wait::Futex), Waits::all(Wait::Futex)),
            ("GOMP_SPINCOUNT", "infinity", parks(endless), offers(20, 1000)),
            ("GOMP_SPINCOUNT", "300000", parks(300_000), offers(20, 1000)),
            ("GOMP_SPINCOUNT", "7", parks(7), offers(7, 7)),
            ("GOMP_SPINCOUNT", "0", Waits::all(Wait::Futex), Waits::all(Wait::Futex)),
            ("BATON_OMP_WAIT", "pause", Waits::all(Wait::Pause), Waits::all(Wait::Pause)),
        ];
        for (name, value, free, crowded) in product {
            let settings = read(name, value).0.unwrap();
            assert_eq!(settings.waits(FREE, 4), free, "{name}={value}, a CPU each");
            assert_eq!(settings.waits(CROWDED, 4), crowded, "{name}={value}, crowded");
        }
        assert_eq!(read("", "").0.unwrap().waits(CROWDED, 4), offers(20, 1000));
    }

    #[test]
    fn places_and_how_to_bind_go_together() {
        let cpu = |id| baton_machine::discover::Cpu { id, siblings: vec![id], socket: 0, node: 0, cluster: vec![0, 1] };
        let told = |variables: &[(&str, &str)]| {
            let variable =
                |asked: &str| variables.iter().find(|(name, _)| *name == asked).map(|(_, to)| (*to).to_owned());
            let (mut warnings, mut settings) = (0, Settings::read(2, variable, |_| ()).unwrap());
            let here = || (Topology { cpus: vec![cpu(0), cpu(1)], caches: Vec::new() }, vec![0, 1]);
            settings.read_places(variable, |_| warnings += 1, here);
            (settings.icv.bind, places::shown(&settings.places), warnings)
        };
        let is = |bind, places: &str, warnings| (bind, places.to_owned(), warnings);
        assert_eq!(told(&[]), is(bind::FALSE, "", 0));
        assert_eq!(told(&[("OMP_PROC_BIND", "false"), ("OMP_PLACES", "x")]), is(bind::FALSE, "", 0));
        assert_eq!(told(&[("OMP_PROC_BIND", "spread,primary")]), is(bind::SPREAD, "{0},{1}", 0));
        assert_eq!(told(&[("OMP_PLACES", "sockets")]), is(bind::TRUE, "{0:2}", 0));
        assert_eq!(told(&[("OMP_PLACES", "{9}")]), is(bind::FALSE, "", 2));
        assert_eq!(told(&[("OMP_PLACES", "x"), ("OMP_PROC_BIND", "close")]), is(bind::CLOSE, "{0},{1}", 1));
        assert_eq!(told(&[("GOMP_CPU_AFFINITY", "1 0")]), is(bind::TRUE, "{1},{0}", 0));
        assert_eq!(told(&[("OMP_PLACES", "{0}"), ("GOMP_CPU_AFFINITY", "1")]), is(bind::TRUE, "{0}", 0));
        assert_eq!(read("OMP_PROC_BIND", "true,close").1.len(), 1);
    }

    #[test]
    fn what_is_chosen_must_exist() {
        let bad = [("BARRIER", "x"), ("LOCK", "x"), ("WAIT", "nap=futex"), ("TASKS", "stealing"), ("TASK_WAKE", "two")];
        for (name, value) in bad {
            let name: &'static str = format!("BATON_OMP_{name}").leak();
            assert!(read(name, value).0.unwrap_err().starts_with(name));
        }
        for name in ["tree", "dissemination"] {
            let error = read("BATON_OMP_BARRIER", name).0.unwrap_err();
            assert!(
                error.contains(name) && error.ends_with("expected one of central, two-level, levels, gomp"),
                "{error}"
            );
        }
        for name in ["central", "two-level", "levels", "gomp"] {
            assert_eq!(read("BATON_OMP_BARRIER", name).0.unwrap().barrier, name);
        }
        let tasks = |name, value| read(name, value).0.unwrap().tasks;
        assert_eq!([tasks("", ""), tasks("BATON_OMP_TASKS", "team")], [TaskQueue::Steal, TaskQueue::Team]);
        let waits = read("BATON_OMP_WAIT", "pause,idle=futex").0.unwrap().waits.unwrap();
        assert_eq!((waits.of(Why::Lock), waits.of(Why::Idle)), (Wait::Pause, Wait::Futex));
    }

    /// A list means the same here as for `--lock`: the first policy that the machine has.
    #[test]
    fn of_several_waits_the_first_that_the_machine_has_is_taken() {
        let of = |text| read("BATON_OMP_WAIT", text).0.unwrap().waits.unwrap();
        assert_eq!(of("pause,futex"), Waits::all(Wait::Pause));
        assert_eq!(of("futex,pause"), Waits::all(Wait::Futex));
        let umwait: Wait = "umwait".parse().unwrap();
        let first = if Native::check(umwait).is_ok() { umwait } else { Wait::Pause };
        assert_eq!(of("umwait,pause"), Waits::all(first));
        assert_eq!(
            of("idle=umwait,pause,idle=futex").of(Why::Idle),
            if first == umwait { umwait } else { Wait::Futex }
        );
        assert_eq!(of("idle=futex,pause"), of("pause,idle=futex"), "the order of reasons does not matter");
        assert!(read("BATON_OMP_WAIT", "pause,no-such-wait").0.unwrap_err().contains("no-such-wait"));
    }
}
