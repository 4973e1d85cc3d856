//! The prices of the wait policies. An absent price stands for a policy that the chip lacks.

use super::choice::choice;
use baton_machine::Wait;
use baton_machine::wait::{Between, Idle, Monitor};
use baton_units::Cycles;

/// The price of watching a line with a monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MonitorPrice {
    /// From the instruction that waits until the context stands still.
    pub enter: Cycles,
    /// From whatever ends the wait to the first instruction after it.
    pub exit: Cycles,
}

choice! {
    /// The privilege level that may execute MONITOR and MWAIT.
    Level {
        /// User code, as in the HPC kernel of Akkan, Lang and Ionkov: policy `mwait`.
        #[default] User = "user",
        /// The kernel alone: policy `mwmon`, in a system call.
        Kernel = "kernel",
    }
}

choice! {
    /// What ends a wait with a monitor when the line is lost without a store.
    Evicted {
        /// The loss of the line ends it, for any reason.
        #[default] Ends = "ends",
        /// Stores alone end it: the monitor compares addresses, and needs no copy of the line.
        Stays = "stays",
    }
}

/// MONITOR and MWAIT, by depth: what MWAIT's hint asks for, the shallowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mwait {
    /// The privilege level that may execute them.
    pub level: Level,
    /// Depth 1.
    pub c1: Option<MonitorPrice>,
    /// Depth 2.
    pub c2: Option<MonitorPrice>,
    /// Depth 3.
    pub c3: Option<MonitorPrice>,
}

impl Mwait {
    /// The prices of a depth, from 1; `None`: the chip has no such depth.
    pub fn depth(&self, depth: u32) -> Option<MonitorPrice> {
        match depth {
            1 => self.c1,
            2 => self.c2,
            3 => self.c3,
            _ => None,
        }
    }
}

/// A system call around a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SystemCall {
    /// From the caller's instruction to the first one of the wait.
    pub call: Cycles,
    /// From the end of the wait to the caller's next instruction.
    pub back: Cycles,
}

/// A CPU that halts in a system call until an interrupt comes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Halt {
    /// The system call, up to the moment when the CPU stands still.
    pub enter: Cycles,
    /// The waker's system call that sends the interrupt, which leaves when the call begins.
    pub send: Cycles,
    /// From there to the waiter's next instruction.
    pub exit: Cycles,
}

/// Wait policies; one that is absent is a policy that the chip lacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitPrices {
    /// Compare and branch of one turn of a loop of loads, beside the load.
    pub spin: Cycles,
    /// A PAUSE or YIELD.
    pub pause: Cycles,
    /// TPAUSE between two loads.
    pub tpause: Option<Cycles>,
    /// The same at C0.2.
    pub tpause_c02: Option<Cycles>,
    /// Arming any monitor, beside the load of its line.
    pub monitor: Cycles,
    /// Wake-ups for no reason in a million cycles with a monitor.
    pub spurious: f64,
    /// Whether losing the line without a store ends a wait with a monitor.
    pub evicted: Evicted,
    /// UMONITOR and UMWAIT, at C0.1.
    pub umwait: Option<MonitorPrice>,
    /// The same at C0.2.
    pub umwait_c02: Option<MonitorPrice>,
    /// The longest that one UMWAIT waits; `None`: without bound.
    pub umwait_limit: Option<Cycles>,
    /// MONITORX and MWAITX.
    pub mwaitx: Option<MonitorPrice>,
    /// Load-exclusive and WFE.
    pub wfe: Option<MonitorPrice>,
    /// MONITOR and MWAIT.
    pub mwait: Mwait,
    /// The system call around them, where user code may not execute them.
    pub mwmon: Option<SystemCall>,
    /// Halting the CPU.
    pub halt: Option<Halt>,
}

impl WaitPrices {
    /// Whether a monitor stays armed when its core loses the line without a store.
    #[inline]
    pub fn monitors_outlive_lines(&self) -> bool {
        self.evicted == Evicted::Stays
    }

    /// What the chip lacks for `wait`.
    ///
    /// # Errors
    /// The key of the chip file that is missing, or that speaks against it.
    pub fn has(&self, wait: Wait) -> Result<(), &'static str> {
        let needs = |there: bool, missing| if there { Ok(()) } else { Err(missing) };
        let steps = wait.steps();
        if steps.between == Between::Tpause {
            needs(self.tpause.is_some(), "the chip file has no wait.tpause")?;
        }
        if steps.between == Between::TpauseC02 {
            needs(self.tpause_c02.is_some(), "the chip file has no wait.tpause_c02")?;
        }
        match steps.idle {
            None | Some(Idle::Futex) => Ok(()),
            Some(Idle::Monitor(Monitor::Umwait)) => needs(self.umwait.is_some(), "the chip file has no wait.umwait"),
            Some(Idle::Monitor(Monitor::UmwaitC02)) => {
                needs(self.umwait_c02.is_some(), "the chip file has no wait.umwait_c02")
            }
            Some(Idle::Monitor(Monitor::Mwaitx)) => needs(self.mwaitx.is_some(), "the chip file has no wait.mwaitx"),
            Some(Idle::Monitor(Monitor::Wfe)) => needs(self.wfe.is_some(), "the chip file has no wait.wfe"),
            Some(Idle::Halt) => needs(self.halt.is_some(), "the chip file has no wait.halt"),
            Some(Idle::SystemMonitor) => needs(self.mwmon.is_some(), "the chip file has no wait.mwmon"),
            Some(Idle::Monitor(Monitor::Mwait(depth))) => {
                let missing = match depth {
                    1 => "the chip file has no wait.mwait.c1",
                    2 => "the chip file has no wait.mwait.c2",
                    3 => "the chip file has no wait.mwait.c3",
                    _ => "MWAIT has the depths 1 to 3",
                };
                needs(self.mwait.depth(depth).is_some(), missing)?;
                let user = self.mwait.level == Level::User;
                needs(user, "key wait.mwait.level is \"kernel\": user code may not execute MWAIT (see policy mwmon)")
            }
        }
    }

    /// The monitor that user code has, if it has one: the first of those that are there.
    pub fn for_users(&self) -> Option<Monitor> {
        let mwait = self.mwait.c1.filter(|_| self.mwait.level == Level::User);
        let offered = [
            (Monitor::Umwait, self.umwait.is_some()),
            (Monitor::Mwaitx, self.mwaitx.is_some()),
            (Monitor::Wfe, self.wfe.is_some()),
            (Monitor::Mwait(1), mwait.is_some()),
        ];
        offered.into_iter().find(|(_, there)| *there).map(|(monitor, _)| monitor)
    }

    /// The price of a monitor, by its instructions.
    pub fn of_monitor(&self, monitor: Monitor) -> Option<MonitorPrice> {
        match monitor {
            Monitor::Umwait => self.umwait,
            Monitor::UmwaitC02 => self.umwait_c02,
            Monitor::Mwaitx => self.mwaitx,
            Monitor::Wfe => self.wfe,
            Monitor::Mwait(depth) => self.mwait.depth(depth),
        }
    }
}
