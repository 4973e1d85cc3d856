//! TPAUSE between the loads, at the deeper of its two depths (Intel WAITPKG).

use super::{Between, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "tpause-c02",
    what: "TPAUSE between loads, at C0.2: it saves more and leaves more slowly than tpause, which asks for C0.1",
    source: "Intel SDM vol. 2, WAITPKG",
    limits: "needs WAITPKG and a kernel that allows C0.2; keeps the CPU",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::tries(Between::TpauseC02)
}
