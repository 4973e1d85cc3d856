//! Masks of CPUs, and the CPUs that a thread may run on.
#![allow(clippy::missing_safety_doc, reason = "programs call these; LLVM documents the interface")]

use core::ffi::c_void;
use libc::cpu_set_t;

/// LLVM's `kmp_affinity_mask_t`: the address of a mask.
pub type Mask = *mut c_void;

/// The mask at an address that the program passes.
///
/// # Safety
/// The program passes the address of a mask that [`kmp_create_affinity_mask`] made.
unsafe fn set<'a>(mask: *const Mask) -> &'a mut cpu_set_t {
    // SAFETY: by contract.
    unsafe { &mut *mask.read().cast::<cpu_set_t>() }
}

/// What a call returns for a CPU or a mask that it refuses.
const REFUSED: i32 = -1;

/// The number of CPUs that a mask has room for.
const ROOM: i32 = 8 * size_of::<cpu_set_t>() as i32;

#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_affinity_max_proc() -> i32 {
    // SAFETY: the call takes a number alone.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    (cpus as i32).clamp(1, ROOM)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn kmp_create_affinity_mask(mask: *mut Mask) {
    // SAFETY: zeroes are an empty mask; the program passes a variable of its own.
    unsafe { mask.write(Box::into_raw(Box::new(core::mem::zeroed::<cpu_set_t>())).cast()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn kmp_destroy_affinity_mask(mask: *mut Mask) {
    // SAFETY: the program passes a mask that it does not use any more.
    unsafe { drop(Box::from_raw(mask.replace(core::ptr::null_mut()).cast::<cpu_set_t>())) };
}

/// Binds the calling thread to the mask's CPUs. Returns 0, or the error's number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kmp_set_affinity(mask: *const Mask) -> i32 {
    // SAFETY: the program passes a mask.
    unsafe {
        let failed = libc::sched_setaffinity(0, size_of::<cpu_set_t>(), set(mask)) != 0;
        if failed { *libc::__errno_location() } else { 0 }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn kmp_get_affinity(mask: *const Mask) -> i32 {
    // SAFETY: as above.
    unsafe {
        let failed = libc::sched_getaffinity(0, size_of::<cpu_set_t>(), set(mask)) != 0;
        if failed { *libc::__errno_location() } else { 0 }
    }
}

/// Calls `then` with the mask and the CPU's number; refuses a number that no CPU has.
///
/// # Safety
/// The program passes a mask.
unsafe fn with(cpu: i32, mask: *const Mask, then: impl FnOnce(&mut cpu_set_t, usize) -> i32) -> i32 {
    if !(0..kmp_get_affinity_max_proc()).contains(&cpu) {
        return REFUSED;
    }
    // SAFETY: by contract.
    then(unsafe { set(mask) }, cpu as usize)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn kmp_set_affinity_mask_proc(cpu: i32, mask: *const Mask) -> i32 {
    // SAFETY: the program passes a mask; the number fits it.
    unsafe {
        with(cpu, mask, |set, cpu| {
            libc::CPU_SET(cpu, set);
            0
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn kmp_unset_affinity_mask_proc(cpu: i32, mask: *const Mask) -> i32 {
    // SAFETY: as above.
    unsafe {
        with(cpu, mask, |set, cpu| {
            libc::CPU_CLR(cpu, set);
            0
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn kmp_get_affinity_mask_proc(cpu: i32, mask: *const Mask) -> i32 {
    // SAFETY: as above.
    unsafe { with(cpu, mask, |set, cpu| i32::from(libc::CPU_ISSET(cpu, set))) }
}
