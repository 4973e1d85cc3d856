//! Describes this machine in words, for the record that accompanies a trace, and for people.

use baton_machine::discover::{Processor, Topology, allowed_cpus};
use baton_trace::meta::Host;
use std::ffi::CStr;

pub fn machine() -> Host {
    let topology = Topology::discover();
    Host {
        processor: Processor::discover().model,
        cpus: allowed_cpus().len() as u32,
        threads_per_core: topology.threads_per_core() as u32,
        nodes: topology.nodes() as u32,
        kernel: kernel(),
        libc: libc(),
    }
}

/// The kernel's name and version.
pub fn kernel() -> String {
    // SAFETY: all-zero bytes are a valid value, uname fills the fields with strings that end in a zero byte.
    unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        libc::uname(&mut name);
        let text = |field: &[libc::c_char]| CStr::from_ptr(field.as_ptr()).to_string_lossy().into_owned();
        format!("{} {}", text(&name.sysname), text(&name.release))
    }
}

/// The C library's name and version.
pub fn libc() -> String {
    // SAFETY: `gnu_get_libc_version` returns a constant string.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}
