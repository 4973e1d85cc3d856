//! Figure 5: a kernel alone, or with a helper thread. The helper prefetches the data of the
//! worker's next quantum; a barrier after each quantum keeps it from running ahead.

pub(super) use super::kernels::Name;
use super::kernels::{Kernel, kernel};
use super::run::{Body, Figures, on_contexts};
use super::waits::{Barrier, By};
use baton_chip::{Chip, act};
use serde::Serialize;
use std::cell::Cell;
use std::rc::Rc;

/// A kernel, and its helper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Assisted {
    pub(super) kernel: Name,
    /// The mechanism of the barrier; `None` if there is no helper.
    pub(super) by: Option<By>,
    /// Whether the helper prefetches.
    pub(super) prefetches: bool,
}

/// Enters a barrier, and adds the time that it takes to the thread's sum in `waits`.
fn enter(barrier: &Barrier, thread: u32, waits: &Cell<[u64; 2]>) {
    let before = act::time().0;
    barrier.enter(thread);
    let mut all = waits.get();
    all[thread as usize] += act::time().0 - before;
    waits.set(all);
}

/// Runs one of the kernels that have a name.
pub(super) fn figures(chip: &Chip, repetition: u64, assisted: Assisted) -> Result<Figures, String> {
    let Assisted { kernel: name, by, prefetches } = assisted;
    run(chip, repetition, move || kernel(name, repetition), (by, prefetches))
        .map_err(|error| format!("{}: {error}", name.title()))
}

/// Runs any kernel. The helper has prefetched a quantum when the worker begins the quantum.
pub(super) fn run(
    chip: &Chip,
    repetition: u64,
    kernel: impl FnOnce() -> Rc<dyn Kernel>,
    (by, prefetches): (Option<By>, bool),
) -> Result<Figures, String> {
    let (waits, span) = (Rc::new(Cell::new([0; 2])), Rc::new(Cell::new((0, false))));
    let (of_threads, of_worker) = (waits.clone(), span.clone());
    let make = move || {
        let kernel = kernel();
        let barrier = by.map(|by| Rc::new(Barrier::new(by)));
        let theirs = barrier.clone().map(|barrier| (kernel.clone(), barrier, of_threads.clone()));
        let worker = move || {
            let began = act::time().0;
            for quantum in 0..kernel.quanta() {
                if let Some(barrier) = &barrier {
                    enter(barrier, 0, &of_threads);
                }
                kernel.compute(quantum);
            }
            let took = act::time().0 - began;
            act::outside(|| {
                of_worker.set((took, kernel.is_right()));
                drop((kernel, barrier));
            });
        };
        let helper = theirs.map(|(kernel, barrier, waits)| {
            Box::new(move || {
                for quantum in 0..kernel.quanta() {
                    if prefetches {
                        kernel.prefetch(quantum);
                    }
                    enter(&barrier, 1, &waits);
                }
                act::outside(|| drop((kernel, barrier)));
            }) as Body
        });
        (Box::new(worker) as Body, helper)
    };
    let (_, outcome) = on_contexts(chip, 1 + repetition, make)?;
    let (work, right) = span.get();
    if !right {
        return Err("the result is not that of a plain computation".to_owned());
    }
    let worker = outcome.threads.last().ok_or("no thread")?;
    let beyond = worker.memory.iter().filter(|(part, _)| *part == "memory").map(|(_, cycles)| cycles.0).sum();
    Ok(Figures { work, waits: waits.get(), memory: beyond, misses: worker.fetches, ..Figures::default() })
}
