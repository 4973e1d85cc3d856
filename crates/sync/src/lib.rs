//! Locks, barriers, events and queues, each written once over Machine.
