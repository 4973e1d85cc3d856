//! How much memory points may take: the limit of the space, or without one 80% of what is free when
//! the sweep begins.

/// The share of the free memory that points may take together if the space sets no limit.
const SHARE: f64 = 0.8;
/// If the space sets no limit, a point begins beside others only if more than these bytes are free
/// besides those that the point needs.
const LEAST: u64 = 256 << 20;

/// Bytes that are free without swapping; `None`: not known.
pub(super) fn free() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    kib.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// The memory that points may take together.
pub(super) struct Memory {
    limit: u64,
    taken: u64,
    given: bool,
}

impl Memory {
    /// `given` is the limit of the space.
    pub(super) fn new(given: Option<u64>) -> Memory {
        let limit = given.or_else(|| free().map(|free| (free as f64 * SHARE) as u64)).unwrap_or(u64::MAX);
        Memory { limit, taken: 0, given: given.is_some() }
    }

    /// Whether a point that needs `bytes` may begin now, while `running` others run.
    pub(super) fn has_room(&self, bytes: u64, running: usize) -> bool {
        let fits = self.taken.saturating_add(bytes) <= self.limit;
        fits && (running == 0 || self.given || free().is_none_or(|free| free > LEAST.saturating_add(bytes)))
    }

    /// Why a point can never begin; `None` if it can.
    pub(super) fn refuses(&self, bytes: u64) -> Option<String> {
        let limit = if self.given { "the limit is" } else { "points may take" };
        let too_large = || format!("needs about {} MiB of memory; {limit} {} MiB", bytes >> 20, self.limit >> 20);
        (bytes > self.limit).then(too_large)
    }

    pub(super) fn take(&mut self, bytes: u64) {
        self.taken = self.taken.saturating_add(bytes);
    }

    pub(super) fn give_back(&mut self, bytes: u64) {
        self.taken = self.taken.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_take_no_more_than_the_limit() {
        let mut memory = Memory::new(Some(100 << 20));
        assert!(memory.has_room(100 << 20, 0) && !memory.has_room(101 << 20, 0));
        assert_eq!(memory.refuses(200 << 20).as_deref(), Some("needs about 200 MiB of memory; the limit is 100 MiB"));
        assert_eq!(memory.refuses(100 << 20), None);
        memory.take(60 << 20);
        assert!(memory.has_room(40 << 20, 1) && !memory.has_room(41 << 20, 1));
        memory.give_back(60 << 20);
        assert!(memory.has_room(100 << 20, 0));
    }

    #[test]
    fn free_memory_is_known_on_linux() {
        assert!(free().is_some_and(|free| free > 1 << 20));
    }
}
