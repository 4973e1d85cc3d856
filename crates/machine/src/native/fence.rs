//! A fence that orders all accesses of a thread.

/// Executes a memory fence with SeqCst. On x86-64 it is a locked instruction that changes nothing, as GCC
/// has it: MFENCE, which the compiler would take, also waits for earlier instructions that do not access
/// memory, and takes longer.
#[inline(always)]
pub(super) fn full() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: writes the value that the word at the stack's top has, in one step. The assembly may access
    // memory, so the compiler moves no access across it.
    unsafe {
        core::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
}
