//! The wait instructions of x86-64: UMONITOR, UMWAIT and TPAUSE (Intel WAITPKG), MONITORX and MWAITX (AMD).
//!
//! All are `unsafe` for one reason: on a processor without them they raise an invalid-opcode exception. (CLDEMOTE, which
//! stands here for its CPUID bit, is a NOP where it is missing.) None of them reads or writes memory that the compiler knows of; a monitor is on the address alone.

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

/// Whether a core has more than one thread (Intel SDM vol. 2, CPUID leaf 11, EBX of the first level).
pub fn has_siblings() -> bool {
    __cpuid(0).eax >= 11 && __cpuid_count(11, 0).ebx & 0xffff > 1
}

/// The time-stamp counter.
#[inline(always)]
pub fn tsc() -> u64 {
    // SAFETY: every x86-64 processor has RDTSC; Linux leaves it to user code.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Watches the line of `address` until the next [`umwait`].
///
/// # Safety
/// The processor has WAITPKG.
#[inline(always)]
pub unsafe fn umonitor(address: *const u8) {
    // SAFETY: by contract the instruction exists; it reads as a load of the address, which is a live cell's.
    unsafe { asm!("umonitor {}", in(reg) address, options(nostack, preserves_flags)) }
}

/// How deep UMWAIT and TPAUSE rest: bit 0 of their operand (Intel SDM vol. 2, UMWAIT, TPAUSE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Depth {
    /// C0.2 saves more, and takes longer to leave. Where the kernel forbids it (IA32_UMWAIT_CONTROL) it is C0.1.
    C02 = 0,
    /// C0.1.
    C01 = 1,
}

/// Waits at that depth until the watched line is written, the time-stamp counter passes `until`, or for no reason.
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

/// Rests at that depth until the time-stamp counter passes `until`, or for no reason.
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

/// Watches the line of `address` until the next [`mwaitx`].
///
/// # Safety
/// The processor has MONITORX.
#[inline(always)]
pub unsafe fn monitorx(address: *const u8) {
    // SAFETY: by contract the instruction exists; no extension (ECX) and no hint (EDX) is asked for.
    unsafe { asm!("monitorx", in("rax") address, in("ecx") 0, in("edx") 0, options(nostack, preserves_flags)) }
}

/// Waits until the watched line is written, `ticks` of the time-stamp counter have passed, or for no reason.
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
    // CPUID is slow, and traps in virtual machines: it is asked once. Racing threads find the same answer.
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

/// Moves a line to a level that is farther from this core and nearer to the others. A hint; any address will do.
#[inline(always)]
pub fn cldemote(line: *const u8) {
    // SAFETY: a processor without CLDEMOTE executes its opcode as a NOP (SDM vol. 2, CLDEMOTE); it raises no fault.
    unsafe { asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intel SDM vol. 2, table of UMWAIT's operand: bit 0 clear is C0.2, set is C0.1, and the other bits are zero.
    #[test]
    fn depths_are_the_operands_of_the_manual() {
        assert_eq!((Depth::C02 as u32, Depth::C01 as u32), (0, 1));
    }
}
