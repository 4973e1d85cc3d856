//! The keys of the operating system, and of noise.

use super::{Key, Kind, Need, Value, share, text, whole};
use crate::config::{FutexHome, IdleStates, Ipi, OffCores, SchedulerName};
use baton_units::Cycles;

const BOTH: Need = Need::Must;
/// Absent: its explanation says what.
const MAY: Need = Need::May;

macro_rules! key {
    ($need:ident $path:literal, $($field:ident).+, $what:literal) => {
        Key {
            path: $path, kind: Kind::Cycles, fixed: $need, coherent: $need, what: $what,
            get: |chip| Some(Value::Whole(chip.$($field).+.0)),
            set: |chip, value| chip.$($field).+ = Cycles(whole(value)),
        }
    };
}

/// They, in the order in which a chip file is written.
pub(super) const KEYS: &[Key] = &[
    key!(BOTH "os.futex_wait", os.futex_wait, "futex wait that sleeps: from the call until the core is free"),
    key!(BOTH "os.futex_wait_changed", os.futex_wait_changed, "futex wait that finds the value changed"),
    key!(BOTH "os.futex_wake_none", os.futex_wake_none, "futex wake that finds nobody asleep"),
    key!(BOTH "os.futex_wake", os.futex_wake, "futex wake of one sleeper, until the waker goes on"),
    key!(BOTH "os.futex_wake_more", os.futex_wake_more, "each further sleeper that the same call wakes"),
    key!(BOTH "os.context_switch", os.context_switch, "from one thread to the next on a core"),
    key!(BOTH "os.wake_idle", os.wake_idle,
        "from a wake-up to the thread's first instruction, on a core that has halted"),
    key!(BOTH "os.wake_polling", os.wake_polling, "the same on an idle core that still polls for work"),
    key!(BOTH "os.idle_poll", os.idle_poll, "how long an idle core polls before it halts"),
    key!(BOTH "os.time_slice", os.time_slice, "how long a thread runs before one that waits for the core gets it"),
    key!(BOTH "os.wakeup_granularity", os.wakeup_granularity,
        "how far behind in run time a woken thread must be to preempt the running one"),
    key!(BOTH "os.thread_create", os.thread_create, "creating a thread, at its creator"),
    Key {
        path: "os.scheduler",
        kind: Kind::Choice(baton_sched::NAMES),
        fixed: Need::May,
        coherent: Need::May,
        what: "which policy decides who runs where; absent: fair",
        get: |chip| Some(Value::Text(chip.os.scheduler.name().into())),
        set: |chip, value| chip.os.scheduler = SchedulerName::named(&text(value)).unwrap_or_default(),
    },
    key!(MAY "os.sleeper_credit", os.sleeper_credit,
        "how much run time a thread that slept is ahead of those that did not; a longer sleep is forgiven; absent: none"),
    key!(MAY "os.balance_interval", os.balance_interval,
        "how often queues are balanced while all CPUs are busy; 0 or absent: never"),
    Key {
        path: "os.futex_home",
        kind: Kind::Choice(FutexHome::NAMES),
        fixed: Need::May,
        coherent: Need::May,
        what: "where a futex's hash bucket has its home: by its own address, or at the lock's home; absent: buckets and \
               queues are not in memory, and a call costs its price",
        get: |chip| chip.os.futex_home.map(|home| Value::Text(home.name().into())),
        set: |chip, value| chip.os.futex_home = FutexHome::named(&text(value)),
    },
    Key {
        path: "os.wake_pull",
        kind: Kind::Share(0.0, 1.0),
        fixed: Need::May,
        coherent: Need::May,
        what: "share of threads woken from another CPU while theirs idles, and has had more to do of late, that come to the waker's; absent: none",
        get: |chip| (chip.os.wake_pull != 0.0).then_some(Value::Share(chip.os.wake_pull)),
        set: |chip, value| chip.os.wake_pull = share(value),
    },
    key!(MAY "os.syscall", os.syscall, "kernel entry and exit of a call that has no price of its own; absent: nothing"),
    Key {
        path: "os.kernel_lines",
        kind: Kind::Count(0, 64),
        fixed: Need::May,
        coherent: Need::May,
        what: "lines of its CPU's kernel data that a system call reads, each in memory; 0 or absent: none",
        get: |chip| Some(Value::Whole(u64::from(chip.os.kernel_lines))),
        set: |chip, value| chip.os.kernel_lines = whole(value) as u32,
    },
    Key {
        path: "os.interrupt_lines",
        kind: Kind::Count(0, 64),
        fixed: Need::May,
        coherent: Need::May,
        what: "lines of its CPU's kernel data that the handler of a tick or of an interrupt from another CPU reads, each in memory; \
               0 or absent: none",
        get: |chip| (chip.os.interrupt_lines != 0).then_some(Value::Whole(u64::from(chip.os.interrupt_lines))),
        set: |chip, value| chip.os.interrupt_lines = whole(value) as u32,
    },
    Key {
        path: "os.queue_lines",
        kind: Kind::Count(0, 16),
        fixed: Need::May,
        coherent: Need::May,
        what: "lines of a CPU's run queue that its handlers write, and whoever goes to sleep there or wakes a thread for it, each in \
               memory; 0 or absent: none",
        get: |chip| (chip.os.queue_lines != 0).then_some(Value::Whole(u64::from(chip.os.queue_lines))),
        set: |chip, value| chip.os.queue_lines = whole(value) as u32,
    },
    key!(MAY "os.interrupt", os.interrupt,
        "what an interrupt from another CPU takes from the thread that it hits; absent: nothing"),
    key!(MAY "os.tick", os.tick,
        "period of the timer tick on a CPU that is not idle; 0 or absent: none, and slices end by a timer of their own"),
    key!(MAY "os.tick_cost", os.tick_cost, "what a tick takes from the thread that it hits; absent: nothing"),
    Key {
        path: "os.ipi",
        kind: Kind::Choice(Ipi::NAMES),
        fixed: Need::No,
        coherent: Need::May,
        what: "an interrupt from CPU to CPU: within the price of a wake-up, a packet whose way comes on top, or for a futex's wake-up two, by way of its bucket's home; absent: price",
        get: |chip| Some(Value::Text(chip.os.ipi.name().into())),
        set: |chip, value| chip.os.ipi = Ipi::named(&text(value)),
    },
    key!(MAY "os.migrate", os.migrate,
        "what a switch to a thread that ran on another core costs more, beside its cold caches; absent: nothing"),
    Key {
        path: "os.idle_states",
        kind: Kind::Parsed(IdleStates::EXPECTED, |text| IdleStates::parse(text).is_some()),
        fixed: Need::May,
        coherent: Need::May,
        what: "deeper idle states: after so many idle cycles a wake-up takes so many in the place of os.wake_idle; absent: none",
        get: |chip| (!chip.os.idle_states.0.is_empty()).then(|| Value::Text(chip.os.idle_states.text())),
        set: |chip, value| chip.os.idle_states = IdleStates::parse(&text(value)).unwrap_or_default(),
    },
    Key {
        path: "os.off",
        kind: Kind::Parsed(OffCores::EXPECTED, |text| OffCores::parse(text).is_some()),
        fixed: Need::May,
        coherent: Need::May,
        what: "cores that are switched off when the run begins; absent: none",
        get: |chip| (!chip.os.off.cores.is_empty()).then(|| Value::Text(chip.os.off.text())),
        set: |chip, value| chip.os.off = OffCores::parse(&text(value)).unwrap_or_default(),
    },
    Key {
        path: "noise.latency",
        kind: Kind::Share(0.0, 0.5),
        fixed: Need::Must,
        coherent: Need::Must,
        what: "each transfer takes up to this share longer or shorter, by the seed",
        get: |chip| Some(Value::Share(chip.noise.latency)),
        set: |chip, value| chip.noise.latency = share(value),
    },
    key!(BOTH "noise.start", noise.start, "each thread starts up to this many cycles late, by the seed"),
];
