//! System calls of the library itself.
//!
//! The library exports `syscall`, a hook that records the program's futex calls, and `sched_yield`.
//! Calls of these names from inside the library, those of Rust's standard library among them, are
//! bound to the functions of this file (`build.rs`), so that they are neither recorded nor slowed
//! down.

// Arguments and result are those of glibc's function: the number comes first, and the sixth
// argument of the call is on the stack. If the kernel refuses the call, the result is -1 and
// `errno` says why.
core::arch::global_asm!(
    ".pushsection .text.baton_preload_syscall,\"ax\",@progbits",
    ".globl __wrap_syscall",
    ".hidden __wrap_syscall",
    ".type __wrap_syscall,@function",
    "__wrap_syscall:",
    ".cfi_startproc",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsi, rdx",
    "mov rdx, rcx",
    "mov r10, r8",
    "mov r8, r9",
    "mov r9, qword ptr [rsp + 8]",
    "syscall",
    "cmp rax, -4095",
    "jae 2f",
    "ret",
    "2:",
    "neg eax",
    "push rax",
    ".cfi_adjust_cfa_offset 8",
    "call __errno_location@PLT",
    "pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "mov dword ptr [rax], ecx",
    "mov rax, -1",
    "ret",
    ".cfi_endproc",
    ".size __wrap_syscall, . - __wrap_syscall",
    // `sched_yield` has no arguments, and cannot fail.
    ".globl __wrap_sched_yield",
    ".hidden __wrap_sched_yield",
    ".type __wrap_sched_yield,@function",
    "__wrap_sched_yield:",
    ".cfi_startproc",
    "mov eax, 24",
    "syscall",
    "ret",
    ".cfi_endproc",
    ".size __wrap_sched_yield, . - __wrap_sched_yield",
    ".popsection",
);
