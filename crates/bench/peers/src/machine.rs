//! The machine, and whether other programs used it.

use anyhow::{Context, bail};

/// A look at the CPU time of all CPUs and of this process, in ticks.
pub struct Busy {
    all: u64,
    idle: u64,
    own: u64,
}

impl Busy {
    pub fn now() -> anyhow::Result<Busy> {
        let stat = std::fs::read_to_string("/proc/stat").context("/proc/stat")?;
        let numbers = |line: &str| line.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
        let Some(first) = stat.lines().next() else { bail!("/proc/stat is empty") };
        let all = numbers(first);
        if all.len() < 8 {
            bail!("/proc/stat: expected at least 8 numbers of all CPUs, found {first:?}");
        }
        let own = std::fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
        // Behind the program's name, which is in brackets and may have blanks, `user` and `system` are the
        // words 11 and 12.
        let words: Vec<&str> = own.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let (Some(user), Some(system)) = (ticks(11), ticks(12)) else { bail!("/proc/self/stat: no times in {own:?}") };
        // user, nice, system, idle, iowait, irq, softirq, steal
        Ok(Busy { all: all[..8].iter().sum(), idle: all[3] + all[4], own: user + system })
    }

    /// The share of all CPUs' time until `later` that was neither idle nor this process's own.
    pub fn foreign(&self, later: &Busy) -> f64 {
        let all = (later.all - self.all).max(1);
        let used = all.saturating_sub(later.idle - self.idle).saturating_sub(later.own - self.own);
        used as f64 / all as f64
    }
}

/// The processor's name.
pub fn processor() -> String {
    baton_machine::discover::processor::Processor::discover().model
}
