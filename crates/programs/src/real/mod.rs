//! Real programs: they read and write their data through the machine, and their results are compared with a plain run.
//!
//! Each is a small relative of a kind that PARSEC or SPEC OMP2012 has. It computes on the host what it has read through
//! the machine, and charges the machine for it: cycles a byte, point or cell, stated as constants in its file.
//!
//! | file | holds |
//! | --- | --- |
//! | `mod.rs` | the programs by name, their sizes |
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
mod sort;

pub use named::{Align, Dedup, ImageFilter, KdTree, Sort, Whole};

use crate::monitor::Kit;
use baton_machine::Machine;
use baton_workloads::Team;
use thiserror::Error;

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Two passes of a filter over an image.
    ImageFilter,
    /// A deduplicating, compressing pipeline.
    Dedup,
    /// The build of a k-d tree.
    KdTree,
    /// A merge sort.
    Sort,
    /// A Smith-Waterman alignment of two sequences.
    Align,
}

/// What is said of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: what it does.
    pub what: &'static str,
    /// What [`Scale::size`] counts.
    pub size: &'static str,
    /// What [`Scale::grain`] counts: the smaller, the more often threads take locks.
    pub grain: &'static str,
    /// Its usual scale.
    pub usual: Scale,
    /// The smallest and the largest size; a power of two.
    pub sizes: (u32, u32),
    /// The smallest and the largest grain; a power of two, and no more than the size.
    pub grains: (u32, u32),
}

/// How large a program's input is, and in which pieces it is worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The input's size.
    pub size: u32,
    /// A piece's size.
    pub grain: u32,
    /// Seed of the input.
    pub seed: u64,
}

impl Scale {
    const fn usual(size: u32, grain: u32) -> Scale {
        Scale { size, grain, seed: 1 }
    }
}

/// A scale that a program cannot have.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("program `{program}`: {what} is {found}; expected {expected}")]
pub struct BadScale {
    /// The program.
    pub program: &'static str,
    /// Size or grain, and what it counts.
    pub what: String,
    /// What was asked for.
    pub found: u32,
    /// What can be.
    pub expected: String,
}

impl Program {
    /// All of them.
    pub const ALL: [Program; 5] =
        [Program::ImageFilter, Program::Dedup, Program::KdTree, Program::Sort, Program::Align];

    /// The program of that name.
    pub fn named(name: &str) -> Option<Program> {
        Program::ALL.into_iter().find(|program| program.info().name == name)
    }

    /// What is said of it.
    pub const fn info(self) -> Info {
        match self {
            Program::ImageFilter => Info {
                name: "image-filter",
                what: "blur and gradient of an image; strips come from a queue under a lock",
                size: "pixels a side",
                grain: "rows a strip",
                usual: Scale::usual(256, 2),
                sizes: (64, 4096),
                grains: (1, 4096),
            },
            Program::Dedup => Info {
                name: "dedup",
                what: "chunks a stream, hashes, looks up, compresses what is new, writes in order",
                size: "bytes of input",
                grain: "bytes a piece that a thread takes",
                usual: Scale::usual(65_536, 1024),
                sizes: (1024, 1 << 20),
                grains: (256, 1 << 16),
            },
            Program::KdTree => Info {
                name: "kdtree",
                what: "splits points at their median, range by range; ranges and nodes are given out under locks",
                size: "points",
                grain: "points of a range that becomes a leaf",
                usual: Scale::usual(2048, 16),
                sizes: (16, 1 << 20),
                grains: (2, 1 << 16),
            },
            Program::Sort => Info {
                name: "sort",
                what: "sorts ranges and merges them by tasks",
                size: "keys",
                grain: "keys a range that is sorted whole",
                usual: Scale::usual(4096, 64),
                sizes: (16, 1 << 22),
                grains: (2, 1 << 16),
            },
            Program::Align => Info {
                name: "align",
                what: "best local alignment of two sequences, a wave of tasks over blocks of the matrix",
                size: "letters a sequence",
                grain: "letters a side of a block",
                usual: Scale::usual(512, 16),
                sizes: (16, 1 << 15),
                grains: (2, 1 << 12),
            },
        }
    }

    /// Whether the program can be had in this scale.
    ///
    /// # Errors
    /// Why not.
    pub fn check(self, scale: Scale) -> Result<(), BadScale> {
        let info = self.info();
        let check = |what: &str, counts: &str, found: u32, (least, most): (u32, u32)| {
            if (least..=most).contains(&found) && found.is_power_of_two() {
                return Ok(());
            }
            let expected = format!("a power of two from {least} to {most}");
            Err(BadScale { program: info.name, what: format!("its {what} ({counts})"), found, expected })
        };
        check("size", info.size, scale.size, info.sizes)?;
        check("grain", info.grain, scale.grain, (info.grains.0, info.grains.1.min(scale.size)))
    }

    /// The threads. The check: the result is what a plain sequential run computes.
    ///
    /// # Errors
    /// As [`Program::check`].
    pub fn team<M: Machine, K: Kit<M>>(self, threads: u32, scale: Scale, kit: &K) -> Result<Team, BadScale> {
        self.check(scale)?;
        Ok(match self {
            Program::ImageFilter => image::team::<M, K>(threads, scale, kit),
            Program::Dedup => dedup::team::<M, K>(threads, scale, kit),
            Program::KdTree => kdtree::team::<M, K>(threads, scale, kit),
            Program::Sort => sort::team::<M, K>(threads, scale, kit),
            Program::Align => align::team::<M, K>(threads, scale, kit),
        })
    }
}
