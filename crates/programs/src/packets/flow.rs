//! The settings by which packets move, and the figure that measures the programs that move them.

use super::buffers::BLOCKS;
use super::link::{self, Shape};
use baton_machine::PushTo;
use baton_machine::units::CoreId;
use baton_workloads::Refused;
use baton_workloads::inputs::Prepush;
use baton_workloads::timing::Figure;

/// How packets move, whatever a program does with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Number of packets that are sent.
    pub packets: u64,
    /// Number of packets that a thread takes and passes on at a time.
    pub bulk: usize,
    /// Places of each queue between two stages, a power of two.
    pub capacity: usize,
    /// Number of buffers in the pool; `None`: as many as the program needs, at least 256. CAF's
    /// paper does not state it.
    pub pool: Option<usize>,
    /// Number of 64-byte blocks of a packet that threads write and read, from the first block on.
    /// CAF's paper states only that a header has 3.
    pub blocks: u32,
    /// Number of packets of a bulk that a thread prefetches ahead; 0: none.
    pub prefetch: u32,
    /// Whether a sender pushes the packets that it passes on out of its caches.
    pub prepush: Prepush,
}

impl Default for Flow {
    fn default() -> Self {
        Flow { packets: 1000, bulk: 1, capacity: 64, pool: None, blocks: 3, prefetch: 3, prepush: Prepush::None }
    }
}

/// The least number of buffers in a pool whose size is not set.
pub(super) const USUAL_POOL: usize = 256;
/// The largest number of buffers, which take 132 MiB.
const MOST_POOL: usize = 65_536;

impl Flow {
    /// The number of buffers in the pool: the number that was set, or at least [`USUAL_POOL`]. An
    /// error if there are so few that threads can wait for ever, as each of `threads` threads may
    /// hold a bulk and wait, or more than [`MOST_POOL`].
    pub(crate) fn buffers(&self, threads: u32, pool: Shape, apart: bool) -> Result<usize, Refused> {
        let bulks = |of: u32| (of as usize).saturating_mul(self.bulk);
        // Where each source has queues of its own, buffers that wait for one source are not
        // available to the other sources.
        let dealt = if apart { (pool.receivers as usize).saturating_mul(bulks(pool.senders) + 2) } else { 0 };
        let least = bulks(threads).saturating_add(dealt).max(1);
        let asked = self.pool.unwrap_or(least.max(USUAL_POOL));
        if asked < least {
            let why = "so that no thread waits for ever";
            return Err(Refused::because(format!("a pool of {asked} buffers; expected {least} at least, {why}")));
        }
        match asked {
            0..=MOST_POOL => Ok(asked),
            _ => Err(Refused::because(format!("a pool of {asked} buffers; expected {MOST_POOL} at most"))),
        }
    }

    /// Checks the settings.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        if !(1..=BLOCKS).contains(&self.blocks) {
            return Err(Refused::because(format!("{} blocks of a packet; expected 1 to {BLOCKS}", self.blocks)));
        }
        if let Some(asked) = self.pool.filter(|asked| *asked > MOST_POOL) {
            return Err(Refused::because(format!("a pool of {asked} buffers; expected {MOST_POOL} at most")));
        }
        if self.bulk == 0 || self.bulk > self.capacity {
            let (bulk, capacity) = (self.bulk, self.capacity);
            return Err(Refused::because(format!(
                "a bulk of {bulk} packets; expected 1 to the queues' capacity, {capacity}"
            )));
        }
        Ok(())
    }

    /// Where a packet for the next stage is pushed: with [`Prepush::Consumer`] into the caches of
    /// core `first` if the stage has one thread, otherwise to the shared level; `None` without
    /// prepush.
    pub(super) fn push_to(&self, receivers: u32, first: u32) -> Option<PushTo> {
        match self.prepush {
            Prepush::None => None,
            Prepush::Consumer if receivers == 1 => Some(PushTo::Core(CoreId(first))),
            Prepush::Shared | Prepush::Consumer => Some(PushTo::SharedLevel),
        }
    }
}

/// Number of packets that each of `sources` sources sends: packet n comes from source n modulo
/// `sources`.
pub(super) fn sent(packets: u64, sources: u32) -> Vec<u64> {
    link::even(packets, sources)
}

/// The figure "nanoseconds a packet".
pub(super) fn a_packet(nanoseconds: u64, packets: u64) -> Figure {
    Figure { name: "nanoseconds_a_packet", value: nanoseconds as f64 / packets.max(1) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_in_which_threads_would_wait_for_ever_is_refused() {
        let shape = |receivers| Shape { senders: 2, receivers, bulk: 8 };
        let flow = |pool| Flow { bulk: 8, pool, ..Flow::default() };
        assert_eq!(flow(None).buffers(7, shape(1), false), Ok(256));
        assert_eq!(flow(None).buffers(100, shape(1), false), Ok(800));
        assert_eq!(flow(Some(56)).buffers(7, shape(1), false), Ok(56));
        let refused =
            |pool, sources, apart| flow(Some(pool)).buffers(7, shape(sources), apart).unwrap_err().to_string();
        assert_eq!(
            refused(55, 1, false),
            "a pool of 55 buffers; expected 56 at least, so that no thread waits for ever"
        );
        assert!(refused(91, 2, true).contains("expected 92 at least"));
        assert!(
            flow(None).buffers(10_000, shape(1), false).unwrap_err().to_string().contains("expected 65536 at most")
        );
        assert!(flow(Some(65_537)).check().is_err() && flow(Some(65_536)).check().is_ok());
        let most = Flow { bulk: usize::MAX, ..Flow::default() };
        assert!(most.check().is_err() && Flow { blocks: 33, ..Flow::default() }.check().is_err());
    }

    #[test]
    fn headers_are_pushed_to_where_they_are_taken() {
        let flow = |prepush| Flow { prepush, ..Flow::default() };
        assert_eq!(flow(Prepush::None).push_to(1, 3), None);
        assert_eq!(flow(Prepush::Shared).push_to(1, 3), Some(PushTo::SharedLevel));
        assert_eq!(flow(Prepush::Consumer).push_to(1, 3), Some(PushTo::Core(CoreId(3))));
        assert_eq!(flow(Prepush::Consumer).push_to(2, 3), Some(PushTo::SharedLevel));
    }
}
