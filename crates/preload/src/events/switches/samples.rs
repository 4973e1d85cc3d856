//! Samples of a thread's code address. They show loops that spin, what the program's own time goes
//! to, and the rest of a contended lock's cost: its cache line moves between CPUs, which is no wait.

use super::super::perf::{self, Attributes};
use crate::base::errno;
use crate::thread::Ring;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Pages of the ring of samples, of which it holds 128.
pub(super) const PAGES: usize = 1;

/// Number of waits for glibc's locks after which a thread that has no samples asks for them again.
const WAITS: u64 = 16;

/// Microseconds of CPU time between two samples: of a thread that seldom leaves its CPU, and of one that
/// leaves it often. The kernel stops the thread's timer each time that it leaves, and starts it again
/// when the thread is back. A timer that is due before the kernel's own next tick (4 ms at 250 Hz) is
/// set in the processor each time, which is dear on a virtual machine.
const PERIOD: u32 = 1_000;
const PERIOD_OFTEN: u32 = 10_000;

/// Whether the kernel refuses samples. No thread asks any more.
static REFUSED: AtomicBool = AtomicBool::new(false);

impl Ring {
    /// Asks for samples at the thread's pace.
    #[cold]
    pub(super) fn sample(&self) {
        if REFUSED.load(Relaxed) {
            return;
        }
        let period = if self.pace.often.load(Relaxed) { PERIOD_OFTEN } else { PERIOD };
        self.period.store(period, Relaxed);
        match errno::kept(|| perf::map(&Attributes::samples(u64::from(period) * 1000), PAGES)) {
            Ok(at) => self.samples.store(at, Relaxed),
            // A lack of locked memory (0) or of descriptors (EMFILE) may pass: this thread asks again
            // after [`WAITS`] more waits.
            Err(0 | libc::EMFILE) => self.waited.store(0, Relaxed),
            Err(_) => REFUSED.store(true, Relaxed),
        }
    }

    /// Whether the thread has asked for samples since its rings were opened.
    pub(super) fn has_asked_for_samples(&self) -> bool {
        self.period.load(Relaxed) != 0
    }

    /// Asks for samples if the thread has none and waits for glibc's locks.
    pub(super) fn sample_if_it_waits(&self) {
        if self.waited.load(Relaxed) >= WAITS && self.samples.load(Relaxed) == 0 {
            self.sample();
        }
    }

    /// Gives the ring of samples back to the kernel. Its records have been read, or are lost.
    pub(super) fn end_samples(&self) {
        let at = self.samples.swap(0, Relaxed);
        if at != 0 {
            // SAFETY: `sample` mapped the ring; its only reader is this thread.
            unsafe { perf::unmap(at, PAGES) };
        }
    }
}
