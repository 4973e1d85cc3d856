//! CPU time that other processes used while a program ran. A recording that they disturbed shows waits that the program did not
//! make, so it is said in the trace, and a prediction from it is not trusted.

use std::time::{Duration, Instant};

/// Idle time of the CPUs so far.
#[derive(Clone, Copy)]
struct Idle {
    time: Duration,
    /// It may be off by so much.
    resolution: Duration,
}

/// A watch over the CPUs that this process may use.
pub struct Neighbours {
    cpus: Vec<u32>,
    start: Instant,
    idle: Option<Idle>,
    own: Duration,
}

/// What other processes used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// CPU time that was neither idle nor ours; a lower bound.
    pub others: Duration,
}

impl Neighbours {
    /// Watches from now on.
    pub fn watch() -> Neighbours {
        let cpus = baton_machine::discover::allowed_cpus();
        Neighbours { idle: idle(&cpus), own: own(), cpus, start: Instant::now() }
    }

    /// What other processes used until now, when the children that count as ours have been waited for. `None` where the kernel
    /// does not tell.
    pub fn seen(&self) -> Option<Seen> {
        let (before, after) = (self.idle?, idle(&self.cpus)?);
        let all = self.start.elapsed() * self.cpus.len() as u32;
        let idle = after.time.saturating_sub(before.time) + after.resolution;
        Some(Seen { others: not_ours(all, idle, own().saturating_sub(self.own)) })
    }
}

/// What of the CPUs' time was neither idle nor ours. A child's whole time counts when it is waited for, also what it used before
/// the watch began: then nothing is left.
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

/// The idle time of the CPUs, by the kernel's ticks; each CPU's figure is rounded down.
fn idle(cpus: &[u32]) -> Option<Idle> {
    // SAFETY: asks for a constant.
    let hertz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    let tick = Duration::from_nanos(1_000_000_000 / hertz);
    let ticks = ticks(&std::fs::read_to_string("/proc/stat").ok()?, cpus)?;
    Some(Idle { time: tick * ticks as u32, resolution: tick * cpus.len() as u32 })
}

/// Ticks in which the CPUs idled, with or without input and output under way, from the text of `/proc/stat`.
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
        // Not more than this thread's: the other tests' threads and children count too.
        let (before, start) = (own(), thread_cpu_ns());
        while thread_cpu_ns() - start < 60_000_000 {
            std::hint::spin_loop();
        }
        let mine = own() - before;
        assert!(mine >= Duration::from_millis(40), "{mine:?}");
    }
}
