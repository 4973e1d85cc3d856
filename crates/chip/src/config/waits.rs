//! What waiting costs: the prices of the wait policies. One that is absent is a policy that the chip lacks.

use baton_machine::Wait;
use baton_units::Cycles;

/// The price of watching a line with a monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Monitor {
    /// From the instruction that waits until the context stands still.
    pub enter: Cycles,
    /// From whatever ends the wait to the first instruction after it.
    pub exit: Cycles,
}

/// Who may execute MONITOR and MWAIT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// User code, as in the HPC kernel of Akkan, Lang and Ionkov: policy `mwait`.
    #[default]
    User,
    /// The kernel alone: policy `mwmon`, in a system call.
    Kernel,
}

impl Level {
    /// Their names in a chip file.
    pub const NAMES: &[&str] = &["user", "kernel"];

    /// The name in a chip file.
    pub fn name(self) -> &'static str {
        Level::NAMES[self as usize]
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Level> {
        [Level::User, Level::Kernel].into_iter().find(|level| level.name() == name)
    }
}

/// MONITOR and MWAIT, by depth: what MWAIT's hint asks for, the shallowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mwait {
    /// Who may execute them.
    pub level: Level,
    /// Depth 1.
    pub c1: Option<Monitor>,
    /// Depth 2.
    pub c2: Option<Monitor>,
    /// Depth 3.
    pub c3: Option<Monitor>,
}

impl Mwait {
    /// The prices of a depth, from 1; `None`: the chip has no such depth.
    pub fn depth(&self, depth: u32) -> Option<Monitor> {
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
    /// Arming any monitor, beside the load of its line.
    pub monitor: Cycles,
    /// Wake-ups for no reason in a million cycles with a monitor.
    pub spurious: f64,
    /// UMONITOR and UMWAIT.
    pub umwait: Option<Monitor>,
    /// The longest that one UMWAIT rests; `None`: without bound.
    pub umwait_limit: Option<Cycles>,
    /// MONITORX and MWAITX.
    pub mwaitx: Option<Monitor>,
    /// Load-exclusive and WFE.
    pub wfe: Option<Monitor>,
    /// MONITOR and MWAIT.
    pub mwait: Mwait,
    /// The system call around them, where user code may not execute them.
    pub mwmon: Option<SystemCall>,
    /// Halting the CPU.
    pub halt: Option<Halt>,
}

impl WaitPrices {
    /// What the chip lacks for `wait`.
    ///
    /// # Errors
    /// The key of the chip file that is missing, or that speaks against it.
    pub fn has(&self, wait: Wait) -> Result<(), &'static str> {
        let needs = |there: bool, missing| if there { Ok(()) } else { Err(missing) };
        match wait {
            Wait::Spin | Wait::Pause | Wait::Futex | Wait::SpinPark(_) => Ok(()),
            Wait::Tpause => needs(self.tpause.is_some(), "the chip file has no wait.tpause"),
            Wait::Umwait => needs(self.umwait.is_some(), "the chip file has no wait.umwait"),
            Wait::Mwaitx => needs(self.mwaitx.is_some(), "the chip file has no wait.mwaitx"),
            Wait::Wfe => needs(self.wfe.is_some(), "the chip file has no wait.wfe"),
            Wait::Halt => needs(self.halt.is_some(), "the chip file has no wait.halt"),
            Wait::Mwmon => needs(self.mwmon.is_some(), "the chip file has no wait.mwmon"),
            Wait::Mwait(depth) => {
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
}
