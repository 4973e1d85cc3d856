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
/// Key in [`Meta::extra`] under which `baton profile` stores the limit on the CPU time of the
/// program's group, in CPUs.
pub const CPU_LIMIT: &str = "cpu_limit";
/// Key in [`Meta::extra`] under which `baton profile` stores the time, in nanoseconds, for which the
/// kernel held the group's threads back because of [`CPU_LIMIT`], summed over the CPUs.
pub const HELD_BACK: &str = "cpu_limit_held_back_ns";
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

/// The limit on the CPU time of the program's group, in CPUs, and the time in nanoseconds for which
/// the kernel held the group's threads back, summed over the CPUs. `None` without a limit, or if none
/// was looked for.
pub fn cpu_limit(meta: &Meta) -> Option<(f64, u64)> {
    Some((meta.extra.get(CPU_LIMIT)?.as_f64()?, meta.extra.get(HELD_BACK)?.as_u64()?))
}

/// Returns, as half a sentence, why a replay of the recording on free CPUs takes another time than
/// the program: the kernel held its threads back. `None` if it did so for at most a twentieth of the
/// run.
pub fn held_back(meta: &Meta) -> Option<String> {
    let (cpus, held_back) = cpu_limit(meta)?;
    let share = held_back as f64 / (meta.elapsed_ns as f64).max(1.0);
    (share > MOST_OTHERS).then(|| {
        format!(
            "the limit on the CPU time of the program's group ({cpus} CPUs, `cpu.max`) held its threads back for {:.0} ms; a \
             replay knows no such limit",
            held_back as f64 / 1e6
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

    #[test]
    fn a_group_that_was_held_back_is_a_reason() {
        let mut meta = Meta { elapsed_ns: 100_000_000, ..Meta::default() };
        assert_eq!((cpu_limit(&meta), held_back(&meta)), (None, None));
        meta.extra.insert(CPU_LIMIT.into(), 0.5.into());
        meta.extra.insert(HELD_BACK.into(), 4_000_000.into());
        assert_eq!((cpu_limit(&meta), held_back(&meta)), (Some((0.5, 4_000_000)), None));
        meta.extra.insert(HELD_BACK.into(), 60_000_000.into());
        assert!(held_back(&meta).unwrap().contains("0.5 CPUs, `cpu.max`) held its threads back for 60 ms"));
    }
}
