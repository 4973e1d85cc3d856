//! The processor's model, its hypervisor, and its features for waiting threads.

use std::path::Path;

/// A feature that a processor may offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Name in the vendor's reference manual.
    pub name: &'static str,
    /// What Baton uses the feature for.
    pub what: &'static str,
    /// Whether the processor reports the feature.
    pub offered: bool,
}

/// The processor, as CPUID and `/proc/cpuinfo` describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Name of the model; "unknown" if none is reported.
    pub model: String,
    /// Architecture, as [`std::env::consts::ARCH`] names it.
    pub architecture: &'static str,
    /// Signature of the hypervisor, if the processor reports one.
    pub hypervisor: Option<String>,
    /// Known features of the architecture, in a fixed order, offered or not.
    pub features: Vec<Feature>,
}

impl Processor {
    /// Reads CPUID and `/proc/cpuinfo`.
    pub fn discover() -> Processor {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Processor {
            model: model(&cpuinfo).unwrap_or("unknown").to_owned(),
            architecture: std::env::consts::ARCH,
            hypervisor: imp::hypervisor(),
            features: imp::features(&cpuinfo),
        }
    }

    /// Whether the processor offers the feature called `name`.
    pub fn offers(&self, name: &str) -> bool {
        self.features.iter().any(|f| f.name == name && f.offered)
    }
}

/// The kernel's limits for UMWAIT and TPAUSE (IA32_UMWAIT_CONTROL).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UmwaitControl {
    /// Whether UMWAIT and TPAUSE may rest at C0.2; if not, C0.1 is the deepest state.
    pub c02: bool,
    /// Longest rest in ticks of the time-stamp counter; 0: unlimited.
    pub max_time: u32,
}

impl UmwaitControl {
    /// Reads the limits from the kernel; `None` if it reports none, as on a processor without
    /// WAITPKG.
    pub fn discover() -> Option<UmwaitControl> {
        UmwaitControl::read(Path::new("/sys/devices/system/cpu/umwait_control"))
    }

    fn read(folder: &Path) -> Option<UmwaitControl> {
        let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u32>().ok();
        Some(UmwaitControl { c02: number("enable_c02")? != 0, max_time: number("max_time")? })
    }
}

fn field<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

fn model(cpuinfo: &str) -> Option<&str> {
    ["model name", "Processor", "CPU part"].iter().find_map(|key| field(cpuinfo, key))
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use super::Feature;
    use core::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};

    /// Returns a CPUID leaf, all zero where the processor does not have it.
    fn leaf(number: u32, sub: u32) -> CpuidResult {
        if __cpuid(number & 0x8000_0000).eax < number {
            return CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 };
        }
        __cpuid_count(number, sub)
    }

    pub(super) fn hypervisor() -> Option<String> {
        // Intel's SDM reserves leaf 1 ECX bit 31 as zero; a hypervisor sets it and puts its
        // signature into leaf 4000_0000h.
        if leaf(1, 0).ecx & 1 << 31 == 0 {
            return None;
        }
        let sign = __cpuid(0x4000_0000);
        let bytes = [sign.ebx, sign.ecx, sign.edx].map(u32::to_le_bytes).concat();
        let text: String = bytes.iter().take_while(|b| b.is_ascii_graphic()).map(|&b| char::from(b)).collect();
        Some(if text.is_empty() { "unnamed".into() } else { text })
    }

    pub(super) fn features(_: &str) -> Vec<Feature> {
        let bit = |register: u32, bit: u32| register & 1 << bit != 0;
        let feature = |name, what, offered| Feature { name, what, offered };
        let seven = leaf(7, 0);
        vec![
            // Every x86-64 processor executes PAUSE: it is a NOP on those that do not know it.
            feature("PAUSE", "spin politely (wait policy pause)", true),
            feature("MONITOR", "MONITOR and MWAIT, for kernels (chips only)", bit(leaf(1, 0).ecx, 3)),
            feature("WAITPKG", "UMWAIT and TPAUSE (wait policies umwait, tpause, and both at C0.2)", bit(seven.ecx, 5)),
            feature("MONITORX", "MWAITX (wait policy mwaitx)", bit(leaf(0x8000_0001, 0).ecx, 29)),
            feature("CLDEMOTE", "push a line towards its next reader", bit(seven.ecx, 25)),
            feature("RTM", "transactional memory (not used)", bit(seven.ebx, 11)),
            feature("RDTSCP", "time stamp with the CPU's number", bit(leaf(0x8000_0001, 0).edx, 27)),
            feature("INVARIANT-TSC", "time stamps that compare across CPUs", bit(leaf(0x8000_0007, 0).edx, 8)),
        ]
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    use super::{Feature, field};

    pub(super) fn hypervisor() -> Option<String> {
        std::path::Path::new("/sys/hypervisor/type").exists().then(|| "unnamed".to_owned())
    }

    pub(super) fn features(cpuinfo: &str) -> Vec<Feature> {
        let words = field(cpuinfo, "Features").unwrap_or_default();
        let has = |name: &str| words.split_ascii_whitespace().any(|w| w == name);
        let feature = |name, what, offered| Feature { name, what, offered };
        vec![
            feature("YIELD", "spin politely (wait policy pause)", true),
            feature("WFE", "wait for an event, bounded by the event stream (wait policy wfe)", has("evtstrm")),
            feature("LSE", "single-instruction atomics", has("atomics")),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_read_from_cpuinfo() {
        assert_eq!(model("processor\t: 0\nmodel name\t: A B C\nflags\t: x\n"), Some("A B C"));
        assert_eq!(model("garbage"), None);
    }

    #[test]
    fn what_the_kernel_allows_is_read() {
        let folder = std::env::temp_dir().join(format!("baton-umwait-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(UmwaitControl::read(&folder), None, "nothing is said");
        for (c02, max_time, right) in [
            ("1\n", "100000\n", Some(UmwaitControl { c02: true, max_time: 100_000 })),
            ("0\n", "0\n", Some(UmwaitControl { c02: false, max_time: 0 })),
            ("garbage", "0\n", None),
        ] {
            std::fs::write(folder.join("enable_c02"), c02).unwrap();
            std::fs::write(folder.join("max_time"), max_time).unwrap();
            assert_eq!(UmwaitControl::read(&folder), right);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn what_is_offered_agrees_with_the_wait_policies() {
        use crate::{Native, Wait, native::trial};
        let here = Processor::discover();
        assert!(here.offers("PAUSE"));
        assert_eq!(here.offers("WAITPKG"), trial::offered(Wait::Umwait).is_ok());
        assert_eq!(here.offers("MONITORX"), trial::offered(Wait::Mwaitx).is_ok());
        assert!(here.offers("MONITORX") || Native::check(Wait::Mwaitx).is_err());
    }
}
