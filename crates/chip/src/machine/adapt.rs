//! The `adaptive` wait policy on a simulated chip, and yielding the CPU.
//!
//! The policy is the native one, with the chip's prices and its operating system's answers. What a
//! thread has learnt lies in lines that no other thread reads, so it costs a read of the clock
//! before the wait, another one after a sleep, and no message.

use super::idle_wait::Watch;
use super::kernel::{give_way, system_call_to};
use super::wait::{Priced, Waiting, watch};
use crate::engine::current::{chip, now, offset_of, operate, own, reference_clock, with};
use crate::engine::reason::Reason;
use baton_machine::units::{Cycles, Nanos};
use baton_machine::wait::{Learnt, Plan, Terms};
use baton_machine::{WaitResult, Word};

impl<T: Word> Waiting<'_, T> {
    /// Tries, then waits in a monitor if user code can have one, then sleeps, according to the plan
    /// from earlier waits.
    pub(super) fn adapt(&mut self, priced: &Priced) -> WaitResult<T> {
        let deadline = self.deadline;
        let cell = offset_of(self.cell.address());
        let watch = user_monitor();
        let terms = terms(priced, watch);
        let begun = read_clock();
        let plan = learnt(|learnt| learnt.plan(cell, terms));
        let (ended, lasted, slept) = match self.stages(priced, watch, plan, begun, deadline) {
            Some((ended, lasted)) => (ended, lasted, false),
            None => {
                self.until(deadline);
                (self.park(), read_clock() - begun, true)
            }
        };
        self.until(deadline);
        learnt(|learnt| learnt.ended(cell, nanos(lasted), slept, terms));
        ended
    }

    /// The stages before a sleep. Returns their result and approximately how long they lasted: the
    /// clock is not read at the end, because other threads wait for this one then. `None` if the
    /// thread must sleep.
    fn stages(
        &mut self,
        priced: &Priced,
        watch: Option<Watch>,
        plan: Plan,
        begun: u64,
        deadline: u64,
    ) -> Option<(WaitResult<T>, u64)> {
        let Plan { tries, monitor, asks } = plan;
        let mut now = begun;
        for (until, watch) in [(tries, None), (monitor, watch)] {
            let until = begun + cycles(until);
            while now < until {
                let at = until.min(now + priced.sleep_after).min(deadline);
                self.until(at);
                let ended = match watch {
                    None => self.spin(priced.cycles.max(1), u64::MAX, priced.speculates),
                    Some(watch) => {
                        self.stands_still();
                        self.monitor(watch)
                    }
                };
                if ended != WaitResult::Expired || at == deadline {
                    return Some((ended, now.midpoint(at).saturating_sub(begun)));
                }
                if terms(priced, watch).is_crowded() {
                    return None;
                }
                if asks && yields() {
                    learnt(Learnt::cpu_is_wanted);
                    return None;
                }
                now = self::now();
            }
        }
        None
    }

    /// Tries at most `most` times, and yields the CPU after each try. `Expired` also means that the
    /// tries are used up.
    pub(super) fn offer_cpu(&self, most: u64) -> WaitResult<T> {
        for _ in 0..most {
            let seen = self.try_load();
            if seen != self.value {
                return WaitResult::Changed(seen);
            }
            if now() >= self.deadline {
                break;
            }
            yields();
        }
        WaitResult::Expired
    }
}

/// The monitor that user code can have on this chip, if any.
fn user_monitor() -> Option<Watch> {
    chip(|chip| chip.wait.for_users().map(|monitor| watch(&chip.wait, monitor)))
}

fn terms(priced: &Priced, watch: Option<Watch>) -> Terms {
    with(|engine| Terms {
        sleep: engine.chip.core.clock.nanos(Cycles(priced.sleep_after)),
        exit: watch.map(|watch| engine.chip.core.clock.nanos(Cycles(watch.price.enter.0 + watch.price.exit.0))),
        sibling: engine.chip.core.contexts > 1,
        cpus: engine.chip.cpus(),
        threads: engine.os.apps[engine.threads[engine.running as usize].os.app.0 as usize].runnable,
    })
}

fn nanos(cycles: u64) -> Nanos {
    reference_clock().nanos(Cycles(cycles))
}

fn cycles(nanos: Nanos) -> u64 {
    reference_clock().cycles(nanos).0
}

fn learnt<R>(then: impl FnOnce(&Learnt) -> R) -> R {
    let learnt: *const Learnt = own(|thread| &raw const **thread.wait.learnt.get_or_insert_default());
    // SAFETY: the record lives as long as its thread, which is the running one.
    then(unsafe { &*learnt })
}

/// Charges a read of the clock. Returns the time.
fn read_clock() -> u64 {
    operate(Reason::Work, |engine| engine.after(engine.core_here().clock_read.0.max(1)));
    now()
}

/// Yields the CPU by system call. Returns whether a thread waited for the CPU.
fn yields() -> bool {
    let wanted = system_call_to(|engine| engine.cpu_is_wanted());
    if wanted {
        own(|thread| (thread.os.preempt, thread.os.leaves) = (true, true));
        give_way();
    }
    wanted
}
