//! The wait policies on the chip, each at its price. The flow is the native one: a first read, then
//! tries with something between them, then the policy's idle wait, if it has one: a monitor, a
//! halt, or the futex protocol with its table of sleepers.

use super::cell::SimulatedAtomic;
use super::idle_wait::Watch;
use super::kernel::{enter_kernel, futex_prices, give_way, kernel, leave_queue, mark_next};
use super::sleepers::{add, in_memory};
use crate::base::queue::Rank;
use crate::base::thread::OUTSIDE;
use crate::contexts::share::Demand;
use crate::core::instructions::{A_TRY, UNIT};
use crate::engine::current::{charge, chip, ended, now, offset_of, own, running, spend, suspend, suspend_unless, with};
use crate::engine::reason::Reason;
use crate::engine::spin::Spin;
use crate::engine::state::Engine;
use crate::engine::thread::Ended;
use crate::engine::waiting::Waited;
use crate::issue::drain::{drain, drain_line};
use crate::machine::futex_kernel::SimulatedKernel;
use crate::machine::notices::notify;
use crate::os::futex::layout::Layout;
use crate::os::futex::protocol::{self, Slept};
use baton_chipfile::config::mechanism::LockRequest;
use baton_chipfile::config::{Chip, Halt, SystemCall, WaitPrices};
use baton_machine::units::Nanos;
use baton_machine::wait::{Between, Idle, Monitor, Steps};
use baton_machine::{Deadline, Notice, Unavailable, Wait, WaitResult, Word};
use baton_memory::{Access, Line, Memory};

/// A policy's steps at this chip's prices.
pub(super) struct Priced {
    /// The number of reads of the cell before the idle wait, or [`u64::MAX`] if the policy has no
    /// idle wait.
    tries: u64,
    /// The cycles between two tries.
    pub(super) cycles: u64,
    /// Whether the core speculates on the next tries because nothing between the tries prevents it.
    pub(super) speculates: bool,
    /// The instruction between two tries.
    between: Between,
    /// The idle wait that follows the tries.
    idle: Option<PricedIdle>,
    /// The cycles of all steps after which the thread sleeps, or [`u64::MAX`] for never.
    pub(super) sleep_after: u64,
    /// Whether the length of each stage depends on earlier waits.
    adapts: bool,
    /// The number of tries after which the scheduling policy is told that the thread spins; 0 for
    /// never.
    tell_after: u64,
}

/// An idle wait at this chip's prices.
#[derive(Clone, Copy)]
enum PricedIdle {
    Monitor(Watch),
    System(SystemCall, Watch),
    Halt(Halt),
    Futex,
}

/// The parameters for watching a line with a monitor, at these prices.
pub(super) fn watch(prices: &WaitPrices, monitor: Monitor) -> Watch {
    Watch {
        price: prices.of_monitor(monitor).unwrap_or_default(),
        depth: match monitor {
            Monitor::Mwait(depth) => depth,
            Monitor::UmwaitC02 => 2,
            Monitor::Umwait | Monitor::Mwaitx | Monitor::Wfe => 1,
        },
        limit: match monitor {
            Monitor::Umwait | Monitor::UmwaitC02 => prices.umwait_limit.map_or(u64::MAX, |limit| limit.0),
            Monitor::Mwaitx | Monitor::Wfe | Monitor::Mwait(_) => u64::MAX,
        },
    }
}

fn price(chip: &Chip, wait: Wait) -> Result<Priced, Unavailable> {
    chip.check_wait(wait)?;
    let prices = &chip.wait;
    let Steps { tries, between, idle, sleep_after, tell_after, adapts } = wait.steps();
    let (cycles, speculates) = match between {
        Between::Nothing => (prices.spin, true),
        // PAUSE prevents speculation of the loads behind it, which is its purpose (Intel SDM vol.
        // 2, PAUSE). If the chip's pause takes no longer than an iteration of the plain loop, it is
        // not such an instruction.
        Between::Pause => (prices.pause, prices.pause <= prices.spin),
        Between::Tpause => (prices.tpause.unwrap_or_default(), false),
        Between::TpauseC02 => (prices.tpause_c02.unwrap_or_default(), false),
        // The price is that of the system call.
        Between::Yield => (Default::default(), false),
    };
    let watch = |monitor| watch(prices, monitor);
    let tries = if tries == u32::MAX { u64::MAX } else { u64::from(tries) };
    let idle = idle.filter(|_| tries != u64::MAX).map(|idle| match idle {
        Idle::Monitor(monitor) => PricedIdle::Monitor(watch(monitor)),
        Idle::SystemMonitor => PricedIdle::System(prices.mwmon.unwrap_or_default(), watch(Monitor::Mwait(1))),
        Idle::Halt => PricedIdle::Halt(prices.halt.unwrap_or_default()),
        Idle::Futex => PricedIdle::Futex,
    });
    let sleep_after = match sleep_after {
        0 => u64::MAX,
        nanoseconds => chip.core.clock.cycles(Nanos(nanoseconds.into())).0,
    };
    let tell_after = tell_after.into();
    Ok(Priced { tries, cycles: cycles.0, speculates, between, idle, sleep_after, adapts, tell_after })
}

/// The wait of the running thread on one cell, with its deadline in cycles.
pub(super) struct Waiting<'a, T> {
    pub(super) cell: &'a SimulatedAtomic<T>,
    pub(super) value: T,
    pub(super) line: Line,
    pub(super) deadline: u64,
    until: Option<Deadline>,
    /// The reason to which the time of tries that hit is charged.
    pub(super) reason: Reason,
    /// What tries that hit demand of the core.
    demand: Demand,
    /// If the thread has told the policy that it spins: how often the thread had slept at that
    /// time. A sleep takes the notice back.
    told: Option<u64>,
}

/// How often the running thread has slept.
fn sleeps() -> u64 {
    own(|thread| thread.stats.counts.sleeps)
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
    let (mut waiting, priced) = with(|engine| {
        let offset = engine.guest.offset_of(cell.address());
        let clock = engine.chip.core.clock;
        let until = deadline;
        let deadline = deadline.map_or(u64::MAX, |deadline| clock.cycles(deadline.at).0);
        let thread = &mut engine.threads[engine.running as usize];
        (thread.wait.waits_on, thread.wait.bounded) = (Some((Waited::Cell(offset), engine.now)), deadline != u64::MAX);
        let line = engine.guest.line(offset);
        let priced = price(&engine.chip, wait);
        let demand = match &priced {
            Ok(Priced { tries: 0, .. }) | Err(_) => Demand::Nothing,
            Ok(Priced { between: Between::Nothing, .. }) => Demand::Everything,
            Ok(Priced { cycles, .. }) => Demand::Turns((*cycles).max(1) + engine.hit_here()),
        };
        (Waiting { cell, value, line, deadline, until, reason: Reason::Spin, demand, told: None }, priced)
    });
    // The thread's own stores to the line are written first, because a try must not find the line
    // on its way to this core.
    drain_line(waiting.line);
    let priced = priced.unwrap_or_else(|missing| panic!("{missing}"));
    if priced.between != Between::Nothing {
        own(|thread| thread.pauses());
    }
    let ended = if priced.adapts { waiting.adapt(&priced) } else { waiting.rest_then_sleep(&priced) };
    if waiting.told.is_some_and(|before| before == sleeps()) {
        notify(Notice::Working);
    }
    own(|thread| {
        (thread.wait.waits_on, thread.wait.bounded) = (None, false);
        thread.paused();
    });
    ended
}

impl<T: Word> Waiting<'_, T> {
    /// Carries out the steps, for at most the time that the policy gives them, if it gives one. If
    /// the wait has not ended when this time is over, the thread sleeps. (A rest in MWAIT is ended
    /// by a timer interrupt.)
    fn rest_then_sleep(&mut self, priced: &Priced) -> WaitResult<T> {
        let deadline = self.deadline;
        if priced.sleep_after != u64::MAX {
            self.until(deadline.min(now() + priced.sleep_after));
        }
        let ended = self.carry_out(priced);
        if ended != WaitResult::Expired || self.deadline == deadline {
            return ended;
        }
        self.until(deadline);
        self.park()
    }

    /// Sets the time at which the wait, or its present stage, ends.
    pub(super) fn until(&mut self, deadline: u64) {
        self.deadline = deadline;
        own(|thread| thread.wait.bounded = deadline != u64::MAX);
    }

    /// The CPU stands still from now on.
    pub(super) fn stands_still(&mut self) {
        (self.reason, self.demand) = (Reason::Monitor, Demand::Nothing);
    }

    /// Carries out the tries, and the idle wait that follows them.
    fn carry_out(&mut self, priced: &Priced) -> WaitResult<T> {
        let &Priced { mut tries, cycles, speculates, between, idle, tell_after, .. } = priced;
        if tell_after != 0 {
            let tried = self.spin(cycles.max(1), tell_after, speculates);
            if tried != WaitResult::Expired || now() >= self.deadline {
                return tried;
            }
            notify(Notice::Spinning);
            self.told = Some(sleeps());
            tries = if tries == u64::MAX { tries } else { tries - tell_after };
        }
        let tried = match between {
            Between::Yield => self.offer_cpu(tries),
            _ => self.spin(cycles.max(1), tries, speculates),
        };
        let (WaitResult::Expired, Some(idle)) = (&tried, idle) else { return tried };
        let over = now() >= self.deadline;
        let futex = matches!(idle, PricedIdle::Futex);
        // After the deadline, a thread that has tried, or would sleep in a futex, gives up here. A
        // monitor and a halt read the cell before they check the clock, so without tries the thread
        // goes on to them.
        if over && (futex || tries != 0) {
            return tried;
        }
        if !futex {
            self.stands_still();
        }
        match idle {
            PricedIdle::Monitor(watch) => self.monitor(watch),
            PricedIdle::System(call, watch) => self.system_call(call, watch),
            PricedIdle::Halt(price) => self.halt(price),
            PricedIdle::Futex => self.park(),
        }
    }

    /// A try: a load that comes first among the events of its moment if it hits.
    pub(super) fn try_load(&self) -> T {
        self.try_once().0
    }

    /// A try that also returns whether it hits.
    fn try_once(&self) -> (T, bool) {
        let from = now();
        own(|thread| {
            thread.stats.counts.tries += 1;
            thread.stats.instructions += A_TRY * UNIT;
        });
        give_way();
        let mut hits = false;
        suspend_unless(|engine| {
            let at;
            (at, hits) = engine.access(self.line, Access::Load);
            if !hits {
                engine.demand(Demand::Nothing);
            }
            engine.over(at, if hits { Rank::Try(engine.running) } else { Rank::Next })
        });
        charge(if hits { self.reason } else { Reason::Memory });
        let seen = self.cell.peek();
        if seen == self.value {
            // Only now is it known that the try has found nothing new.
            own(|thread| thread.wait.looked = from);
        }
        (seen, hits)
    }

    /// Tries until the value changes. `Expired` also means that the tries are used up.
    pub(super) fn spin(&self, between: u64, most: u64, speculates: bool) -> WaitResult<T> {
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
            if done >= most || now() >= self.deadline {
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
                let Spin { core, done, hits, .. } = thread.wait.spin;
                if skips {
                    thread.stats.counts.tries += done;
                    // The loads of tries do not count as operations.
                    thread.stats.instructions += done * (A_TRY + 1) * UNIT;
                    engine.memory.count_hits(core, done);
                }
                (done, skips && hits && thread.ended != Ended::Interrupted)
            });
            if skips {
                // A try that was read just now is counted in the next iteration of this loop.
                done += tried - u64::from(read);
            }
            let ahead = speculates && preemptions == self::preemptions();
            let hit;
            (seen, hit) = if read {
                (self.cell.peek(), true)
            } else {
                if ahead && !with(|engine| engine.holds_here(self.line)) {
                    self.flush();
                }
                self.try_once()
            };
            // A new value in a line that was not lost comes from a sibling, which shares the cache.
            if ahead && hit && seen != self.value && chip(|chip| chip.core.contexts) != 1 {
                self.flush();
            }
        }
    }

    /// The core was ahead of its tries: later loads were done with the line, or the value, that it
    /// had. If the line was lost, those loads are discarded (a memory-order violation; Intel
    /// Optimization Reference Manual, "Pipelined spin-wait loops").
    fn flush(&self) {
        spend(Reason::Flush, |engine| engine.core_here().flush.0);
    }

    /// Sleeps in the kernel until woken, again and again until the value has changed or the
    /// deadline has come.
    pub(super) fn park(&self) -> WaitResult<T> {
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

    /// One futex wait. A thread that is killed in the meantime leaves the queue first.
    fn sleep(&self) -> Ended {
        drain();
        Engine::shielded(|| self.sleep_shielded())
    }

    /// Registers the sleeper, enters the kernel, which checks again, and sleeps.
    fn sleep_shielded(&self) -> Ended {
        if in_memory() {
            return match protocol::wait(&SimulatedKernel::new(), self.cell, self.value, self.until) {
                Slept::Changed | Slept::Woken => Ended::Woken,
                Slept::Expired if now() >= self.deadline => Ended::Expired,
                Slept::Expired => Ended::Interrupted,
            };
        }
        let address = self.cell.address();
        let offset = offset_of(address);
        let counter = Layout::counter(offset);
        mark_next(LockRequest::Registration);
        add(counter, 1);
        let prices = futex_prices();
        enter_kernel();
        kernel(prices.wait_changed.0);
        let ended = if self.cell.read() != self.value {
            Ended::Woken
        } else {
            // From here on a wake reaches the thread: no time passes between the check and entering
            // the queue.
            with(|engine| {
                let id = engine.running;
                engine.os.futexes.queue(offset, id);
                let now = engine.now;
                let thread = &mut engine.threads[id as usize];
                // An earlier wake-up within this wait may have cleared the record of the cell. From
                // here on another thread may move this sleeper, and then replaces the cell here.
                thread.wait.waits_on.get_or_insert((Waited::Cell(offset), now));
                (thread.os.woken_early, thread.os.futex_sleep) = (false, thread.os.futex_sleep + 1);
            });
            leave_queue();
            kernel(prices.wait.0.saturating_sub(prices.wait_changed.0));
            self.fall_asleep(offset)
        };
        // A wake-up that is still on its way carries the old number, and ends no later sleep.
        own(|thread| thread.os.futex_sleep += 1);
        add(counter, u32::MAX);
        ended
    }

    fn fall_asleep(&self, offset: usize) -> Ended {
        let deadline = self.deadline;
        let mut at_once = Ended::Woken;
        let over = suspend_unless(|engine| {
            let id = engine.running;
            if engine.threads[id as usize].os.woken_early {
                return true;
            }
            // The sleeper may have been moved to another cell on its way here.
            let offset = match engine.threads[id as usize].wait.waits_on {
                Some((Waited::Cell(now), _)) => now,
                _ => offset,
            };
            if engine.now >= deadline {
                engine.os.futexes.forget(offset, id);
                at_once = Ended::Expired;
                return true;
            }
            engine.sleep(Waited::Cell(offset), deadline);
            false
        });
        if over { at_once } else { ended() }
    }
}

/// How often the running thread lost its core. A thread that comes back has speculated nothing.
fn preemptions() -> u64 {
    own(|thread| thread.stats.counts.preemptions)
}
