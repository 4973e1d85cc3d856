//! The Fortran forms of functions with arguments. An argument is passed by its address; forms with
//! `_8_` are for programs whose default integers have 8 bytes.
#![allow(
    clippy::missing_safety_doc,
    reason = "the compiler calls these; each pointer leads to an argument of the program's"
)]

use crate::display::*;
use crate::locks::{self, NestLock};
use crate::memory::{self, Trait};
use crate::queries::*;
use crate::target::{omp_pause_resource, omp_pause_resource_all};
use crate::teams::{omp_set_num_teams, omp_set_teams_thread_limit};
use core::ffi::c_char;

/// Converts a default integer of 8 bytes to 4 bytes; a number that does not fit becomes the nearest
/// one that does.
fn short(n: i64) -> i32 {
    n.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

macro_rules! one_number {
    ($($c:ident $fortran:ident $long:ident $(-> $out:ty)?;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran(n: *const i32) $(-> $out)? {
            // SAFETY: the program passes the address of an integer.
            $c(unsafe { n.read() })
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $long(n: *const i64) $(-> $out)? {
            // SAFETY: the program passes the address of an integer.
            $c(short(unsafe { n.read() }))
        }
    )*};
}

one_number! {
    omp_set_num_threads omp_set_num_threads_ omp_set_num_threads_8_;
    omp_set_dynamic omp_set_dynamic_ omp_set_dynamic_8_;
    omp_set_nested omp_set_nested_ omp_set_nested_8_;
    omp_set_max_active_levels omp_set_max_active_levels_ omp_set_max_active_levels_8_;
    omp_set_default_device omp_set_default_device_ omp_set_default_device_8_;
    omp_set_num_teams omp_set_num_teams_ omp_set_num_teams_8_;
    omp_set_teams_thread_limit omp_set_teams_thread_limit_ omp_set_teams_thread_limit_8_;
    omp_get_ancestor_thread_num omp_get_ancestor_thread_num_ omp_get_ancestor_thread_num_8_ -> i32;
    omp_get_team_size omp_get_team_size_ omp_get_team_size_8_ -> i32;
    omp_get_place_num_procs omp_get_place_num_procs_ omp_get_place_num_procs_8_ -> i32;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_schedule_(kind: *const u32, chunk: *const i32) {
    // SAFETY: the program passes the addresses of a kind and a chunk.
    unsafe { omp_set_schedule(kind.read(), chunk.read()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_schedule_8_(kind: *const u32, chunk: *const i64) {
    // SAFETY: the program passes the addresses of a kind and a chunk.
    unsafe { omp_set_schedule(kind.read(), short(chunk.read())) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule_(kind: *mut u32, chunk: *mut i32) {
    // SAFETY: the program passes the addresses of two variables for the results.
    unsafe { omp_get_schedule(kind, chunk) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule_8_(kind: *mut u32, chunk: *mut i64) {
    let mut own = 0;
    // SAFETY: the program passes the addresses of two variables for the results; `own` is a local
    // variable.
    unsafe {
        omp_get_schedule(kind, &raw mut own);
        chunk.write(i64::from(own));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids_(place: *const i32, ids: *mut i32) {
    // SAFETY: the program passes the address of a number, and an array with room for the place's
    // CPUs.
    unsafe { omp_get_place_proc_ids(place.read(), ids) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids_8_(place: *const i64, ids: *mut i64) {
    // SAFETY: the program passes the address of a number.
    let place = short(unsafe { place.read() });
    let mut own = vec![0; omp_get_place_num_procs(place) as usize];
    // SAFETY: `own` has room for the place's CPUs.
    unsafe { omp_get_place_proc_ids(place, own.as_mut_ptr()) };
    for (at, id) in own.into_iter().enumerate() {
        // SAFETY: the program's array has room for the place's CPUs, too.
        unsafe { ids.add(at).write(i64::from(id)) };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums_(places: *mut i32) {
    // SAFETY: the program passes an array with room for all places of the partition.
    unsafe { omp_get_partition_place_nums(places) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums_8_(places: *mut i64) {
    let mut own = vec![0; omp_get_partition_num_places() as usize];
    // SAFETY: `own` has room for all places of the partition.
    unsafe { omp_get_partition_place_nums(own.as_mut_ptr()) };
    for (at, place) in own.into_iter().enumerate() {
        // SAFETY: the program's array has room for all places of the partition, too.
        unsafe { places.add(at).write(i64::from(place)) };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_display_env_(verbose: *const i32) {
    // SAFETY: the program passes the address of a logical.
    omp_display_env(unsafe { verbose.read() });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_display_env_8_(verbose: *const i64) {
    // SAFETY: the program passes the address of a logical.
    omp_display_env(i32::from(unsafe { verbose.read() } != 0));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_pause_resource_(kind: *const i32, device: *const i32) -> i32 {
    // SAFETY: the program passes the addresses of a kind and a device.
    unsafe { omp_pause_resource(kind.read(), device.read()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_pause_resource_all_(kind: *const i32) -> i32 {
    // SAFETY: the program passes the address of a kind.
    omp_pause_resource_all(unsafe { kind.read() })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator_(space: *const usize, count: *const i32, traits: *const Trait) -> usize {
    // SAFETY: the program passes the addresses of a space and a count, and `count` traits.
    unsafe { memory::omp_init_allocator(space.read(), count.read(), traits) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator_8_(space: *const usize, count: *const i64, traits: *const Trait) -> usize {
    // SAFETY: the program passes the addresses of a space and a count, and `count` traits.
    unsafe { memory::omp_init_allocator(space.read(), short(count.read()), traits) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_destroy_allocator_(handle: *const usize) {
    // SAFETY: the program passes the address of an allocator's handle.
    unsafe { memory::omp_destroy_allocator(handle.read()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_default_allocator_(handle: *const usize) {
    // SAFETY: the program passes the address of an allocator's handle.
    memory::omp_set_default_allocator(unsafe { handle.read() });
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_allocator_() -> usize {
    memory::omp_get_default_allocator()
}

/// Converts a Fortran text to a C text. The compiler passes a text's length behind the arguments,
/// and the text has blanks at its end.
unsafe fn text(from: *const c_char, bytes: usize) -> Vec<u8> {
    // SAFETY: the program passes a text of `bytes` bytes.
    let bytes = unsafe { core::slice::from_raw_parts(from.cast::<u8>(), bytes) };
    let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    [&bytes[..end], &[0]].concat()
}

/// Writes a C text into a Fortran variable, padded with blanks.
unsafe fn give(whole: &[u8], to: *mut c_char, bytes: usize) {
    for at in 0..bytes {
        let byte = whole.get(at).copied().unwrap_or(b' ');
        // SAFETY: the program's variable has `bytes` bytes.
        unsafe { to.add(at).write(byte as c_char) };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_affinity_format_(format: *const c_char, bytes: usize) {
    // SAFETY: the program passes a text of `bytes` bytes.
    unsafe { omp_set_affinity_format(text(format, bytes).as_ptr().cast()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_affinity_format_(buffer: *mut c_char, bytes: usize) -> i32 {
    let mut own = vec![0; 4096];
    // SAFETY: `own` has room for what is written to it, and the program's variable has `bytes`
    // bytes.
    unsafe {
        let whole = omp_get_affinity_format(own.as_mut_ptr().cast(), own.len());
        give(&own[..whole.min(own.len() - 1)], buffer, bytes);
        whole as i32
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_display_affinity_(format: *const c_char, bytes: usize) {
    // SAFETY: the program passes a text of `bytes` bytes.
    unsafe { omp_display_affinity(text(format, bytes).as_ptr().cast()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_capture_affinity_(
    buffer: *mut c_char,
    format: *const c_char,
    bytes: usize,
    format_bytes: usize,
) -> i32 {
    let mut own = vec![0; 4096];
    // SAFETY: `own` has room for what is written to it; the program's variable has `bytes` bytes,
    // and its format `format_bytes`.
    unsafe {
        let format = text(format, format_bytes);
        let whole = omp_capture_affinity(own.as_mut_ptr().cast(), own.len(), format.as_ptr().cast());
        give(&own[..whole.min(own.len() - 1)], buffer, bytes);
        whole as i32
    }
}

/// A nested lock of Fortran has 8 bytes, too few for the lock itself: they hold the address of the
/// lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_nest_lock_(lock: *mut *mut NestLock) {
    let own = Box::into_raw(Box::new(NestLock::default()));
    // SAFETY: the lock was made above; the program passes 8 bytes of its own.
    unsafe {
        locks::omp_init_nest_lock(own);
        lock.write(own);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_destroy_nest_lock_(lock: *mut *mut NestLock) {
    // SAFETY: `omp_init_nest_lock_` left the lock's address there, and no thread uses the lock any
    // more.
    unsafe {
        let own = lock.replace(core::ptr::null_mut());
        locks::omp_destroy_nest_lock(own);
        drop(Box::from_raw(own));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_nest_lock_(lock: *const *mut NestLock) {
    // SAFETY: `omp_init_nest_lock_` left the lock's address there.
    unsafe { locks::omp_set_nest_lock(lock.read()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_unset_nest_lock_(lock: *const *mut NestLock) {
    // SAFETY: as above.
    unsafe { locks::omp_unset_nest_lock(lock.read()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_test_nest_lock_(lock: *const *mut NestLock) -> i32 {
    // SAFETY: as above.
    unsafe { locks::omp_test_nest_lock(lock.read()) }
}
