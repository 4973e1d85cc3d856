//! Matrix arbiter: the least recently served requester wins.
//!
//! Hardware keeps a triangular matrix of bits; the order that it holds is the order of last service, which is kept
//! here as one stamp a requester. Source: Dally and Towles, "Principles and Practices of Interconnection Networks",
//! section 18.5.

use super::contract::{Arbiter, ArbiterInfo, Contender, Registered};

/// Least recently served first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Matrix;

impl Registered for Matrix {
    const INFO: ArbiterInfo = ArbiterInfo { name: "matrix", what: "the least recently served first", starves: false };
}

impl Arbiter for Matrix {
    /// Last entry: the clock of services; the others: when each requester was last served.
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
