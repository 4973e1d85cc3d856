//! An image filter with a work queue (as in vips, or bodytrack's first stage): a blur, then a
//! gradient. Each pass goes over strips of rows that threads take from a queue under a lock; all
//! threads meet between the passes.

use super::scale::Scale;
use crate::monitor::{Guarded, Kit};
use crate::places::Places;
use baton_machine::Machine;
use baton_machine::units::Cycles;
use baton_sync::barrier::{RawBarrier, central::Central};
use baton_workloads::{Body, Team, share, xorshift};
use core::num::NonZeroU32;
use std::sync::Arc;

/// Pixels that are read or written at once: a line of 64 bytes.
const BLOCK: usize = 64;

/// Cycles of a pixel in a pass: nine multiplications and additions, vectorised.
const CYCLES: u64 = 2;

/// A pass: weights of the 3 by 3 pixels around a pixel, one or two such sums, and a shift.
struct Pass {
    weights: &'static [[[i32; 3]; 3]],
    shift: u32,
}

const PASSES: [Pass; 2] = [
    Pass { weights: &[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]], shift: 4 },
    Pass { weights: &[[[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], [[-1, -2, -1], [0, 0, 0], [1, 2, 1]]], shift: 2 },
];

impl Pass {
    /// A row of the result, from the row above, the row and the row below it.
    fn row(&self, rows: [&[u8]; 3]) -> Vec<u8> {
        let last = rows[1].len() - 1;
        let pixel = |x: usize| {
            let near = [x.saturating_sub(1), x, (x + 1).min(last)];
            let sum = |weights: &[[i32; 3]; 3]| -> i32 {
                let parts = weights.iter().zip(rows).flat_map(|(weights, row)| {
                    weights.iter().zip(near).map(move |(weight, x)| weight * i32::from(row[x]))
                });
                parts.sum()
            };
            let size: i32 = self.weights.iter().map(|weights| sum(weights).abs()).sum();
            (size >> self.shift).min(255) as u8
        };
        (0..=last).map(pixel).collect()
    }
}

/// The input: soft shapes with noise.
fn input(scale: Scale) -> Vec<u8> {
    let mut state = scale.seed | 1;
    let side = u64::from(scale.size);
    let pixel = |at: u64| {
        let (x, y) = (at % side, at / side);
        let shape = (x * x + y * y * 3) / 97 + if (x / 19 + y / 23).is_multiple_of(2) { 90 } else { 0 };
        (shape.wrapping_add(xorshift(&mut state) >> 60) & 0xff) as u8
    };
    (0..side * side).map(pixel).collect()
}

/// Computes the image on one thread.
fn plain(scale: Scale) -> Vec<u8> {
    let side = scale.size as usize;
    PASSES.iter().fold(input(scale), |image, pass| {
        let row = |y: usize| &image[y * side..(y + 1) * side];
        let rows = |y: usize| [row(y.saturating_sub(1)), row(y), row((y + 1).min(side - 1))];
        (0..side).flat_map(|y| pass.row(rows(y))).collect()
    })
}

/// An image in the machine's memory.
struct Image<M: Machine> {
    blocks: Places<M, [u8; BLOCK]>,
    side: usize,
}

impl<M: Machine> Image<M> {
    fn new(side: usize, pixels: &[u8]) -> Self {
        let block = |at: usize| core::array::from_fn(|x| pixels.get(at * BLOCK + x).copied().unwrap_or(0));
        Image { blocks: Places::new(side * side / BLOCK, block), side }
    }

    /// # Safety
    /// No thread writes the row meanwhile, and its writes happened before.
    unsafe fn read(&self, y: usize) -> Vec<u8> {
        let first = y * self.side / BLOCK;
        // SAFETY: the caller promises that no thread writes the row meanwhile.
        (first..first + self.side / BLOCK).flat_map(|at| unsafe { self.blocks.get(at) }).collect()
    }

    /// # Safety
    /// No other thread accesses the row meanwhile.
    unsafe fn write(&self, y: usize, row: &[u8]) {
        for (x, block) in row.chunks_exact(BLOCK).enumerate() {
            let block = core::array::from_fn(|x| block[x]);
            // SAFETY: the caller promises that no other thread accesses the row meanwhile.
            unsafe { self.blocks.set(y * self.side / BLOCK + x, block) };
        }
    }
}

/// The data that the threads share: the images before, between and after the passes, and a queue of
/// strips for each pass.
struct Data<M: Machine, K: Kit<M>> {
    images: [Image<M>; PASSES.len() + 1],
    queues: [baton_workloads::Shared<M, Guarded<M, K, u32>>; PASSES.len()],
    meeting: baton_workloads::Shared<M, Central<M>>,
}

/// Makes the threads of the program, and the check of their result.
pub(super) fn team<M: Machine, K: Kit<M>>(threads: u32, scale: Scale, kit: &K) -> Team {
    let (side, strip) = (scale.size as usize, scale.grain as usize);
    let participants = NonZeroU32::new(threads.max(1)).unwrap_or(NonZeroU32::MIN);
    let data = Arc::new(Data::<M, K> {
        images: [Image::new(side, &input(scale)), Image::new(side, &[]), Image::new(side, &[])],
        queues: core::array::from_fn(|pass| share::<M, _>(Guarded::new(kit, pass as u32, 0))),
        meeting: share::<M, _>(Central::new(participants)),
    });
    let body = |thread: u32| {
        let (data, kit) = (data.clone(), kit.clone());
        Box::new(move || {
            for (number, pass) in PASSES.iter().enumerate() {
                loop {
                    let taken = data.queues[number].with(&kit, |next| {
                        *next += 1;
                        *next as usize - 1
                    });
                    if taken * strip >= side {
                        break;
                    }
                    for y in taken * strip..(taken + 1) * strip {
                        let (from, to) = (&data.images[number], &data.images[number + 1]);
                        // SAFETY: all of `from` was written before the meeting; each row of `to` is
                        // in one strip.
                        unsafe {
                            let read = |y: usize| from.read(y);
                            let rows = [read(y.saturating_sub(1)), read(y), read((y + 1).min(side - 1))];
                            let row = pass.row([&rows[0], &rows[1], &rows[2]]);
                            M::work(Cycles(side as u64 * CYCLES));
                            to.write(y, &row);
                        }
                    }
                }
                data.meeting.wait(thread, kit.policy());
            }
        }) as Body
    };
    let bodies = (0..participants.get()).map(body).collect();
    let verify = move || {
        let expected = plain(scale);
        for (y, row) in expected.chunks_exact(side).enumerate() {
            // SAFETY: the threads have ended.
            if unsafe { data.images[PASSES.len()].read(y) } != row {
                return Err(format!("row {y} of the filtered image is not what one thread computes"));
            }
        }
        Ok(())
    };
    Team::new(bodies, Box::new(verify))
}
