//! Queues and the order in which CPUs look at them, from the machine's caches and kinds of cores.

use anyhow::ensure;
use std::collections::BTreeMap;

/// The most CPUs and queues, as in `bpf/baton.bpf.c`.
pub(crate) const MOST_CPUS: usize = 512;
const MOST_QUEUES: usize = 64;

/// `struct setup` of `bpf/baton.bpf.c`. Kind 0 is fast, and kind 1 is slow.
#[repr(C)]
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) slice_ns: u64,
    pub(crate) stale_ns: u64,
    pub(crate) queues: u32,
    pub(crate) old_names: u32,
    pub(crate) cpus_of_kind: [u32; 2],
    pub(crate) of_kind: [[u32; MOST_CPUS]; 2],
    pub(crate) nearest: [[u32; 2]; MOST_CPUS],
    pub(crate) kinds: [u8; MOST_CPUS],
    pub(crate) queue_of: [u8; MOST_CPUS],
    pub(crate) kind_of_queue: [u8; MOST_QUEUES],
    pub(crate) order: [[u8; MOST_QUEUES]; MOST_QUEUES],
}

impl Setup {
    /// The bytes as the BPF program reads them.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `Setup` has integers only, its layout is C's, and its size is a multiple of 8 without
        // padding between members (each array's size is a multiple of 8), so each byte has a value.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Setup>()) }
    }
}

/// Makes the tables. `caches` has the CPUs that are on, each with the number of its last-level cache;
/// `possible` CPUs that are off are taken to share a cache with their next lower neighbour.
///
/// # Errors
/// If a fast CPU does not exist, there are no slow CPUs, or there are too many CPUs or queues.
pub(crate) fn setup(caches: &[(u32, u32)], possible: &[u32], fast: &[u32]) -> anyhow::Result<Setup> {
    let mut cache_of: BTreeMap<u32, u32> = caches.iter().copied().collect();
    for &cpu in possible {
        if !cache_of.contains_key(&cpu) {
            let below = cache_of.range(..cpu).next_back().map(|(_, &cache)| cache);
            cache_of.insert(cpu, below.unwrap_or(cpu));
        }
    }
    for cpu in fast {
        ensure!(cache_of.contains_key(cpu), "--fast: there is no CPU {cpu}");
    }
    ensure!(
        cache_of.keys().all(|&cpu| (cpu as usize) < MOST_CPUS),
        "this machine has CPU numbers above {}",
        MOST_CPUS - 1
    );
    let kind = |cpu: u32| usize::from(!fast.contains(&cpu));
    let mut numbers: BTreeMap<(u32, usize), u8> = BTreeMap::new();
    for (&cpu, &cache) in &cache_of {
        let next = numbers.len();
        numbers.entry((cache, kind(cpu))).or_insert(next.min(255) as u8);
    }
    ensure!(numbers.len() <= MOST_QUEUES, "this machine has more than {} last-level caches", MOST_QUEUES / 2);
    let mut setup = Setup {
        slice_ns: 0,
        stale_ns: 0,
        queues: numbers.len() as u32,
        old_names: 0,
        cpus_of_kind: [0; 2],
        of_kind: [[0; MOST_CPUS]; 2],
        nearest: [[0; 2]; MOST_CPUS],
        kinds: [1; MOST_CPUS],
        queue_of: [0; MOST_CPUS],
        kind_of_queue: [0; MOST_QUEUES],
        order: [[0; MOST_QUEUES]; MOST_QUEUES],
    };
    for (&cpu, &cache) in &cache_of {
        let (at, kind) = (cpu as usize, kind(cpu));
        setup.kinds[at] = kind as u8;
        setup.queue_of[at] = numbers[&(cache, kind)];
        setup.of_kind[kind][setup.cpus_of_kind[kind] as usize] = cpu;
        setup.cpus_of_kind[kind] += 1;
        for other in 0..2 {
            // The same cache first, then the nearest number.
            let of_kind = cache_of.iter().filter(|&(&cpu, _)| self::kind_of(fast, cpu) == other);
            let near = of_kind.min_by_key(|&(&other, &its)| (its != cache, other.abs_diff(cpu)));
            setup.nearest[at][other] = near.map_or(cpu, |(&cpu, _)| cpu);
        }
    }
    ensure!(setup.cpus_of_kind[1] > 0, "--fast names all CPUs; expected some of them, as the others are the slow ones");
    for (&(cache, kind), &own) in &numbers {
        setup.kind_of_queue[own as usize] = kind as u8;
        let mut order: Vec<(bool, bool, u8, u8)> = numbers
            .iter()
            // Queues of the same cache, then those of the same kind; each queue begins behind itself.
            .map(|(&(other, its), &number)| {
                (other != cache, its != kind, number.wrapping_sub(own) % numbers.len() as u8, number)
            })
            .collect();
        order.sort_unstable();
        // A turn at the queues of others may begin anywhere in the row.
        for (at, &(.., number)) in (0..MOST_QUEUES).zip(order.iter().cycle()) {
            setup.order[own as usize][at] = number;
        }
    }
    Ok(setup)
}

fn kind_of(fast: &[u32], cpu: u32) -> usize {
    usize::from(!fast.contains(&cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_by_cache_and_kind() {
        // Two caches of four CPUs, with two fast CPUs in the first one; CPU 8 is off.
        let caches: Vec<(u32, u32)> = (0..8).map(|cpu| (cpu, cpu / 4 * 4)).collect();
        let all: Vec<u32> = (0..9).collect();
        let setup = setup(&caches, &all, &[0, 1]).unwrap();
        assert_eq!((setup.queues, setup.cpus_of_kind), (3, [2, 7]));
        assert_eq!(setup.queue_of[..9], [0, 0, 1, 1, 2, 2, 2, 2, 2]);
        assert_eq!(setup.kinds[..9], [0, 0, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(setup.kind_of_queue[..3], [0, 1, 1]);
        assert_eq!(setup.order[0][..3], [0, 1, 2], "the slow queue of the same cache, then the other cache");
        assert_eq!(setup.order[1][..3], [1, 0, 2]);
        assert_eq!(setup.order[2][..3], [2, 1, 0], "the same kind first where the caches differ");
        assert_eq!((setup.nearest[3], setup.nearest[5]), ([1, 3], [1, 5]));
        assert_eq!(setup.of_kind[0][..2], [0, 1]);
    }

    #[test]
    fn tables_that_cannot_be_are_refused() {
        let said = |fast: &[u32], cpus: u32| {
            let caches: Vec<(u32, u32)> = (0..cpus).map(|cpu| (cpu, cpu)).collect();
            setup(&caches, &[], fast).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(said(&[0], 4), "");
        assert!(said(&[4], 4).contains("there is no CPU 4"));
        assert!(said(&[0, 1], 2).contains("names all CPUs"));
        assert!(said(&[0], 100).contains("more than 32 last-level caches"));
        assert!(said(&[0], 600).contains("above 511"));
    }
}
