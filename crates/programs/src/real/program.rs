//! The programs by name, with the limits of their scales.

use super::scale::{BadScale, Scale};
use super::{align, dedup, image, kdtree, sort};
use crate::monitor::Kit;
use baton_machine::Machine;
use baton_workloads::Team;

/// A program by name.
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

/// The name, description and limits of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The name on the command line.
    pub name: &'static str,
    /// One line that says what the program does.
    pub what: &'static str,
    /// The things that [`Scale::size`] counts.
    pub size: &'static str,
    /// The things that [`Scale::grain`] counts: the smaller the grain, the more often threads take
    /// locks.
    pub grain: &'static str,
    /// The usual scale of the program.
    pub usual: Scale,
    /// The smallest and the largest size, powers of two.
    pub sizes: (u32, u32),
    /// The smallest and the largest grain, powers of two; a grain is at most the size.
    pub grains: (u32, u32),
}

impl Program {
    /// All programs.
    pub const ALL: [Program; 5] =
        [Program::ImageFilter, Program::Dedup, Program::KdTree, Program::Sort, Program::Align];

    /// The program with that name.
    pub fn named(name: &str) -> Option<Program> {
        Program::ALL.into_iter().find(|program| program.info().name == name)
    }

    /// The name, description and limits of the program.
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

    /// Checks that the program can run in this scale.
    ///
    /// # Errors
    /// The first number that is outside of its limits.
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

    /// Returns the threads. Their check compares the result with the result of a plain sequential
    /// run.
    ///
    /// # Errors
    /// Those of [`Program::check`].
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
