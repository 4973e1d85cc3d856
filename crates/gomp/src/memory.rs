//! Allocators. Memory comes from `malloc`, with a header of three words before it.
#![allow(clippy::missing_safety_doc, reason = "programs call these; the OpenMP specification documents them")]

use crate::environment::ALLOCATORS;
use crate::process::place;
use core::ffi::c_void;
use core::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// No allocator: the thread's default allocator is meant.
const NONE: usize = 0;
/// The allocator that always exists.
const DEFAULT: usize = 1;
const HIGH_BANDWIDTH: usize = 3;
const LAST_SPACE: usize = 4;
const UNLIMITED: usize = usize::MAX;

/// Keys of traits.
const SYNC_HINT: u32 = 1;
const ALIGNMENT: u32 = 2;
const ACCESS: u32 = 3;
const POOL_SIZE: u32 = 4;
const FALLBACK: u32 = 5;
const FALLBACK_DATA: u32 = 6;
const PINNED: u32 = 7;
const PARTITION: u32 = 8;
/// Values of traits.
const BY_DEFAULT: usize = usize::MAX;
const FALSE: usize = 0;
const DEFAULT_FALLBACK: usize = 11;
const NULL_FALLBACK: usize = 12;
const ABORT: usize = 13;
const OTHER_ALLOCATOR: usize = 14;

/// A trait of an allocator.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Trait {
    key: u32,
    value: usize,
}

/// An allocator that a program made; its handle is its address.
struct Allocator {
    alignment: usize,
    pool: usize,
    used: AtomicUsize,
    fallback: usize,
    other: usize,
}

impl Allocator {
    /// The program's own allocator with that handle; `None` for a predefined allocator.
    fn of(handle: usize) -> Option<&'static Allocator> {
        let own = handle > ALLOCATORS.len();
        // SAFETY: `omp_init_allocator` returned the handle, and the program does not use it after
        // the allocator is destroyed.
        own.then(|| unsafe { &*core::ptr::with_exposed_provenance::<Allocator>(handle) })
    }

    /// Takes `bytes` bytes of the pool. Returns whether the pool had them.
    fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.pool);
        // Relaxed suffices: the count orders nothing.
        self.pool == UNLIMITED || self.used.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        if self.pool != UNLIMITED {
            self.used.fetch_sub(bytes, Relaxed);
        }
    }
}

/// Whether `value` is one of the values that a trait may have; the default always is.
fn one_of(value: usize, values: &[usize]) -> bool {
    value == BY_DEFAULT || values.contains(&value)
}

/// An allocator with these traits in a memory space; `None` if the space or one of the traits is
/// not supported.
fn with_traits(space: usize, traits: &[Trait]) -> Option<Allocator> {
    let (mut alignment, mut pool) = (size_of::<usize>(), UNLIMITED);
    let (mut fallback, mut other) = (DEFAULT_FALLBACK, NONE);
    for &Trait { key, value } in traits {
        let fits = match key {
            SYNC_HINT => one_of(value, &[3, 4, 5, 6]),
            ACCESS => one_of(value, &[7, 8, 9, 10]),
            PINNED => one_of(value, &[FALSE]),
            PARTITION => one_of(value, &[2, 15, 16, 17]),
            ALIGNMENT if value == BY_DEFAULT => true,
            ALIGNMENT => {
                alignment = alignment.max(value);
                value.is_power_of_two()
            }
            POOL_SIZE => {
                pool = value;
                true
            }
            FALLBACK => {
                fallback = if value == BY_DEFAULT { DEFAULT_FALLBACK } else { value };
                one_of(value, &[DEFAULT_FALLBACK, NULL_FALLBACK, ABORT, OTHER_ALLOCATOR])
            }
            FALLBACK_DATA => {
                other = value;
                true
            }
            _ => false,
        };
        if !fits {
            return None;
        }
    }
    let there = space <= LAST_SPACE && space != HIGH_BANDWIDTH;
    there.then_some(Allocator { alignment, pool, used: AtomicUsize::new(0), fallback, other })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator(space: usize, count: i32, traits: *const Trait) -> usize {
    let traits = match usize::try_from(count) {
        // SAFETY: the program passes `count` traits.
        Ok(count) if count > 0 => unsafe { core::slice::from_raw_parts(traits, count) },
        _ => &[],
    };
    with_traits(space, traits).map_or(NONE, |own| Box::into_raw(Box::new(own)).expose_provenance())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_destroy_allocator(handle: usize) {
    if handle > ALLOCATORS.len() {
        // SAFETY: `omp_init_allocator` returned the handle, and the program destroys an allocator
        // once.
        drop(unsafe { Box::from_raw(core::ptr::with_exposed_provenance_mut::<Allocator>(handle)) });
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_default_allocator(handle: usize) {
    let place = place();
    let mut icv = place.icv.get();
    icv.allocator = if handle == NONE { DEFAULT } else { handle };
    place.icv.set(icv);
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_allocator() -> usize {
    place().icv.get().allocator
}

/// The header before the memory that a program gets.
#[derive(Clone, Copy)]
struct Header {
    begin: *mut c_void,
    /// Bytes of the block, with the header and the alignment.
    bytes: usize,
    allocator: usize,
}

impl Header {
    /// The header before `memory`.
    ///
    /// # Safety
    /// The memory came from [`allocate`].
    unsafe fn of(memory: *mut c_void) -> Header {
        // SAFETY: by contract.
        unsafe { memory.cast::<Header>().sub(1).read() }
    }
}

/// Allocates `bytes` bytes; if the allocator cannot, does what its fallback says.
fn allocate(alignment: usize, bytes: usize, handle: usize) -> *mut c_void {
    if bytes == 0 {
        return null_mut();
    }
    let mut handle = if handle == NONE { omp_get_default_allocator() } else { handle };
    loop {
        let own = Allocator::of(handle);
        let aligned = alignment.max(size_of::<usize>()).max(own.map_or(1, |own| own.alignment));
        let all = bytes.checked_add(size_of::<Header>() + aligned - size_of::<usize>());
        if let Some(all) = all
            && own.is_none_or(|own| own.take(all))
        {
            // SAFETY: `malloc` takes any size.
            let begin = unsafe { libc::malloc(all) };
            if !begin.is_null() {
                let at = (begin.addr() + size_of::<Header>()).next_multiple_of(aligned);
                let memory = begin.with_addr(at);
                // SAFETY: the block has room for the header and for the bytes that the alignment
                // skips before the memory.
                unsafe { memory.cast::<Header>().sub(1).write(Header { begin, bytes: all, allocator: handle }) };
                return memory;
            }
            if let Some(own) = own {
                own.give_back(all);
            }
        }
        handle = match own.map(|own| (own.fallback, own)) {
            Some((ABORT, _)) => fail(bytes),
            Some((OTHER_ALLOCATOR, own)) => own.other,
            Some((DEFAULT_FALLBACK, own)) if own.pool != UNLIMITED || own.alignment > alignment => DEFAULT,
            _ => return null_mut(),
        };
    }
}

fn fail(bytes: usize) -> ! {
    eprintln!("\nlibgomp: Out of memory allocating {bytes} bytes");
    std::process::exit(1);
}

/// Does the same as [`allocate`], with zeroed memory.
fn zeroed(alignment: usize, count: usize, bytes: usize, handle: usize) -> *mut c_void {
    let Some(all) = count.checked_mul(bytes) else { return null_mut() };
    let memory = allocate(alignment, all, handle);
    if !memory.is_null() {
        // SAFETY: the memory has `all` bytes.
        unsafe { memory.cast::<u8>().write_bytes(0, all) };
    }
    memory
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_alloc(bytes: usize, handle: usize) -> *mut c_void {
    allocate(1, bytes, handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_aligned_alloc(alignment: usize, bytes: usize, handle: usize) -> *mut c_void {
    allocate(alignment, bytes, handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_calloc(count: usize, bytes: usize, handle: usize) -> *mut c_void {
    zeroed(1, count, bytes, handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_aligned_calloc(alignment: usize, count: usize, bytes: usize, handle: usize) -> *mut c_void {
    zeroed(alignment, count, bytes, handle)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_free(memory: *mut c_void, _handle: usize) {
    if memory.is_null() {
        return;
    }
    // SAFETY: the program passes memory that an allocator of this file returned.
    let header = unsafe { Header::of(memory) };
    if let Some(own) = Allocator::of(header.allocator) {
        own.give_back(header.bytes);
    }
    // SAFETY: `begin` came from `malloc`, and is freed once.
    unsafe { libc::free(header.begin) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_realloc(memory: *mut c_void, bytes: usize, handle: usize, free: usize) -> *mut c_void {
    if memory.is_null() {
        return allocate(1, bytes, handle);
    }
    if bytes == 0 {
        // SAFETY: by contract.
        unsafe { omp_free(memory, free) };
        return null_mut();
    }
    // SAFETY: the program passes memory that an allocator of this file returned.
    let header = unsafe { Header::of(memory) };
    let handle = if handle == NONE { header.allocator } else { handle };
    // If the old block came from the same pool, its bytes are given back first, so that the new
    // block may use them.
    let pool = Allocator::of(header.allocator).filter(|_| handle == header.allocator);
    if let Some(pool) = pool {
        pool.give_back(header.bytes);
    }
    let new = allocate(1, bytes, handle);
    if let Some(pool) = pool
        && pool.pool != UNLIMITED
    {
        // The old block still exists, so its bytes are counted again: `omp_free` below gives them
        // back, or the block is kept.
        pool.used.fetch_add(header.bytes, Relaxed);
    }
    if new.is_null() {
        return null_mut();
    }
    let had = header.bytes - (memory.addr() - header.begin.addr());
    // SAFETY: both blocks have at least as many bytes as are copied; the old block is freed once.
    unsafe {
        core::ptr::copy_nonoverlapping(memory.cast::<u8>(), new.cast(), had.min(bytes));
        omp_free(memory, free);
    }
    new
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_alloc(alignment: usize, bytes: usize, handle: usize) -> *mut c_void {
    let memory = allocate(alignment, bytes, handle);
    if memory.is_null() && bytes != 0 {
        fail(bytes);
    }
    memory
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_free(memory: *mut c_void, handle: usize) {
    // SAFETY: `GOMP_alloc` returned the memory.
    unsafe { omp_free(memory, handle) };
}
