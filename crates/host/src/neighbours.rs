//! Measures the CPU time that other processes used while a program ran. If they disturbed a
//! recording, its waits are not all the program's own. The trace therefore states the disturbance,
//! and a prediction from it is not trusted.

use std::time::{Duration, Instant};

/// The idle time of the CPUs since boot.
#[derive(Clone, Copy)]
struct Idle {
    time: Duration,
    /// The time may be wrong by up to this much.
    resolution: Duration,
}

/// A watch over the CPUs that this process may use.
pub struct Neighbours {
    cpus: Vec<u32>,
    start: Instant,
    idle: Option<Idle>,
    own: Duration,
}

/// The disturbance by other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// CPU time that was neither idle nor used by Baton and its children; a lower bound.
    pub others: Duration,
}

impl Neighbours {
    /// Starts the watch.
    pub fn watch() -> Neighbours {
        let cpus = baton_machine::discover::allowed_cpus();
        Neighbours { idle: idle(&cpus), own: own(), cpus, start: Instant::now() }
    }

    /// The time of all CPUs since the watch began.
    pub fn time(&self) -> Duration {
        self.start.elapsed() * self.cpus.len() as u32
    }

    /// The CPU time of other processes since the watch began. The children that count as Baton's
    /// own must have been waited for. `None` where the kernel does not report idle time.
    pub fn seen(&self) -> Option<Seen> {
        let (before, after) = (self.idle?, idle(&self.cpus)?);
        let all = self.time();
        let idle = after.time.saturating_sub(before.time) + after.resolution;
        Some(Seen { others: not_ours(all, idle, own().saturating_sub(self.own)) })
    }
}

/// The CPU time that was neither idle nor `own`. A child's whole time counts when it is waited for,
/// including what it used before the watch began; so the result may be too small, down to 0.
fn not_ours(all: Duration, idle: Duration, own: Duration) -> Duration {
    all.saturating_sub(idle).saturating_sub(own)
}

/// CPU time of this process and of the children that it has waited for.
fn own() -> Duration {
    let used = |who| {
        // SAFETY: all-zero bytes are a valid value, which the kernel fills.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &mut usage);
            usage
        };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        time(usage.ru_utime) + time(usage.ru_stime)
    };
    used(libc::RUSAGE_SELF) + used(libc::RUSAGE_CHILDREN)
}

/// The idle time of `cpus`, counted in the kernel's ticks. The figure of each CPU is rounded down.
fn idle(cpus: &[u32]) -> Option<Idle> {
    // SAFETY: `sysconf` takes a number and returns a constant.
    let hertz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    let tick = Duration::from_nanos(1_000_000_000 / hertz);
    let ticks = ticks(&std::fs::read_to_string("/proc/stat").ok()?, cpus)?;
    Some(Idle { time: tick * ticks as u32, resolution: tick * cpus.len() as u32 })
}

/// Ticks in which the CPUs were idle, with or without pending input and output, from the text of
/// `/proc/stat`.
fn ticks(stat: &str, cpus: &[u32]) -> Option<u64> {
    let mut sum = 0;
    for cpu in cpus {
        let name = format!("cpu{cpu}");
        let line = stat.lines().find(|line| line.split(' ').next() == Some(&name))?;
        let mut fields = line.split_ascii_whitespace().skip(4);
        for _ in 0..2 {
            sum += fields.next()?.parse::<u64>().ok()?;
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_trace::sys::thread_cpu_ns;

    #[test]
    fn idle_ticks_are_of_the_cpus_asked_for() {
        let stat = "cpu  9 9 9 99 9 0\ncpu0 1 2 3 40 5 0 0\ncpu1 1 2 3 400 50 0 0\ncpu10 1 1 1 7 7 0\n";
        assert_eq!(ticks(stat, &[0, 1]), Some(495));
        assert_eq!(ticks(stat, &[1]), Some(450));
        assert_eq!(ticks(stat, &[2]), None);
    }

    #[test]
    fn own_work_is_not_the_neighbours() {
        let ms = Duration::from_millis;
        assert_eq!(not_ours(ms(120), ms(50), ms(60)), ms(10));
        assert_eq!(not_ours(ms(120), ms(50), ms(90)), ms(0), "a child that began before the watch");
    }

    #[test]
    fn own_work_is_counted() {
        // The measured time also contains other tests' threads and children, so it is at least this
        // thread's.
        let (before, start) = (own(), thread_cpu_ns());
        while thread_cpu_ns() - start < 60_000_000 {
            std::hint::spin_loop();
        }
        let mine = own() - before;
        assert!(mine >= Duration::from_millis(40), "{mine:?}");
    }
}
