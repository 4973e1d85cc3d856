//! WFE on Arm: a load-exclusive arms the core's monitor on the cell's line, and WFE sleeps until
//! another core takes the line away or an event comes (Arm ARM, "Wait for Event mechanism").
//!
//! The timer's event stream (100 µs on Linux) bounds each WFE, so that deadlines are noticed.
//! Without the stream the policy is not offered.

use core::arch::asm;

/// Whether the kernel keeps the timer's event stream enabled (`HWCAP_EVTSTRM`).
pub fn has_event_stream() -> bool {
    const HWCAP_EVTSTRM: u64 = 1 << 2;
    // SAFETY: getauxval only reads the auxiliary vector that the kernel passed to the process.
    unsafe { libc::getauxval(libc::AT_HWCAP) & HWCAP_EVTSTRM != 0 }
}

/// Loads `bytes` (1, 2, 4 or 8) at `address` exclusively, and waits for an event if they equal
/// `value`. Returns at once if they differ.
///
/// # Safety
/// `address` is aligned, live and `bytes` wide.
#[inline(always)]
pub unsafe fn wait_exclusive(address: *const u8, bytes: usize, value: u64) {
    macro_rules! wait {
        ($load:literal) => {
            // SAFETY: by contract the address can be read at this width. An exclusive monitor that
            // stays set is harmless: at worst the next store-exclusive fails and is retried.
            unsafe {
                asm!(
                    $load,
                    "cmp {seen}, {value}",
                    "b.ne 2f",
                    "wfe",
                    "2:",
                    seen = out(reg) _,
                    at = in(reg) address,
                    value = in(reg) value,
                    options(nostack, readonly),
                )
            }
        };
    }
    match bytes {
        1 => wait!("ldaxrb {seen:w}, [{at}]"),
        2 => wait!("ldaxrh {seen:w}, [{at}]"),
        4 => wait!("ldaxr {seen:w}, [{at}]"),
        _ => wait!("ldaxr {seen}, [{at}]"),
    }
}
