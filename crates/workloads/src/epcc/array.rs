//! Arraybench: constructs with an array for each thread, of 1, 729 or 59,049 numbers. A `private`
//! array takes room on the thread's stack and no access; the other arrays are copied.

use super::bench::{Bench, Construct, Group, in_region, region_each};
use super::rows::{self, MOST};
use crate::WorkloadInfo;
use baton_machine::Machine;
use baton_omp::team::Context;
use baton_omp::waits::Why;

/// The group of array measurements.
#[derive(Clone)]
pub struct Arraybench;

impl<M: Machine> Bench<M> {
    fn array(&self, thread: u32) -> *mut f64 {
        rows::array(&self.arrays, thread)
    }

    /// Copies the first `SIZE` numbers of another thread's array to the calling thread's array, and
    /// counts the copy. Does nothing if `from` is the calling thread's own array.
    fn copy<const SIZE: usize>(&self, context: &Context<M>, from: *mut f64) {
        let own = self.array(context.id);
        if own == from {
            return;
        }
        let bytes = SIZE * size_of::<f64>();
        // SAFETY: both pointers are to arrays of at least `SIZE` numbers. `own` belongs to this
        // thread, and no thread writes `from` meanwhile.
        unsafe {
            M::touch(from.cast(), bytes, false);
            M::touch(own.cast(), bytes, true);
            core::ptr::copy_nonoverlapping(from, own, SIZE);
            if own.add(SIZE - 1).read().to_bits() == from.add(SIZE - 1).read().to_bits() {
                self.copied();
            }
        }
    }
}

fn firstprivate<M: Machine, const SIZE: usize>(bench: &Bench<M>, context: &Context<M>) {
    bench.copy::<SIZE>(context, bench.array(0));
    bench.delay();
}

/// The other threads copy the first thread's array, and no thread goes on before all have copied.
fn copyin<M: Machine, const SIZE: usize>(bench: &Bench<M>, context: &Context<M>) {
    bench.copy::<SIZE>(context, bench.array(0));
    context.barrier(Why::Barrier);
    bench.delay();
}

/// The other threads copy the array of the thread that executed the `single`.
fn copyprivate<M: Machine, const SIZE: usize>(bench: &Bench<M>, context: &Context<M>) {
    for _ in 0..bench.iterations {
        match context.single_copy() {
            None => {
                bench.delay();
                context.copy_out(bench.array(context.id).expose_provenance());
            }
            Some(from) => bench.copy::<SIZE>(context, core::ptr::with_exposed_provenance_mut(from)),
        }
        context.barrier(Why::Barrier);
    }
}

fn constructs_of<M: Machine, const SIZE: usize>(names: [&'static str; 4]) -> [Construct<M>; 4] {
    let others = |threads| threads - 1;
    [
        region_each(names[0], |bench, _| bench.delay()),
        Construct { copies: others, ..region_each(names[1], firstprivate::<M, SIZE>) },
        Construct { copies: others, ..region_each(names[2], copyin::<M, SIZE>) },
        Construct { copies: others, ..in_region(names[3], |_| 1, copyprivate::<M, SIZE>) },
    ]
}

macro_rules! names {
    ($size:literal) => {
        [
            concat!("nanoseconds_of_private_", $size),
            concat!("nanoseconds_of_firstprivate_", $size),
            concat!("nanoseconds_of_copyin_", $size),
            concat!("nanoseconds_of_copyprivate_", $size),
        ]
    };
}

impl Group for Arraybench {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "epcc-array",
        what: "What arrays of its own cost each thread on Baton's OpenMP runtime",
        figure: "measured.nanoseconds_of_firstprivate_729",
        has_locks: false,
    };
    const ARRAYS: bool = true;

    fn constructs<M: Machine>() -> Vec<Construct<M>> {
        let small = constructs_of::<M, 1>(names!("1")).into_iter();
        small.chain(constructs_of::<M, 729>(names!("729"))).chain(constructs_of::<M, MOST>(names!("59049"))).collect()
    }
}
