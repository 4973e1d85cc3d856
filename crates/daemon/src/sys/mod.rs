//! What the kernel says of threads, and is asked for.
//!
//! | file | holds |
//! | --- | --- |
//! | [`affinity`] | the masks of threads |
//! | [`cpuset`] | the CPUs that the administrator leaves to a thread |
//! | [`page`] | what an application's threads say of locks |
//! | [`proc`] | processes and threads, from `/proc` |
//! | [`ring`] | context switches of processes and their children, from perf events |

pub(crate) mod affinity;
pub(crate) mod cpuset;
pub(crate) mod page;
pub(crate) mod proc;
pub(crate) mod ring;

/// The time of the monotonic clock, in nanoseconds, which perf records have as well.
pub(crate) fn now() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// The CPU time of this process, in nanoseconds.
pub(crate) fn own_cpu() -> u64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills `time`, a local variable.
    unsafe { libc::clock_gettime(id, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
