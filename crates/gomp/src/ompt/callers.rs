//! The program's frame that called the runtime, found by unwinding the stack: only with a tool, so
//! that no function of the interface has to pass its return address on.

use core::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// What the unwinder knows of a frame.
#[repr(C)]
struct Frame {
    hidden: [u8; 0],
}

unsafe extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut Frame, *mut c_void) -> c_int, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(frame: *mut Frame) -> usize;
    fn _Unwind_GetCFA(frame: *mut Frame) -> usize;
}

/// What the unwinder's function returns to go on, and to stop.
const GO_ON: c_int = 0;
const STOP: c_int = 4;

/// The program's frame that called the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The return address of the call; null if it was not found.
    pub(crate) code: *const c_void,
    /// A stack address in that frame; 0 if it was not found.
    pub(crate) stack: usize,
}

impl Caller {
    const UNKNOWN: Caller = Caller { code: core::ptr::null(), stack: 0 };
}

/// The addresses of this library's code: from the first one to the one behind the last.
fn own() -> (usize, usize) {
    static OWN: OnceLock<(usize, usize)> = OnceLock::new();
    *OWN.get_or_init(|| {
        let mut found = (0, 0);
        // SAFETY: the function below gets the address of `found`, as it expects.
        unsafe { libc::dl_iterate_phdr(Some(is_own), (&raw mut found).cast()) };
        found
    })
}

/// Stores the addresses of the object that has this function, and then stops.
unsafe extern "C" fn is_own(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader passes a description that is valid meanwhile.
    let (info, parts) = unsafe { (&*info, core::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into())) };
    let loads = parts.iter().filter(|part| part.p_type == libc::PT_LOAD);
    let ranges = loads.map(|part| (info.dlpi_addr + part.p_vaddr, info.dlpi_addr + part.p_vaddr + part.p_memsz));
    let range = ranges.fold((u64::MAX, 0), |all, one| (all.0.min(one.0), all.1.max(one.1)));
    let here = own as fn() -> (usize, usize) as usize as u64;
    if !(range.0..range.1).contains(&here) {
        return 0;
    }
    // SAFETY: `own` passes the address of its variable.
    unsafe { found.cast::<(usize, usize)>().write((range.0 as usize, range.1 as usize)) };
    1
}

extern "C" fn each(frame: *mut Frame, found: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes the frame that it has come to.
    let (code, stack) = unsafe { (_Unwind_GetIP(frame), _Unwind_GetCFA(frame)) };
    let (from, to) = own();
    if (from..to).contains(&code) {
        return GO_ON;
    }
    // SAFETY: `caller` passes the address of its variable.
    unsafe { found.cast::<Caller>().write(Caller { code: core::ptr::without_provenance(code), stack }) };
    STOP
}

/// The program's frame that called the runtime, in the calling thread.
pub(crate) fn caller() -> Caller {
    let mut found = Caller::UNKNOWN;
    // SAFETY: `each` gets the address of `found`, as it expects.
    unsafe { _Unwind_Backtrace(each, (&raw mut found).cast()) };
    found
}

/// The address in the program to which the call of the runtime returns.
pub(crate) fn code() -> *const c_void {
    caller().code
}
