//! The keys `os.amp` of policies for chips with fast and slow cores. Each key may be absent and
//! then has the policies' default (`baton_sched::placement::Amp`).

use super::key::{Key, Need, Value, ValueKind, text, whole};
use crate::config::texts::{core_list, core_ranges};
use baton_sched::placement::{Amp, EnterSp, Master, Packing, Renewal};

const USUAL: Amp = Amp::DEFAULT;

/// Declares a key that is written only if its value is not the default.
macro_rules! key {
    ($path:literal, $kind:expr, $what:literal, $get:expr, $set:expr) => {
        Key { path: $path, kind: $kind, fixed: Need::May, coherent: Need::May, what: $what, get: $get, set: $set }
    };
}

pub(super) const KEYS: &[Key] = &[
    key!(
        "os.amp.fast_cores",
        ValueKind::Parsed("the cores as in \"0 4-7\"", |text| core_list(text).is_some()),
        "which cores count as fast, whatever their clocks; absent: those with the fastest clock of the cores that are on",
        |_, chip| (!chip.os.fast_cores.is_empty()).then(|| Value::Text(core_ranges(&chip.os.fast_cores))),
        |_, chip, value| chip.os.fast_cores = core_list(&text(value)).unwrap_or_default()
    ),
    key!(
        "os.amp.hp_threshold",
        ValueKind::Count(1, 4096),
        "applications with more runnable threads are highly parallel; absent: fast cores + 1",
        |_, chip| chip.os.sched.amp.hp_threshold.map(|n| Value::Whole(u64::from(n))),
        |_, chip, value| chip.os.sched.amp.hp_threshold = Some(whole(value) as u32)
    ),
    key!(
        "os.amp.boost_ticks",
        ValueKind::Count(1, 1_000_000),
        "time slices after which a thread loses the class SP; absent: 100",
        |_, chip| {
            let ticks = chip.os.sched.amp.boost_ticks;
            (ticks != USUAL.boost_ticks).then_some(Value::Whole(ticks))
        },
        |_, chip, value| chip.os.sched.amp.boost_ticks = whole(value)
    ),
    key!(
        "os.amp.swap_ticks",
        ValueKind::Count(1, 1_000_000),
        "time slices from one round of swaps to the next; absent: 10",
        |_, chip| {
            let ticks = chip.os.sched.amp.swap_ticks;
            (ticks != USUAL.swap_ticks).then_some(Value::Whole(ticks))
        },
        |_, chip, value| chip.os.sched.amp.swap_ticks = whole(value)
    ),
    key!(
        "os.amp.enter_sp",
        ValueKind::Choice(EnterSp::NAMES),
        "when an application's last runnable thread enters the class SP: when the count falls to one, or only if the application has been highly \
         parallel since it was last one; absent: falls",
        |_, chip| {
            let rule = chip.os.sched.amp.enter_sp;
            (rule != USUAL.enter_sp).then(|| Value::Text(rule.name().into()))
        },
        |_, chip, value| chip.os.sched.amp.enter_sp = EnterSp::named(&text(value)).unwrap_or_default()
    ),
    key!(
        "os.amp.renew_boost",
        ValueKind::Choice(Renewal::NAMES),
        "how much time an application has in the class SP when it enters it again: all of boost_ticks, or what it has not used up, to which each \
         cycle in a parallel phase adds one; absent: whole",
        |_, chip| {
            let rule = chip.os.sched.amp.renew_boost;
            (rule != USUAL.renew_boost).then(|| Value::Text(rule.name().into()))
        },
        |_, chip, value| chip.os.sched.amp.renew_boost = Renewal::named(&text(value)).unwrap_or_default()
    ),
    key!(
        "os.amp.master",
        ValueKind::Choice(Master::NAMES),
        "what a master thread's priority for fast cores is: that of SP, above it, above the other threads of MP, or none; absent: sp",
        |_, chip| {
            let rule = chip.os.sched.amp.master;
            (rule != USUAL.master).then(|| Value::Text(rule.name().into()))
        },
        |_, chip, value| chip.os.sched.amp.master = Master::named(&text(value)).unwrap_or_default()
    ),
    key!(
        "os.amp.count_marked",
        ValueKind::Switch,
        "threads that have said that they spin count as runnable where phases are detected; absent: true",
        |_, chip| {
            let counts = chip.os.sched.amp.count_marked;
            (counts != USUAL.count_marked).then_some(Value::Switch(counts))
        },
        |_, chip, value| chip.os.sched.amp.count_marked = value == Value::Switch(true)
    ),
    key!(
        "os.amp.topology",
        ValueKind::Switch,
        "of threads with equal rights to a fast core the nearest gets it; absent: false",
        |_, chip| chip.os.sched.amp.topology.then_some(Value::Switch(true)),
        |_, chip, value| chip.os.sched.amp.topology = value == Value::Switch(true)
    ),
    key!(
        "os.amp.stay_in_domain",
        ValueKind::Switch,
        "whether threads of one class take turns on a fast core only under its last-level cache; absent: false",
        |_, chip| chip.os.sched.amp.stay_in_domain.then_some(Value::Switch(true)),
        |_, chip, value| chip.os.sched.amp.stay_in_domain = value == Value::Switch(true)
    ),
    key!(
        "os.amp.util_half_life",
        ValueKind::Count(1, 1_000_000_000_000),
        "of the policy linux: cycles after which what a thread used counts half; absent: 3.2 time slices",
        |_, chip| chip.os.sched.amp.util_half_life.map(Value::Whole),
        |_, chip, value| chip.os.sched.amp.util_half_life = Some(whole(value))
    ),
    key!(
        "os.amp.misfit_percent",
        ValueKind::Count(1, 100),
        "of the policy linux: a thread that uses this much of its CPU, in hundredths, is a misfit there; absent: 80",
        |_, chip| {
            let percent = chip.os.sched.amp.misfit_percent;
            (percent != USUAL.misfit_percent).then_some(Value::Whole(u64::from(percent)))
        },
        |_, chip, value| chip.os.sched.amp.misfit_percent = whole(value) as u32
    ),
    key!(
        "os.amp.balance_ticks",
        ValueKind::Count(1, 1_000_000),
        "of the policy linux: time slices from one balancing to the next; absent: 1",
        |_, chip| {
            let ticks = chip.os.sched.amp.balance_ticks;
            (ticks != USUAL.balance_ticks).then_some(Value::Whole(ticks))
        },
        |_, chip, value| chip.os.sched.amp.balance_ticks = whole(value)
    ),
    key!(
        "os.amp.packing",
        ValueKind::Choice(Packing::NAMES),
        "of the policy linux: whether idle fast cores are preferred for threads that fit slow ones, in balancing, on waking as well, or never; \
         absent: balance",
        |_, chip| {
            let packing = chip.os.sched.amp.packing;
            (packing != USUAL.packing).then(|| Value::Text(packing.name().into()))
        },
        |_, chip, value| chip.os.sched.amp.packing = Packing::named(&text(value)).unwrap_or_default()
    ),
    key!(
        "os.amp.min_stay",
        ValueKind::Count(0, 1_000_000_000_000),
        "of the policy crit: cycles for which a fast core takes part in no swap after one; absent: the policy decides lock by lock",
        |_, chip| chip.os.sched.amp.min_stay.map(Value::Whole),
        |_, chip, value| chip.os.sched.amp.min_stay = Some(whole(value))
    ),
    key!(
        "os.amp.swap_price",
        ValueKind::Count(0, 1_000_000_000),
        "of the policy crit: cycles that the two preemptions of a swap cost; absent: twice os.interrupt, os.context_switch and os.migrate",
        |_, chip| chip.os.sched.amp.swap_price.map(Value::Whole),
        |_, chip, value| chip.os.sched.amp.swap_price = Some(whole(value))
    ),
    key!(
        "os.amp.crit_waiters",
        ValueKind::Count(1, 4096),
        "of the policy crit: a thread for which this number of other threads waits gets a fast core at once; absent: 1",
        |_, chip| {
            let waiters = chip.os.sched.amp.crit_waiters;
            (waiters != USUAL.crit_waiters).then_some(Value::Whole(u64::from(waiters)))
        },
        |_, chip, value| chip.os.sched.amp.crit_waiters = whole(value) as u32
    ),
    key!(
        "os.amp.holder_keeps",
        ValueKind::Switch,
        "of the policy crit: a thread that holds a lock is not swapped for another, and has up to a time slice more before it is preempted; \
         absent: false",
        |_, chip| chip.os.sched.amp.holder_keeps.then_some(Value::Switch(true)),
        |_, chip, value| chip.os.sched.amp.holder_keeps = value == Value::Switch(true)
    ),
];
