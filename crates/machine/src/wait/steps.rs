//! What a policy does, in the words that every machine understands: so many tries with something between each two of them,
//! then an idle wait. A machine carries out steps, and knows no policy by its name.

/// What stands between two tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Nothing.
    Nothing,
    /// PAUSE, or YIELD.
    Pause,
    /// TPAUSE at C0.1 (Intel WAITPKG).
    Tpause,
    /// TPAUSE at C0.2.
    TpauseC02,
    /// A system call that offers the CPU to the threads that wait for it.
    Yield,
}

/// The instructions that watch a line and wait until it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitor {
    /// UMONITOR and UMWAIT at C0.1 (Intel WAITPKG).
    Umwait,
    /// UMONITOR and UMWAIT at C0.2.
    UmwaitC02,
    /// MONITORX and MWAITX (AMD).
    Mwaitx,
    /// Load-exclusive and WFE (Arm).
    Wfe,
    /// MONITOR and MWAIT, with the hint for this depth: 1 is the shallowest. Privileged on most systems.
    Mwait(u32),
}

/// How a thread waits without looking at the cell over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Watches the cell's line, looks once more, and keeps the CPU until the line is written.
    Monitor(Monitor),
    /// The same with MONITOR and MWAIT within a system call, where user code may not execute them.
    SystemMonitor,
    /// Halts the CPU in a system call until an interrupt comes.
    Halt,
    /// Sleeps in the kernel until woken; the CPU is free meanwhile.
    Futex,
}

/// The steps of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Reads of the cell before the idle wait; [`u32::MAX`]: until the value has changed.
    pub tries: u32,
    /// What stands between two of them.
    pub between: Between,
    /// What follows them; `None`: they do not end.
    pub idle: Option<Idle>,
    /// Nanoseconds of all that, after which the thread sleeps in the kernel until woken; 0: never.
    pub sleep_after: u32,
    /// Tries after which the thread tells the scheduler that it spins ([`Notice`](crate::Notice)), and when the wait is over, that it
    /// works again; 0: it tells nothing.
    pub tell_after: u32,
    /// How long each stage takes follows from the waits before ([`Learnt`](super::Learnt)), and a monitor stands between tries and sleep where
    /// users have one; `sleep_after` is then what a sleep costs.
    pub adapts: bool,
}

impl Steps {
    /// Tries until the value has changed.
    pub const fn tries(between: Between) -> Steps {
        Steps { tries: u32::MAX, between, idle: None, sleep_after: 0, tell_after: 0, adapts: false }
    }

    /// An idle wait at once.
    pub const fn idle(idle: Idle) -> Steps {
        Steps { tries: 0, between: Between::Nothing, idle: Some(idle), sleep_after: 0, tell_after: 0, adapts: false }
    }

    /// So many tries, then an idle wait.
    pub const fn tries_then(tries: u32, between: Between, idle: Idle) -> Steps {
        Steps { tries, between, idle: Some(idle), sleep_after: 0, tell_after: 0, adapts: false }
    }

    /// The same for so many nanoseconds, then sleep in the kernel.
    pub const fn then_sleep(self, sleep_after: u32) -> Steps {
        Steps { sleep_after, ..self }
    }

    /// The same, with the scheduler told after so many tries.
    pub const fn tell_after(self, tell_after: u32) -> Steps {
        Steps { tell_after, ..self }
    }

    /// The same, as long each as the waits before say.
    pub const fn adapted(self) -> Steps {
        Steps { adapts: true, ..self }
    }

    /// Whether the waiter stops looking at the cell, so that the thread that changes the cell must wake it.
    pub const fn parks(self) -> bool {
        self.sleep_after != 0 || matches!(self.idle, Some(Idle::Futex | Idle::Halt))
    }

    /// Whether only a kernel can carry them out.
    pub const fn is_privileged(self) -> bool {
        matches!(self.idle, Some(Idle::Monitor(Monitor::Mwait(_)) | Idle::SystemMonitor | Idle::Halt))
    }
}
