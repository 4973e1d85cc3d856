//! Reductions over tasks.
//!
//! The compiler passes a record in words: the number of variables, the bytes of a thread's block,
//! its alignment, the allocator, the next record, a word for this library, and a word for the end.
//! Three words follow for each variable: its address, its offset in the block, and a word for this
//! library. Registering takes zeroed memory, one block for each thread of the team, and writes the
//! start of the memory into the third word and its end into the seventh. A task asks where its
//! thread's copies of variables are.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::parallel::bind;
use crate::process::{place, runtime};
use baton_machine::Native;
use baton_omp::Why;
use baton_omp::team::{Context, Function};
use core::ffi::c_void;

const COUNT: usize = 0;
const BLOCK: usize = 1;
/// The alignment; after registering, the start of the memory.
const BEGIN: usize = 2;
const NEXT: usize = 4;
/// This library's word: the first of the records that were registered together.
const FIRST: usize = 5;
const END: usize = 6;
const VARIABLES: usize = 7;
const WORDS: usize = 3;

/// The bit, in the word of a group, that says that the record is not GCC's but of another interface.
/// Such a record begins with the word of the enclosing group.
pub(crate) const FOREIGN: usize = 1;

/// A record.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Record(*mut usize);

impl Record {
    /// The innermost record of GCC's to which a group's word leads; `None` if there is none.
    ///
    /// # Safety
    /// The word is zero or leads to a record.
    unsafe fn at(mut word: usize) -> Option<Record> {
        while word & FOREIGN != 0 {
            // SAFETY: by contract; such a record begins with the enclosing group's word.
            word = unsafe { core::ptr::with_exposed_provenance::<usize>(word & !FOREIGN).read() };
        }
        (word != 0).then(|| Record(core::ptr::with_exposed_provenance_mut(word)))
    }

    fn address(self) -> usize {
        self.0.expose_provenance()
    }

    fn get(self, word: usize) -> usize {
        // SAFETY: a record has these words, and stays until it is unregistered.
        unsafe { self.0.add(word).read() }
    }

    fn set(self, word: usize, value: usize) {
        // SAFETY: a record has these words, and stays until it is unregistered; the compiler's code
        // reads them after the call.
        unsafe { self.0.add(word).write(value) };
    }

    fn next(self) -> Option<Record> {
        // SAFETY: the word holds zero or the address of a record.
        unsafe { Record::at(self.get(NEXT)) }
    }

    /// The word of the group around that of this record.
    fn outer(self) -> usize {
        let last = self.chain().take_while(|record| record.get(FIRST) == self.get(FIRST)).last();
        last.map_or(0, |record| record.get(NEXT))
    }

    fn chain(self) -> impl Iterator<Item = Record> {
        std::iter::successors(Some(self), |record| record.next())
    }

    /// The address and the offset of the record's variable number `n`.
    fn variable(self, n: usize) -> (usize, usize) {
        (self.get(VARIABLES + n * WORDS), self.get(VARIABLES + n * WORDS + 1))
    }

    fn variables(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.get(COUNT)).map(move |n| self.variable(n))
    }
}

/// The word of the innermost record of another interface to which a group's word leads; 0 if there
/// is none.
///
/// # Safety
/// The word is zero or leads to a record.
pub(crate) unsafe fn foreign(mut word: usize) -> usize {
    while word & FOREIGN == 0
        // SAFETY: by contract.
        && let Some(record) = unsafe { Record::at(word) }
    {
        word = record.outer();
    }
    word
}

/// Registers the compiler's records for a team of `threads` threads. `outer`: the records of the
/// enclosing groups. `theirs`: the records of the thread that came first to the work-share, whose
/// memory this thread's records then share.
fn enter(own: Record, outer: usize, theirs: Option<Record>, threads: u32) {
    let mut theirs = theirs;
    let mut at = own;
    loop {
        match theirs {
            Some(first) => {
                at.set(BEGIN, first.get(BEGIN));
                at.set(END, first.get(END));
                theirs = first.next();
            }
            None => {
                let bytes = at.get(BLOCK) * threads as usize;
                let align = at.get(BEGIN).max(64);
                // SAFETY: the alignment is a power of two, and the size is rounded up to a multiple
                // of it.
                let memory = unsafe { libc::aligned_alloc(align, bytes.next_multiple_of(align).max(align)) };
                assert!(!memory.is_null(), "no memory for a reduction of {bytes} bytes");
                // SAFETY: taken above.
                unsafe { memory.cast::<u8>().write_bytes(0, bytes) };
                at.set(BEGIN, memory.expose_provenance());
                at.set(END, memory.addr() + bytes);
            }
        }
        at.set(FIRST, own.address());
        let Some(next) = at.next() else { break };
        at = next;
    }
    at.set(NEXT, outer);
}

/// Frees the memory of records that were registered together.
fn free(own: Record) {
    for record in own.chain().take_while(|record| record.get(FIRST) == own.address()) {
        // SAFETY: `enter` allocated the memory, and the tasks that used it are done.
        unsafe { libc::free(core::ptr::with_exposed_provenance_mut::<c_void>(record.get(BEGIN))) };
    }
}

/// Registers records with the innermost taskgroup.
///
/// # Safety
/// The compiler built the record, which stays until it is unregistered.
pub(crate) unsafe fn register(place: &Context<Native>, record: *mut usize) {
    if let Some(group) = place.group() {
        enter(Record(record), group.reductions(), None, place.team().size);
        group.set_reductions(record.expose_provenance());
    }
}

/// Registers the record of a thread that was not the first, with the memory of the first thread's
/// record.
///
/// # Safety
/// The compiler built the record; `first` is the address of the first thread's record.
pub(crate) unsafe fn join(place: &Context<Native>, record: *mut usize, first: usize) {
    if let Some(group) = place.group() {
        // SAFETY: by contract.
        enter(Record(record), group.reductions(), unsafe { Record::at(first) }, place.team().size);
        group.set_reductions(record.expose_provenance());
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_taskgroup_reduction_register(record: *mut usize) {
    // SAFETY: the compiler built the record, which stays until it is unregistered.
    unsafe { register(place(), record) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_taskgroup_reduction_unregister(record: *mut usize) {
    free(Record(record));
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_workshare_task_reduction_unregister(cancelled: bool) {
    let place = place();
    // SAFETY: the group's word holds zero or the address of a record that was registered with it.
    let record = place.group().and_then(|group| unsafe { Record::at(group.reductions()) });
    place.end_group();
    if let Some(record) = record.filter(|_| place.id == 0) {
        free(record);
    }
    if !cancelled {
        place.barrier(Why::Barrier);
    }
}

/// The address of the calling thread's copy of the variable at `address`, and the address of the
/// variable itself.
fn copy_of(records: Option<Record>, address: usize, thread: usize) -> Option<(usize, usize)> {
    let chain = || records.into_iter().flat_map(Record::chain);
    let own = |record: Record| record.get(BEGIN) + thread * record.get(BLOCK);
    let by_address = chain().find_map(|record| {
        let (variable, offset) = record.variables().find(|(variable, _)| *variable == address)?;
        Some((own(record) + offset, variable))
    });
    // Inside a task, `address` may be that of another thread's copy, because the task's creator
    // passed its own copy on.
    by_address.or_else(|| {
        let record = chain().find(|record| (record.get(BEGIN)..record.get(END)).contains(&address))?;
        let offset = (address - record.get(BEGIN)) % record.get(BLOCK);
        let variable = record.variables().find(|(_, of)| *of == offset).map_or(0, |(variable, _)| variable);
        Some((own(record) + offset, variable))
    })
}

/// Ends the process, as no reduction has a variable at this address.
#[cold]
pub(crate) fn unknown(address: usize) -> ! {
    eprintln!("libbaton_gomp: no task_reduction, or reduction with task modifier, has a variable at {address:#x}");
    std::process::exit(1);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_task_reduction_remap(count: usize, originals: usize, addresses: *mut usize) {
    let place = place();
    // SAFETY: the group's word holds zero or the address of a record that was registered with it.
    let records = place.group().and_then(|group| unsafe { Record::at(group.reductions()) });
    for n in 0..count {
        // SAFETY: the compiler passes `count` addresses, and behind them room for `count`
        // variables.
        let address = unsafe { addresses.add(n).read() };
        let Some((copy, variable)) = copy_of(records, address, place.id as usize) else { unknown(address) };
        // SAFETY: as above.
        unsafe {
            addresses.add(n).write(copy);
            if n < originals {
                addresses.add(count + n).write(variable);
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_parallel_reductions(
    function: Function,
    data: *mut c_void,
    asked: u32,
    flags: u32,
) -> u32 {
    bind(flags);
    let mut threads = 1;
    let mut register = |size| {
        threads = size;
        // SAFETY: the data begin with the address of the record that the compiler built.
        let record = Record(unsafe { data.cast::<*mut usize>().read() });
        enter(record, 0, None, size);
        record.address()
    };
    // SAFETY: the compiler outlined `function` for these data.
    unsafe {
        runtime().begin_with(function, data, asked, None, &mut register);
        function(data);
        runtime().end();
    }
    threads
}
