//! The scheduler in the kernel: loading, classes, the sign of life, what it counts.

use crate::protocol::Class;
use crate::tables::Setup;
use anyhow::{Context, anyhow, bail};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, PrintLevel};
use std::ffi::OsStr;
use std::fs;
use std::sync::Mutex;

/// The BPF program, as clang compiled it.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/baton.bpf.o"));
/// What the kernel says of schedulers.
const STATE: &str = "/sys/kernel/sched_ext/state";
/// Flags of `enum scx_ops_flags`. The kernel keeps its account of idle CPUs, asks `enqueue` about the
/// last thread of a CPU, and schedules only members of the class.
const KEEP_BUILTIN_IDLE: u64 = 1;
const ENQ_LAST: u64 = 2;
const SWITCH_PARTIAL: u64 = 8;
/// The place of `flags` in `struct sched_ext_ops` of `bpf/kernel.h`: behind eleven callbacks.
const FLAGS_AT: usize = 11 * 8;

/// What libbpf said, for the message of a failure.
static SAID: Mutex<String> = Mutex::new(String::new());

/// `struct told` of `bpf/baton.bpf.c`: five counts, the exit's kind, its reason and its message.
const COUNTS: [&str; 5] = ["wakes", "queued", "preempts", "moves", "taken"];

/// The loaded scheduler. It is unloaded when this value is dropped, or the process ends in any way.
pub(crate) struct Kernel {
    _object: Object,
    _link: Link,
    classes: MapHandle,
    beat: MapHandle,
    told: MapHandle,
}

/// Checks that a scheduler can be loaded here.
///
/// # Errors
/// If the kernel has no sched_ext, this process may not load a scheduler, or another one is loaded.
pub(crate) fn check() -> anyhow::Result<()> {
    let Ok(state) = fs::read_to_string(STATE) else {
        bail!(
            "this kernel has no sched_ext: it needs Linux 6.12 or newer, built with CONFIG_SCHED_CLASS_EXT ({STATE} is missing)"
        );
    };
    if state.trim() != "disabled" {
        let name = fs::read_to_string("/sys/kernel/sched_ext/root/ops").unwrap_or_default();
        bail!("the sched_ext scheduler `{}` is loaded; the kernel has room for one", name.trim());
    }
    // SAFETY: the call takes nothing and changes nothing.
    if unsafe { libc::geteuid() } != 0 {
        bail!("loading a scheduler into the kernel needs root");
    }
    Ok(())
}

impl Kernel {
    /// Loads the scheduler, and starts it.
    pub(crate) fn load(setup: &Setup, all: bool) -> anyhow::Result<Kernel> {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
            let mut said = SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            said.push_str(&text);
        })));
        Kernel::try_load(setup, all).map_err(|error| {
            let said = SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let said = said.trim();
            if said.is_empty() { error } else { error.context(format!("libbpf says:\n{said}\n")) }
        })
    }

    fn try_load(setup: &Setup, all: bool) -> anyhow::Result<Kernel> {
        let mut open = ObjectBuilder::default().open_memory(PROGRAM).context("cannot read the BPF program")?;
        let flags = KEEP_BUILTIN_IDLE | ENQ_LAST | if all { 0 } else { SWITCH_PARTIAL };
        for mut map in open.maps_mut() {
            let name = map.name().to_os_string();
            if name == *".rodata.setup" {
                map.set_initial_value(setup.bytes()).context("the tables have another size than the BPF program's")?;
            } else if name == *"baton" {
                let value = map.initial_value_mut().context("the scheduler has no callbacks")?;
                value[FLAGS_AT..FLAGS_AT + 8].copy_from_slice(&flags.to_ne_bytes());
            }
        }
        let mut object = open.load().context("the kernel does not take the scheduler")?;
        let find = |name: &str| -> anyhow::Result<MapHandle> {
            let map = object.maps().find(|map| map.name() == OsStr::new(name));
            let map = map.ok_or_else(|| anyhow!("the BPF program has no map {name}"))?;
            MapHandle::try_from(&map).context("cannot open a map")
        };
        let (classes, beat, told) = (find("classes")?, find(".bss.beat")?, find(".bss.told")?);
        let ops = object.maps_mut().find(|map| map.name() == OsStr::new("baton"));
        let link = ops.context("the BPF program has no scheduler")?.attach_struct_ops().map_err(|error| {
            // Another one may have come since the check.
            match check() {
                Err(why) => why,
                Ok(()) => anyhow!(error).context("the kernel does not start the scheduler"),
            }
        })?;
        Ok(Kernel { _object: object, _link: link, classes, beat, told })
    }

    /// Says that the daemon lives.
    pub(crate) fn beat(&self) -> anyhow::Result<()> {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the kernel writes one structure, a local variable.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
        let ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        self.beat
            .update(&0_u32.to_ne_bytes(), &ns.to_ne_bytes(), MapFlags::ANY)
            .context("cannot write the sign of life")
    }

    /// Gives a thread a class. The kernel forgets it when the thread ends.
    pub(crate) fn place(&self, tid: u32, class: Class) -> anyhow::Result<()> {
        let (key, value) = (tid.to_ne_bytes(), (class as u32).to_ne_bytes());
        self.classes.update(&key, &value, MapFlags::ANY).context("the map of classes is full")
    }

    /// Why the kernel has ended the scheduler; `None` while it runs.
    pub(crate) fn left(&self) -> Option<String> {
        let told = self.told();
        let kind = number(&told, COUNTS.len());
        let text = |from: usize, len: usize| {
            let bytes = told.get(from..from + len).unwrap_or_default();
            String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
        };
        let texts = (COUNTS.len() + 1) * 8;
        let (reason, message) = (text(texts, 128), text(texts + 128, 512));
        (kind != 0)
            .then(|| [reason, message].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": "))
    }

    /// What the scheduler counted.
    pub(crate) fn counts(&self) -> Vec<(&'static str, u64)> {
        let told = self.told();
        COUNTS.into_iter().enumerate().map(|(at, name)| (name, number(&told, at))).collect()
    }

    fn told(&self) -> Vec<u8> {
        self.told.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default()
    }
}

/// The number at a place of eight bytes; 0 if there is none.
fn number(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at * 8..at * 8 + 8).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u64::from_ne_bytes)
}
