//! The prices of the wait policies. An absent price stands for a policy that the chip lacks.

use super::choice::choice;
use baton_machine::Wait;
use baton_machine::wait::{Between, Idle, Monitor};
use baton_units::Cycles;

/// The prices of watching a line with a monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MonitorPrice {
    /// Time from the instruction that waits until the context stands still.
    pub enter: Cycles,
    /// Time from the event that ends the wait to the first instruction after the wait.
    pub exit: Cycles,
}

choice! {
    /// The privilege level that may execute MONITOR and MWAIT.
    Level {
        /// User code may, as in the HPC kernel of Akkan, Lang and Ionkov: policy `mwait`.
        #[default] User = "user",
        /// The kernel alone may: policy `mwmon`, in a system call.
        Kernel = "kernel",
    }
}

choice! {
    /// What ends a wait with a monitor when the line is lost without a store.
    Evicted {
        /// The loss of the line ends it, for any reason.
        #[default] Ends = "ends",
        /// Only stores end the wait: the monitor compares addresses, and needs no copy of the line.
        Stays = "stays",
    }
}

/// The prices of MONITOR and MWAIT for each depth that MWAIT's hint can ask for, the shallowest
/// first.
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
    /// Returns the prices of a depth, from 1; `None` if the chip has no such depth.
    pub fn depth(&self, depth: u32) -> Option<MonitorPrice> {
        match depth {
            1 => self.c1,
            2 => self.c2,
            3 => self.c3,
            _ => None,
        }
    }
}

/// The prices of a system call around a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SystemCall {
    /// Time from the caller's instruction to the first instruction of the wait.
    pub call: Cycles,
    /// Time from the end of the wait to the caller's next instruction.
    pub back: Cycles,
}

/// The prices of a CPU that halts in a system call until an interrupt comes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Halt {
    /// Time of the system call, up to the moment at which the CPU stands still.
    pub enter: Cycles,
    /// Time of the waker's system call that sends the interrupt; the interrupt leaves at the
    /// beginning of the call.
    pub send: Cycles,
    /// Time from the interrupt to the waiter's next instruction.
    pub exit: Cycles,
}

/// The prices of wait policies; the chip lacks a policy without prices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitPrices {
    /// The price of compare and branch in an iteration of a spin loop, in addition to the load.
    pub spin: Cycles,
    /// The price of a PAUSE or YIELD.
    pub pause: Cycles,
    /// The price of a TPAUSE between two loads.
    pub tpause: Option<Cycles>,
    /// The price of a TPAUSE at C0.2 between two loads.
    pub tpause_c02: Option<Cycles>,
    /// The price of arming any monitor, in addition to the load of the line.
    pub monitor: Cycles,
    /// Number of wake-ups without a reason in a million cycles with a monitor.
    pub spurious: f64,
    /// Whether the loss of the line without a store ends a wait with a monitor.
    pub evicted: Evicted,
    /// The prices of UMONITOR and UMWAIT at C0.1.
    pub umwait: Option<MonitorPrice>,
    /// The prices of UMONITOR and UMWAIT at C0.2.
    pub umwait_c02: Option<MonitorPrice>,
    /// The longest wait of one UMWAIT; `None`: without bound.
    pub umwait_limit: Option<Cycles>,
    /// The prices of MONITORX and MWAITX.
    pub mwaitx: Option<MonitorPrice>,
    /// The prices of load-exclusive and WFE.
    pub wfe: Option<MonitorPrice>,
    /// The prices of MONITOR and MWAIT, and who may execute them.
    pub mwait: Mwait,
    /// The prices of the system call around MONITOR and MWAIT, on a chip whose user code may not
    /// execute them.
    pub mwmon: Option<SystemCall>,
    /// The prices of halting the CPU by system call.
    pub halt: Option<Halt>,
}

impl WaitPrices {
    /// Returns whether a monitor stays armed when its core loses the line without a store.
    #[inline]
    pub fn monitors_outlive_lines(&self) -> bool {
        self.evicted == Evicted::Stays
    }

    /// Checks that the chip has all that `wait` needs.
    ///
    /// # Errors
    /// The key of the chip file that is missing, or whose value excludes the policy.
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

    /// Returns the first of UMWAIT, MWAITX, WFE and MWAIT at depth 1 that user code can use on this
    /// chip; `None` if there is none.
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

    /// Returns the prices of a monitor.
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
