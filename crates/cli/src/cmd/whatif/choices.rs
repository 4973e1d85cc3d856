//! The locks and policies that the user asked for, in pairs that go together, and the networks.

use super::super::named::queues;
use crate::error::BadInput;
use crate::ui;
use baton_chip::Chip;
use baton_chip::config::SchedulerName;
use baton_machine::Wait;
use baton_replay::asymmetric::{Asymmetric, Shape};
use baton_replay::change::{Change, Meeting};
use baton_replay::network::{self, Network};
use baton_replay::predict::recorded;
use baton_replay::queues::QueueKind;
use baton_replay::run::Choice;
use baton_replay::variant::Variants;
use baton_sync::barrier::BARRIERS;
use baton_sync::lock::{self, LockInfo, Posix};
use baton_trace::Trace;

/// The pairs: locks in the order in which the user named them, and policies within a lock. A policy
/// that one of several locks does not take is left out for that lock, with a note; if that leaves
/// no pair, it is an error.
pub(crate) fn choose(locks: &[String], waits: &[String], chip: &Chip) -> anyhow::Result<Vec<Choice>> {
    let known = || lock::locks().iter().map(|lock| lock.name);
    let infos: Vec<&LockInfo> = if locks.is_empty() || matches!(locks, [all] if all == "all") {
        lock::locks().iter().filter(|lock| matches!(lock.posix, Posix::Yes)).collect()
    } else {
        let find = |name: &String| lock::info(name.trim()).map_err(|_| BadInput::unknown("lock", name, known()));
        locks.iter().map(find).collect::<Result<_, _>>()?
    };
    let waits: Vec<Wait> =
        waits.iter().map(|name| name.trim().parse().map_err(BadInput::new)).collect::<Result<_, _>>()?;
    for &wait in &waits {
        chip.check_wait(wait).map_err(|missing| BadInput::new(format!("chip `{}`: {missing}", chip.name)))?;
    }
    let mut choices: Vec<Choice> = Vec::new();
    let mut refused = Vec::new();
    for info in infos {
        let asked: Vec<Option<Wait>> =
            if waits.is_empty() { vec![None] } else { waits.iter().copied().map(Some).collect() };
        for wait in asked {
            match info.wait_of_a_mutex(wait) {
                Ok(wait) => {
                    chip.check_wait(wait)
                        .map_err(|missing| BadInput::new(format!("chip `{}`: {missing}", chip.name)))?;
                    let choice = Choice { lock: info.name.to_owned(), wait };
                    if !choices.contains(&choice) {
                        choices.push(choice);
                    }
                }
                Err(why) => refused.push(why),
            }
        }
    }
    match refused.first() {
        Some(why) if choices.is_empty() => Err(BadInput::new(why).into()),
        _ => {
            refused.iter().for_each(|why| ui::note(format_args!("left out: {why}")));
            Ok(choices)
        }
    }
}

/// The recorded lock with each of these policies, or with its own: fast and slow cores are a question
/// about policies, so that other locks are replayed only if they are named.
pub(crate) fn of_recording(trace: &Trace, waits: &[String], chip: &Chip) -> anyhow::Result<Vec<Choice>> {
    let (_, own) = recorded(trace);
    if waits.is_empty() { Ok(vec![own]) } else { choose(&[own.lock], waits, chip) }
}

/// Barriers that replace all barriers of the program, each with each policy.
pub(crate) fn barriers(names: &[String], waits: &[String], chip: &Chip) -> Result<Vec<Change>, BadInput> {
    let known = || BARRIERS.iter().map(|barrier| barrier.name);
    let parse = |name: &String| name.trim().parse::<Wait>().map_err(BadInput::new);
    let waits: Vec<Wait> = match waits {
        [] => vec![Wait::Futex],
        waits => waits.iter().map(parse).collect::<Result<_, _>>()?,
    };
    let mut changes: Vec<Change> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        if !known().any(|known| known == name) {
            return Err(BadInput::unknown("barrier", name, known()));
        }
        for &wait in &waits {
            chip.check_wait(wait).map_err(|missing| BadInput::new(format!("chip `{}`: {missing}", chip.name)))?;
            let barrier = Some(Meeting { barrier: name.to_owned(), wait });
            let change = Change { text: format!("barrier {name}"), barrier, ..Change::default() };
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
    }
    Ok(changes)
}

/// The chip whose queue device `--device qmd` gives to a chip that has none.
const WITH_QMD: &str = include_str!("../../../../../chips/caf16.toml");

/// Gives the chip a device, unless it has one of this kind.
pub(crate) fn with_device(mut chip: Chip, device: Option<&str>) -> Result<Chip, BadInput> {
    let Some(device) = device else { return Ok(chip) };
    let qmd = QueueKind::Qmd.name();
    if device != qmd {
        return Err(BadInput::unknown("device", device, [qmd]));
    }
    if queues::has_device(&chip) {
        return Ok(chip);
    }
    if let Some(devices) = &chip.devices {
        let what = format!("--device {device}: chip `{}` has devices of its own (`{}`)", chip.name, devices.kind);
        return Err(BadInput::new(what).hint("name a chip without devices, or with a queue device"));
    }
    let from = Chip::from_toml_with(WITH_QMD, "caf16.toml", &[]).map_err(BadInput::new)?;
    ui::note(format_args!("chip `{}` gets the queue device of chip `{}`", chip.name, from.name));
    chip.devices = from.devices;
    Ok(chip)
}

/// The chips on which each lock runs: networks, or fast and slow cores.
pub(crate) fn variants(args: &super::Args, chip: &Chip) -> anyhow::Result<Variants> {
    Ok(match args.asymmetric {
        Some(shape) => Variants::Cores(asymmetric(shape, args, chip)?),
        None => Variants::Networks(networks(&args.network, chip)?),
    })
}

/// The networks, in the order in which the user named them. Each must go with the chip.
fn networks(names: &[String], chip: &Chip) -> anyhow::Result<Vec<Network>> {
    let mut networks: Vec<Network> = Vec::new();
    for name in names {
        let known = || network::all().into_iter().map(|network| network.name);
        let network = Network::named(name.trim()).ok_or_else(|| BadInput::unknown("network", name, known()))?;
        network.on(chip).map_err(|why| {
            BadInput::new(format!("--network {}: {why}", network.name))
                .hint("name a chip whose packets meet in routers, as in --chip ocor64")
        })?;
        if !networks.contains(&network) {
            networks.push(network);
        }
    }
    Ok(networks)
}

/// Fast and slow cores, and the policies that place threads on them. Each policy must go with the
/// chip.
fn asymmetric(shape: Shape, args: &super::Args, chip: &Chip) -> anyhow::Result<Asymmetric> {
    let (Shape { fast, slow }, has) = (shape, chip.core.count);
    if fast + slow > has {
        let what = format!("--asymmetric {fast}+{slow}: chip `{}` has {has} cores (core.count)", chip.name);
        return Err(BadInput::new(what).hint(format!("expected {has} in all at most, fast and slow")).into());
    }
    let mut policies: Vec<String> = Vec::new();
    for policy in &args.policy {
        let name = policy.trim();
        let policy = SchedulerName::named(name)
            .ok_or_else(|| BadInput::unknown("policy", name, SchedulerName::names().iter().copied()))?;
        if !policies.iter().any(|other| other == policy.name()) {
            policies.push(policy.name().to_owned());
        }
    }
    let asymmetric = Asymmetric { shape, ratio: args.ratio, policies, memory_bound: args.memory_bound };
    asymmetric.chips(chip, 1).map_err(|why| BadInput::new(format!("--asymmetric: {why}")))?;
    Ok(asymmetric)
}
