//! The kernels on this machine: right in small and in published scales, and wrong when a part of
//! them is lost.
#![expect(clippy::disallowed_methods, reason = "the workload runs on the native machine")]

use super::scene::Scene;
use super::{Kernel, KernelScale};
use crate::monitor::Locks;
use baton_machine::{Native, Wait};
use baton_sync::barrier::central::Central;
use baton_sync::lock::spin_park::SpinPark;
use baton_workloads::{Silent, Team};
use core::num::NonZeroU32;

const WAIT: Wait = Wait::SpinPark(8);

fn small(kernel: Kernel) -> KernelScale {
    let (size, grain, rounds) = match kernel {
        Kernel::Ep => (1 << 12, 32, 1),
        Kernel::Ft => (8, 1, 2),
        Kernel::Mg => (8, 2, 2),
        // The last one of 21 queries is a piece of the database, so losing it changes the result.
        Kernel::Search => (1 << 11, 64, 21),
        Kernel::Fft => (16, 1, 2),
    };
    // With this seed a charge of MG lies in the last row, so that no phase's last unit is all
    // zeros.
    KernelScale { size, grain, rounds, seed: 9 }
}

fn run(team: Team) -> Result<(), String> {
    let threads: Vec<_> = team.bodies.into_iter().map(std::thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    (team.verify)()
}

/// Runs a kernel of which a phase loses a part.
fn lost(kernel: Kernel, threads: u32, scale: KernelScale, phase: Option<u32>) -> Result<(), String> {
    let threads = NonZeroU32::new(threads).unwrap();
    let meet = Scene::meeting::<Native, Central<Native>>(threads, WAIT);
    let turn = Scene::turns::<Native, _>(&Locks::<SpinPark<Native>, _>::new(WAIT, Silent));
    let mut scene = Scene::of(threads, scale, meet, turn);
    scene.lost = phase;
    run(kernel.on::<Native>(&scene))
}

#[test]
fn results_are_right_with_any_number_of_threads() {
    for kernel in Kernel::ALL {
        for threads in [1, 3, 16] {
            assert_eq!(lost(kernel, threads, small(kernel), None), Ok(()), "{kernel:?} with {threads} threads");
        }
    }
}

/// Number of rounds of each kernel, and of phases in that many rounds.
const PHASES: [(Kernel, u32, u32); 5] =
    [(Kernel::Ep, 1, 3), (Kernel::Ft, 1, 12), (Kernel::Mg, 1, 14), (Kernel::Search, 21, 3), (Kernel::Fft, 1, 9)];

/// Each phase of each kernel loses its last unit, or, where one thread works alone, all its work.
#[test]
fn a_kernel_that_loses_a_part_of_any_phase_is_noticed() {
    for (kernel, rounds, phases) in PHASES {
        let scale = KernelScale { rounds, ..small(kernel) };
        let says = |phase| lost(kernel, 2, scale, Some(phase));
        let missed: Vec<u32> = (1..=phases).filter(|phase| says(*phase).is_ok()).collect();
        assert!(missed.is_empty(), "{kernel:?} loses a part of these phases and says that it is right: {missed:?}");
        // The table has all phases: to lose a part of the phase after the last changes nothing.
        assert_eq!(says(phases + 1), Ok(()), "{kernel:?}");
    }
}

/// The verification values of the NAS benchmarks' class S.
#[test]
fn published_results_come_out() {
    let class_s = [(Kernel::Ep, 1 << 24, 1 << 16, 1), (Kernel::Ft, 64, 1, 6), (Kernel::Mg, 32, 4, 4)];
    for (kernel, size, grain, rounds) in class_s {
        let scale = KernelScale { size, grain, rounds, seed: 1 };
        assert_eq!(lost(kernel, 2, scale, None), Ok(()), "{kernel:?}");
    }
}
