//! The exported functions: stubs that jump through a slot.
//!
//! Each interposed function is a stub of two instructions: it puts the caller's return address, the
//! call site, into the argument register after the function's own arguments (into rax where these
//! fill the registers), and jumps to where its slot points. The slots are filled once, at start
//! (`start`): with glibc's own function where there is nothing to do, else with the one of this
//! library's functions that does exactly what was asked for. So a run pays for nothing that it did
//! not ask for, and no hook asks which mode it is in.
//!
//! A stub is a tail jump: no frame of this library stands below the program's when glibc's function
//! unwinds for a cancellation, and the function that the stub jumps to returns straight to the
//! program.
//!
//! Until the slots are filled they point to a boot stub that fills them. The first call may well
//! come from a constructor of another library, or from an allocator inside the loader.

use core::sync::atomic::{AtomicPtr, Ordering};

/// The address of a function of any type.
pub type Code = *const ();

/// The address to which a stub jumps.
#[repr(transparent)]
pub struct Slot(AtomicPtr<()>);

impl Slot {
    /// A slot that points to its boot stub.
    pub const fn new(boot: unsafe extern "C" fn()) -> Slot {
        Slot(AtomicPtr::new(boot as *mut ()))
    }

    /// Points the slot to `code`. Relaxed suffices: there is one thread at start, and others are
    /// created later.
    pub fn set(&self, code: Code) {
        self.0.store(code.cast_mut(), Ordering::Relaxed);
    }

    /// The function to which the slot points.
    #[inline(always)]
    pub fn get(&self) -> Code {
        self.0.load(Ordering::Relaxed)
    }
}

unsafe extern "C" {
    /// Fills the slots. The room `start` above this one defines it. It is found by the linker,
    /// because the stubs must reach it before any code has run that could register it.
    fn baton_preload_start();
}

/// Saves the arguments, starts the library, and jumps on through the slot whose address is in r11.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn boot_common() {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push rax",
        "push r11",
        "sub rsp, 8",
        "call {start}",
        "add rsp, 8",
        "pop r11",
        "pop rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp qword ptr [r11]",
        start = sym baton_preload_start,
    );
}

/// Calls the function to which a slot points.
macro_rules! call {
    ($name:ident ($($argument:ident : $t:ty),*) -> $answer:ty) => {{
        let at = $crate::hooks::slot::$name.get();
        // The slot points to a function of this shape: the hook's arguments, then the call site.
        let function: unsafe extern "C-unwind" fn($($t),*) -> $answer = core::mem::transmute(at);
        function($($argument),*)
    }};
}
pub(crate) use call;

/// Declares a shim for a function of six arguments: the stub left the call site in rax, and the
/// function gets it as its seventh argument, on the stack.
macro_rules! with_site {
    ($shim:ident $function:path) => {
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $shim() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "call {function}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_endproc",
                function = sym $function,
            );
        }
    };
}
pub(crate) use with_site;

/// Declares exported functions, each with the register that receives the call site: the one after
/// its arguments.
macro_rules! hooks {
    (
        glibc { $($known:ident $known_site:literal),* $(,)? }
        others { $($other:ident $other_site:literal),* $(,)? }
    ) => {
        hooks! { $($known $known_site,)* $($other $other_site,)* }

        /// Points the slot of each function of the list `glibc` to the real function, or to null if
        /// the process has none.
        pub fn pass_through() {
            $(slot::$known.set($crate::hooks::real::$known.code());)*
        }
    };
    ($($name:ident $site:literal,)*) => {
        /// Where each stub jumps to.
        #[allow(non_upper_case_globals, missing_docs)]
        pub mod slot {
            $(pub static $name: $crate::hooks::table::Slot = $crate::hooks::table::Slot::new(super::boot::$name);)*
        }

        /// Every exported function by its name.
        pub static STUBS: [(&core::ffi::CStr, unsafe extern "C-unwind" fn()); [$(stringify!($name)),*].len()] = [$((
            // SAFETY: the literal ends with its only zero byte.
            unsafe { core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
            stub::$name,
        )),*];

        #[allow(non_snake_case)]
        mod boot {
            $(
                #[unsafe(naked)]
                pub unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(
                        "lea r11, [rip + {slot}]",
                        "jmp {boot}",
                        slot = sym super::slot::$name,
                        boot = sym $crate::hooks::table::boot_common,
                    );
                }
            )*
        }

        #[allow(non_snake_case)]
        #[cfg_attr(test, allow(dead_code))]
        mod stub {
            $(
                #[unsafe(naked)]
                #[cfg_attr(not(test), unsafe(no_mangle))]
                pub unsafe extern "C-unwind" fn $name() {
                    core::arch::naked_asm!(
                        concat!("mov ", $site, ", qword ptr [rsp]"),
                        "jmp qword ptr [rip + {slot}]",
                        slot = sym super::slot::$name,
                    );
                }
            )*
        }
    };
}

// Arguments are passed in rdi, rsi, rdx, rcx, r8, r9: a function with n arguments gets the call
// site in register n + 1.
hooks! {
    glibc {
        pthread_mutex_init "rdx",
        pthread_mutex_destroy "rsi",
        pthread_mutex_lock "rsi",
        pthread_mutex_trylock "rsi",
        pthread_mutex_timedlock "rdx",
        pthread_mutex_clocklock "rcx",
        pthread_mutex_unlock "rsi",
        mtx_init "rdx",
        mtx_destroy "rsi",
        mtx_lock "rsi",
        mtx_trylock "rsi",
        mtx_timedlock "rdx",
        mtx_unlock "rsi",
        pthread_cond_init "rdx",
        pthread_cond_destroy "rsi",
        pthread_cond_wait "rdx",
        pthread_cond_timedwait "rcx",
        pthread_cond_clockwait "r8",
        pthread_cond_signal "rsi",
        pthread_cond_broadcast "rsi",
        cnd_init "rsi",
        cnd_destroy "rsi",
        cnd_wait "rdx",
        cnd_timedwait "rcx",
        cnd_signal "rsi",
        cnd_broadcast "rsi",
        pthread_rwlock_init "rdx",
        pthread_rwlock_destroy "rsi",
        pthread_rwlock_rdlock "rsi",
        pthread_rwlock_wrlock "rsi",
        pthread_rwlock_tryrdlock "rsi",
        pthread_rwlock_trywrlock "rsi",
        pthread_rwlock_timedrdlock "rdx",
        pthread_rwlock_timedwrlock "rdx",
        pthread_rwlock_clockrdlock "rcx",
        pthread_rwlock_clockwrlock "rcx",
        pthread_rwlock_unlock "rsi",
        pthread_spin_init "rdx",
        pthread_spin_destroy "rsi",
        pthread_spin_lock "rsi",
        pthread_spin_trylock "rsi",
        pthread_spin_unlock "rsi",
        pthread_barrier_init "rcx",
        pthread_barrier_destroy "rsi",
        pthread_barrier_wait "rsi",
        sem_init "rcx",
        sem_destroy "rsi",
        sem_wait "rsi",
        sem_trywait "rsi",
        sem_timedwait "rdx",
        sem_clockwait "rcx",
        sem_post "rsi",
        pthread_create "r8",
        pthread_join "rdx",
        pthread_tryjoin_np "rdx",
        pthread_timedjoin_np "rcx",
        pthread_clockjoin_np "r8",
        pthread_cancel "rsi",
        thrd_create "rcx",
        thrd_join "rdx",
        pthread_setname_np "rdx",
        pthread_setaffinity_np "rcx",
        sched_setaffinity "rcx",
        pthread_getaffinity_np "rcx",
        sched_getaffinity "rcx",
        sysconf "rsi",
        get_nprocs "rdi",
        pthread_setcanceltype "rdx",
        __sigsetjmp "rdx",
        dlsym "rdx",
        dlvsym "rcx",
        dlopen "rdx",
        __register_atfork "r8",
        _Fork "rdi",
        _exit "rsi",
        _Exit "rsi",
        dlclose "rsi",
        sleep "rsi",
        usleep "rsi",
        nanosleep "rdx",
        clock_nanosleep "r8",
        sched_yield "rdi",
        thrd_yield "rdi",
        poll "rcx",
        select "r9",
        epoll_wait "r8",
        read "rcx",
        write "rcx",
        recv "r8",
        send "r8",
        accept "rcx",
        fsync "rsi",
        fdatasync "rsi",
        msync "rcx",
        pread "r8",
        pread64 "r8",
        pwrite "r8",
        pwrite64 "r8",
        readv "rcx",
        writev "rcx",
        recvmsg "rcx",
        sendmsg "rcx",
        connect "rcx",
        ppoll "r8",
        epoll_pwait "r9",
        flock "rdx",
        waitpid "rcx",
        wait "rsi",
        wait4 "r8",
        // The number and the up to six arguments of a system call fill the registers.
        syscall "rax",
        // The six arguments fill the registers, so the call site goes into rax, which only a naked
        // shim can read.
        recvfrom "rax",
        sendto "rax",
        sendfile "r8",
        accept4 "r8",
        pselect "rax",
        recvmmsg "r9",
        sendmmsg "r8",
        // The checked forms to which compilers turn read, recv and poll where the size of the
        // buffer is known.
        __read_chk "r8",
        __recv_chk "r9",
        __poll_chk "r8",
        // libgcc's.
        __register_frame "rsi",
        __register_frame_info "rdx",
        __register_frame_info_bases "r8",
        __register_frame_table "rsi",
        close "rsi",
        pipe "rsi",
        pipe2 "rdx",
        socketpair "r8",
        eventfd "rdx",
        eventfd_read "rdx",
        eventfd_write "rdx",
        dup2 "rdx",
        dup3 "rcx",
    }
    others {
        // Names that programs linked long ago call, and the libstdc++ of that time.
        __pthread_mutex_init "rdx",
        __pthread_mutex_destroy "rsi",
        __pthread_mutex_lock "rsi",
        __pthread_mutex_trylock "rsi",
        __pthread_mutex_unlock "rsi",
        GOMP_critical_start "rdi",
        GOMP_critical_end "rdi",
        GOMP_critical_name_start "rsi",
        GOMP_critical_name_end "rsi",
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
        // These functions have more arguments than registers, so the call site goes into rax, which
        // holds no argument.
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
        // A variadic function, whose variable arguments are no floating-point numbers: rax says so
        // to a function that looks, for which the call site will do as well.
        __kmpc_fork_call "rax",
        __kmpc_barrier "rdx",
        __kmpc_cancel_barrier "rdx",
        __kmpc_copyprivate "rax",
        __kmpc_critical "rcx",
        __kmpc_critical_with_hint "r8",
        __kmpc_end_critical "rcx",
        __kmpc_omp_task_alloc "rax",
        __kmpc_omp_task "rcx",
        __kmpc_omp_task_with_deps "rax",
        __kmpc_taskloop "rax",
        __kmpc_taskloop_5 "rax",
        __kmpc_omp_taskwait "rdx",
        __kmpc_end_taskgroup "rdx",
        omp_init_lock "rsi",
        omp_init_lock_with_hint "rdx",
        omp_destroy_lock "rsi",
        omp_set_lock "rsi",
        omp_unset_lock "rsi",
        omp_test_lock "rsi",
        omp_init_nest_lock "rsi",
        omp_init_nest_lock_with_hint "rdx",
        omp_destroy_nest_lock "rsi",
        omp_set_nest_lock "rsi",
        omp_unset_nest_lock "rsi",
        omp_test_nest_lock "rsi",
        // Baton's own C library.
        baton_mutex_lock "rsi",
        baton_mutex_trylock "rsi",
        baton_mutex_timedlock "rcx",
        baton_mutex_unlock "rsi",
        baton_rwlock_rdlock "rsi",
        baton_rwlock_tryrdlock "rsi",
        baton_rwlock_timedrdlock "rcx",
        baton_rwlock_rdlock_recursive "rsi",
        baton_rwlock_rdunlock "rsi",
        baton_rwlock_wrlock "rsi",
        baton_rwlock_trywrlock "rsi",
        baton_rwlock_timedwrlock "rcx",
        baton_rwlock_wrunlock "rsi",
        baton_rwlock_uplock "rsi",
        baton_rwlock_tryuplock "rsi",
        baton_rwlock_upunlock "rsi",
        baton_rwlock_upgrade "rsi",
        baton_rwlock_tryupgrade "rsi",
        baton_rwlock_downgrade "rsi",
        baton_rwlock_downgrade_up "rsi",
        baton_lock_new "rdx",
        baton_lock_new_named "rdx",
        baton_lock_free "rsi",
        baton_lock_lock "rsi",
        baton_lock_trylock "rsi",
        baton_lock_timedlock "rcx",
        baton_lock_unlock "rsi",
        baton_once_call "rcx",
        baton_once_done "rsi",
        baton_cond_wait "rdx",
        baton_cond_timedwait "r8",
        baton_cond_signal "rsi",
        baton_cond_broadcast "rsi",
        baton_semaphore_take "rsi",
        baton_semaphore_trytake "rsi",
        baton_semaphore_timedtake "rcx",
        baton_semaphore_post "rsi",
        baton_meeting_wait "rsi",
        baton_barrier_wait "rdx",
        baton_queue_put "rdx",
        baton_queue_tryput "rdx",
        baton_queue_timedput "r8",
        baton_queue_put_all "r8",
        baton_queue_get "rdx",
        baton_queue_tryget "rdx",
        baton_queue_timedget "r8",
        baton_queue_get_some "r8",
        baton_queue_close "rsi",
        baton_queue_length "rsi",
        baton_queue_closed "rsi",
        baton_queue_put_by "rcx",
        baton_queue_tryput_by "rcx",
        baton_queue_timedput_by "r9",
        baton_queue_get_by "rcx",
        baton_queue_tryget_by "rcx",
        baton_queue_timedget_by "r9",
        baton_queue_end "rsi",
        baton_spsc_new "rdx",
        baton_spsc_free "rsi",
        baton_spsc_put "rdx",
        baton_spsc_tryput "rdx",
        baton_spsc_timedput "r8",
        baton_spsc_get "rdx",
        baton_spsc_tryget "rdx",
        baton_spsc_timedget "r8",
        baton_spsc_reserve "rcx",
        baton_spsc_tryreserve "rcx",
        baton_spsc_timedreserve "r9",
        baton_spsc_commit "rdx",
        baton_spsc_peek "rcx",
        baton_spsc_trypeek "rcx",
        baton_spsc_timedpeek "r9",
        baton_spsc_release "rdx",
        baton_spsc_close "rsi",
        baton_unbounded_new "rsi",
        baton_unbounded_free "rsi",
        baton_unbounded_put "rdx",
        baton_unbounded_get "rdx",
        baton_unbounded_tryget "rdx",
        baton_unbounded_timedget "r8",
        baton_unbounded_close "rsi",
        baton_choice_new "rcx",
        baton_choice_free "rsi",
        baton_choice_put "rdx",
        baton_choice_tryput "rdx",
        baton_choice_timedput "r8",
        baton_choice_get "rdx",
        baton_choice_tryget "rdx",
        baton_choice_timedget "r8",
        baton_choice_close "rsi",
        baton_choice_capacity "rsi",
        baton_process_sender_open "rsi",
        baton_process_sender_close "rsi",
        baton_process_sender_capacity "rsi",
        baton_process_sender_id "rsi",
        baton_process_send "rcx",
        baton_process_trysend "rcx",
        baton_process_timedsend "r9",
        baton_process_receiver_open "rsi",
        baton_process_receiver_close "rsi",
        baton_process_receiver_capacity "rsi",
        baton_process_receiver_id "rsi",
        baton_process_receive "rcx",
        baton_process_tryreceive "rcx",
        baton_process_timedreceive "r9",
    }
}
