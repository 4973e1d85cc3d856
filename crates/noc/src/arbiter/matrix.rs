//! Matrix arbiter: the requester that was served least recently wins.
//!
//! Hardware keeps a triangular matrix of bits that encodes the order of last service. This code
//! keeps the same order as one stamp per requester. Source: Dally and Towles, "Principles and
//! Practices of Interconnection Networks", section 18.5.

use super::contract::{Arbiter, ArbiterInfo, Contender, Registered};

/// Prefers the requester that was served least recently.
#[derive(Clone, Copy, Debug, Default)]
pub struct Matrix;

impl Registered for Matrix {
    const INFO: ArbiterInfo = ArbiterInfo { name: "matrix", what: "the least recently served first", starves: false };
}

impl Arbiter for Matrix {
    /// The last entry counts services; each other entry is the count at which that requester was
    /// last served.
    type State = Box<[u64]>;

    fn state(&self, requesters: usize) -> Box<[u64]> {
        (0..=requesters as u64).collect()
    }

    #[inline]
    fn key(&self, served: &Box<[u64]>, requester: u32, _who: impl FnOnce() -> Contender) -> u64 {
        served[requester as usize]
    }

    #[inline]
    fn won(&self, served: &mut Box<[u64]>, requester: u32) {
        let clock = served.len() - 1;
        served[requester as usize] = served[clock];
        served[clock] += 1;
    }
}
