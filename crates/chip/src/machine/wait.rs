//! The wait policies on the chip, each at its price. The flow is the native one: a first read, then tries with
//! something between them, then, where the policy parks, the futex protocol with its table of sleepers.

use super::cell::SimulatedAtomic;
use super::kernel::{enter_kernel, enter_queue, leave_queue};
use super::rest::Watch;
use super::{access, running};
use crate::config::{Chip, Halt, Monitor, SystemCall};
use crate::contexts::share::Demand;
use crate::core::drain::{drain, drain_line};
use crate::core::mark::Sort;
use crate::engine::current::{kernel, operate, suspend, with};
use crate::engine::queue::Rank;
use crate::engine::thread::{Ended, OUTSIDE, Reason, Spin, State, Waited};
use crate::engine::{Engine, own};
use crate::memory::{Access, Line, Memory};
use crate::os::futex::layout::Layout;
use crate::os::futex::memory::SimulatedKernel;
use crate::os::futex::protocol::{self, Slept};
use baton_machine::{Deadline, LockHint, Unavailable, Wait, WaitResult, Word};
use baton_units::Cycles;

impl Chip {
    /// Whether the chip has what `wait` needs. Ask before a run: a guest that waits by a policy that its chip lacks panics.
    ///
    /// # Errors
    /// The key of the chip file that is missing, or that speaks against it.
    pub fn check_wait(&self, wait: Wait) -> Result<(), Unavailable> {
        self.wait.has(wait).map_err(|why| Unavailable { wait, why })
    }
}

/// How the policy waits between reads.
enum Between {
    Tries {
        cycles: u64,
        most: u64,
        parks: bool,
        /// Nothing between the tries keeps the core from speculating on the next ones.
        speculates: bool,
    },
    Monitor(Watch),
    System(SystemCall, Watch),
    Halt(Halt),
}

fn between(chip: &Chip, wait: Wait) -> Result<Between, Unavailable> {
    chip.check_wait(wait)?;
    let prices = &chip.wait;
    // PAUSE keeps the loads behind it from being speculated, which is what it is for (Intel SDM vol. 2, PAUSE). Where the
    // chip's pause takes no longer than a turn of the plain loop it is no instruction of that kind.
    let plain = prices.pause <= prices.spin;
    let tries =
        |cycles: Cycles, speculates| Between::Tries { cycles: cycles.0, most: u64::MAX, parks: false, speculates };
    let watch = |price: Option<Monitor>, depth, limit: Option<Cycles>| Watch {
        price: price.unwrap_or_default(),
        depth,
        limit: limit.map_or(u64::MAX, |limit| limit.0),
    };
    let monitor = |price, depth, limit| Between::Monitor(watch(price, depth, limit));
    Ok(match wait {
        Wait::Spin => tries(prices.spin, true),
        Wait::Pause => tries(prices.pause, plain),
        Wait::Tpause => tries(prices.tpause.unwrap_or_default(), false),
        Wait::Umwait => monitor(prices.umwait, 1, prices.umwait_limit),
        Wait::Mwaitx => monitor(prices.mwaitx, 1, None),
        Wait::Wfe => monitor(prices.wfe, 1, None),
        Wait::Mwait(depth) => monitor(prices.mwait.depth(depth), depth, None),
        Wait::Mwmon => Between::System(prices.mwmon.unwrap_or_default(), watch(prices.mwait.c1, 1, None)),
        Wait::Halt => Between::Halt(prices.halt.unwrap_or_default()),
        Wait::Futex => Between::Tries { cycles: 0, most: 0, parks: true, speculates: false },
        Wait::SpinPark(u32::MAX) => tries(prices.pause, plain),
        Wait::SpinPark(n) => {
            Between::Tries { cycles: prices.pause.0, most: u64::from(n), parks: true, speculates: plain }
        }
    })
}

/// The wait of one cell, with its deadline in cycles.
pub(super) struct Waiting<'a, T> {
    pub(super) cell: &'a SimulatedAtomic<T>,
    pub(super) value: T,
    pub(super) line: Line,
    pub(super) deadline: u64,
    until: Option<Deadline>,
    /// What the time of tries that hit goes to.
    pub(super) reason: Reason,
    /// What tries that hit ask of the core.
    demand: Demand,
}

pub(super) fn wait_while<T: Word>(
    cell: &SimulatedAtomic<T>,
    value: T,
    wait: Wait,
    deadline: Option<Deadline>,
) -> WaitResult<T> {
    let seen = cell.read();
    if seen != value {
        return WaitResult::Changed(seen);
    }
    if running() == OUTSIDE {
        match deadline {
            Some(_) => return WaitResult::Expired,
            None => panic!("a wait outside of guest code would never end"),
        }
    }
    let (waiting, between) = with(|engine| {
        let offset = engine.offset_of(cell.address());
        let clock = engine.chip.core.clock;
        let until = deadline;
        let deadline = deadline.map_or(u64::MAX, |deadline| clock.cycles(deadline.at).0);
        let thread = &mut engine.threads[engine.running as usize];
        (thread.waits_on, thread.bounded) = (Some((Waited::Cell(offset), engine.now)), deadline != u64::MAX);
        let line = Line((offset >> engine.line_shift) as u32);
        let between = between(&engine.chip, wait);
        let reason = if matches!(between, Ok(Between::Tries { .. })) { Reason::Spin } else { Reason::Monitor };
        let demand = match (wait, &between) {
            (Wait::Spin, _) => Demand::Everything,
            (_, Ok(Between::Tries { cycles, .. })) => Demand::Turns((*cycles).max(1) + engine.hit_here()),
            _ => Demand::Nothing,
        };
        (Waiting { cell, value, line, deadline, until, reason, demand }, between)
    });
    // A try must not find the line on its way to this very core.
    drain_line(waiting.line);
    if matches!(wait, Wait::Pause | Wait::Tpause | Wait::SpinPark(_)) {
        with(|engine| engine.threads[engine.running as usize].pauses());
    }
    let ended = match between {
        Err(missing) => panic!("{missing}"),
        Ok(Between::Monitor(watch)) => waiting.monitor(watch),
        Ok(Between::System(call, watch)) => waiting.system_call(call, watch),
        Ok(Between::Halt(price)) => waiting.halt(price),
        Ok(Between::Tries { cycles, most, parks, speculates }) => match waiting.spin(cycles.max(1), most, speculates) {
            WaitResult::Expired if parks && with(|engine| engine.now) < waiting.deadline => waiting.park(),
            ended => ended,
        },
    };
    with(|engine| {
        let thread = &mut engine.threads[engine.running as usize];
        (thread.waits_on, thread.bounded) = (None, false);
        thread.paused();
    });
    ended
}

impl<T: Word> Waiting<'_, T> {
    /// One try: a load, first among the events of its moment if it hits.
    pub(super) fn try_load(&self) -> T {
        self.try_once().0
    }

    /// The same, and whether it hits.
    fn try_once(&self) -> (T, bool) {
        with(|engine| {
            let thread = &mut engine.threads[engine.running as usize];
            (thread.tries, thread.looked) = (thread.tries + 1, engine.now);
        });
        let line = self.line;
        let (over, hits) = {
            give_way();
            with(|engine| {
                let (at, hits) = engine.access(line, Access::Load);
                if !hits {
                    engine.demand(Demand::Nothing);
                }
                let rank = if hits { Rank::Try(engine.running) } else { Rank::Next };
                (engine.over(at, rank), hits)
            })
        };
        if !over {
            suspend();
        }
        charge(if hits { self.reason } else { Reason::Memory });
        (self.cell.peek(), hits)
    }

    /// Tries until the value changes; `Expired` also says that the tries are used up.
    fn spin(&self, between: u64, most: u64, speculates: bool) -> WaitResult<T> {
        if most == 0 {
            return WaitResult::Expired;
        }
        let ended = self.tries(between, most, speculates);
        with(|engine| engine.demand(Demand::Nothing));
        ended
    }

    fn tries(&self, between: u64, most: u64, speculates: bool) -> WaitResult<T> {
        let mut done = 0;
        let mut seen = self.try_load();
        loop {
            if seen != self.value {
                return WaitResult::Changed(seen);
            }
            done += 1;
            if done >= most || with(|engine| engine.now) >= self.deadline {
                return WaitResult::Expired;
            }
            let preemptions = preemptions();
            let gone = give_way();
            let left = if most == u64::MAX { u64::MAX } else { most - done };
            let skips = with(|engine| {
                engine.demand(self.demand);
                let skips = !gone && engine.begin_spin(self.line, between, left, self.deadline);
                if !skips {
                    engine.begin_pause(between);
                }
                skips
            });
            suspend();
            charge(Reason::Spin);
            let (tried, read) = with(|engine| {
                let thread = &mut engine.threads[engine.running as usize];
                let Spin { core, done, hits, .. } = thread.spin;
                if skips {
                    thread.tries += done;
                    engine.memory.count_hits(core, done);
                }
                (done, skips && hits && thread.ended != Ended::Interrupted)
            });
            if skips {
                // A try that was read just now is counted by the next turn of this loop.
                done += tried - u64::from(read);
            }
            let ahead = speculates && preemptions == self::preemptions();
            let hit;
            (seen, hit) = if read {
                (self.cell.peek(), true)
            } else {
                if ahead && !with(|engine| engine.memory.holds(engine.core_of(engine.running), self.line)) {
                    self.flush();
                }
                self.try_once()
            };
            // A new value in a line that has not gone is a sibling's store into the cache that they share.
            if ahead && hit && seen != self.value && with(|engine| engine.chip.core.contexts != 1) {
                self.flush();
            }
        }
    }

    /// The core was ahead of its tries: later loads were done with the line, or the value, that it had. If that has gone,
    /// they are thrown away (a memory-order violation; Intel Optimization Reference Manual, "Pipelined spin-wait loops").
    fn flush(&self) {
        let price = with(|engine| engine.chip.core.flush.0);
        if price != 0 {
            operate(Reason::Flush, |engine| engine.after(price));
        }
    }

    /// Sleeps in the kernel until woken, again and again until the value has changed.
    fn park(&self) -> WaitResult<T> {
        loop {
            let seen = self.cell.read();
            if seen != self.value {
                return WaitResult::Changed(seen);
            }
            if self.sleep() == Ended::Expired {
                let seen = self.cell.read();
                return if seen == self.value { WaitResult::Expired } else { WaitResult::Changed(seen) };
            }
        }
    }

    /// One futex wait: announces the sleeper, enters the kernel, which looks again, and sleeps.
    fn sleep(&self) -> Ended {
        if with(|engine| engine.layout.in_memory()) {
            return match protocol::wait(&SimulatedKernel::new(), self.cell, self.value, self.until) {
                Slept::Changed | Slept::Woken => Ended::Woken,
                Slept::Expired => Ended::Expired,
            };
        }
        let address = self.cell.address();
        let (offset, counter) = with(|engine| {
            let offset = engine.offset_of(address);
            (offset, Layout::counter(offset))
        });
        mark_next(Sort::Registration);
        add(counter, 1);
        let (short, long) = with(|engine| {
            let os = &engine.chip.os;
            (os.futex_wait_changed.0, os.futex_wait.0.saturating_sub(os.futex_wait_changed.0))
        });
        enter_kernel();
        kernel(short);
        let ended = if self.cell.read() != self.value {
            Ended::Woken
        } else {
            // From here on a wake finds us: no time passes between the look and the queue.
            with(|engine| {
                let id = engine.running;
                engine.futexes.queue(offset, id);
                let thread = &mut engine.threads[id as usize];
                (thread.woken_early, thread.futex_sleep) = (false, thread.futex_sleep + 1);
            });
            leave_queue();
            kernel(long);
            self.fall_asleep(offset)
        };
        // A wake-up that is still on its way has come too late.
        with(|engine| engine.threads[engine.running as usize].futex_sleep += 1);
        add(counter, u32::MAX);
        ended
    }

    fn fall_asleep(&self, offset: usize) -> Ended {
        let deadline = self.deadline;
        let ended = with(|engine| {
            let id = engine.running;
            if engine.threads[id as usize].woken_early {
                return Some(Ended::Woken);
            }
            // It may have been moved to another cell on its way here.
            let offset = match engine.threads[id as usize].waits_on {
                Some((Waited::Cell(now), _)) => now,
                _ => offset,
            };
            if engine.now >= deadline {
                engine.futexes.forget(offset, id);
                return Some(Ended::Expired);
            }
            engine.sleep(Waited::Cell(offset), deadline);
            None
        });
        ended.unwrap_or_else(|| {
            suspend();
            with(|engine| engine.threads[engine.running as usize].ended)
        })
    }
}

impl Engine {
    /// The running thread waits `between` cycles before its next try; can be interrupted.
    fn begin_pause(&mut self, between: u64) {
        let id = self.running;
        let core = self.core_of(id);
        let first = self.now + self.clocks.whole(core, between);
        self.queue.put(own(id), first, Rank::Try(id));
        let thread = &mut self.threads[id as usize];
        thread.spin = Spin::pause(core, first);
        thread.state = State::Spinning;
        thread.ended = Ended::Woken;
    }
}

/// An atomic addition to a counter of the table of sleepers, at the start of the arena.
pub(super) fn add(counter: usize, value: u32) {
    drain();
    let address = with(|engine| engine.base + counter);
    access(address, Access::Atomic);
    with(|engine| {
        // SAFETY: the table lies at the start of the arena, is never given out, and only the engine's own host thread
        // comes here.
        let count = unsafe { engine.arena.at(counter).cast::<u32>().as_mut() };
        *count = count.wrapping_add(value);
    });
}

/// The next access is of that sort, if the thread's locks give hints.
pub(crate) fn mark_next(sort: fn(LockHint) -> Sort) {
    with(|engine| {
        let thread = &mut engine.threads[engine.running as usize];
        thread.hint = thread.newest_hint().map(sort);
    });
}

/// Wakes up to `n` sleepers of a cell, as the native machine does: a fence, a look at the bucket's count, and a system
/// call if anybody is announced there.
pub(super) fn wake(address: usize, n: u32) {
    if with(|engine| engine.layout.in_memory()) {
        // The address is a name only.
        protocol::wake::<_, u32>(&SimulatedKernel::new(), core::ptr::without_provenance(address), n);
        return;
    }
    let (offset, counter, price) = with(|engine| {
        let offset = engine.offset_of(address);
        (offset, Layout::counter(offset), engine.chip.os.futex_wake_none.0)
    });
    drain();
    operate(Reason::Memory, |engine| engine.after(engine.chip.core.fence.0));
    mark_next(Sort::WakeUp);
    access(with(|engine| engine.base + counter), Access::Load);
    // SAFETY: as in `add`.
    let announced = with(|engine| unsafe { engine.arena.at(counter).cast::<u32>().read() });
    if announced == 0 || n == 0 {
        return;
    }
    enter_kernel();
    kernel(price);
    wake_queued(offset, n);
}

/// In the kernel: wakes up to `n` sleepers of the cell, at fixed prices; how many there were.
pub(super) fn wake_queued(offset: usize, n: u32) -> u32 {
    let (sleepers, first, more) = with(|engine| {
        let taken = engine.futexes.take(offset, n);
        let os = &engine.chip.os;
        let first = os.futex_wake.0.saturating_sub(os.futex_wake_none.0);
        let sleepers: Vec<_> = taken.into_iter().map(|id| (id, engine.threads[id as usize].futex_sleep)).collect();
        (sleepers, first, os.futex_wake_more.0)
    });
    let n = sleepers.len() as u32;
    // An idle core is roused by an interrupt, once for all; the queue of a busy one just grows.
    let mut interrupt = first;
    for (id, sleep) in sleepers {
        let roused = with(|engine| engine.wake(id, sleep));
        enter_queue(id);
        let price = match roused {
            true => std::mem::replace(&mut interrupt, more),
            false => more,
        };
        kernel(price);
    }
    n
}

/// How often the running thread's core was taken from it: whoever comes back has nothing speculated.
fn preemptions() -> u64 {
    with(|engine| engine.threads[engine.running as usize].preemptions)
}

/// Gives up the core if it is wanted; whether it was. Another thread may have written the line meanwhile, on this very
/// core, which then holds it still.
pub(super) fn give_way() -> bool {
    let wanted = with(|engine| engine.threads[engine.running as usize].preempt);
    if wanted {
        crate::engine::current::give_up_core();
    }
    wanted
}

pub(super) fn charge(reason: Reason) {
    with(|engine| engine.charge_running(reason));
}
