//! Regions and leagues. Clang outlines a region into a function of the thread's number, its number
//! in the team, and as many words as the region uses variables of the program.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::environment::{Environment, environment};
use crate::kmp::ident::{Ident, error, number};
use crate::kmp::pushed::{self, Strict};
use crate::ompt;
use crate::process::{has_tool, place, runtime};
use baton_omp::places::Binding;
use baton_omp::settings::{Icv, NO_LIMIT};
use baton_omp::team::League;
use core::ffi::c_void;
use std::ffi::CString;

/// A function that clang outlined. It takes the addresses of two numbers and then the region's
/// words; only [`invoke`] calls it.
pub type Outlined = unsafe extern "C-unwind" fn();

/// The words that fit the registers of a call after two addresses.
const IN_REGISTERS: usize = 4;

/// An outlined function and its words, of which there are at least [`IN_REGISTERS`].
struct Call {
    function: Outlined,
    words: Vec<usize>,
}

/// Calls `function` with the addresses of two numbers and `count` words, of which the first four
/// are always there. Stores the address of its own frame at `frame`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn invoke(
    function: Outlined,
    number: *const i32,
    id: *const i32,
    count: usize,
    words: *const usize,
    frame: *mut usize,
) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov [r9], rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov r10, r8",
        "mov r11, rcx",
        "mov rdx, [r10]",
        "mov rcx, [r10 + 8]",
        "mov r8, [r10 + 16]",
        "mov r9, [r10 + 24]",
        // The other words go to the stack, the last one first, with the stack aligned to 16 bytes
        // at the call.
        "sub r11, 4",
        "jle 4f",
        "test r11, 1",
        "jz 3f",
        "sub rsp, 8",
        "3:",
        "push qword ptr [r10 + r11 * 8 + 24]",
        "dec r11",
        "jnz 3b",
        "4:",
        "call rax",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    );
}

/// Defines a function with the interface `(at, count, function, ...)`, which calls `$then` with the
/// address of the three words in registers and the address of those on the stack.
macro_rules! variadic {
    ($name:ident $then:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, 32",
                "mov [rsp], rcx",
                "mov [rsp + 8], r8",
                "mov [rsp + 16], r9",
                "mov rcx, rsp",
                "lea r8, [rbp + 16]",
                "call {then}",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                then = sym $then,
            );
        }
    };
}

variadic! { __kmpc_fork_call fork }
variadic! { __kmpc_fork_teams fork_teams }

impl Call {
    /// The call of `function` with `count` words: three in `registers`, and the rest on the `stack`.
    ///
    /// # Safety
    /// The caller of the variadic function passed `count` words.
    unsafe fn new(function: Outlined, count: i32, registers: *const usize, stack: *const usize) -> Call {
        let count = count.max(0) as usize;
        // SAFETY: by contract; the registers hold three words in any case.
        let word = |at: usize| unsafe { if at < 3 { registers.add(at).read() } else { stack.add(at - 3).read() } };
        let mut words: Vec<usize> = (0..count).map(word).collect();
        words.resize(count.max(IN_REGISTERS), 0);
        Call { function, words }
    }

    /// Runs the function in the calling thread, as a part of its region.
    ///
    /// # Safety
    /// Clang outlined the function for these words.
    unsafe fn run(&self) {
        let place = place();
        let (thread, id, mut unused) = (number(), place.id as i32, 0);
        let frame = place.record().map_or(&raw mut unused, |task| task.frame.exit_slot());
        // SAFETY: by contract; both numbers are local variables of this function.
        unsafe {
            invoke(self.function, &raw const thread, &raw const id, self.words.len(), self.words.as_ptr(), frame)
        };
    }
}

/// Runs a region in each thread of its team.
unsafe extern "C-unwind" fn region(data: *mut c_void) {
    // SAFETY: `fork` passes the address of a call, which stays until the region has ended.
    unsafe { (*data.cast::<Call>()).run() };
}

unsafe extern "C-unwind" fn fork(
    at: *const Ident,
    count: i32,
    function: Outlined,
    registers: *const usize,
    stack: *const usize,
) {
    let (threads, strict) = pushed::threads();
    // SAFETY: the compiler passed `count` words for this function.
    unsafe {
        let mut call = Call::new(function, count, registers, stack);
        match strict {
            None => runtime().parallel(region, (&raw mut call).cast(), threads, None),
            Some(strict) => exactly(strict, at, &mut call, threads),
        }
    }
}

/// Runs a region that must have exactly `threads` threads; says so if it has fewer.
///
/// # Safety
/// Clang outlined the call's function for its words.
#[cold]
unsafe fn exactly(strict: Strict, at: *const Ident, call: &mut Call, threads: u32) {
    let mut tell = |size: u32| {
        let own = CString::new(format!("a region must have {threads} threads and gets {size}")).unwrap_or_default();
        let message = if strict.message.is_null() { own.as_ptr() } else { strict.message };
        if size < threads {
            // SAFETY: the place is the compiler's, and the message a string.
            unsafe { error(at, strict.severity, message) };
        }
        0
    };
    // SAFETY: by contract.
    unsafe { runtime().parallel_with(region, core::ptr::from_mut(call).cast(), threads, None, &mut tell) };
}

unsafe extern "C-unwind" fn in_place(_: *mut c_void) {}

/// Begins a region of the calling thread alone, whose function the compiler calls itself.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_serialized_parallel(_at: *const Ident, _thread: i32) {
    pushed::threads();
    // SAFETY: the function does nothing.
    unsafe { runtime().begin(in_place, core::ptr::null_mut(), 1, None) };
    ompt::constructs::runs_in_place(place());
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_serialized_parallel(_at: *const Ident, _thread: i32) {
    // SAFETY: the compiler ends the region that it began, and no place of it is in use.
    unsafe { runtime().end() };
}

/// Runs a region with a condition. The function gets one word, if `count` is not 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_fork_call_if(
    at: *const Ident,
    count: i32,
    function: Outlined,
    condition: i32,
    word: usize,
) {
    let words = [word, 0, 0];
    // SAFETY: the compiler outlined the function for this word.
    unsafe {
        if condition != 0 {
            return fork(at, count, function, words.as_ptr(), core::ptr::null());
        }
        __kmpc_serialized_parallel(at, 0);
        Call::new(function, count, words.as_ptr(), core::ptr::null()).run();
    }
    __kmpc_end_serialized_parallel(at, 0);
}

/// A league of teams. The threads of one region are the initial threads of the teams.
struct Teams {
    call: Call,
    teams: u32,
    /// The threads that a team may have.
    threads: u32,
    /// How the teams' initial threads are bound; `None`: they are not.
    binding: Option<Binding>,
}

impl Teams {
    /// The league that the compiler announced; where it did not, the environment decides.
    fn announced(call: Call) -> Teams {
        let set = environment();
        let (teams, limit) = pushed::league();
        let first = |numbers: [u32; 2], last: u32| numbers.into_iter().find(|n| *n != 0).unwrap_or(last);
        let teams = first([teams, Environment::get(&set.teams)], 1);
        let icv = place().icv.get();
        // Without a limit, the teams share out the CPUs.
        let share = (runtime().cpus / teams).clamp(1, icv.threads.max(1));
        let threads = first([limit, Environment::get(&set.teams_limit)], share).min(icv.limit).max(1);
        let binding = place().seat.map(|outer| Binding { bind: set.teams_bind, threads: teams, outer });
        Teams { call, teams, threads, binding }
    }

    /// Runs one team's initial thread.
    ///
    /// # Safety
    /// As for [`Call::run`].
    unsafe fn run(&self, team: u32) {
        let set = |icv: &mut Icv| {
            icv.limit = self.threads.min(NO_LIMIT);
            icv.threads = icv.threads.min(self.threads);
        };
        // SAFETY: by contract.
        let seat = self.binding.map(|binding| binding.seat(team));
        // SAFETY: by contract.
        runtime().apart(League { team, teams: self.teams }, seat, set, || unsafe { self.call.run() });
    }
}

/// Runs the teams of the calling thread: as a rule one, more if there are fewer threads than teams.
unsafe extern "C-unwind" fn initial(data: *mut c_void) {
    // SAFETY: `fork_teams` passes the address of a league, which stays until all teams have ended.
    let league = unsafe { &*data.cast::<Teams>() };
    let place = place();
    for team in (place.id..league.teams).step_by(place.team().size as usize) {
        // SAFETY: the compiler outlined the function for these words.
        unsafe { league.run(team) };
    }
}

unsafe extern "C-unwind" fn fork_teams(
    _at: *const Ident,
    count: i32,
    function: Outlined,
    registers: *const usize,
    stack: *const usize,
) {
    // SAFETY: the compiler passed `count` words for this function.
    unsafe {
        let mut league = Teams::announced(Call::new(function, count, registers, stack));
        let teams = league.teams;
        if let Some(binding) = league.binding {
            runtime().proc_bind(binding.bind);
        }
        if has_tool() {
            ompt::thread::set_next(ompt::tasks::LEAGUE, Vec::new());
        }
        runtime().parallel(initial, (&raw mut league).cast(), teams, None);
    }
}
