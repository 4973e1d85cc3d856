//! Reductions over tasks.
//!
//! A record is registered with a taskgroup, whose word has [`FOREIGN`] set. A thread that runs a
//! task asks for its own copy of a variable, which is made at the thread's first question. At the
//! group's end the copies are combined. With the modifier `task`, each thread of the team has a
//! group and a record of its own, all for the same copies, and the last thread to end its group
//! combines them into its own variable.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::kmp::ident::Ident;
use crate::process::place;
use crate::reductions::{FOREIGN, foreign};
use baton_machine::Native;
use baton_omp::share::Work;
use baton_omp::tasks::Group;
use baton_omp::team::Context;
use core::alloc::Layout;
use core::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

type Init = unsafe extern "C" fn(*mut c_void, *mut c_void);
type Combine = unsafe extern "C" fn(*mut c_void, *mut c_void);
type Fini = unsafe extern "C" fn(*mut c_void);

/// LLVM's `kmp_taskred_input_t`: a variable of a reduction.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Variable {
    shared: *mut c_void,
    original: *mut c_void,
    bytes: usize,
    init: Option<Init>,
    fini: Option<Fini>,
    combine: Combine,
    flags: u32,
}

/// LLVM's `kmp_task_red_input_t`, of clang 9 and before: the initialiser takes the copy alone.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OldVariable {
    shared: *mut c_void,
    bytes: usize,
    init: Option<Fini>,
    fini: Option<Fini>,
    combine: Combine,
    flags: u32,
}

/// The copies of one variable, one for each thread of the team.
struct Copies {
    variable: Variable,
    /// An initialiser of the old form, in place of the variable's own.
    old_init: Option<Fini>,
    memory: *mut u8,
    /// Bytes from one copy to the next.
    apart: usize,
    made: Box<[AtomicBool]>,
}

// SAFETY: each thread uses its own copy alone, until the last one combines them after all tasks.
unsafe impl Send for Copies {}
// SAFETY: as above.
unsafe impl Sync for Copies {}

impl Copies {
    fn layout(apart: usize, threads: usize) -> Layout {
        Layout::from_size_align(apart * threads, 64).expect("copies have a size that memory can have")
    }

    fn new(variable: Variable, old_init: Option<Fini>, threads: usize) -> Copies {
        let apart = variable.bytes.max(1).next_multiple_of(64);
        let layout = Copies::layout(apart, threads);
        // SAFETY: the layout has a size that is not 0.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        if memory.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Copies { variable, old_init, memory, apart, made: (0..threads).map(|_| AtomicBool::new(false)).collect() }
    }

    fn at(&self, thread: usize) -> *mut c_void {
        self.memory.wrapping_add(thread * self.apart).cast()
    }

    fn has(&self, address: usize) -> bool {
        (self.memory.addr()..self.memory.addr() + self.apart * self.made.len()).contains(&address)
    }

    /// The copy of `thread`, which calls this itself.
    fn of(&self, thread: usize) -> *mut c_void {
        let copy = self.at(thread);
        // Relaxed, both: only the thread itself makes its copy; who combines comes after its tasks.
        if !self.made[thread].load(Ordering::Relaxed) {
            // SAFETY: the compiler made the initialisers for such a variable; the copy is zeroed.
            unsafe {
                match (self.old_init, self.variable.init) {
                    (Some(init), _) => init(copy),
                    (None, Some(init)) => init(copy, self.variable.original),
                    (None, None) => {}
                }
            }
            self.made[thread].store(true, Ordering::Relaxed);
        }
        copy
    }

    /// Combines all copies into `shared`, and destroys them.
    fn combine(&self, shared: *mut c_void) {
        for thread in (0..self.made.len()).filter(|thread| self.made[*thread].load(Ordering::Relaxed)) {
            // SAFETY: the compiler made these functions for such a variable, and no task uses a
            // copy any more.
            unsafe {
                (self.variable.combine)(shared, self.at(thread));
                self.variable.fini.into_iter().for_each(|fini| fini(self.at(thread)));
            }
        }
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // SAFETY: `new` took the memory with this layout.
        unsafe { std::alloc::dealloc(self.memory, Copies::layout(self.apart, self.made.len())) };
    }
}

/// The copies of all variables, and how many records for them have not ended.
struct Block {
    copies: Vec<Copies>,
    left: AtomicU32,
}

/// What a group registers.
#[repr(C)]
struct Record {
    /// The word of the enclosing group; it comes first, as [`FOREIGN`] demands.
    outer: usize,
    group: *const Group<Native>,
    block: *const Block,
    /// The variable for which each of the block's copies are, as this record's thread knows it.
    shared: Vec<*mut c_void>,
}

impl Record {
    /// The record of a group's word, if the word leads to one of this file.
    fn at(word: usize) -> Option<*mut Record> {
        (word & FOREIGN != 0).then(|| core::ptr::with_exposed_provenance_mut(word & !FOREIGN))
    }

    /// The copies of the variable that is known by `address`: as the record's thread knows it, or
    /// as another thread's copy.
    fn find(&self, address: *mut c_void) -> Option<&Copies> {
        // SAFETY: the block stays until the last record has ended.
        let copies = unsafe { &(*self.block).copies };
        let known = self.shared.iter().zip(copies).find(|(shared, _)| **shared == address).map(|(_, copies)| copies);
        known.or_else(|| copies.iter().find(|copies| copies.has(address.addr())))
    }
}

fn block(variables: &[Variable], old: &[Option<Fini>], threads: u32, records: u32) -> *const Block {
    let old_init = |at: usize| old.get(at).copied().flatten();
    let copies = variables.iter().enumerate();
    let copies = copies.map(|(at, variable)| Copies::new(*variable, old_init(at), threads as usize)).collect();
    Box::into_raw(Box::new(Block { copies, left: AtomicU32::new(records) }))
}

/// Registers a block with the calling task's innermost group.
fn register(place: &Context<Native>, block: *const Block, variables: &[Variable]) -> *mut c_void {
    let Some(group) = place.group() else { return core::ptr::null_mut() };
    let shared = variables.iter().map(|variable| variable.shared).collect();
    let record = Record { outer: group.reductions(), group: group.address(), block, shared };
    let at = Box::into_raw(Box::new(record));
    group.set_reductions(at.expose_provenance() | FOREIGN);
    at.cast()
}

/// Ends the innermost group of the calling task, and combines the copies of its reductions.
pub(crate) fn end_group(place: &Context<Native>) {
    let group = place.group();
    place.end_group();
    let Some(group) = group else { return };
    let Some(record) = Record::at(group.reductions()) else { return };
    // SAFETY: a registered record stays until its group ends here; an inner group has the same word
    // but another address.
    unsafe {
        if (*record).group != group.address() {
            return;
        }
        let record = Box::from_raw(record);
        // AcqRel: the last thread comes after the tasks of all groups.
        if (*record.block).left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let block = Box::from_raw(record.block.cast_mut());
            block.copies.iter().zip(&record.shared).for_each(|(copies, shared)| copies.combine(*shared));
        }
    }
}

/// # Safety
/// The compiler passes `count` variables.
unsafe fn list<T>(count: i32, variables: *const T) -> &'static [T] {
    // SAFETY: by contract; the caller does not keep the list.
    unsafe { core::slice::from_raw_parts(variables, count.max(0) as usize) }
}

/// The variables of a list of the old form, and their initialisers.
fn renewed(old: &[OldVariable]) -> (Vec<Variable>, Vec<Option<Fini>>) {
    let new = |old: &OldVariable| {
        let OldVariable { shared, bytes, fini, combine, flags, .. } = *old;
        Variable { shared, original: shared, bytes, init: None, fini, combine, flags }
    };
    (old.iter().map(new).collect(), old.iter().map(|old| old.init).collect())
}

/// Begins reductions over the tasks of the innermost group.
fn begin(variables: &[Variable], old: &[Option<Fini>]) -> *mut c_void {
    let place = place();
    match place.team().size {
        1 => core::ptr::null_mut(),
        size => register(place, block(variables, old, size, 1), variables),
    }
}

/// Begins reductions with the modifier `task`. Every thread of the team calls this.
fn begin_in_all(variables: &[Variable], old: &[Option<Fini>]) -> *mut c_void {
    let (place, size) = (place(), place().team().size);
    place.begin_group(true);
    if size == 1 {
        return core::ptr::null_mut();
    }
    // The first thread to come makes the block, and the work-share hands it to the others.
    let make = || Work { reductions: block(variables, old, size, size).expose_provenance(), ..Work::default() };
    place.enter(make);
    let block = core::ptr::with_exposed_provenance(place.work.get().reductions);
    place.leave();
    register(place, block, variables)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_taskred_init(_thread: i32, count: i32, variables: *const Variable) -> *mut c_void {
    // SAFETY: the compiler passes `count` variables.
    begin(unsafe { list(count, variables) }, &[])
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_reduction_init(_thread: i32, count: i32, old: *const OldVariable) -> *mut c_void {
    // SAFETY: as above.
    let (variables, inits) = renewed(unsafe { list(count, old) });
    begin(&variables, &inits)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_taskred_modifier_init(
    _at: *const Ident,
    _thread: i32,
    _of_share: i32,
    count: i32,
    variables: *const Variable,
) -> *mut c_void {
    // SAFETY: as above.
    begin_in_all(unsafe { list(count, variables) }, &[])
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_reduction_modifier_init(
    _at: *const Ident,
    _thread: i32,
    _of_share: i32,
    count: i32,
    old: *const OldVariable,
) -> *mut c_void {
    // SAFETY: as above.
    let (variables, inits) = renewed(unsafe { list(count, old) });
    begin_in_all(&variables, &inits)
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_task_reduction_modifier_fini(_at: *const Ident, _thread: i32, _of_share: i32) {
    end_group(place());
}

/// The calling thread's copy of the variable at `address`. `from`: what registering returned, or
/// null for the records of the innermost group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_reduction_get_th_data(
    _thread: i32,
    from: *mut c_void,
    address: *mut c_void,
) -> *mut c_void {
    let place = place();
    if place.team().size == 1 {
        return address;
    }
    let innermost = || place.group().map_or(0, |group| group.reductions());
    let mut word = if from.is_null() { innermost() } else { from.expose_provenance() | FOREIGN };
    // SAFETY: the records of the groups around the calling task stay until the task has ended.
    while let Some(record) = Record::at(unsafe { foreign(word) }) {
        // SAFETY: as above.
        let record = unsafe { &*record };
        if let Some(copies) = record.find(address) {
            return copies.of(place.id as usize);
        }
        word = record.outer;
    }
    crate::reductions::unknown(address.addr())
}
