//! Where threads may run, how large their share of a CPU is, and which cores are off: `--at`,
//! `--pin`, `--nice`, `--off`, `--on`.

use super::apps::App;
use super::args::Args;
use crate::error::BadInput;
use baton_chip::act::Nice;
use baton_chip::{Chip, Simulation};
use baton_units::{CoreId, Cycles};

/// A change at a cycle: cores that are switched off or on.
pub(super) struct Switch {
    at: u64,
    cores: Vec<u32>,
    online: bool,
    /// The text on the command line.
    text: String,
}

/// The CPU of each thread; empty if the system places the threads.
pub(super) fn cpus(args: &Args, threads: u32, chip: &Chip) -> anyhow::Result<Vec<u32>> {
    let has = args.cpus.unwrap_or(chip.cpus());
    if args.pin {
        if threads > has {
            let more = format!("{threads} threads cannot be pinned to a core each: {has} cores are in use");
            return Err(BadInput::new(more).hint("fewer --threads, more --cores, or no --pin").into());
        }
        return Ok((0..threads).collect());
    }
    if !args.at.is_empty() && args.at.len() != threads as usize {
        return Err(BadInput::new(format!("--at names {} cores for {threads} threads", args.at.len())).into());
    }
    Ok(args.at.clone())
}

/// The nice value of each thread; empty if all have the usual one.
pub(super) fn nice(args: &Args, threads: u32) -> anyhow::Result<Vec<Nice>> {
    let values = args.nice.iter().map(|&value| {
        let bad = || BadInput::new(format!("--nice {value}: expected {}", Nice::EXPECTED));
        Nice::new(value).ok_or_else(bad)
    });
    let values = values.collect::<Result<Vec<_>, _>>()?;
    match values.len() {
        1 => Ok(vec![values[0]; threads as usize]),
        n if n == 0 || n == threads as usize => Ok(values),
        n => {
            Err(BadInput::new(format!("--nice has {n} values for {threads} threads; expected one, or one a thread"))
                .into())
        }
    }
}

/// Reads `3,5` or `3-5`.
fn cores(text: &str) -> Option<Vec<u32>> {
    baton_chip::config::OffCores::parse(text).map(|off| off.cores)
}

/// Puts cores that are off from the beginning into the chip, as a chip file would have them.
pub(super) fn settle(args: &mut Args) -> anyhow::Result<()> {
    let (always, later): (Vec<String>, Vec<String>) = args.off.drain(..).partition(|text| !text.contains('@'));
    args.off = later;
    if !always.is_empty() {
        if let Some(bad) = always.iter().find(|text| cores(text).is_none()) {
            return Err(bad_switch("off", bad).into());
        }
        args.chip.set(format!("os.off={}", always.join(" ").replace(',', " ")));
    }
    switches(args).map(drop)
}

fn bad_switch(option: &str, text: &str) -> BadInput {
    let also = if option == "off" { "3,5 or 3-5, or " } else { "" };
    BadInput::new(format!("--{option} {text}: expected {also}CORES@CYCLE, as in 3,5@100000"))
}

fn switches(args: &Args) -> anyhow::Result<Vec<Switch>> {
    let off = args.off.iter().map(|text| ("off", text, false));
    let on = args.on.iter().map(|text| ("on", text, true));
    let switch = |(option, text, online): (&str, &String, bool)| {
        let parts = text.split_once('@');
        let parts = parts.and_then(|(list, at)| Some((cores(list)?, at.replace('_', "").parse().ok()?)));
        let (cores, at) = parts.ok_or_else(|| bad_switch(option, text))?;
        Ok(Switch { at, cores, online, text: format!("--{option} {text}") })
    };
    off.chain(on).map(switch).collect()
}

/// Has the simulation switch cores at their times. A change that would leave a pinned thread, or
/// all threads, without a core is refused.
pub(super) fn switch(
    simulation: &mut Simulation,
    args: &Args,
    chip: &Chip,
    pinned: &[(String, u32)],
) -> anyhow::Result<()> {
    let mut switches = switches(args)?;
    switches.sort_by_key(|switch| switch.at);
    let mut off: Vec<u32> = chip.os.off.cores.clone();
    for switch in &switches {
        for &core in &switch.cores {
            let refused = |why| BadInput::new(format!("{}: {why}", switch.text));
            let online = switch.online;
            simulation
                .set_online(Cycles(switch.at), CoreId(core), online)
                .map_err(|error| refused(error.to_string()))?;
            off.retain(|&other| other != core);
            if !online {
                off.push(core);
            }
            if let Some((thread, cpu)) = pinned.iter().find(|(_, cpu)| off.contains(&chip.core_of(*cpu).0)) {
                let core = chip.core_of(*cpu);
                return Err(
                    refused(format!("thread `{thread}` may run only on CPU {cpu}, which is of core {core}")).into()
                );
            }
            if off.len() as u32 >= args.cpus.unwrap_or(chip.core.count).min(chip.core.count) {
                return Err(refused("no core would be on; expected one of them to stay on".to_owned()).into());
            }
        }
    }
    Ok(())
}

/// The threads that were pinned, by name, with their CPUs.
pub(super) fn pinned(cpus: &[u32], apps: &[App]) -> Vec<(String, u32)> {
    let named = |name: &str, cpus: &[u32]| -> Vec<(String, u32)> {
        cpus.iter().enumerate().map(|(thread, &cpu)| (format!("{name} {thread}"), cpu)).collect()
    };
    named("thread", cpus).into_iter().chain(apps.iter().flat_map(|app| named(&app.name, &app.cpus))).collect()
}
