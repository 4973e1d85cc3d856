//! Encodes the blocks for the page's script: base64 of variable-length numbers with seven bits per
//! byte.
//!
//! A lane is its number of blocks, followed by the blocks. A block is: the gap since the end of the
//! previous block (for the first one since the beginning of the timeline), the length, the tag, the
//! object + 1 (0 for none), and for a mixed block the number of pieces and each state's share of
//! the length in 255ths, one byte a state. The tag is the state of the longest piece, plus 16 for a
//! mixed block.

use super::lane::Lane;
use crate::export::varint;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use baton_units::Nanos;

const MIXED: u64 = 16;

pub(super) fn encode(lanes: &[Lane], start: Nanos) -> String {
    let mut bytes = Vec::new();
    for lane in lanes {
        varint(&mut bytes, lane.blocks.len() as u64);
        let mut at = start.0;
        for block in &lane.blocks {
            let length = block.end - block.start;
            varint(&mut bytes, block.start.saturating_sub(at));
            varint(&mut bytes, length);
            varint(&mut bytes, block.state as u64 + if block.pieces > 1 { MIXED } else { 0 });
            varint(&mut bytes, block.object.map_or(0, |o| u64::from(o) + 1));
            if block.pieces > 1 {
                varint(&mut bytes, block.pieces);
                bytes.extend(block.times.iter().map(|t| (t.saturating_mul(255) / length.max(1)).min(255) as u8));
            }
            at = block.end;
        }
    }
    STANDARD.encode(bytes)
}
