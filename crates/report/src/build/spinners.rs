//! Functions of runtimes in which a thread looks a set number of times whether it gets a lock before it
//! sleeps. Their loops end by themselves, so the instructions do not show that they wait
//! ([`crate::loops`]); they are known by name.

use crate::symbols::{Frame, short};
use std::path::Path;

/// A runtime whose threads spin, and the object file that has its functions.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Runtime {
    pub(super) name: &'static str,
    file: &'static str,
    /// What a thread waits for in the functions.
    pub(super) waits_for: &'static str,
    functions: &'static [&'static str],
    /// Functions that `functions` call in each turn. Others may call them, too.
    called: &'static [&'static str],
}

const RUNTIMES: [Runtime; 1] = [
    // Names by OpenJDK's src/hotspot/share/runtime: objectMonitor.cpp has `TrySpin_VaryDuration` in 8, `TrySpin` in
    // 17, and `try_spin`, `short_fixed_spin` and `spin_enter` in 25; lightweightSynchronizer.cpp has the last one in
    // 25.
    Runtime {
        name: "HotSpot",
        file: "libjvm.so",
        waits_for: "a monitor of Java (`synchronized`)",
        functions: &[
            "ObjectMonitor::TrySpin_VaryDuration",
            "ObjectMonitor::TrySpin",
            "ObjectMonitor::try_spin",
            "ObjectMonitor::short_fixed_spin",
            "ObjectMonitor::spin_enter",
            "LightweightSynchronizer::fast_lock_spin_enter",
        ],
        called: &["SpinPause"],
    },
];

/// Returns the runtime that an object file belongs to.
pub(super) fn runtime(path: &str) -> Option<&'static Runtime> {
    let file = Path::new(path).file_name()?;
    RUNTIMES.iter().find(|runtime| file == runtime.file)
}

impl Runtime {
    /// Returns the function of the table in which these frames of one address are, and whether others may
    /// call it, too. The frames begin with the innermost one.
    pub(super) fn function(&self, frames: &[Frame]) -> Option<(String, bool)> {
        let names = || frames.iter().map(|frame| short(&frame.function));
        let one_of = |list: &[&str]| names().find(|name| list.contains(&name.as_str()));
        one_of(self.functions).map(|name| (name, false)).or_else(|| Some((one_of(self.called)?, true)))
    }
}
