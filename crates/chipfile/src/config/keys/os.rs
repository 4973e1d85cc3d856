//! The keys of the operating system and of noise.

use super::key::{Key, Need, Value, ValueKind, share, text, whole};
use crate::config::limits::MOST_CYCLES;
use crate::config::os::{FutexHome, GovernorName, IdleStates, Ipi, OffCores, SchedulerName, WakeEntry, WakeSpread};
use baton_sched::governor::Goal;
use baton_units::Cycles;

const BOTH: Need = Need::Must;
/// The key may be absent; the key's explanation states what its absence means.
const MAY: Need = Need::May;

macro_rules! key {
    // A price that is not written to a file while it is 0.
    (nonzero $path:literal, $($field:ident).+, $what:literal) => {
        Key {
            path: $path, kind: ValueKind::Cycles, fixed: Need::May, coherent: Need::May, what: $what,
            get: |_, chip| (chip.$($field).+.0 != 0).then_some(Value::Whole(chip.$($field).+.0)),
            set: |_, chip, value| chip.$($field).+ = Cycles(whole(value)),
        }
    };
    // A price that takes the value of another key while no file gives it.
    (absent $path:literal, $($field:ident).+, $what:literal) => {
        Key {
            path: $path, kind: ValueKind::Cycles, fixed: Need::May, coherent: Need::May, what: $what,
            get: |_, chip| chip.$($field).+.map(|Cycles(price)| Value::Whole(price)),
            set: |_, chip, value| chip.$($field).+ = Some(Cycles(whole(value))),
        }
    };
    ($need:ident $path:literal, $($field:ident).+, $what:literal) => {
        Key {
            path: $path, kind: ValueKind::Cycles, fixed: $need, coherent: $need, what: $what,
            get: |_, chip| Some(Value::Whole(chip.$($field).+.0)),
            set: |_, chip, value| chip.$($field).+ = Cycles(whole(value)),
        }
    };
}

/// The keys, in the order in which a chip file is written.
pub(super) const KEYS: &[Key] = &[
    key!(BOTH "os.futex_wait", os.futex.wait, "futex wait that sleeps: from the call until the core is free"),
    key!(BOTH "os.futex_wait_changed", os.futex.wait_changed, "futex wait that finds the value changed"),
    key!(BOTH "os.futex_wake_none", os.futex.wake_none, "futex wake that finds nobody asleep"),
    key!(BOTH "os.futex_wake", os.futex.wake, "futex wake of one sleeper, until the waker goes on"),
    key!(BOTH "os.futex_wake_more", os.futex.wake_more, "each further sleeper that the same call wakes"),
    key!(absent "os.futex_wake_polling", os.futex.wake_polling,
        "futex wake of one sleeper whose core still polls for work, and so needs no interrupt; absent: as os.futex_wake"),
    key!(BOTH "os.context_switch", os.context_switch, "from one thread to the next on a core"),
    key!(BOTH "os.wake_idle", os.idle.wake,
        "from a wake-up to the thread's first instruction, on a core that has halted"),
    key!(BOTH "os.wake_polling", os.idle.wake_polling, "the same on an idle core that still polls for work"),
    key!(BOTH "os.idle_poll", os.idle.poll, "how long an idle core polls before it halts"),
    key!(BOTH "os.time_slice", os.sched.time_slice, "how long a thread runs before one that waits for the core gets it"),
    key!(BOTH "os.wakeup_granularity", os.sched.wakeup_granularity,
        "how far behind in run time a woken thread must be to preempt the running one"),
    key!(BOTH "os.thread_create", os.thread_create, "creating a thread, at its creator"),
    Key {
        path: "os.scheduler",
        kind: ValueKind::OneOf(baton_sched::names),
        fixed: Need::May,
        coherent: Need::May,
        what: "which policy decides who runs where; absent: fair",
        get: |_, chip| Some(Value::Text(chip.os.sched.policy.name().into())),
        set: |_, chip, value| chip.os.sched.policy = SchedulerName::named(&text(value)).unwrap_or_default(),
    },
    key!(MAY "os.sleeper_credit", os.sched.sleeper_credit,
        "how much run time a thread that slept is ahead of those that did not; a longer sleep is forgiven; absent: none"),
    key!(MAY "os.balance_interval", os.sched.balance_interval,
        "how often queues are balanced while all CPUs are busy; 0 or absent: never"),
    Key {
        path: "os.futex_home",
        kind: ValueKind::Choice(FutexHome::NAMES),
        fixed: Need::May,
        coherent: Need::May,
        what: "where a futex's hash bucket has its home: by its own address, or at the lock's home; absent: buckets and \
               queues are not in memory, and a call costs its price",
        get: |_, chip| chip.os.futex.home.map(|home| Value::Text(home.name().into())),
        set: |_, chip, value| chip.os.futex.home = FutexHome::named(&text(value)),
    },
    Key {
        path: "os.futex_wake_entry",
        kind: ValueKind::Choice(WakeEntry::NAMES),
        fixed: Need::May,
        coherent: Need::May,
        what: "a futex wake if no thread sleeps: no call, a call that looks at a counter, or one that takes the bucket's lock; absent: program",
        get: |_, chip| {
            (chip.os.futex.entry != WakeEntry::Program).then(|| Value::Text(chip.os.futex.entry.name().into()))
        },
        set: |_, chip, value| chip.os.futex.entry = WakeEntry::named(&text(value)).unwrap_or_default(),
    },
    Key {
        path: "os.wake_pull",
        kind: ValueKind::Share(0.0, 1.0),
        fixed: Need::May,
        coherent: Need::May,
        what: "share of threads woken from another CPU while theirs idles, and has had more to do of late, that come to the waker's; absent: none",
        get: |_, chip| (chip.os.sched.wake_pull != 0.0).then_some(Value::Share(chip.os.sched.wake_pull)),
        set: |_, chip, value| chip.os.sched.wake_pull = share(value),
    },
    key!(MAY "os.syscall", os.syscall, "kernel entry and exit of a call that has no price of its own; absent: nothing"),
    key!(nonzero "os.signal_deliver", os.signal.deliver,
        "a signal's handler is entered: from the kernel's look at the signal to the handler's first instruction; absent: nothing"),
    key!(nonzero "os.signal_return", os.signal.back,
        "a signal's handler is left: from its last instruction to where the thread goes on (a system call); absent: nothing"),
    Key {
        path: "os.kernel_lines",
        kind: ValueKind::Count(0, 64),
        fixed: Need::May,
        coherent: Need::May,
        what: "lines of its CPU's kernel data that a system call reads, each in memory; 0 or absent: none",
        get: |_, chip| Some(Value::Whole(u64::from(chip.os.lines.syscall))),
        set: |_, chip, value| chip.os.lines.syscall = whole(value) as u32,
    },
    Key {
        path: "os.interrupt_lines",
        kind: ValueKind::Count(0, 64),
        fixed: Need::May,
        coherent: Need::May,
        what: "lines of its CPU's kernel data that the handler of a tick or of an interrupt from another CPU reads, each in memory; \
               0 or absent: none",
        get: |_, chip| (chip.os.lines.interrupt != 0).then_some(Value::Whole(u64::from(chip.os.lines.interrupt))),
        set: |_, chip, value| chip.os.lines.interrupt = whole(value) as u32,
    },
    Key {
        path: "os.queue_lines",
        kind: ValueKind::Count(0, 16),
        fixed: Need::May,
        coherent: Need::May,
        what: "lines of a CPU's run queue that its handlers write, and whoever goes to sleep there or wakes a thread for it, each in \
               memory; 0 or absent: none",
        get: |_, chip| (chip.os.lines.queue != 0).then_some(Value::Whole(u64::from(chip.os.lines.queue))),
        set: |_, chip, value| chip.os.lines.queue = whole(value) as u32,
    },
    key!(MAY "os.interrupt", os.interrupt.cost,
        "what an interrupt from another CPU takes from the thread that it hits; absent: nothing"),
    key!(MAY "os.tick", os.interrupt.tick,
        "period of the timer tick on a CPU that is not idle; 0 or absent: none, and slices end by a timer of their own"),
    key!(MAY "os.tick_cost", os.interrupt.tick_cost, "what a tick takes from the thread that it hits; absent: nothing"),
    Key {
        path: "os.ipi",
        kind: ValueKind::Choice(Ipi::NAMES),
        fixed: Need::No,
        coherent: Need::May,
        what: "an interrupt from CPU to CPU: within the price of a wake-up, a packet whose way comes on top, or for a futex's wake-up two, by way of its bucket's home; absent: price",
        get: |_, chip| Some(Value::Text(chip.os.interrupt.ipi.name().into())),
        set: |_, chip, value| chip.os.interrupt.ipi = Ipi::named(&text(value)).unwrap_or_default(),
    },
    key!(MAY "os.migrate", os.migrate,
        "what a switch to a thread that ran on another core costs more, beside its cold caches; absent: nothing"),
    Key {
        path: "os.idle_states",
        kind: ValueKind::Parsed(IdleStates::EXPECTED, |text| IdleStates::parse(text).is_some()),
        fixed: Need::May,
        coherent: Need::May,
        what: "deeper idle states, each as idle cycles:wake-up cycles: after that many idle cycles a wake-up takes this time instead of os.wake_idle; absent: none",
        get: |_, chip| (!chip.os.idle.states.0.is_empty()).then(|| Value::Text(chip.os.idle.states.text())),
        set: |_, chip, value| chip.os.idle.states = IdleStates::parse(&text(value)).unwrap_or_default(),
    },
    Key {
        path: "os.wake_spread",
        kind: ValueKind::Parsed(WakeSpread::EXPECTED, |text| WakeSpread::parse(text).is_some()),
        fixed: Need::May,
        coherent: Need::May,
        what: "percentiles of a wake-up of an idle core, in thousandths of its price: each wake-up's is drawn, by the seed; absent: all \
               take their price",
        get: |_, chip| (!chip.os.idle.spread.0.is_empty()).then(|| Value::Text(chip.os.idle.spread.text())),
        set: |_, chip, value| chip.os.idle.spread = WakeSpread::parse(&text(value)).unwrap_or_default(),
    },
    Key {
        path: "os.off",
        // An empty text switches on the cores that a base file switches off.
        kind: ValueKind::Parsed(OffCores::EXPECTED, |text| text.is_empty() || OffCores::parse(text).is_some()),
        fixed: Need::May,
        coherent: Need::May,
        what: "cores that are switched off when the run begins; absent: none",
        get: |_, chip| (!chip.os.off.cores.is_empty()).then(|| Value::Text(chip.os.off.text())),
        set: |_, chip, value| chip.os.off = OffCores::parse(&text(value)).unwrap_or_default(),
    },
    Key {
        path: "os.governor",
        kind: ValueKind::Choice(GovernorName::NAMES),
        fixed: Need::May,
        coherent: Need::May,
        what: "who decides the clock of each core while the chip runs; absent: none, clocks stay as they are",
        get: |_, chip| {
            let governor = chip.os.governing.governor;
            (governor != GovernorName::default()).then(|| Value::Text(governor.name().into()))
        },
        set: |_, chip, value| chip.os.governing.governor = GovernorName::named(&text(value)).unwrap_or_default(),
    },
    Key {
        path: "os.governor_period",
        kind: ValueKind::Count(1000, MOST_CYCLES),
        fixed: Need::May,
        coherent: Need::May,
        what: "cycles from one decision of the governor to the next; absent: a time slice",
        get: |_, chip| chip.os.governing.period.map(|period| Value::Whole(period.0)),
        set: |_, chip, value| chip.os.governing.period = Some(Cycles(whole(value))),
    },
    Key {
        path: "os.governor_goal",
        kind: ValueKind::Choice(Goal::NAMES),
        fixed: Need::May,
        coherent: Need::May,
        what: "of the governor energy-delay: what it makes as small as can be, energy, energy times delay, or energy times the square of \
               the delay; absent: energy-delay",
        get: |_, chip| {
            let goal = chip.os.governing.goal;
            (goal != Goal::default()).then(|| Value::Text(goal.name().into()))
        },
        set: |_, chip, value| chip.os.governing.goal = Goal::named(&text(value)).unwrap_or_default(),
    },
    Key {
        path: "noise.latency",
        kind: ValueKind::Share(0.0, 0.5),
        fixed: Need::Must,
        coherent: Need::Must,
        what: "each request beyond the core's own copy takes up to this share longer or shorter, by the seed",
        get: |_, chip| Some(Value::Share(chip.noise.latency)),
        set: |_, chip, value| chip.noise.latency = share(value),
    },
    key!(BOTH "noise.start", noise.start, "each thread starts up to this many cycles late, by the seed"),
];
