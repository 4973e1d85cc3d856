//! Tasks and what waits for them.

use super::harness::{Member, Steps, Tally, apart, here, with_tasks};
use crate::world::World;
use baton_machine::Ordering::Release;
use baton_machine::{Atomic, Machine};
use baton_omp::fulfil;
use baton_omp::tasks::{Clauses, Depend};
use baton_omp::waits::Why;

/// Raises the flag, for threads that wait for it without the runtime.
pub(super) fn raise<M: Machine>(place: &Member<M>, tally: &Tally<M>) {
    // Release: a thread that waits for the flag sees what was done before.
    tally.flag.store(1, Release);
    place.waits().wake::<M, u32>(Why::Task, &tally.flag);
}

/// Waits until the flag is raised.
pub(super) fn await_flag<M: Machine>(place: &Member<M>, tally: &Tally<M>) {
    place.waits().wait::<M, u32>(Why::Task, &tally.flag, 0);
}

/// Tasks that one thread makes have ended behind the barrier, whichever thread ran them.
pub fn before_a_barrier<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                for at in 0..2 {
                    place.task(Clauses::none(), move || tally.note(at, 1));
                }
            }
            place.context.barrier(Why::Barrier);
            (0..2).for_each(|at| tally.expect(tally.noted(at) == 1));
        },
        |_, _| {},
    );
}

/// Takes so long that threads which look for a task in vain go to sleep meanwhile.
fn take_long<M: Machine>() {
    (0..40).for_each(|_| M::relax());
}

/// Threads that found no task and sleep wake up for a task that another task makes late, and when
/// the last task ends.
pub fn made_late<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.task(Clauses::none(), || {
                    take_long::<W::M>();
                    tally.note(0, 1);
                    here::<W::M>().task(Clauses::none(), || {
                        take_long::<W::M>();
                        tally.note(1, tally.noted(0) + 1);
                    });
                });
            }
            place.context.barrier(Why::Barrier);
            tally.expect(tally.noted(1) == 2);
        },
        |_, _| {},
    );
}

/// A task has ended behind its maker's taskwait, and sees what its maker did before.
pub fn behind_a_taskwait<W: World>() {
    with_tasks::<W>(
        Steps::Many,
        |place, tally| {
            if place.context.id == 0 {
                tally.note(1, 4);
                place.task(Clauses::none(), || tally.note(0, tally.noted(1) + 1));
                place.context.taskwait();
                tally.expect(tally.noted(0) == 5);
            }
        },
        |_, _| {},
    );
}

/// A thread at the region's end runs a task whose maker waits for it without the runtime.
pub fn by_another<W: World>() {
    with_tasks::<W>(
        Steps::Many,
        |place, tally| {
            if place.context.id == 0 {
                place.task(Clauses::none(), || {
                    tally.note(0, 1);
                    raise(here::<W::M>(), tally);
                });
                await_flag(place, tally);
                tally.expect(tally.noted(0) == 1);
            }
        },
        |_, _| {},
    );
}

/// Like [`by_another`], but the maker is a task itself.
pub fn within_a_task<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.task(Clauses::none(), || {
                    let outer = here::<W::M>();
                    outer.task(Clauses::none(), || raise(here::<W::M>(), tally));
                    await_flag(outer, tally);
                    tally.count(0);
                });
            }
        },
        |tally, _| assert_eq!(tally.counted(0), 1, "tasks"),
    );
}

/// A task outlives the task that made it. A thread at the region's end runs the inner task,
/// although the thread that waited for the outer task then waits for the inner one without the
/// runtime.
pub fn outliving_its_maker<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.task(Clauses::none(), || {
                    here::<W::M>().task(Clauses::none(), || raise(here::<W::M>(), tally));
                });
                place.context.taskwait();
                await_flag(place, tally);
            }
        },
        |_, _| {},
    );
}

fn on<M: Machine>(address: usize, reads: bool) -> Clauses<M> {
    Clauses { depends: vec![Depend { address, reads }], ..Clauses::none() }
}

/// A task runs after the tasks on which it depends, and sees what they did.
pub fn dependences<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.task(on(8, false), || tally.note(0, 1));
                place.task(on(8, true), || tally.note(1, tally.noted(0) + 1));
                place.task(on(8, false), || tally.note(0, tally.noted(1) + 1));
            }
            place.context.barrier(Why::Barrier);
            tally.expect(tally.noted(0) == 3);
        },
        |_, _| {},
    );
}

/// A task that depends on several addresses runs after all tasks that wrote them.
pub fn several_dependences<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.task(on(8, false), || tally.note(0, 1));
                place.task(on(16, false), || tally.note(1, 1));
                let depends = vec![Depend { address: 16, reads: true }, Depend { address: 8, reads: true }];
                place.task(Clauses { depends, ..Clauses::none() }, || tally.note(2, tally.noted(0) + tally.noted(1)));
            }
            place.context.barrier(Why::Barrier);
            tally.expect(tally.noted(2) == 2);
        },
        |_, _| {},
    );
}

/// Two tasks that read the same address do not wait for each other, and one that writes it waits
/// for both.
pub fn readers_together<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.task(on(8, true), || {
                    tally.note(0, 1);
                    await_flag(here(), tally);
                });
                place.task(on(8, true), || {
                    tally.note(1, 1);
                    raise(here::<W::M>(), tally);
                });
                place.task(on(8, false), || tally.expect(tally.noted(0) == 1 && tally.noted(1) == 1));
            }
        },
        |_, _| {},
    );
}

/// A thread that waits for a dependence goes on when the task that writes the address has ended,
/// and sees what the task did.
pub fn awaited_dependence<W: World>() {
    with_tasks::<W>(
        Steps::Many,
        |place, tally| {
            if place.context.id == 0 {
                place.task(on(8, false), || tally.note(0, 1));
                place.context.await_dependences(&[Depend { address: 8, reads: true }]);
                tally.expect(tally.noted(0) == 1);
            }
        },
        |_, _| {},
    );
}

/// The end of a taskgroup waits for the group's tasks.
pub fn groups<W: World>() {
    with_tasks::<W>(
        Steps::Many,
        |place, tally| {
            if place.context.id == 0 {
                place.begin_group();
                place.task(Clauses::none(), || tally.note(0, 1));
                place.context.end_group();
                tally.expect(tally.noted(0) == 1);
            }
        },
        |_, _| {},
    );
}

/// The end of a taskgroup also waits for the tasks that its tasks make.
pub fn groups_of_descendants<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.begin_group();
                place.task(Clauses::none(), || {
                    here::<W::M>().task(Clauses::none(), || tally.note(1, 1));
                    tally.note(0, 1);
                });
                place.context.end_group();
                tally.expect(tally.noted(0) == 1 && tally.noted(1) == 1);
            }
        },
        |_, _| {},
    );
}

/// A thread at the end of a group runs a late task of a group inside it. The task's maker waits for
/// it without the runtime, so in a team of two no other thread can run it.
pub fn made_late_in_a_group<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.begin_group();
                place.task(Clauses::none(), || {
                    take_long::<W::M>();
                    let inner = here::<W::M>();
                    inner.begin_group();
                    inner.task(Clauses::none(), || raise(here::<W::M>(), tally));
                    await_flag(inner, tally);
                    inner.context.end_group();
                });
                place.context.end_group();
            }
        },
        |_, _| {},
    );
}

/// A task that sees its group cancelled sees what was done before; a task that has not begun does
/// not run.
pub fn cancelled_groups<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.begin_group();
                place.task(Clauses { constructed: true, ..Clauses::none() }, || {
                    tally.count(0);
                    if here::<W::M>().context.task_cancelled() {
                        tally.expect(tally.noted(0) == 1);
                    }
                });
                tally.note(0, 1);
                place.context.cancel_group();
                place.task(Clauses::none(), || tally.count(1));
                place.context.end_group();
            }
        },
        |tally, _| assert_eq!(tally.counts(2), [1, 0], "tasks"),
    );
}

/// A task that sees what was registered for the reductions of its group sees what was done before.
pub fn registered<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.begin_group();
                place.task(Clauses::none(), || {
                    let group = here::<W::M>().context.group().expect("the task is in the group");
                    if group.reductions() != 0 {
                        tally.expect(tally.noted(0) == 1);
                    }
                });
                tally.note(0, 1);
                let group = place.context.group().expect("it has begun");
                group.set_reductions(8);
                place.context.end_group();
            }
        },
        |_, _| {},
    );
}

/// A detached task is done when its body has ended and its event is fulfilled, whichever comes
/// last.
pub fn detached<W: World>() {
    with_tasks::<W>(
        Steps::Many,
        |place, tally| match place.context.id {
            0 => {
                place.task(Clauses { event: Some(tally.event.clone()), ..Clauses::none() }, || tally.note(0, 1));
                raise(place, tally);
                place.context.taskwait();
                tally.expect(tally.noted(0) == 1 && tally.noted(1) == 1);
            }
            1 => {
                await_flag(place, tally);
                tally.note(1, 1);
                // SAFETY: the task is not done before this call, and keeps the region open.
                unsafe { fulfil(place.context.team, place.waits(), &tally.event) };
            }
            _ => {}
        },
        |_, _| {},
    );
}

/// The region's end waits for a detached task whose body has ended until its event is fulfilled.
pub fn detached_at_the_end<W: World>() {
    with_tasks::<W>(
        Steps::Many,
        |place, tally| {
            match place.context.id {
                0 => {
                    let event = Some(tally.event.clone());
                    place.task(Clauses { event, ..Clauses::none() }, || raise(here::<W::M>(), tally));
                }
                1 => {
                    await_flag(place, tally);
                    take_long::<W::M>();
                    tally.note(1, 1);
                    // SAFETY: the task is not done before this call, and keeps the region open.
                    unsafe { fulfil(place.context.team, place.waits(), &tally.event) };
                }
                _ => {}
            }
            place.context.barrier(Why::Barrier);
            tally.expect(tally.noted(1) == 1);
        },
        |_, _| {},
    );
}

/// Makes a detached task, then a task that follows it, and within `awaits` waits for the second one.
/// Another thread fulfils the event, and waits for the second task without the runtime: so in a team
/// of two the first thread must run that task, which becomes ready while the thread waits.
fn released<M: Machine>(place: &Member<M>, tally: &Tally<M>, awaits: impl FnOnce(&dyn Fn())) {
    match place.context.id {
        0 => {
            let event = Some(tally.event.clone());
            place.task(Clauses { event, ..on(8, false) }, || tally.note(0, 1));
            awaits(&|| {
                let depends = vec![Depend { address: 8, reads: true }, Depend { address: 16, reads: false }];
                place.task(Clauses { depends, ..Clauses::none() }, || {
                    tally.note(1, tally.noted(0) + 1);
                    raise(here::<M>(), tally);
                });
            });
            tally.expect(tally.noted(1) == 2);
        }
        1 => {
            // SAFETY: the task is not done before this call, and keeps the region open.
            unsafe { fulfil(place.context.team, place.waits(), &tally.event) };
            await_flag(place, tally);
        }
        _ => {}
    }
}

/// A thread that waits for a dependence runs a task that an event releases meanwhile.
pub fn released_before_a_dependence<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            released(place, tally, |make| {
                make();
                place.context.await_dependences(&[Depend { address: 16, reads: true }]);
            });
        },
        |_, _| {},
    );
}

/// A thread at the end of a group runs a task of the group that a task outside of it releases.
pub fn released_in_a_group<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            released(place, tally, |make| {
                place.begin_group();
                make();
                place.context.end_group();
            });
        },
        |_, _| {},
    );
}

/// A thread that ran a detached task at once waits for its event.
pub fn awaited_event<W: World>() {
    apart::<W>(
        Steps::Few,
        |place, tally| match place.context.id {
            0 => {
                place.context.await_event(&tally.event);
                tally.expect(tally.noted(0) == 1);
            }
            1 => {
                tally.note(0, 1);
                // SAFETY: no task waits for this event.
                unsafe { fulfil(place.context.team, place.waits(), &tally.event) };
            }
            _ => {}
        },
        |_, _| {},
    );
}

/// A single thread runs the tasks of the highest priority first, and among equals the oldest.
pub fn priorities<W: World>() {
    with_tasks::<W>(
        Steps::Few,
        |place, tally| {
            if place.context.id != 0 {
                return await_flag(place, tally);
            }
            for (at, priority) in [1, 3, 0, 2].into_iter().enumerate() {
                place.task(Clauses { priority, ..Clauses::none() }, move || {
                    let before = tally.noted(7);
                    tally.note(at, before + 1);
                    tally.note(7, before + 1);
                });
            }
            place.context.taskwait();
            raise(place, tally);
        },
        |tally, _| assert_eq!([0, 1, 2, 3].map(|at| tally.noted(at)), [3, 1, 4, 2], "when each task ran"),
    );
}

/// Several threads make tasks, each with tasks inside. Each task runs once. A thread that waits for
/// its own tasks goes on when they have ended, even if another thread runs some of them or keeps
/// their successors in its own list.
pub fn from_several<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            let id = place.context.id as usize;
            if id > 1 {
                return;
            }
            place.task(on(8, false), move || {
                tally.note(id, 1);
                here::<W::M>().task(Clauses::none(), move || tally.count(id));
            });
            place.task(on(8, false), move || tally.note(id, tally.noted(id) + 1));
            place.context.taskwait();
            tally.expect(tally.noted(id) == 2);
        },
        |tally, size| assert_eq!(tally.counts(2), [1, u32::from(size > 1)], "tasks within"),
    );
}
