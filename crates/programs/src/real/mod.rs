//! Real programs: they read and write their data through the machine, and their results are
//! compared with those of a plain run.
//!
//! Each program is a small relative of a kind that PARSEC or SPEC OMP2012 has. The program computes
//! on the host with data that it has read through the machine, and charges the machine for the
//! computation: cycles per byte, point or cell, stated as constants in the program's file.
//!
//! | file | holds |
//! | --- | --- |
//! | `program` | the programs by name, with the limits of their scales |
//! | `scale` | the scale of a program |
//! | `named` | the programs as workloads, with a lock by name |
//! | [`pool`] | a bag of tasks that threads share |
//! | [`image`] | an image filter with a work queue |
//! | [`dedup`] | a pipeline: chunk, hash, look up, compress, write in order |
//! | [`kdtree`] | a k-d tree, built by tasks that split ranges |
//! | [`sort`] | a merge sort by tasks |
//! | [`align`] | a sequence alignment, a wave of tasks over blocks |

mod align;
mod dedup;
mod image;
mod kdtree;
mod named;
mod pool;
mod program;
mod scale;
mod sort;

pub use named::{Align, Dedup, ImageFilter, KdTree, Sort, Whole};
pub use program::{Info, Program};
pub use scale::{BadScale, Scale};
