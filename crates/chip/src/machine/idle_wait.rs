//! Waits during which the CPU stands still: with a monitor on the line, at user level or in a
//! system call, or halted.
//!
//! MONITOR, the check of the value, and MWAIT are three steps. A store that is served after
//! MONITOR's load takes the line away and so ends MWAIT, at once if MWAIT has not begun. A store
//! that is served before is seen by the check. So no store is missed, and every wait that ends, for
//! whatever reason, checks again.

use super::kernel::{give_way, kernel};
use super::sleepers::{add, announced};
use super::wait::Waiting;
use crate::engine::current::{ended, now, offset_of, operate, own, spend, suspend_unless, with};
use crate::engine::idle_wait::{Still, Terms};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::Ended;
use crate::issue::drain::drain;
use crate::os::futex::layout::Layout;
use baton_chipfile::config::{Halt, MonitorPrice, SystemCall};
use baton_machine::{WaitResult, Word};

/// The parameters of a monitor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) price: MonitorPrice,
    /// The depth, from 1.
    pub(super) depth: u32,
    /// The longest that one idle wait lasts.
    pub(super) limit: u64,
}

/// Whether the running thread, which waits in a system call, was killed or has a signal and
/// therefore leaves the call.
fn leaves_call() -> bool {
    own(|thread| thread.os.signalled && thread.os.shields == 0)
}

/// Marks that the running thread is, or is no longer, in a system call during which it handles no
/// signal.
fn in_call(enters: bool) {
    own(|thread| {
        let count = &mut thread.os.signals.in_call;
        *count = if enters { *count + 1 } else { *count - 1 };
    });
}

/// The CPU of the running thread stands still if `begin` returns true. Returns whether it did; the
/// time is charged.
fn stands_still(begin: impl FnOnce(&mut Engine) -> bool) -> bool {
    let stood_still = !suspend_unless(|engine| !begin(engine));
    if stood_still {
        with(Engine::charge_idle_wait);
    }
    stood_still
}

impl<T: Word> Waiting<'_, T> {
    /// Arms a monitor, checks again and waits, until the value has changed or the deadline has
    /// come. A deadline is a timer interrupt.
    pub(super) fn monitor(&self, watch: Watch) -> WaitResult<T> {
        loop {
            if let Some(ended) = self.monitor_up_to(watch, || false) {
                return ended;
            }
        }
    }

    /// Like [`monitor`](Self::monitor), but returns `None` as soon as `leaves` returns true between
    /// two idle waits.
    fn monitor_up_to(&self, watch: Watch, leaves: impl Fn() -> bool) -> Option<WaitResult<T>> {
        loop {
            if leaves() {
                return None;
            }
            if self.arm() {
                let seen = self.try_load();
                if seen == self.value && now() < self.deadline {
                    self.wait(watch);
                }
                with(|engine| engine.unwatch(engine.running));
                if seen != self.value {
                    return Some(WaitResult::Changed(seen));
                }
            }
            let seen = self.try_load();
            if seen != self.value {
                return Some(WaitResult::Changed(seen));
            }
            if now() >= self.deadline {
                return Some(WaitResult::Expired);
            }
        }
    }

    /// MONITOR: loads the line, so that the core becomes a sharer, and watches it from then on.
    /// Returns whether it does so; a thread that lost its CPU in the meantime starts again.
    fn arm(&self) -> bool {
        if give_way() {
            return false;
        }
        spend(Reason::Monitor, |engine| engine.chip.wait.monitor.0);
        self.try_load();
        with(|engine| engine.arm(self.line));
        true
    }

    fn wait(&self, watch: Watch) {
        let Watch { price, depth, limit } = watch;
        let waits = !give_way()
            && stands_still(|engine| {
                let until = engine.now.saturating_add(limit).min(self.deadline);
                let still = Still::Monitor(depth);
                engine.begin_monitor(Terms { still, enter: price.enter.0, exit: price.exit.0, until })
            });
        if !waits {
            operate(Reason::Monitor, |engine| engine.after(1));
        }
    }

    /// Waits in a system call. The kernel gives up the CPU when it is wanted, between two idle
    /// waits. A signal ends the call, and after its handler the thread calls again.
    pub(super) fn system_call(&self, call: SystemCall, watch: Watch) -> WaitResult<T> {
        loop {
            in_call(true);
            kernel(call.call.0);
            let ended = self.monitor_up_to(watch, leaves_call);
            kernel(call.back.0);
            in_call(false);
            Engine::attend();
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    /// Halts the CPU until an interrupt comes, again and again until the value has changed or the
    /// deadline has come.
    pub(super) fn halt(&self, price: Halt) -> WaitResult<T> {
        loop {
            drain();
            let ended = Engine::shielded(|| self.halt_once(price));
            let seen = self.cell.read();
            if seen != self.value {
                return WaitResult::Changed(seen);
            }
            if ended == Ended::Expired {
                return WaitResult::Expired;
            }
        }
    }

    /// Registers as a waiter, enters the kernel, which checks again, and halts: the futex's
    /// protocol, with the CPU kept.
    fn halt_once(&self, price: Halt) -> Ended {
        let (offset, from) = (offset_of(self.cell.address()), now());
        let counter = Layout::counter(offset);
        own(|thread| thread.wait.looked = from);
        add(counter, 1);
        kernel(price.enter.0);
        let ended = if self.cell.read() != self.value {
            Ended::Woken
        } else if now() >= self.deadline {
            Ended::Expired
        } else {
            // From here on an interrupt reaches the thread: no time passes between the check and
            // the halt.
            stands_still(|engine| {
                engine.os.halted.push((offset, engine.running));
                let until = self.deadline;
                engine.begin_idle_wait(Terms { still: Still::Halted, enter: 0, exit: price.exit.0, until });
                true
            });
            ended()
        };
        add(counter, u32::MAX);
        ended
    }
}

/// Wakes up to `n` threads that have halted for the cell at `address`, the longest halted first,
/// with one interrupt each.
pub(super) fn wake_halted(address: usize, n: u32) {
    let offset = offset_of(address);
    drain();
    operate(Reason::Memory, |engine| engine.after(engine.core_here().fence.0));
    if announced(Layout::counter(offset)) == 0 {
        return;
    }
    for _ in 0..n {
        let send = with(|engine| {
            let at = engine.os.halted.iter().position(|&(cell, _)| cell == offset)?;
            let (_, id) = engine.os.halted.remove(at);
            engine.end_idle_wait(id, Ended::Woken);
            Some(engine.chip.wait.halt.unwrap_or_default().send.0)
        });
        match send {
            Some(send) => kernel(send),
            None => break,
        }
    }
}
