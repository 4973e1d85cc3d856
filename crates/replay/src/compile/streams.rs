//! Pipes, sockets and eventfds by address: which steps of threads moved their bytes.

use baton_trace::Address;
use std::collections::{BTreeMap, VecDeque};

/// What has gone through a stream so far. Steps of threads are numbered by
/// [`Tokens::step`](super::tokens::Tokens::step).
#[derive(Default)]
pub(crate) struct Flow {
    pub(crate) put: u64,
    pub(crate) taken: u64,
    /// The writes whose last byte has not been read yet: the number of bytes up to the write's end, and the step.
    pub(crate) unread: VecDeque<(u64, u32)>,
    pub(crate) last_take: Option<u32>,
    pub(crate) closed: Option<u32>,
    /// Number of threads that wait for bytes, and of those that wait for room.
    pub(crate) readers: u32,
    pub(crate) writers: u32,
    /// For each thread, the last step for which it waited here.
    pub(crate) waited_for: BTreeMap<u32, u32>,
}

/// The streams of a recording by their addresses, which all processes share.
#[derive(Default)]
pub(crate) struct Streams(BTreeMap<Address, Flow>);

impl Streams {
    /// Returns the stream at an address.
    pub(crate) fn at(&mut self, stream: Address) -> &mut Flow {
        self.0.entry(stream).or_default()
    }

    pub(crate) fn note(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| {
            "pipes, sockets and eventfds are replayed with the recorded order of their bytes: a read waits for the write of its \
             first byte"
                .to_owned()
        })
    }
}
