//! Doacross loops. The loop itself is any loop; what its iterations wait for is a bit for each
//! iteration of the nest, set when the iteration has posted.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; LLVM documents the interface")]

use crate::kmp::bounds::count;
use crate::kmp::ident::Ident;
use crate::missing::missing;
use crate::ompt::constructs;
use crate::process::{has_tool, place};
use baton_machine::{Atomic, Machine, Native};
use baton_omp::Why;
use baton_omp::share::Work;
use core::cell::Cell;
use core::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

/// LLVM's `kmp_dim`: a loop of the nest.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dimension {
    lower: i64,
    upper: i64,
    step: i64,
}

/// Iterations of the nest by word.
const BITS: u64 = u32::BITS as u64;

/// What the threads of a nest share.
struct Nest {
    dimensions: Vec<(Dimension, u64)>,
    posted: Vec<<Native as Machine>::Atomic<u32>>,
    /// The threads that have not left the nest.
    left: AtomicU32,
}

/// A nest that a thread is in, and the one around it: an iteration may run a region with a nest.
struct Entered {
    nest: *const Nest,
    outer: *mut Entered,
}

thread_local! {
    /// The innermost nest that the thread is in.
    static ENTERED: Cell<*mut Entered> = const { Cell::new(null_mut()) };
}

impl Nest {
    fn new(dimensions: &[Dimension], threads: u32) -> Nest {
        let counted = |dimension: &Dimension| (*dimension, count(dimension.lower, dimension.upper, dimension.step));
        let dimensions: Vec<(Dimension, u64)> = dimensions.iter().map(counted).collect();
        let all = dimensions.iter().try_fold(1u64, |product, (_, count)| product.checked_mul(*count));
        let words = all.and_then(|all| usize::try_from(all.div_ceil(BITS)).ok()).filter(|words| *words < 1 << 40);
        let Some(words) = words else { missing("a doacross loop with 2^45 iterations or more") };
        let posted = (0..words).map(|_| <Native as Machine>::Atomic::new(0)).collect();
        Nest { dimensions, posted, left: AtomicU32::new(threads) }
    }

    /// The word and the bit of an iteration; `None` if a loop of the nest has no such value.
    fn find(&self, at: &[i64]) -> Option<(&<Native as Machine>::Atomic<u32>, u32)> {
        let mut number = 0;
        for ((dimension, count), value) in self.dimensions.iter().zip(at) {
            let steps = value.wrapping_sub(dimension.lower).checked_div(dimension.step)?;
            let steps = u64::try_from(steps).ok().filter(|steps| steps < count)?;
            number = number * count + steps;
        }
        Some((&self.posted[(number / BITS) as usize], 1 << (number % BITS)))
    }
}

/// The calling thread's nest, and the values of its loops.
///
/// # Safety
/// `at` has a value for each loop of the nest.
unsafe fn nest<'a>(at: *const i64) -> Option<(&'a Nest, &'a [i64])> {
    // SAFETY: a nest stays until all threads have left it; the values by contract.
    unsafe {
        let nest = &*ENTERED.with(Cell::get).as_ref()?.nest;
        Some((nest, core::slice::from_raw_parts(at, nest.dimensions.len())))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_doacross_init(
    _at: *const Ident,
    _thread: i32,
    loops: i32,
    dimensions: *const Dimension,
) {
    let place = place();
    // SAFETY: the compiler passes a dimension for each loop.
    let dimensions = unsafe { core::slice::from_raw_parts(dimensions, loops.max(0) as usize) };
    // The first thread to come makes the nest, and a work-share hands it to the others.
    let make = || Box::into_raw(Box::new(Nest::new(dimensions, place.team().size))).expose_provenance();
    place.enter(|| Work { doacross: make(), ..Work::default() });
    let nest = core::ptr::with_exposed_provenance(place.work.get().doacross);
    ENTERED.with(|entered| entered.set(Box::into_raw(Box::new(Entered { nest, outer: entered.get() }))));
    place.leave();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_doacross_post(_at: *const Ident, _thread: i32, at: *const i64) {
    // SAFETY: the compiler passes a value for each loop.
    let Some((nest, at)) = (unsafe { nest(at) }) else { return };
    let Some((word, bit)) = nest.find(at) else { return };
    // Relaxed: only this thread sets the bit.
    if word.load(Ordering::Relaxed) & bit == 0 {
        Native::happens_before(core::ptr::from_ref(word).cast());
        // Release: a thread that sees the bit sees what the iteration did.
        word.fetch_add(bit, Ordering::Release);
        place().waits().wake::<Native, u32>(Why::Barrier, word);
    }
    if has_tool() {
        constructs::doacross(constructs::SOURCE, at.iter().map(|value| *value as u64));
    }
}

/// Waits for an iteration; for one that the loops do not have, it does not wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_doacross_wait(_at: *const Ident, _thread: i32, at: *const i64) {
    // SAFETY: the compiler passes a value for each loop.
    let Some((nest, at)) = (unsafe { nest(at) }) else { return };
    let Some((word, bit)) = nest.find(at) else { return };
    loop {
        // Acquire: see `__kmpc_doacross_post`.
        let now = word.load(Ordering::Acquire);
        if now & bit != 0 {
            break;
        }
        place().waits().wait::<Native, u32>(Why::Barrier, word, now);
    }
    Native::happens_after(core::ptr::from_ref(word).cast());
    if has_tool() {
        constructs::doacross(constructs::SINK, at.iter().map(|value| *value as u64));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_doacross_fini(_at: *const Ident, _thread: i32) {
    let entered = ENTERED.with(Cell::get);
    if entered.is_null() {
        return;
    }
    // SAFETY: `init` made the box, and each thread leaves its nest once. AcqRel: the last one frees
    // the nest after all accesses.
    unsafe {
        let Entered { nest, outer } = *Box::from_raw(entered);
        ENTERED.with(|entered| entered.set(outer));
        if (*nest).left.fetch_sub(1, Ordering::AcqRel) == 1 {
            drop(Box::from_raw(nest.cast_mut()));
        }
    }
}
