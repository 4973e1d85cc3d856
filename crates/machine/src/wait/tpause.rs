//! TPAUSE between the loads (Intel WAITPKG).

use super::{Between, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "tpause",
    what: "TPAUSE between loads",
    source: "Intel SDM vol. 2, WAITPKG",
    limits: "needs WAITPKG; keeps the CPU",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::tries(Between::Tpause)
}
