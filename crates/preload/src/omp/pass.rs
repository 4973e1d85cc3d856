//! Calls that are not recorded: a jump hands each, whatever its arguments, to the runtime's
//! function, and leaves no frame of this library on the stack.

use super::late;
use crate::hooks::{Code, slot};

macro_rules! passes {
    ($($name:ident $site:literal,)*) => {
        /// The jumps, which leave all arguments as they are.
        #[allow(non_snake_case)]
        pub(super) mod jump {
            use super::late;
            $(
                #[unsafe(naked)]
                pub(in crate::omp) unsafe extern "C-unwind" fn $name() {
                    core::arch::naked_asm!(
                        // Saves the six argument registers; rax keeps the stack aligned.
                        "push rdi",
                        "push rsi",
                        "push rdx",
                        "push rcx",
                        "push r8",
                        "push r9",
                        "push rax",
                        concat!("mov rsi, ", $site),
                        "lea rdi, [rip + {late}]",
                        "call {resolve}",
                        "mov r11, rax",
                        "pop rax",
                        "pop r9",
                        "pop r8",
                        "pop rcx",
                        "pop rdx",
                        "pop rsi",
                        "pop rdi",
                        "jmp r11",
                        late = sym late::$name,
                        resolve = sym late::resolve,
                    );
                }
            )*
        }

        /// Points the slots of regions, barriers and tasks to the jumps.
        pub(super) fn install() {
            $(slot::$name.set(jump::$name as Code);)*
        }
    };
}

// Each function's register for the call site, as in the table of hooks.
passes! {
    GOMP_barrier "rdi",
    GOMP_barrier_cancel "rdi",
    GOMP_loop_end "rdi",
    GOMP_loop_end_cancel "rdi",
    GOMP_sections_end "rdi",
    GOMP_sections_end_cancel "rdi",
    GOMP_single_copy_start "rdi",
    GOMP_single_copy_end "rsi",
    GOMP_parallel "r8",
    GOMP_parallel_reductions "r8",
    GOMP_parallel_sections "r9",
    GOMP_parallel_loop_static "rax",
    GOMP_parallel_loop_dynamic "rax",
    GOMP_parallel_loop_guided "rax",
    GOMP_parallel_loop_nonmonotonic_dynamic "rax",
    GOMP_parallel_loop_nonmonotonic_guided "rax",
    GOMP_parallel_loop_runtime "rax",
    GOMP_parallel_loop_nonmonotonic_runtime "rax",
    GOMP_parallel_loop_maybe_nonmonotonic_runtime "rax",
    GOMP_taskwait "rdi",
    GOMP_taskwait_depend "rsi",
    GOMP_taskgroup_end "rdi",
    GOMP_task "rax",
    __kmpc_fork_call "rax",
    __kmpc_barrier "rdx",
    __kmpc_cancel_barrier "rdx",
    __kmpc_copyprivate "rax",
    __kmpc_omp_task_alloc "rax",
    __kmpc_omp_task "rcx",
    __kmpc_omp_task_with_deps "rax",
    __kmpc_taskloop "rax",
    __kmpc_taskloop_5 "rax",
    __kmpc_omp_taskwait "rdx",
    __kmpc_end_taskgroup "rdx",
}
