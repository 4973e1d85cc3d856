//! Where a thread's cycles go.

use baton_memory::times;

times! {
    /// Where a thread's cycles go. Every cycle of a thread's life has one reason.
    pub enum Reason {
        /// Computing.
        Work = "computing",
        /// Its request is being served by the memory system.
        Memory = "memory",
        /// Waiting for room in its store buffer, or until that is empty.
        StoreBuffer = "store_buffer",
        /// Mis-speculated loads at the end of a spin.
        Flush = "flush",
        /// Spinning on a core.
        Spin = "spinning",
        /// Waiting with a monitor or halted, on a CPU that it keeps: arming, entry and exit included.
        Monitor = "monitor_wait",
        /// Standing still while its core changes between one and several active contexts.
        Mode = "mode_change",
        /// In a system call.
        Kernel = "kernel",
        /// Asleep until it is woken, or until a time.
        Asleep = "asleep",
        /// Could run, but had no CPU.
        Ready = "ready",
        /// A CPU was switching to it.
        Switch = "switch",
        /// A CPU was leaving its idle state for it.
        Waking = "waking",
        /// Stalled for a device's answer.
        Device = "device",
        /// The same while the device had no room for what the request brought.
        QueueFull = "queue_full",
        /// The same while the device did not have what was wanted.
        QueueEmpty = "queue_empty",
    }
}
