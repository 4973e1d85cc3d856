//! What a policy does, in terms that every machine implements: a number of tries with an action
//! between them, then an idle wait. Machines carry out steps and know no policy by name.

/// The action between two tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// No action.
    Nothing,
    /// PAUSE on x86-64, YIELD on Arm.
    Pause,
    /// TPAUSE at C0.1 (Intel WAITPKG).
    Tpause,
    /// TPAUSE at C0.2 (Intel WAITPKG).
    TpauseC02,
    /// A system call that yields the CPU to other threads.
    Yield,
}

/// Instructions that monitor a line and wait until it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitor {
    /// UMONITOR and UMWAIT at C0.1 (Intel WAITPKG).
    Umwait,
    /// UMONITOR and UMWAIT at C0.2 (Intel WAITPKG).
    UmwaitC02,
    /// MONITORX and MWAITX (AMD).
    Mwaitx,
    /// Load-exclusive and WFE (Arm).
    Wfe,
    /// MONITOR and MWAIT with a hint for this depth; 1 is the shallowest. Privileged on most
    /// systems.
    Mwait(u32),
}

/// How a thread waits without reading the cell again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Monitors the cell's line, reads the cell once more, and keeps the CPU until the line is
    /// written.
    Monitor(Monitor),
    /// The same with MONITOR and MWAIT within a system call, for systems where user code may not
    /// execute them.
    SystemMonitor,
    /// Halts the CPU in a system call until an interrupt arrives.
    Halt,
    /// Sleeps in the kernel until woken, leaving the CPU to other threads.
    Futex,
}

/// The steps of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Reads of the cell before the idle wait; [`u32::MAX`]: until the value has changed.
    pub tries: u32,
    /// Action between two reads.
    pub between: Between,
    /// The idle wait after the tries; `None`: the tries do not end.
    pub idle: Option<Idle>,
    /// Nanoseconds after which the thread, whatever step it is at, sleeps in the kernel until
    /// woken; 0: never.
    pub sleep_after: u32,
    /// Tries after which the thread tells the scheduler that it spins ([`Notice`](crate::Notice));
    /// when the wait is over it tells that it works again. 0: it tells nothing.
    pub tell_after: u32,
    /// Whether earlier waits determine how long each stage takes ([`Learnt`](super::Learnt)), with
    /// a monitor between tries and sleep where user code has one; `sleep_after` is then the cost of
    /// a sleep.
    pub adapts: bool,
}

impl Steps {
    /// Tries until the value has changed.
    pub const fn tries(between: Between) -> Steps {
        Steps { tries: u32::MAX, between, idle: None, sleep_after: 0, tell_after: 0, adapts: false }
    }

    /// Waits idly at once.
    pub const fn idle(idle: Idle) -> Steps {
        Steps { tries: 0, between: Between::Nothing, idle: Some(idle), sleep_after: 0, tell_after: 0, adapts: false }
    }

    /// Tries `tries` times, then waits idly.
    pub const fn tries_then(tries: u32, between: Between, idle: Idle) -> Steps {
        Steps { tries, between, idle: Some(idle), sleep_after: 0, tell_after: 0, adapts: false }
    }

    /// Adds a sleep in the kernel after `sleep_after` nanoseconds.
    pub const fn then_sleep(self, sleep_after: u32) -> Steps {
        Steps { sleep_after, ..self }
    }

    /// Adds a notice to the scheduler after `tell_after` tries.
    pub const fn tell_after(self, tell_after: u32) -> Steps {
        Steps { tell_after, ..self }
    }

    /// Makes the lengths of the stages depend on earlier waits.
    pub const fn adapted(self) -> Steps {
        Steps { adapts: true, ..self }
    }

    /// Whether the waiter may stop looking at the cell, so that the thread that changes the cell
    /// must wake it.
    pub const fn parks(self) -> bool {
        self.sleep_after != 0 || matches!(self.idle, Some(Idle::Futex | Idle::Halt))
    }

    /// Whether only a kernel can carry out the steps.
    pub const fn is_privileged(self) -> bool {
        matches!(self.idle, Some(Idle::Monitor(Monitor::Mwait(_)) | Idle::SystemMonitor | Idle::Halt))
    }
}
