//! The parts of a team, one at a time: small enough to explore all executions of a few threads.

use super::harness::{Member, Steps, Tally, apart, bare, here, under_another_lock, with_growing_rings, with_tasks};
use super::tasks::{await_flag, raise};
use crate::world::{Scenario, World};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Wait};
use baton_omp::share::{Found, RING, Share, Work, shared_memory};
use baton_omp::tasks::Clauses;
use baton_omp::team::Context;
use baton_omp::threads::Threads;
use baton_omp::waits::{Waits, Why};
use baton_omp::{Crew, Schedule, ScheduleKind, Space};

/// No thread passes a barrier before all have come, and each sees what all did.
pub fn meeting<W: World>() {
    bare::<W>(
        |place, tally| {
            let (id, size) = (place.context.id as usize, place.context.team().size as usize);
            tally.note(id, 1);
            place.context.barrier(Why::Barrier);
            (0..size).for_each(|other| tally.expect(tally.noted(other) == 1));
        },
        |_, _| {},
    );
}

/// The first thread has the data of all threads combined, each once, and again behind a barrier.
pub fn gathered<W: World>() {
    bare::<W>(
        |place, tally| {
            let (id, size) = (place.context.id as usize, place.context.team().size as usize);
            for round in 1..=2 {
                tally.note(id, round);
                place.context.gather(id, |other| tally.note(id, tally.noted(id) + tally.noted(other)));
                tally.expect(id != 0 || tally.noted(0) == round * size);
                place.context.barrier(Why::Barrier);
            }
        },
        |_, _| {},
    );
}

/// A thread that waits for another thread's data runs a task that the other one waits for.
pub fn gathered_behind_a_task<W: World>() {
    with_tasks::<W>(
        Steps::Many,
        |place, tally| {
            if place.context.id == 0 {
                place.task(Clauses::none(), || raise(here::<W::M>(), tally));
            } else {
                await_flag(place, tally);
            }
            tally.note(place.context.id as usize, 1);
            place.context.gather(place.context.id as usize, |other| tally.expect(tally.noted(other) == 1));
            place.context.barrier(Why::Barrier);
        },
        |_, _| {},
    );
}

/// Threads that found no task and sleep wake up for a task, also where the lists have another lock than
/// the default one.
pub fn told_under_another_lock<W: World>() {
    under_another_lock::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                place.task(Clauses::none(), || raise(here::<W::M>(), tally));
                await_flag(place, tally);
            }
            place.context.barrier(Why::Barrier);
        },
        |_, _| {},
    );
}

/// Two tasks have a thread each, though the first one to be woken may be in the middle of the other one.
pub fn thieves_wake_each_other<W: World>() {
    with_tasks::<W>(
        Steps::VeryMany,
        |place, tally| {
            if place.context.id == 0 {
                if place.context.team().size > 2 {
                    place.task(Clauses::none(), || await_flag(here::<W::M>(), tally));
                }
                place.task(Clauses::none(), || raise(here::<W::M>(), tally));
                await_flag(place, tally);
            }
            place.context.barrier(Why::Barrier);
        },
        |_, _| {},
    );
}

/// Enters work-share `number` of a slot. Returns whether the calling thread is the first to enter,
/// and the work that the first thread put there; `None` if the slot is closed.
fn enter<M: Machine>(
    share: &Share<M>,
    number: u32,
    waits: &Waits,
    make: impl FnOnce() -> Work,
) -> Option<(bool, Work)> {
    match share.find(number, waits, |_| false) {
        Found::Free => {
            let work = make();
            // SAFETY: `find` has given this thread the free slot, which it opens once.
            unsafe { share.open::<true>(number, &work, || waits) };
            Some((true, work))
        }
        // SAFETY: the slot is open, and this thread leaves it only later, so its work is not
        // replaced meanwhile.
        Found::Open => Some((false, unsafe { share.work() })),
        Found::Closed => None,
    }
}

/// Each work-share has one first thread, and the others see what that one wrote; a slot of the ring
/// is reused when all have left it.
pub fn shares<W: World>() {
    apart::<W>(
        Steps::VeryMany,
        |place, tally| {
            let team = place.context.team();
            let share = team.slot(0);
            for round in 0..W::few().rounds.min(2) as u32 {
                let (number, at) = (round * RING, round as usize);
                let make = || {
                    tally.count(at);
                    tally.note(at, 5);
                    Work { reductions: 7 + at, memory: shared_memory::<W::M>(8), ..Work::default() }
                };
                let (_, work) = enter(share, number, place.waits(), make).expect("nothing is cancelled");
                tally.expect(work.reductions == 7 + at && tally.noted(at) == 5);
                share.leave_with_memory(number, RING, place.waits());
            }
        },
        |tally, _| assert_eq!(tally.counts(2), [1, u32::from(W::few().rounds > 1)], "first threads"),
    );
}

/// A thread that comes to a work-share while other threads are still in the slot's previous one
/// goes on when they have left it, even though none of them enters the new one.
pub fn slots_awaited<W: World>() {
    apart::<W>(
        Steps::Few,
        |place, tally| {
            let (team, waits) = (place.context.team(), place.waits());
            let share = team.slot(0);
            enter(share, 0, waits, Work::default);
            share.leave(0, RING, waits);
            if place.context.id != 0 {
                return await_flag(place, tally);
            }
            let entered = enter(share, RING, waits, Work::default);
            tally.expect(entered.is_some_and(|(first, _)| first));
            raise(place, tally);
        },
        |_, _| {},
    );
}

/// The ordered parts of a loop run one after another, each after the previous one.
pub fn turns<W: World>() {
    apart::<W>(
        Steps::Few,
        |place, tally| {
            let context = &place.context;
            let schedule = Schedule { kind: ScheduleKind::Dynamic, chunk: 1, monotonic: true };
            context.enter(|| Work { space: Space::signed(0, 2, 1), schedule, ordered: true, ..Work::default() });
            while let Some((from, _)) = context.next_ordered_chunk() {
                context.ordered();
                let before = tally.noted(0);
                tally.expect(before as u64 == from);
                tally.note(0, before + 1);
            }
            context.leave();
        },
        |tally, _| assert_eq!(tally.noted(0), 2, "ordered parts"),
    );
}

/// The thread of a `single` passes an address, and what it points to, to all the others.
pub fn copied<W: World>() {
    bare::<W>(
        |place, tally| match place.context.single_copy() {
            None => {
                tally.count(0);
                tally.note(0, 5);
                place.context.copy_out(40);
            }
            Some(address) => tally.expect(address == 40 && tally.noted(0) == 5),
        },
        |tally, _| assert_eq!(tally.counted(0), 1, "threads of the single"),
    );
}

/// Runs `block` in one thread, and hands the address that it returns to the others: the calls of
/// clang's code if `CLANG`, else those of GCC's. Returns the address to the others.
fn copying<M: Machine, const CLANG: bool>(context: &Context<M>, block: impl FnOnce() -> usize) -> Option<usize> {
    if CLANG {
        let site = 64;
        let own = context.single_at(site).then(block);
        let handed_out = context.hand_out(site, own);
        own.is_none().then_some(handed_out)
    } else {
        let copy = context.single_copy();
        if copy.is_none() {
            context.copy_out(block());
        }
        copy
    }
}

/// The thread that ran the last `single` with copies comes to the next one only when another thread
/// has run its block: nothing waits for that thread.
pub fn copied_without_the_copier<W: World>() {
    bare::<W>(without_the_copier::<W::M, false>, every_single);
    bare::<W>(without_the_copier::<W::M, true>, every_single);
}

fn every_single<M: Machine>(tally: &Tally<M>, _: usize) {
    assert_eq!(tally.flag.load(Relaxed), SINGLES, "threads of the singles");
}

/// The number of singles in [`copied_without_the_copier`].
const SINGLES: u32 = 3;

fn without_the_copier<M: Machine, const CLANG: bool>(place: &Member<M>, tally: &Tally<M>) {
    let mut ran = false;
    for single in 0..SINGLES {
        while ran && tally.flag.load(Acquire) == single {
            place.waits().wait::<M, u32>(Why::Barrier, &tally.flag, single);
        }
        let copy = copying::<M, CLANG>(&place.context, || {
            tally.note(0, 5 + single as usize);
            tally.flag.store(single + 1, Release);
            place.waits().wake::<M, u32>(Why::Barrier, &tally.flag);
            40 + single as usize
        });
        ran = copy.is_none();
        if let Some(address) = copy {
            tally.expect((address, tally.noted(0)) == (40 + single as usize, 5 + single as usize));
        }
        place.context.barrier(Why::Barrier);
    }
}

/// One of two threads that spin runs each `single` whose copies take long. Only a simulated machine
/// has the time that this contract needs.
pub fn copied_by_one<W: World>() {
    bare::<W>(by_one::<W::M, false>, few_changes);
    bare::<W>(by_one::<W::M, true>, few_changes);
}

fn by_one<M: Machine, const CLANG: bool>(place: &Member<M>, tally: &Tally<M>) {
    let me = place.context.id as usize + 1;
    for single in 0..48 {
        let copy = copying::<M, CLANG>(&place.context, || {
            if tally.noted(0) != me {
                tally.count(0);
            }
            tally.note(0, me);
            single
        });
        if let Some(address) = copy {
            tally.expect(address == single);
            M::work(Cycles(40_000));
        }
        place.context.barrier(Why::Barrier);
    }
    if matches!(place.waits().of(Why::Barrier), Wait::Futex | Wait::SpinPark(_)) {
        tally.count(1);
    }
}

fn few_changes<M: Machine>(tally: &Tally<M>, threads: usize) {
    let changes = tally.counted(0);
    // Threads that sleep while another one copies are woken too late to be preferred.
    assert!(threads > 2 || tally.counted(1) > 0 || changes <= 8, "{changes} threads of 48 singles");
}

fn until<M: Machine>(holds: impl Fn() -> bool) {
    while !holds() {
        M::relax();
    }
}

/// A thread that sees that something is cancelled sees what was done before. A cancelled region
/// ends, even for a thread that passes a barrier before the region's end.
pub fn cancelled<W: World>() {
    bare::<W>(
        |place, tally| {
            let context = &place.context;
            if context.id == 0 {
                tally.note(0, 1);
                context.cancel_share();
                tally.note(1, 1);
                context.cancel_region();
                return;
            }
            until::<W::M>(|| context.share_cancelled());
            tally.expect(tally.noted(0) == 1);
            context.barrier(Why::Barrier);
            until::<W::M>(|| context.region_cancelled());
            tally.expect(tally.noted(1) == 1);
        },
        |_, _| {},
    );
}

/// A thread that sees that the region is cancelled sees what was done before, without a barrier
/// between.
pub fn cancelled_unmet<W: World>() {
    apart::<W>(
        Steps::Many,
        |place, tally| {
            if place.context.id == 0 {
                tally.note(0, 1);
                return place.context.cancel_region();
            }
            until::<W::M>(|| place.context.region_cancelled());
            tally.expect(tally.noted(0) == 1);
        },
        |_, _| {},
    );
}

/// The threads of a cancelled region that meet no cancellation point go through more work-shares than the ring has slots, and do each
/// iteration once, though one thread enters none of them.
pub fn beyond_the_ring<W: World>() {
    bare::<W>(
        |place, tally| {
            let context = &place.context;
            if context.id == 0 {
                return context.cancel_region();
            }
            (0..RING + 2).for_each(|_| go_through_a_loop(place, tally));
        },
        |tally, size| assert_eq!(tally.counted(0), if size > 1 { RING + 2 } else { 0 }, "iterations"),
    );
}

/// Goes through a loop of one iteration, without a barrier, and counts the iteration.
fn go_through_a_loop<M: Machine>(place: &Member<M>, tally: &Tally<M>) {
    let schedule = Schedule { kind: ScheduleKind::Dynamic, chunk: 1, monotonic: false };
    place.context.enter(|| Work { space: Space::signed(0, 1, 1), schedule, ..Work::default() });
    while place.context.next_chunk().is_some() {
        tally.count(0);
    }
    place.context.leave();
}

/// A thread does not wait when it is more work-shares ahead of the others than a ring has slots. The others find the same work-shares
/// later, and each iteration is done once.
pub fn rings_grow<W: World>() {
    const AHEAD: u32 = RING + 3;
    const ALL: u32 = 2 * RING + 3;
    with_growing_rings::<W>(
        true,
        |place, tally| {
            if place.context.id != 0 {
                await_flag(place, tally);
            }
            (0..AHEAD).for_each(|_| go_through_a_loop(place, tally));
            if place.context.id == 0 {
                raise(place, tally);
            }
            (AHEAD..ALL).for_each(|_| go_through_a_loop(place, tally));
        },
        |tally, _| assert_eq!(tally.counted(0), ALL, "iterations"),
    );
}

/// Threads that find a slot in use go on in one larger ring, whichever of them makes it, and find there
/// what the work-share's first thread stored. The work-shares between the two are left out, so that all
/// executions can be explored.
pub fn larger_ring<W: World>() {
    with_growing_rings::<W>(
        false,
        |place, tally| {
            let context = &place.context;
            context.enter(Work::default);
            if context.id == 1 {
                context.leave();
            }
            // The first thread has not left the slot, which is therefore not free.
            context.next_share.set(RING);
            context.enter(|| {
                tally.count(0);
                tally.note(0, 5);
                Work { reductions: 7, ..Work::default() }
            });
            tally.expect(context.work.get().reductions == 7 && tally.noted(0) == 5);
            context.leave();
        },
        |tally, _| assert_eq!(tally.counts(1), [1], "first threads"),
    );
}

/// A crew's thread runs each body once, and sees what was done before the body was given; its next
/// body, and its end, come after that.
pub fn crew<W: World>() {
    for &wait in W::WAITS {
        W::sample(move || serve::<W>(wait));
    }
}

fn serve<W: World>(wait: Wait) -> Scenario {
    let bodies = W::few().rounds.min(3);
    let (crew, tally) = (Crew::<W::M>::new(1, 2, wait), Tally::<W::M>::new(bodies + 1));
    let (server, seen) = (crew.clone(), tally.clone());
    let (giver, given) = (crew.clone(), tally.clone());
    let gives = move || {
        for at in 0..bodies {
            given.note(at, 7);
            let body = || {
                let tally = given.clone();
                Box::new(move || {
                    tally.expect(tally.noted(at) == 7);
                    tally.note(at, 8);
                    tally.count(at);
                })
            };
            // There is one seat, and its previous body may not have ended.
            until::<W::M>(|| giver.start(body()).is_ok());
        }
        given.note(bodies, 9);
        giver.dismiss();
    };
    let serves = move || {
        server.serve(0);
        seen.expect(seen.noted(bodies) == 9);
    };
    Scenario::new().guest(gives).guest(serves).finally(move || {
        drop(crew);
        tally.settle(|_, _| {}, 2);
        assert_eq!(tally.counts(bodies), vec![1; bodies], "bodies");
    })
}
