//! Whether other programs used the CPUs while a program was recorded. If they did, the program's
//! threads waited for cores, and for lock holders that waited for cores, in ways that no replay of
//! the program alone can reproduce.

use crate::meta::Meta;

/// Key in [`Meta::extra`] under which `baton profile` stores the CPU time, in nanoseconds, that
/// other programs used.
pub const OTHERS: &str = "other_cpu_ns";
/// Key in [`Meta::extra`] under which `baton profile` stores the CPU time, in nanoseconds, that the
/// program's load used on this machine. It is no part of the time of other programs.
pub const LOAD: &str = "load_cpu_ns";
/// Key in [`Meta::extra`] under which `baton profile --check` stores how long the program took alone,
/// unrecorded, in nanoseconds: the median of its runs.
pub const ALONE: &str = "alone_ns";
/// A recording is disturbed if other programs used more than this share of the CPUs' time.
pub const MOST_OTHERS: f64 = 0.05;

/// Returns, as half a sentence, why the recording is disturbed; `None` if it is not, or if the CPU
/// time of other programs was not measured.
pub fn disturbed(meta: &Meta) -> Option<String> {
    let others = meta.extra.get(OTHERS)?.as_u64()? as f64;
    let all = meta.elapsed_ns as f64 * f64::from(meta.host.cpus.max(1));
    let share = others / all.max(1.0);
    (share > MOST_OTHERS).then(|| {
        format!(
            "other programs used {:.0}% of the CPUs while this one was recorded (at most {:.0}% is trusted)",
            share * 100.0,
            MOST_OTHERS * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twentieth_of_the_cpus_is_let_pass() {
        let mut meta = Meta { elapsed_ns: 1_000_000, ..Meta::default() };
        meta.host.cpus = 2;
        assert_eq!(disturbed(&meta), None, "nothing is known");
        meta.extra.insert(OTHERS.into(), 99_000.into());
        assert_eq!(disturbed(&meta), None);
        meta.extra.insert(OTHERS.into(), 500_000.into());
        assert!(disturbed(&meta).unwrap().contains("25%"));
    }
}
