//! Warns of the collapse of pure spinning. With more threads than CPUs, spinning waiters use up the
//! time slices that the lock holder needs, and throughput falls from millions of acquisitions a
//! second to a thousand.

use baton_machine::Wait;

/// A watch over a program whose waiters never give up their CPU.
pub struct Crowd {
    cpus: usize,
    lock: &'static str,
    wait: Wait,
}

impl Crowd {
    /// Watches a program that may use `cpus` CPUs.
    pub fn new(cpus: usize, lock: &'static str, wait: Wait) -> Crowd {
        Crowd { cpus, lock, wait }
    }

    /// Checks the process once. Returns a warning if the process has more threads than there are
    /// CPUs.
    pub fn look(&self, pid: u32) -> Option<String> {
        self.warning(std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count))
    }

    fn warning(&self, threads: usize) -> Option<String> {
        (threads > self.cpus).then(|| {
            format!(
                "the program has {threads} threads on {} CPUs, and waiters of {} under `{}` never give theirs up: \
                 it may crawl; `--wait spin-park` lets them sleep",
                self.cpus, self.lock, self.wait
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_warns_beyond_the_cpus_only() {
        let crowd = Crowd::new(2, "mcs", Wait::Pause);
        assert_eq!(crowd.warning(2), None);
        let warning = crowd.warning(3).unwrap();
        assert!(warning.contains("3 threads on 2 CPUs") && warning.contains("mcs under `pause`"), "{warning}");
    }

    #[test]
    fn it_counts_the_threads_of_a_process() {
        let me = std::process::id();
        assert!(Crowd::new(0, "mcs", Wait::Pause).look(me).is_some(), "this process has a thread");
        assert!(Crowd::new(1 << 20, "mcs", Wait::Pause).look(me).is_none());
    }
}
