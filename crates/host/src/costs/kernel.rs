//! What the kernel grants to an ordinary user, found by trying.

use serde::Serialize;

/// Facts about this machine's kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// The kernel's name and version.
    pub name: String,
    /// The name and version of the C library.
    pub libc: String,
    /// The value of `/proc/sys/kernel/perf_event_paranoid`; `None` where the kernel has no
    /// performance events.
    pub perf_event_paranoid: Option<i32>,
    /// Whether this user may record the context switches of their own threads.
    pub context_switch_records: bool,
    /// The period of the scheduler's tick.
    pub tick_ns: u64,
    /// Whether a thread may ask to keep its CPU for some microseconds at the end of its time slice (rseq's slice
    /// extension, Linux 7.0). `None` where the kernel does not know of it.
    pub slice_extension: Option<bool>,
    /// The kernel's mode for transparent huge pages.
    pub huge_pages: Option<String>,
}

/// Collects the facts from the kernel.
pub fn discover() -> Kernel {
    let file = |path: &str| std::fs::read_to_string(path).ok();
    let huge = file("/sys/kernel/mm/transparent_hugepage/enabled");
    Kernel {
        name: crate::describe::kernel(),
        libc: crate::describe::libc(),
        perf_event_paranoid: file("/proc/sys/kernel/perf_event_paranoid").and_then(|text| text.trim().parse().ok()),
        context_switch_records: context_switch_records(),
        tick_ns: tick(),
        slice_extension: slice_extension(),
        huge_pages: huge.and_then(|h| Some(h.split_once('[')?.1.split_once(']')?.0.to_owned())),
    }
}

/// The tick period, from the resolution of the coarse clock, which advances once a tick.
fn tick() -> u64 {
    let mut resolution = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills `resolution`, a local variable.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut resolution) };
    resolution.tv_sec as u64 * 1_000_000_000 + resolution.tv_nsec as u64
}

/// Whether a performance event for context switches can be opened on the calling thread
/// (perf_event_open(2)). The event is a dummy that counts nothing and reports switches.
fn context_switch_records() -> bool {
    const SOFTWARE: u64 = 1;
    const DUMMY: u64 = 9;
    const SIZE: u64 = 128;
    const CLOEXEC: u64 = 1 << 3;
    // The bits are: disabled, exclude_kernel, exclude_hv, context_switch.
    const FLAGS: u64 = 1 | 1 << 5 | 1 << 6 | 1 << 26;
    // The first word holds type and size. Configuration, period, sample type, read format and flags
    // follow.
    let attribute: [u64; 16] = [SOFTWARE | SIZE << 32, DUMMY, 0, 0, 0, FLAGS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: the attribute has the size that it names; the event is closed at once.
    unsafe {
        let event = libc::syscall(libc::SYS_perf_event_open, attribute.as_ptr(), 0, -1, -1, CLOEXEC);
        if event >= 0 {
            libc::close(event as i32);
        }
        event >= 0
    }
}

/// Asks for slice extensions in a thread that ends at once.
fn slice_extension() -> Option<bool> {
    // PR_RSEQ_SLICE_EXTENSION, PR_RSEQ_SLICE_EXTENSION_SET, PR_RSEQ_SLICE_EXT_ENABLE.
    const EXTENSION: i32 = 79;
    const SET: libc::c_ulong = 2;
    const ENABLE: libc::c_ulong = 1;
    let ask = || {
        // SAFETY: the call takes numbers, and concerns the calling thread only.
        match unsafe { libc::prctl(EXTENSION, SET, ENABLE, 0 as libc::c_ulong, 0 as libc::c_ulong) } {
            0 => None,
            _ => std::io::Error::last_os_error().raw_os_error(),
        }
    };
    granted(std::thread::spawn(ask).join().ok()?)
}

/// What the kernel's answer to a request for slice extensions says: an error, or none.
fn granted(error: Option<i32>) -> Option<bool> {
    match error {
        None => Some(true),
        // A kernel without the call has no such number.
        Some(libc::EINVAL) => None,
        Some(_) => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_a_kernel_that_does_not_know() {
        assert_eq!([None, Some(libc::EINVAL), Some(libc::ENXIO)].map(granted), [Some(true), None, Some(false)]);
    }

    #[test]
    fn the_kernel_is_asked() {
        let kernel = discover();
        assert!(kernel.name.starts_with("Linux "), "{kernel:?}");
        assert!((100_000..=100_000_000).contains(&kernel.tick_ns), "{kernel:?}");
        assert!(kernel.perf_event_paranoid.is_some() || !kernel.context_switch_records, "{kernel:?}");
    }
}
