//! Target regions, which run on the host, as there is no device beside it.
//!
//! A region runs as an initial thread of its own would. Its mapped variables stay where they are;
//! its firstprivate variables are copied.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::environment::{OFFLOAD, environment};
use crate::process::{place, runtime};
use crate::tasks::{begins_at_once, depends};
use crate::teams::limit;
use baton_omp::settings::Icv;
use baton_omp::tasks::{Clauses, Data, Kind};
use baton_omp::team::{Function, League};
use core::alloc::Layout;
use core::ffi::c_void;

const NOWAIT: u32 = 1;
/// The kind of a firstprivate variable, in the lower byte of its kind; the byte above holds the
/// logarithm of its alignment to base 2.
const FIRSTPRIVATE: u16 = 0xc;
/// The numbers of the default device (which the environment or the program sets) and of the host.
const DEFAULT: i32 = -1;
const HOST: i32 = -2;

/// Bits of a word in a region's list of arguments: the device that the argument is for, which
/// argument it is, and whether its value is the next word.
const ALL_DEVICES: usize = 0;
const DEVICE_MASK: usize = (1 << 7) - 1;
const FOLLOWS: usize = 1 << 7;
const ARGUMENT_MASK: usize = 0xff << 8;
const THREAD_LIMIT: usize = 2 << 8;

/// Ends the program if OMP_TARGET_OFFLOAD demands a device and this region is for a device other
/// than the host: there is none.
fn on_the_host(device: i32) {
    let device = if device == DEFAULT { place().icv.get().device } else { device };
    if OFFLOAD[environment().offload()] == "MANDATORY" && device != HOST && device != 0 {
        eprintln!("\nlibgomp: OMP_TARGET_OFFLOAD is set to MANDATORY, but device not found");
        std::process::exit(1);
    }
}

/// A target region with its arguments.
struct Target {
    function: Function,
    addresses: Vec<*mut c_void>,
    /// Copies of the region's firstprivate variables.
    _copies: Vec<Data>,
    threads: u32,
}

impl Target {
    /// Makes the region, with copies of its firstprivate variables.
    ///
    /// # Safety
    /// The compiler built the lists, which have `count` elements each.
    unsafe fn new(
        function: Function,
        count: usize,
        addresses: *const *mut c_void,
        sizes: *const usize,
        kinds: *const u16,
        arguments: *const usize,
    ) -> Target {
        let (mut own, mut copies) = (Vec::with_capacity(count), Vec::new());
        for at in 0..count {
            // SAFETY: by contract.
            let (address, size, kind) = unsafe { (*addresses.add(at), *sizes.add(at), *kinds.add(at)) };
            if kind & 0xff != FIRSTPRIVATE || address.is_null() {
                own.push(address);
                continue;
            }
            let layout = Layout::from_size_align(size, 1 << (kind >> 8)).expect("the compiler says how much there is");
            let mut copy = Data::apart(layout);
            // SAFETY: the compiler says that the variable has `size` bytes, and the copy has as
            // many.
            unsafe { core::ptr::copy_nonoverlapping(address.cast::<u8>(), copy.as_ptr().cast(), size) };
            own.push(copy.as_ptr());
            copies.push(copy);
        }
        // SAFETY: by contract.
        let threads = unsafe { thread_limit(arguments) };
        Target { function, addresses: own, _copies: copies, threads }
    }

    fn run(mut self) {
        let body = || {
            // SAFETY: the compiler outlined the function for a list of these addresses.
            unsafe { (self.function)(self.addresses.as_mut_ptr().cast()) };
        };
        let set = |icv: &mut Icv| {
            // A target region begins with the environment's settings, not with the calling
            // thread's.
            *icv = runtime().settings.icv;
            limit(icv, self.threads);
        };
        runtime().apart(League::default(), None, set, body);
    }

    /// Runs the region whose address stands in `data`.
    unsafe extern "C-unwind" fn as_task(data: *mut c_void) {
        // SAFETY: `GOMP_target_ext` stored the address of a leaked box there, for this one call.
        unsafe { Box::from_raw(data.cast::<*mut Target>().read()) }.run();
    }
}

/// The limit of threads among a region's arguments; 0: there is none.
///
/// # Safety
/// `arguments` is null, or a list that a zero ends.
unsafe fn thread_limit(mut arguments: *const usize) -> u32 {
    if arguments.is_null() {
        return 0;
    }
    // SAFETY: the caller says that a zero ends the list; no word behind it is read.
    let mut next = || unsafe {
        let word = arguments.read();
        arguments = arguments.add(1);
        word
    };
    loop {
        let word = next();
        if word == 0 {
            return 0;
        }
        let value = if word & FOLLOWS != 0 { next() } else { word >> 16 };
        if word & DEVICE_MASK == ALL_DEVICES && word & ARGUMENT_MASK == THREAD_LIMIT {
            return value.min(i32::MAX as usize) as u32;
        }
    }
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
pub unsafe extern "C" fn GOMP_target_ext(
    device: i32,
    function: Function,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
    flags: u32,
    depend: *mut *mut c_void,
    arguments: *const usize,
) {
    on_the_host(device);
    let place = place();
    // SAFETY: the compiler built the lists, which have `count` elements each.
    let target = unsafe { Target::new(function, count, addresses, sizes, kinds, arguments) };
    // SAFETY: as above.
    let depends = if depend.is_null() { Vec::new() } else { unsafe { depends(depend.cast()) } };
    if flags & NOWAIT == 0 || begins_at_once(place, Kind::Target, &depends) {
        place.await_dependences(&depends);
        return target.run();
    }
    let target = Box::into_raw(Box::new(target));
    // SAFETY: the task's data have room for an address.
    let fill = |data: *mut c_void| unsafe { data.cast::<*mut Target>().write(target) };
    place.defer(Target::as_task, Layout::new::<*mut Target>(), fill, Clauses { depends, ..Clauses::none() });
}

/// The target region of GCC 4.9, which has no firstprivate variables and no arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_target(
    device: i32,
    function: Function,
    _: *const c_void,
    _count: usize,
    addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u8,
) {
    on_the_host(device);
    // SAFETY: the compiler outlined the function for this list of addresses.
    runtime().apart(
        League::default(),
        None,
        |icv| *icv = runtime().settings.icv,
        || unsafe { function(addresses.cast()) },
    );
}

unsafe extern "C-unwind" fn nothing(_: *mut c_void) {}

/// Maps variables, which moves nothing, as the device is the host. With dependences and `nowait` it
/// becomes an empty task, on which other tasks can depend; with dependences alone, the thread waits
/// for them.
unsafe fn mapped(device: i32, flags: u32, depend: *mut *mut c_void) {
    on_the_host(device);
    if depend.is_null() {
        return;
    }
    let place = place();
    // SAFETY: the compiler built the list of dependences.
    let depends = unsafe { depends(depend.cast()) };
    if flags & NOWAIT == 0 || begins_at_once(place, Kind::Target, &depends) {
        return place.await_dependences(&depends);
    }
    place.defer(nothing, Layout::new::<()>(), |_| (), Clauses { depends, ..Clauses::none() });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_target_update_ext(
    device: i32,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
    flags: u32,
    depend: *mut *mut c_void,
) {
    // SAFETY: the compiler built the list of dependences.
    unsafe { mapped(device, flags, depend) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_target_enter_exit_data(
    device: i32,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
    flags: u32,
    depend: *mut *mut c_void,
) {
    // SAFETY: the compiler built the list of dependences.
    unsafe { mapped(device, flags, depend) };
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_data_ext(device: i32, _: usize, _: *const c_void, _: *const c_void, _: *const c_void) {
    on_the_host(device);
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_data(device: i32, _: *const c_void, _: usize, _: *const c_void, _: *const c_void) {
    on_the_host(device);
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_update(device: i32, _: *const c_void, _: usize, _: *const c_void, _: *const c_void) {
    on_the_host(device);
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_end_data() {}

/// Ignores the program's code and tables for devices, as there are none.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_register(_: *const c_void, _: i32, _: *const c_void) {}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_register_ver(_: u32, _: *const c_void, _: i32, _: *const c_void) {}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_unregister(_: *const c_void, _: i32, _: *const c_void) {}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_unregister_ver(_: u32, _: *const c_void, _: i32, _: *const c_void) {}

/// The host's device number: 0, as there is no other device.
pub(crate) const HOST_NUMBER: i32 = 0;

#[unsafe(no_mangle)]
pub extern "C" fn omp_target_alloc(bytes: usize, device: i32) -> *mut c_void {
    // SAFETY: `malloc` takes any size.
    if device == HOST_NUMBER { unsafe { libc::malloc(bytes) } } else { core::ptr::null_mut() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_free(memory: *mut c_void, device: i32) {
    if device == HOST_NUMBER {
        // SAFETY: `omp_target_alloc` returned the memory.
        unsafe { libc::free(memory) };
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_target_is_present(address: *const c_void, device: i32) -> i32 {
    i32::from(address.is_null() || device == HOST_NUMBER)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_target_is_accessible(_: *const c_void, _: usize, device: i32) -> i32 {
    i32::from(device == HOST_NUMBER)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_get_mapped_ptr(address: *const c_void, device: i32) -> *mut c_void {
    if device == HOST_NUMBER { address.cast_mut() } else { core::ptr::null_mut() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: i32,
    from_device: i32,
) -> i32 {
    if to_device != HOST_NUMBER || from_device != HOST_NUMBER {
        return libc::EINVAL;
    }
    // SAFETY: the program says how many bytes both blocks have.
    unsafe { core::ptr::copy(from.byte_add(from_offset).cast::<u8>(), to.byte_add(to_offset).cast(), bytes) };
    0
}

/// A part of an array, in some number of dimensions: its extent, and for both arrays the offsets at
/// which the part begins and the arrays' extents.
struct Part<'a> {
    element: usize,
    volume: &'a [usize],
    to_offsets: &'a [usize],
    from_offsets: &'a [usize],
    to_sizes: &'a [usize],
    from_sizes: &'a [usize],
}

impl Part<'_> {
    /// Copies the part from dimension `at` on. Returns `None` if a size overflows.
    ///
    /// # Safety
    /// The arrays have the extents that the part gives.
    unsafe fn copy(&self, at: usize, to: *mut u8, from: *const u8) -> Option<()> {
        let last = at + 1 == self.volume.len();
        let bytes = |sizes: &[usize]| sizes[at + 1..].iter().try_fold(self.element, |all, size| all.checked_mul(*size));
        let (to_bytes, from_bytes) = (bytes(self.to_sizes)?, bytes(self.from_sizes)?);
        let to_start = to_bytes.checked_mul(self.to_offsets[at])?;
        let from_start = from_bytes.checked_mul(self.from_offsets[at])?;
        // SAFETY: by contract.
        let (to, from) = unsafe { (to.add(to_start), from.add(from_start)) };
        if last {
            let all = self.element.checked_mul(self.volume[at])?;
            // SAFETY: by contract.
            unsafe { core::ptr::copy(from, to, all) };
            return Some(());
        }
        // SAFETY: by contract.
        (0..self.volume[at])
            .try_for_each(|n| unsafe { self.copy(at + 1, to.add(n * to_bytes), from.add(n * from_bytes)) })
    }
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface is OpenMP's")]
pub unsafe extern "C" fn omp_target_memcpy_rect(
    to: *mut c_void,
    from: *const c_void,
    element: usize,
    dimensions: i32,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_sizes: *const usize,
    from_sizes: *const usize,
    to_device: i32,
    from_device: i32,
) -> i32 {
    if to.is_null() && from.is_null() {
        // The number of dimensions that can be copied.
        return i32::MAX;
    }
    let count = usize::try_from(dimensions).unwrap_or(0);
    if to_device != HOST_NUMBER || from_device != HOST_NUMBER || count == 0 {
        return libc::EINVAL;
    }
    // SAFETY: the program passes `count` numbers in each list.
    let list = |at: *const usize| unsafe { core::slice::from_raw_parts(at, count) };
    let part = Part {
        element,
        volume: list(volume),
        to_offsets: list(to_offsets),
        from_offsets: list(from_offsets),
        to_sizes: list(to_sizes),
        from_sizes: list(from_sizes),
    };
    // SAFETY: the program says that the arrays have these extents.
    unsafe { part.copy(0, to.cast(), from.cast()) }.map_or(libc::EINVAL, |()| 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_target_associate_ptr(_: *const c_void, _: *const c_void, _: usize, _: usize, _: i32) -> i32 {
    libc::EINVAL
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_target_disassociate_ptr(_: *const c_void, _: i32) -> i32 {
    libc::EINVAL
}

/// Frees the resources that the host keeps: the idle workers of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource(_kind: i32, device: i32) -> i32 {
    if device == HOST_NUMBER { omp_pause_resource_all(0) } else { -1 }
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource_all(_kind: i32) -> i32 {
    if runtime().pause() { 0 } else { -1 }
}
