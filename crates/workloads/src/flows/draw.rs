//! How often each flow comes, and the flows of a producer's packets.

use crate::{Refused, xorshift};

/// The share of the packets that each flow has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowShares {
    /// For each flow, the share of this flow and of those before, out of 2^32.
    up_to: Vec<u64>,
}

impl FlowShares {
    /// Flow k of `flows`, from 0, has a share as 1 / (k + 1) to the power `zipf`, and flow 0 has
    /// the share `elephant` beyond that.
    ///
    /// # Errors
    /// There is no flow, or more than 65,536 flows.
    pub fn new(flows: u32, zipf: f64, elephant: f64) -> Result<FlowShares, Refused> {
        if flows == 0 || flows > 1 << 16 {
            return Err(Refused::because(format!("{flows} flows; expected 1 to 65536")));
        }
        let weight = |flow: u32| f64::from(flow + 1).powf(-zipf);
        let sum: f64 = (0..flows).map(weight).sum();
        let mut before = elephant;
        let up_to = (0..flows).map(|flow| {
            before += (1.0 - elephant) * weight(flow) / sum;
            (before * (1u64 << 32) as f64) as u64
        });
        Ok(FlowShares { up_to: up_to.collect() })
    }

    /// The flow of a packet that drew `lot`.
    pub fn flow(&self, lot: u32) -> u16 {
        self.up_to.partition_point(|&up_to| up_to <= u64::from(lot)).min(self.up_to.len() - 1) as u16
    }
}

/// Draws flows by their shares.
pub(super) struct Draw<'a> {
    shares: &'a FlowShares,
    state: u64,
}

impl<'a> Draw<'a> {
    pub(super) fn new(shares: &'a FlowShares, seed: u64, producer: u32) -> Draw<'a> {
        let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(producer + 1) << 32;
        Draw { shares, state: seed | 1 }
    }

    pub(super) fn flow(&mut self) -> u16 {
        self.shares.flow((xorshift(&mut self.state) >> 32) as u32)
    }
}
