//! A queue whose algorithm is chosen when the queue is made. Each call then costs a branch more.

use super::mpmc::ExactMpmc;
use super::ring::ExactRing;
use super::ring_single::ExactRingSingle;
use super::segments::Segments;
use super::spsc::ExactSpsc;
use super::{BadBound, ExactQueue, MOST, QueueError, QueueInfo, RawQueue, Side};
use baton_machine::{Machine, Wait};

/// An algorithm that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// [`spsc`](super::spsc), for one producer and one consumer.
    Spsc,
    /// [`ring`](super::ring).
    Ring,
    /// [`ring_single`](super::ring_single), for one producer and one consumer.
    RingSingle,
    /// [`mpmc`](super::mpmc).
    Mpmc,
    /// [`segments`](super::segments).
    Segments,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 5] =
        [Algorithm::Spsc, Algorithm::Ring, Algorithm::RingSingle, Algorithm::Mpmc, Algorithm::Segments];

    /// Returns the name in the registry.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Spsc => "spsc",
            Algorithm::Ring => "ring",
            Algorithm::RingSingle => "ring-single",
            Algorithm::Mpmc => "mpmc",
            Algorithm::Segments => "segments",
        }
    }

    /// Whether the algorithm is for one producer and one consumer.
    pub fn is_for_one(self) -> bool {
        matches!(self, Algorithm::Spsc | Algorithm::RingSingle)
    }
}

/// What a user of a program asks for: an algorithm, and a capacity instead of the program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The algorithm that serves the queue.
    pub algorithm: Algorithm,
    /// The number of items that the queue holds; `None` for the program's own.
    pub capacity: Option<usize>,
}

/// Why a text asks for no queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    /// There is no such algorithm.
    #[error("expected spsc, ring, ring-single, mpmc or segments, with a capacity behind it as in ring=64")]
    Algorithm,
    /// No queue has this capacity.
    #[error("a queue holds 1 to 1073741824 items")]
    Capacity,
}

impl Asked {
    /// Reads `ring` or `ring=64`.
    ///
    /// # Errors
    /// Fails if there is no such algorithm, or no queue has the capacity.
    pub fn parse(text: &str) -> Result<Asked, NotAsked> {
        let (name, capacity) = match text.split_once('=') {
            Some((name, capacity)) => (name, Some(capacity)),
            None => (text, None),
        };
        let named = |algorithm: &Algorithm| algorithm.name() == name.trim();
        let algorithm = Algorithm::ALL.into_iter().find(named).ok_or(NotAsked::Algorithm)?;
        let capacity = match capacity.map(|text| text.trim().parse()) {
            None => None,
            Some(Ok(capacity)) if (1..=MOST).contains(&capacity) => Some(capacity),
            Some(_) => return Err(NotAsked::Capacity),
        };
        Ok(Asked { algorithm, capacity })
    }
}

/// A queue of any of the algorithms.
pub enum Chosen<M: Machine, T: Send + 'static> {
    /// See [`Algorithm::Spsc`], and so on.
    Spsc(ExactSpsc<M, T>),
    #[allow(missing_docs)]
    Ring(ExactRing<M, T>),
    #[allow(missing_docs)]
    RingSingle(ExactRingSingle<M, T>),
    #[allow(missing_docs)]
    Mpmc(ExactMpmc<M, T>),
    #[allow(missing_docs)]
    Segments(Segments<M, T, 32>),
}

impl<M: Machine, T: Send + 'static> Chosen<M, T> {
    /// Makes a queue of an algorithm for `capacity` items, from 1 to 2^30.
    ///
    /// # Errors
    /// Fails if the capacity is not allowed.
    ///
    /// # Safety
    /// If the algorithm is for one producer and one consumer, the queue is used as by
    /// [`Side::Single`] on both sides.
    pub unsafe fn of(algorithm: Algorithm, capacity: usize) -> Result<Self, BadBound> {
        Ok(match algorithm {
            Algorithm::Spsc => Chosen::Spsc(ExactSpsc::exactly(capacity)?),
            Algorithm::Ring => Chosen::Ring(ExactRing::exactly(capacity)?),
            Algorithm::RingSingle => Chosen::RingSingle(ExactRingSingle::exactly(capacity)?),
            Algorithm::Mpmc => Chosen::Mpmc(ExactMpmc::exactly(capacity)?),
            Algorithm::Segments => Chosen::Segments(Segments::exactly(capacity)?),
        })
    }
}

/// Calls a method of the chosen queue.
macro_rules! chosen {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Chosen::Spsc($queue) => $call,
            Chosen::Ring($queue) => $call,
            Chosen::RingSingle($queue) => $call,
            Chosen::Mpmc($queue) => $call,
            Chosen::Segments($queue) => $call,
        }
    };
}

// SAFETY: every call goes to the queue inside. Any number of threads may use it, unless the one who made
// it has promised otherwise.
unsafe impl<M: Machine, T: Send + 'static> RawQueue<M> for Chosen<M, T> {
    type Item = T;
    const INFO: QueueInfo = QueueInfo {
        name: "chosen",
        what: "a queue whose algorithm is chosen when it is made",
        source: "-",
        limits: "those of the algorithm; a branch more for each call",
        producers: Side::Multi,
        consumers: Side::Multi,
        bulk: false,
        device: false,
        // The figures of `mpmc`, without the branch.
        counted: ExactMpmc::<M, T>::INFO.counted,
        counted_bulk: None,
    };

    fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        ExactMpmc::with_capacity(capacity).map(Chosen::Mpmc)
    }

    fn took(&self) -> &'static str {
        chosen!(self, queue => queue.took())
    }

    fn capacity(&self) -> usize {
        chosen!(self, queue => queue.capacity())
    }

    #[inline]
    unsafe fn try_enqueue(&self, item: T, wait: Wait) -> Result<(), T> {
        // SAFETY: guaranteed by the caller, here and in the methods below.
        chosen!(self, queue => unsafe { queue.try_enqueue(item, wait) })
    }

    #[inline]
    unsafe fn try_dequeue(&self, wait: Wait) -> Option<T> {
        // SAFETY: see above.
        chosen!(self, queue => unsafe { queue.try_dequeue(wait) })
    }

    unsafe fn enqueue(&self, item: T, wait: Wait) {
        // SAFETY: see above.
        chosen!(self, queue => unsafe { queue.enqueue(item, wait) });
    }

    unsafe fn dequeue(&self, wait: Wait) -> T {
        // SAFETY: see above.
        chosen!(self, queue => unsafe { queue.dequeue(wait) })
    }
}

// SAFETY: every call goes to the queue inside, as above.
unsafe impl<M: Machine, T: Send + 'static> ExactQueue<M> for Chosen<M, T> {
    fn exactly(capacity: usize) -> Result<Self, BadBound> {
        ExactMpmc::exactly(capacity).map(Chosen::Mpmc)
    }

    fn len(&self) -> usize {
        chosen!(self, queue => queue.len())
    }

    fn is_empty(&self) -> bool {
        chosen!(self, queue => queue.is_empty())
    }

    unsafe fn put_some(&self, items: &[T], wait: Wait) -> usize
    where
        T: Copy,
    {
        // SAFETY: guaranteed by the caller.
        chosen!(self, queue => unsafe { queue.put_some(items, wait) })
    }

    unsafe fn take_some(&self, items: &mut [T], wait: Wait) -> usize
    where
        T: Copy,
    {
        // SAFETY: guaranteed by the caller.
        chosen!(self, queue => unsafe { queue.take_some(items, wait) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;

    #[test]
    fn what_a_user_asks_for_is_read() {
        let asked = |algorithm, capacity| Ok(Asked { algorithm, capacity });
        assert_eq!(Asked::parse("ring"), asked(Algorithm::Ring, None));
        assert_eq!(Asked::parse(" mpmc = 64 "), asked(Algorithm::Mpmc, Some(64)));
        for (text, error) in
            [("rong", NotAsked::Algorithm), ("", NotAsked::Algorithm), ("words=ring", NotAsked::Algorithm)]
        {
            assert_eq!(Asked::parse(text), Err(error), "{text}");
        }
        for text in ["ring=0", "ring=", "ring=x", "ring=1073741825", "ring=-1"] {
            assert_eq!(Asked::parse(text), Err(NotAsked::Capacity), "{text}");
        }
    }

    #[test]
    fn each_algorithm_holds_as_many_items_as_asked_and_drops_them_once() {
        let item = std::sync::Arc::new(());
        for algorithm in Algorithm::ALL {
            // SAFETY: this thread alone uses the queue.
            unsafe {
                let queue = Chosen::<Native, _>::of(algorithm, 3).unwrap();
                assert_eq!((queue.took(), queue.capacity()), (algorithm.name(), 3));
                for _ in 0..3 {
                    assert!(queue.try_enqueue(item.clone(), Wait::Pause).is_ok());
                }
                assert!(queue.try_enqueue(item.clone(), Wait::Pause).is_err(), "{algorithm:?}");
                assert!(queue.try_dequeue(Wait::Pause).is_some() && queue.len() == 2 && !queue.is_empty());
                drop(queue);
                assert!(Chosen::<Native, u8>::of(algorithm, 0).is_err());
            }
            assert_eq!(std::sync::Arc::strong_count(&item), 1, "{algorithm:?}");
        }
    }
}
