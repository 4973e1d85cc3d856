//! The wait instructions of x86-64: UMONITOR, UMWAIT and TPAUSE (Intel WAITPKG), MONITORX and
//! MWAITX (AMD).
//!
//! All are `unsafe` for one reason: a processor without them raises an invalid-opcode exception.
//! (CLDEMOTE, which this file also holds, is a NOP where it is missing.) None of them accesses
//! memory that the compiler knows of; a monitor concerns only an address.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count};
use core::sync::atomic::{AtomicU8, Ordering};

/// Whether CPUID offers WAITPKG (Intel SDM vol. 2, CPUID leaf 7, ECX bit 5).
pub fn has_waitpkg() -> bool {
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ecx & 1 << 5 != 0
}

/// Whether CPUID offers MONITORX (AMD APM vol. 3, CPUID Fn8000_0001, ECX bit 29).
pub fn has_monitorx() -> bool {
    __cpuid(0x8000_0000).eax >= 0x8000_0001 && __cpuid(0x8000_0001).ecx & 1 << 29 != 0
}

/// Whether a core has more than one hardware thread (Intel SDM vol. 2, CPUID leaf 11, EBX of the
/// first level).
pub fn has_siblings() -> bool {
    __cpuid(0).eax >= 11 && __cpuid_count(11, 0).ebx & 0xffff > 1
}

/// Reads the time-stamp counter.
#[inline(always)]
pub fn tsc() -> u64 {
    // SAFETY: every x86-64 processor has RDTSC, and Linux permits it in user code.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Arms the monitor on the line of `address` until the next [`umwait`].
///
/// # Safety
/// The processor has WAITPKG.
#[inline(always)]
pub unsafe fn umonitor(address: *const u8) {
    // SAFETY: by contract the instruction exists; it acts like a load of the address, which is that
    // of a live cell.
    unsafe { asm!("umonitor {}", in(reg) address, options(nostack, preserves_flags)) }
}

/// How deep UMWAIT and TPAUSE rest: bit 0 of their operand (Intel SDM vol. 2, UMWAIT, TPAUSE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Depth {
    /// C0.2: saves more and takes longer to leave. Where the kernel forbids it
    /// (IA32_UMWAIT_CONTROL), the processor uses C0.1.
    C02 = 0,
    /// C0.1: saves less and is faster to leave.
    C01 = 1,
}

/// Waits in state `depth` until the monitored line is written, the time-stamp counter passes
/// `until`, or for no reason.
///
/// # Safety
/// The processor has WAITPKG.
#[inline(always)]
pub unsafe fn umwait(depth: Depth, until: u64) {
    // SAFETY: by contract the instruction exists; it changes the flags only.
    unsafe {
        asm!("umwait {0:e}", in(reg) depth as u32, in("eax") until as u32, in("edx") (until >> 32) as u32, options(nostack))
    }
}

/// Rests in state `depth` until the time-stamp counter passes `until`, or for no reason.
///
/// # Safety
/// The processor has WAITPKG.
#[inline(always)]
pub unsafe fn tpause(depth: Depth, until: u64) {
    // SAFETY: by contract the instruction exists; it changes the flags only.
    unsafe {
        asm!("tpause {0:e}", in(reg) depth as u32, in("eax") until as u32, in("edx") (until >> 32) as u32, options(nostack))
    }
}

/// Arms the monitor on the line of `address` until the next [`mwaitx`].
///
/// # Safety
/// The processor has MONITORX.
#[inline(always)]
pub unsafe fn monitorx(address: *const u8) {
    // SAFETY: by contract the instruction exists; no extension (ECX) and no hint (EDX) is
    // requested.
    unsafe { asm!("monitorx", in("rax") address, in("ecx") 0, in("edx") 0, options(nostack, preserves_flags)) }
}

/// Waits until the monitored line is written, `ticks` of the time-stamp counter have passed, or for
/// no reason.
///
/// # Safety
/// The processor has MONITORX.
#[inline(always)]
pub unsafe fn mwaitx(ticks: u32) {
    // AMD APM vol. 3, MWAITX: EAX bits 7:4 = 0xf asks for C0; ECX bit 1 turns the timer in EBX on.
    // SAFETY: by contract the instruction exists. RBX is LLVM's own, so it is swapped in and out.
    unsafe {
        asm!(
            "xchg {ticks}, rbx",
            "mwaitx",
            "xchg {ticks}, rbx",
            ticks = inout(reg) u64::from(ticks) => _,
            in("eax") 0xf0,
            in("ecx") 0b10,
            options(nostack, preserves_flags),
        );
    }
}

/// Whether CPUID offers CLDEMOTE (Intel SDM vol. 2, CPUID leaf 7, ECX bit 25).
pub fn has_cldemote() -> bool {
    // CPUID is slow and traps in virtual machines, so it is executed once. Racing threads store the
    // same answer.
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let has = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ecx & 1 << 25 != 0;
            KNOWN.store(1 + u8::from(has), Ordering::Relaxed);
            has
        }
        known => known == 2,
    }
}

/// Hints that a line should move to a cache level farther from this core and nearer to the others.
/// Any address is allowed.
#[inline(always)]
pub fn cldemote(line: *const u8) {
    // SAFETY: a processor without CLDEMOTE executes its opcode as a NOP (SDM vol. 2, CLDEMOTE); it
    // raises no fault.
    unsafe { asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intel SDM vol. 2, operand of UMWAIT: bit 0 clear means C0.2, set means C0.1; the other bits
    /// are zero.
    #[test]
    fn depths_are_the_operands_of_the_manual() {
        assert_eq!((Depth::C02 as u32, Depth::C01 as u32), (0, 1));
    }
}
