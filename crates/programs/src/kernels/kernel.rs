//! The kernels by name, with the limits of their scales.

use super::scale::KernelScale;
use super::scene::Scene;
use super::{ep, fft, ft, mg, search};
use crate::monitor::Kit;
use crate::real::BadScale;
use baton_machine::Machine;
use baton_sync::barrier::RawBarrier;
use baton_workloads::Team;
use core::num::NonZeroU32;

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// EP of the NAS benchmarks.
    Ep,
    /// FT of the NAS benchmarks.
    Ft,
    /// MG of the NAS benchmarks.
    Mg,
    /// A search like BLAST's.
    Search,
    /// A transform like SPLASH-2's.
    Fft,
}

/// A number that a kernel can be given: its unit, its usual value and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The things that the number counts.
    pub of: &'static str,
    /// The usual value.
    pub usual: u32,
    /// The smallest value.
    pub least: u32,
    /// The largest value.
    pub most: u32,
}

/// The name, description and numbers of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line that says what the kernel does.
    pub what: &'static str,
    /// Limits of [`KernelScale::size`], a power of two.
    pub size: Count,
    /// Limits of [`KernelScale::grain`], a power of two that is at most the size. `None`: the
    /// kernel has no grain.
    pub grain: Option<Count>,
    /// Limits of [`KernelScale::rounds`]. `None`: the kernel has no rounds.
    pub rounds: Option<Count>,
}

const fn count(of: &'static str, usual: u32, least: u32, most: u32) -> Count {
    Count { of, usual, least, most }
}

impl Kernel {
    /// All kernels.
    pub const ALL: [Kernel; 5] = [Kernel::Ep, Kernel::Ft, Kernel::Mg, Kernel::Search, Kernel::Fft];

    /// The kernel with that name.
    pub fn named(name: &str) -> Option<Kernel> {
        Kernel::ALL.into_iter().find(|kernel| kernel.info().name == name)
    }

    /// The name, description and numbers of the kernel.
    pub const fn info(self) -> KernelInfo {
        match self {
            Kernel::Ep => KernelInfo {
                name: "ep",
                what: "A kernel: pairs of normally distributed numbers, counted by size (as NAS' EP)",
                size: count("pairs", 1 << 16, 1 << 8, 1 << 24),
                grain: Some(count("pairs a batch", 256, 4, 1 << 16)),
                rounds: None,
            },
            Kernel::Ft => KernelInfo {
                name: "ft",
                what: "A kernel: a differential equation by Fourier transforms in three dimensions (as NAS' FT)",
                size: count("points a side", 16, 8, 64),
                grain: None,
                rounds: Some(count("steps of time", 2, 1, 100)),
            },
            Kernel::Mg => KernelInfo {
                name: "mg",
                what: "A kernel: a multigrid solver in three dimensions (as NAS' MG)",
                size: count("points a side", 16, 8, 64),
                grain: Some(count("points a side of grids that one thread works on alone", 4, 1, 64)),
                rounds: Some(count("V-cycles", 2, 1, 100)),
            },
            Kernel::Search => KernelInfo {
                name: "search",
                what: "A kernel: queries sought in a database, by words that are extended (as BLAST)",
                size: count("letters of the database", 1 << 14, 1 << 10, 1 << 20),
                grain: Some(count("letters a query", 64, 32, 1 << 12)),
                rounds: Some(count("queries", 104, 1, 1 << 16)),
            },
            Kernel::Fft => KernelInfo {
                name: "fft",
                what: "A kernel: the Fourier transform of one line in six steps (as SPLASH-2's FFT)",
                size: count("rows, each of as many points", 64, 8, 512),
                grain: None,
                rounds: Some(count("transforms, one of the other's result", 1, 1, 100)),
            },
        }
    }

    /// The usual scale of the kernel.
    pub fn usual(self) -> KernelScale {
        let info = self.info();
        let usual = |count: Option<Count>| count.map_or(1, |count| count.usual);
        KernelScale { size: info.size.usual, grain: usual(info.grain), rounds: usual(info.rounds), seed: 1 }
    }

    /// Checks that the kernel can run in this scale.
    ///
    /// # Errors
    /// The first number that is outside of its limits.
    pub fn check(self, scale: KernelScale) -> Result<(), BadScale> {
        let info = self.info();
        let check = |what: &str, count: Option<Count>, found: u32, most: u32, power: bool| {
            let bad = |what, expected| Err(BadScale { program: info.name, what, found, expected });
            let Some(count) = count else {
                return if found == 1 {
                    Ok(())
                } else {
                    bad(format!("its {what}, which it does not have,"), "none".into())
                };
            };
            let most = count.most.min(most);
            if (count.least..=most).contains(&found) && (found.is_power_of_two() || !power) {
                return Ok(());
            }
            let kind = if power { "a power of two " } else { "" };
            bad(format!("its {what} ({})", count.of), format!("{kind}from {} to {most}", count.least))
        };
        check("size", Some(info.size), scale.size, u32::MAX, true)?;
        check("grain", info.grain, scale.grain, scale.size, true)?;
        check("number of rounds", info.rounds, scale.rounds, u32::MAX, false)
    }

    /// The threads, with a lock of the kit and a barrier of type `B`. The check compares the result
    /// with the expected result.
    ///
    /// # Errors
    /// Those of [`Kernel::check`].
    pub fn team<M: Machine, K: Kit<M>, B: RawBarrier<M>>(
        self,
        threads: u32,
        scale: KernelScale,
        kit: &K,
    ) -> Result<Team, BadScale> {
        self.check(scale)?;
        let threads = NonZeroU32::new(threads).unwrap_or(NonZeroU32::MIN);
        let meet = Scene::meeting::<M, B>(threads, kit.policy());
        Ok(self.on::<M>(&Scene::of(threads, scale, meet, Scene::turns::<M, K>(kit))))
    }

    /// The threads of the kernel on a scene.
    pub(super) fn on<M: Machine>(self, scene: &Scene) -> Team {
        match self {
            Kernel::Ep => ep::team::<M>(scene),
            Kernel::Ft => ft::team::<M>(scene),
            Kernel::Mg => mg::team::<M>(scene),
            Kernel::Search => search::team::<M>(scene),
            Kernel::Fft => fft::team::<M>(scene),
        }
    }
}
