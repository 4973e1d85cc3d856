//! What the processor and the kernel say of this machine. What they say is not always so: `baton doctor` measures.
//!
//! | file | holds |
//! | --- | --- |
//! | [`processor`] | model, hypervisor, and the features that synchronization cares about |
//! | [`topology`] | CPUs, cores, sockets, NUMA nodes and shared caches, from `/sys` |
//! | [`cpulist`] | the kernel's notation for sets of CPUs |

pub mod cpulist;
pub mod processor;
pub mod topology;

pub use processor::{Feature, Processor, UmwaitControl};
pub use topology::{Cache, Cpu, Topology};

/// The set of CPUs that the calling thread may run on; `None`: there are more CPUs than a set holds.
fn allowed() -> Option<libc::cpu_set_t> {
    // SAFETY: all-zero bytes are an empty set; the kernel writes no more than the size that we name.
    unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) == 0).then_some(set)
    }
}

/// The CPUs that the calling thread may run on.
pub fn allowed_cpus() -> Vec<u32> {
    let Some(set) = allowed() else { return vec![0] };
    // SAFETY: each number is below the set's size.
    let is_in = |cpu: &u32| unsafe { libc::CPU_ISSET(*cpu as usize, &set) };
    (0..libc::CPU_SETSIZE as u32).filter(is_in).collect()
}

/// How many CPUs the calling thread may run on, without memory for their list.
pub(crate) fn allowed_count() -> u32 {
    // SAFETY: it reads the set alone.
    allowed().map_or(libc::CPU_SETSIZE as u32, |set| unsafe { libc::CPU_COUNT(&set) } as u32)
}

/// Keeps the calling thread on one CPU; an error if it may not run there.
pub fn pin(cpu: u32) -> std::io::Result<()> {
    stay_on(&[cpu])
}

/// Keeps the calling thread on these CPUs; an error if it may run on none of them.
pub fn stay_on(cpus: &[u32]) -> std::io::Result<()> {
    // SAFETY: the set is ours; CPU_SET ignores a number beyond it, and the kernel then refuses an empty set.
    unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        for &cpu in cpus {
            libc::CPU_SET(cpu as usize % libc::CPU_SETSIZE as usize, &mut set);
        }
        match libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_on_one_cpu_only() {
        let first = allowed_cpus()[0];
        std::thread::spawn(move || {
            pin(first).unwrap();
            assert_eq!(allowed_cpus(), [first]);
            assert!(pin(1023).is_err(), "no machine that runs the tests has 1,024 CPUs");
        })
        .join()
        .unwrap();
    }
}
