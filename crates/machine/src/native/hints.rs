//! Hints to this processor's caches. They access no data, raise no fault at any address, and may
//! have no effect.

/// Bytes of a cache line on the processors that Baton supports.
const LINE: usize = 64;

/// Returns one address in each cache line of the range.
#[inline]
fn lines(start: *const u8, bytes: usize) -> impl Iterator<Item = *const u8> {
    let first = start.addr() / LINE * LINE;
    // Saturating, so that a range that would exceed the address space ends at its end.
    (first..start.addr().saturating_add(bytes)).step_by(LINE).map(move |at| start.with_addr(at))
}

/// Prefetches the lines of a range.
#[inline]
pub(super) fn prefetch(start: *const u8, bytes: usize, write: bool) {
    for line in lines(start, bytes) {
        one(line, write);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn one(line: *const u8, write: bool) {
    use core::arch::asm;
    // SAFETY: PREFETCHT0 is part of SSE, which every x86-64 has. PREFETCHW without its CPUID bit is
    // a NOP in 64-bit mode (its opcode belongs to AMD's first 64-bit instruction set, and Intel
    // executes it as one). Both ignore bad addresses.
    unsafe {
        match write {
            false => asm!("prefetcht0 [{}]", in(reg) line, options(nostack, preserves_flags, readonly)),
            true => asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly)),
        }
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn one(line: *const u8, write: bool) {
    use core::arch::asm;
    // SAFETY: PRFM is a hint of the base architecture and ignores bad addresses.
    unsafe {
        match write {
            false => asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, preserves_flags, readonly)),
            true => asm!("prfm pstl1keep, [{}]", in(reg) line, options(nostack, preserves_flags, readonly)),
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn one(_: *const u8, _: bool) {}

/// Moves the lines of a range to a cache level that other cores reach sooner, if the processor has
/// CLDEMOTE. No processor known to us can push into another core's caches.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn demote(start: *const u8, bytes: usize) {
    if super::x86::has_cldemote() {
        for line in lines(start, bytes) {
            super::x86::cldemote(line);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn demote(_: *const u8, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_range_once() {
        let at = |address: usize| std::ptr::without_provenance::<u8>(address);
        let all = |start, bytes| lines(at(start), bytes).map(<*const u8>::addr).collect::<Vec<_>>();
        assert_eq!(all(128, 64), [128]);
        assert_eq!(all(130, 64), [128, 192]);
        assert_eq!(all(130, 62), [128]);
        assert!(all(130, 0).len() <= 1);
        assert_eq!(all(usize::MAX - 10, 1000).len(), 1);
    }

    /// Hints must leave data alone and accept any address.
    #[test]
    fn hints_change_nothing_and_raise_nothing() {
        let data: Vec<u8> = (0..=255).cycle().take(4096).collect();
        for write in [false, true] {
            prefetch(data.as_ptr(), data.len(), write);
            prefetch(std::ptr::null(), 4096, write);
            prefetch(std::ptr::without_provenance(usize::MAX - 5), 4096, write);
        }
        demote(data.as_ptr(), data.len());
        demote(std::ptr::null(), 4096);
        assert!(data.iter().enumerate().all(|(at, &byte)| byte == at as u8));
    }
}
