//! The machine, its energy, and whether other programs used it.

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};

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

/// The counters of energy of the processor's packages (RAPL), with the value at which each begins anew.
pub struct Energy(Vec<(PathBuf, u64)>);

impl Energy {
    /// Finds the counters. The error says why there are none.
    pub fn find(folder: &Path) -> Result<Energy, String> {
        let none = |why: &str| format!("{}: {why}", folder.display());
        let entries = std::fs::read_dir(folder).map_err(|error| none(&error.to_string()))?;
        // `intel-rapl:0` is a package (AMD's too), `intel-rapl:0:1` a part of it.
        let is_package = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix("intel-rapl:").is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let mut packages: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_package).collect();
        packages.sort();
        if packages.is_empty() {
            return Err(none("there is no intel-rapl:N"));
        }
        let counters = packages.into_iter().map(|package| {
            let range = number(&package.join("max_energy_range_uj"))?;
            let counter = package.join("energy_uj");
            number(&counter)?;
            Ok((counter, range))
        });
        counters.collect::<Result<_, String>>().map(Energy)
    }

    /// Reads all counters, in microjoules.
    pub fn now(&self) -> Option<Vec<u64>> {
        self.0.iter().map(|(counter, _)| number(counter).ok()).collect()
    }

    /// Joules from one reading to a later one.
    pub fn between(&self, before: &[u64], after: &[u64]) -> f64 {
        let each = self.0.iter().zip(before.iter().zip(after));
        let micro: u64 = each
            .map(|((_, range), (before, after))| if after >= before { after - before } else { after + range - before })
            .sum();
        micro as f64 / 1e6
    }
}

fn number(path: &Path) -> Result<u64, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.trim().parse().map_err(|_| format!("{}: expected a number, found {text:?}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_read_from_packages_and_its_absence_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let why = |found: Result<Energy, String>| found.err().unwrap();
        assert!(why(Energy::find(&folder.path().join("none"))).contains("No such file"));
        assert!(why(Energy::find(folder.path())).ends_with("there is no intel-rapl:N"));
        let write = |package: &str, name: &str, text: &str| {
            std::fs::create_dir_all(folder.path().join(package)).unwrap();
            std::fs::write(folder.path().join(package).join(name), text).unwrap();
        };
        write("intel-rapl:0", "max_energy_range_uj", "1000000\n");
        assert!(why(Energy::find(folder.path())).contains("intel-rapl:0/energy_uj"));
        write("intel-rapl:0", "energy_uj", "lots");
        assert!(why(Energy::find(folder.path())).contains("expected a number, found \"lots\""));
        write("intel-rapl:0", "energy_uj", "900000\n");
        write("intel-rapl:0:0", "energy_uj", "5\n");
        let energy = Energy::find(folder.path()).unwrap();
        let before = energy.now().unwrap();
        write("intel-rapl:0", "energy_uj", "400000\n");
        // The counter began anew.
        assert_eq!((before.len(), energy.between(&before, &energy.now().unwrap())), (1, 0.5));
    }
}
