//! Where a thread's cycles go.

/// Where a thread's cycles go. Every cycle of a thread's life has one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Computing.
    Work,
    /// Its request is being served by the memory system.
    Memory,
    /// Waiting for room in its store buffer, or until that is empty.
    StoreBuffer,
    /// Throwing away what was speculated when a spin's line goes.
    Flush,
    /// Spinning on a core.
    Spin,
    /// Waiting with a monitor or halted, on a CPU that it keeps: arming, entry and exit included.
    Monitor,
    /// Standing still while its core changes between one and several active contexts.
    Mode,
    /// In a system call.
    Kernel,
    /// Asleep until it is woken, or until a time.
    Asleep,
    /// Could run, but has no core.
    Ready,
    /// A CPU is switching to it.
    Switch,
    /// An idle CPU is waking up for it.
    Waking,
    /// Stalled for a device's answer.
    Device,
    /// The same while the device has no room for what it brings.
    QueueFull,
    /// The same while the device does not have what it wants.
    QueueEmpty,
}

/// How many reasons there are.
pub const REASONS: usize = 15;

impl Reason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Reason; REASONS] = [
        Reason::Work,
        Reason::Memory,
        Reason::StoreBuffer,
        Reason::Flush,
        Reason::Spin,
        Reason::Monitor,
        Reason::Mode,
        Reason::Kernel,
        Reason::Asleep,
        Reason::Ready,
        Reason::Switch,
        Reason::Waking,
        Reason::Device,
        Reason::QueueFull,
        Reason::QueueEmpty,
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Work => "work",
            Reason::Memory => "memory",
            Reason::StoreBuffer => "store_buffer",
            Reason::Flush => "flush",
            Reason::Spin => "spin",
            Reason::Monitor => "monitor",
            Reason::Mode => "mode_change",
            Reason::Kernel => "kernel",
            Reason::Asleep => "asleep",
            Reason::Ready => "ready",
            Reason::Switch => "switch",
            Reason::Waking => "waking",
            Reason::Device => "device",
            Reason::QueueFull => "queue_full",
            Reason::QueueEmpty => "queue_empty",
        }
    }
}
