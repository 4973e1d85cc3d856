//! What the processor and the kernel report about this machine. Reports can be wrong (under a
//! hypervisor, say); `baton doctor` measures.
//!
//! | file | holds |
//! | --- | --- |
//! | [`processor`] | model, hypervisor, and the features that synchronization uses |
//! | [`topology`] | CPUs, cores, sockets, NUMA nodes and shared caches, from `/sys` |
//! | [`kinds`] | which CPUs are about equally fast |
//! | [`cpulist`] | the kernel's notation for sets of CPUs |

pub mod cpulist;
pub mod kinds;
pub mod processor;
pub mod topology;

pub use kinds::{Kind, Kinds};
pub use processor::{Feature, Processor, UmwaitControl};
pub use topology::{Cache, Cpu, Topology};

/// Returns the set of CPUs that a thread may run on (0: the calling one); `None` if the machine has
/// more CPUs than a `cpu_set_t` holds.
fn allowed(thread: libc::pid_t) -> Option<libc::cpu_set_t> {
    // SAFETY: all-zero bytes are an empty set; the kernel writes at most the size that is passed.
    unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        (libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &mut set) == 0).then_some(set)
    }
}

/// Returns the CPUs that the calling thread may run on, ascending; CPU 0 alone if the kernel does
/// not say.
pub fn allowed_cpus() -> Vec<u32> {
    let Some(set) = allowed(0) else { return vec![0] };
    // SAFETY: each number is below the set's size.
    let is_in = |cpu: &u32| unsafe { libc::CPU_ISSET(*cpu as usize, &set) };
    (0..libc::CPU_SETSIZE as u32).filter(is_in).collect()
}

/// Returns the CPUs that may ever come on, ascending; none if the kernel does not say.
pub fn possible_cpus() -> Vec<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    cpulist::parse(list.trim()).unwrap_or_default()
}

/// Returns the number of CPUs that the process's threads may run on, without allocating a list: those
/// of the calling thread, or of the first thread if they are more, since a runtime may have bound
/// each of its workers to a CPU.
pub(crate) fn allowed_count() -> u32 {
    let count = |thread| {
        // SAFETY: CPU_COUNT only reads the set.
        allowed(thread).map_or(libc::CPU_SETSIZE as u32, |set| unsafe { libc::CPU_COUNT(&set) } as u32)
    };
    // SAFETY: getpid takes no argument and cannot fail; the process's id is its first thread's.
    count(0).max(count(unsafe { libc::getpid() }))
}

/// Pins the calling thread to one CPU. Fails if the thread may not run there.
pub fn pin(cpu: u32) -> std::io::Result<()> {
    stay_on(&[cpu])
}

/// Restricts the calling thread to these CPUs. Fails if the thread may run on none of them. CPUs
/// whose number does not fit a `cpu_set_t` (1,024 or more) are left out.
pub fn stay_on(cpus: &[u32]) -> std::io::Result<()> {
    // SAFETY: the set is a local variable; each number is below the set's size. The kernel refuses a
    // set without an allowed CPU.
    unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as u32) {
            libc::CPU_SET(cpu as usize, &mut set);
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
