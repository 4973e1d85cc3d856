//! Reads the counters that the preload library writes when a process ends
//! (`docs/reference/preload.md`), one line of JSON per process.

use crate::error::Failed;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The counters of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Stats {
    pub pid: u32,
    /// The path of the executable.
    pub program: String,
    /// The lock that was to serve the process's mutexes, or the names of all such locks; `None`:
    /// glibc.
    pub lock: Option<String>,
    /// The wait policy of the waiters; `None` if glibc or several locks serve them.
    pub wait: Option<String>,
    /// The number of threads that called the library, as every thread does that uses a mutex.
    pub threads: u64,
    /// Acquisitions that the lock served.
    pub served: u64,
    /// Acquisitions that the spare lock served. The spare lock serves threads that cannot enter a
    /// queue.
    pub spare: u64,
    /// Acquisitions that glibc served, by reason.
    pub passed_through: BTreeMap<String, u64>,
    /// Each place that the user asked for, if only some mutexes are replaced.
    pub places: Vec<Settled>,
    /// Queues of the library whose algorithm is as the user asked.
    pub queues: u64,
    /// Queues of the library that the user may choose, and that stayed as the program has them: the
    /// algorithm does not serve their threads.
    pub queues_kept: u64,
    /// Waits on condition variables that could not be carried out.
    pub refused_condition_waits: u64,
    /// Whether spinning waiters were put to sleep.
    pub put_to_sleep: bool,
}

/// A place in the program, and how many mutexes were identified by it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct Settled {
    pub place: String,
    pub mutexes: u64,
}

impl Stats {
    /// The number of mutexes of each place.
    pub fn settled(&self) -> Vec<u64> {
        self.places.iter().map(|settled| settled.mutexes).collect()
    }

    /// Mutex acquisitions, whether the lock served them or not.
    pub fn acquisitions(&self) -> u64 {
        self.served + self.spare + self.passed_through.values().sum::<u64>()
    }

    /// Whether the process is worth a sentence: it took a mutex, or made a queue that can be chosen, or a
    /// wait had to be refused.
    fn counts(&self) -> bool {
        self.acquisitions() > 0 || self.refused_condition_waits > 0 || self.queues + self.queues_kept > 0
    }

    /// The counters as one sentence.
    fn sentence(&self) -> String {
        let name = Path::new(&self.program).file_name().map_or(self.program.as_str(), |n| n.to_str().unwrap_or("?"));
        let lock = self.lock.as_deref().unwrap_or("glibc");
        let wait = self.wait.as_ref().map_or(String::new(), |w| format!(" ({w})"));
        let mut text = format!(
            "{name} [{}]: {lock}{wait} served {} of {} mutex acquisitions, {} threads",
            self.pid,
            self.served,
            self.acquisitions(),
            self.threads
        );
        if self.spare > 0 {
            text += &format!("; {} by a plain lock, as the thread could not wait in a queue", self.spare);
        }
        for (why, n) in self.passed_through.iter().filter(|(_, n)| **n > 0) {
            text += &format!("; {n} stayed glibc's ({})", why.replace('_', "-"));
        }
        if self.queues > 0 {
            let (queues, are) = if self.queues == 1 { ("queue", "is") } else { ("queues", "are") };
            text += &format!("; {} {queues} {are} as asked", self.queues);
        }
        if self.queues_kept > 0 {
            let stayed = match self.queues_kept {
                1 => "1 queue stayed as it was, as the kind does not serve its threads".to_owned(),
                kept => format!("{kept} queues stayed as they were, as the kind does not serve their threads"),
            };
            text += &format!("; {stayed}");
        }
        if self.put_to_sleep {
            text += "; its waiters were put to sleep, as it made no progress";
        }
        if self.refused_condition_waits > 0 {
            text += &format!("; {} condition waits refused", self.refused_condition_waits);
        }
        text
    }
}

/// One sentence for each process. Processes that took no mutex (a script's helpers) share one
/// sentence, except for the program itself, whose process id is `first`.
pub fn sentences(all: &[Stats], first: u32) -> Vec<String> {
    let (active, silent): (Vec<_>, Vec<_>) = all.iter().partition(|process| process.counts() || process.pid == first);
    let mut sentences: Vec<String> = active.into_iter().map(Stats::sentence).collect();
    match silent.len() {
        0 => {}
        1 => sentences.push("1 other process took no mutex".to_owned()),
        more => sentences.push(format!("{more} other processes took no mutex")),
    }
    sentences
}

/// Reads the lines of `file` from byte `from` on; earlier lines belong to other runs. A missing
/// file has no lines.
pub fn read(file: &Path, from: u64) -> Result<Vec<Stats>, Failed> {
    let text = match std::fs::read(file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Failed::because(format!("cannot read the counters in {}", file.display()))(e)),
    };
    let text = String::from_utf8_lossy(text.get(from as usize..).unwrap_or_default()).into_owned();
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .enumerate()
        .map(|(i, line)| {
            serde_json::from_str(line).map_err(Failed::because(format!(
                "{}: line {}: no counters",
                file.display(),
                i + 1
            )))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"version":1,"pid":71,"program":"/usr/bin/pigz","lock":"mcs","wait":"pause","threads":5,"served":10,"passed_through":{"robust":0,"process_shared":2},"condition_waits":3,"refused_condition_waits":0,"openmp":0,"barrier_waits":0}"#;

    #[test]
    fn counters_are_read_behind_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("stats");
        assert_eq!(read(&file, 0).unwrap(), []);
        std::fs::write(&file, format!("older\n{LINE}\n")).unwrap();
        let stats = read(&file, 6).unwrap();
        assert_eq!(stats.len(), 1);
        assert_eq!(
            stats[0].sentence(),
            "pigz [71]: mcs (pause) served 10 of 12 mutex acquisitions, 5 threads; 2 stayed glibc's (process-shared)"
        );
        let queues = Stats { queues: 2, queues_kept: 1, ..stats[0].clone() }.sentence();
        let says = "; 2 queues are as asked; 1 queue stayed as it was, as the kind does not serve its threads";
        assert_eq!(queues, format!("{}{says}", stats[0].sentence()));
        let asleep = Stats { put_to_sleep: true, ..stats[0].clone() }.sentence();
        assert_eq!(asleep, format!("{}; its waiters were put to sleep, as it made no progress", stats[0].sentence()));
        let idle = |pid| Stats { pid, program: "sh".to_owned(), ..Stats::default() };
        let said = sentences(&[idle(3), stats[0].clone(), idle(4), idle(5)], 4);
        let expected = [stats[0].sentence(), idle(4).sentence(), "2 other processes took no mutex".to_owned()];
        assert_eq!(said, expected);
        let broken = read(&file, 0).unwrap_err().to_string();
        assert!(broken.contains("line 1"), "{broken}");
    }
}
