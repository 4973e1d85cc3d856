//! What the rooms below the kernel ask of it.
//!
//! A room calls only methods that it or a room below it defines. Where an operation of a lower room
//! leads to work of the operating system, it calls one of these functions, which the kernel gives
//! the engine when a simulation is made. All of them are rare: no hit, try or computation comes here.

use crate::base::thread::ThreadId;
use crate::engine::reason::Reason;
use crate::engine::state::Engine;

/// The functions of the kernel that rooms below it call.
#[derive(Clone, Copy)]
pub(crate) struct Above {
    /// The running thread does what is wanted of it before its next operation: it gives up its core
    /// ([`give_up_core`](Above::give_up_core)), and stands still while its core changes its mode.
    /// Guest code calls it, so no reference to the engine may be held.
    pub(crate) answer: fn(),
    /// The running thread pays for interrupt handlers, goes back into its CPU's queue if its CPU is
    /// wanted, and runs the handlers of its signals. Guest code calls it, so no reference to the
    /// engine may be held.
    pub(crate) give_up_core: fn(),
    /// Carries out what devices have decided, and plans their next event.
    pub(crate) devices_did: fn(&mut Engine),
    /// The thread on a CPU leaves the CPU at once and waits in a run queue; its cycles until now
    /// are charged to the reason.
    pub(crate) stand_aside: fn(&mut Engine, ThreadId, Reason),
}
