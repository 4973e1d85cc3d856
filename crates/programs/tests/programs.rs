//! Every program on the real machine, with several numbers of threads and kinds of locks: each
//! compares its result with a plain run itself. (`crates/chip/tests/run/programs.rs` has them on a
//! simulated chip.)
#![expect(clippy::disallowed_methods, reason = "the workload runs on the native machine")]

use baton_machine::{Native, Wait};
use baton_programs::kernels::{Kernel, KernelScale};
use baton_programs::monitor::Locks;
use baton_programs::real::{Program, Scale};
use baton_sync::barrier::{central::Central, dissemination::Dissemination};
use baton_sync::lock::{RawLock, mcs::Mcs, spin_park::SpinPark};
use baton_workloads::{Silent, Team};

fn run(team: Team) -> Result<(), String> {
    let threads: Vec<_> = team.bodies.into_iter().map(std::thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    (team.verify)()
}

/// A small scale of a program.
fn small(program: Program) -> Scale {
    let (size, grain) = match program {
        Program::ImageFilter => (64, 4),
        Program::Dedup => (8192, 512),
        Program::KdTree | Program::Sort => (512, 8),
        Program::Align => (64, 8),
    };
    Scale { size, grain, seed: 7 }
}

fn all<L: RawLock<Native>>(wait: Wait) {
    let kit = Locks::<L, _>::new(wait, Silent);
    for program in Program::ALL {
        for threads in [1, 4, 16] {
            let team = program.team::<Native, _>(threads, small(program), &kit).unwrap();
            assert_eq!(run(team), Ok(()), "{program:?} with {threads} threads");
        }
    }
}

#[test]
fn results_are_right_with_a_queue_lock() {
    all::<Mcs<Native>>(Wait::Futex);
}

#[test]
fn results_are_right_with_a_barging_lock() {
    all::<SpinPark<Native>>(Wait::SpinPark(8));
}

#[test]
fn a_program_that_was_cut_short_is_noticed() {
    let kit = Locks::<Mcs<Native>, _>::new(Wait::Futex, Silent);
    for program in Program::ALL {
        let team = program.team::<Native, _>(2, small(program), &kit).unwrap();
        assert!((team.verify)().is_err(), "{program:?} has computed nothing and says that it is right");
    }
}

#[test]
fn scales_that_cannot_be_are_refused() {
    let kit = Locks::<Mcs<Native>, _>::new(Wait::Futex, Silent);
    let refused = |size, grain| {
        let scale = Scale { size, grain, seed: 1 };
        Program::Sort.team::<Native, _>(2, scale, &kit).map(drop).unwrap_err().to_string()
    };
    let why = refused(100, 4);
    assert_eq!(why, "program `sort`: its size (keys) is 100; expected a power of two from 16 to 4194304");
    assert!(refused(64, 128).ends_with("is 128; expected a power of two from 2 to 64"), "{}", refused(64, 128));
    for program in Program::ALL {
        let info = program.info();
        assert_eq!(Program::named(info.name), Some(program));
        assert!(program.team::<Native, _>(1, info.usual, &kit).is_ok(), "{}", info.name);
    }
}

/// The kernels in scales that are small beside their usual ones, called through the public
/// interface. (Their own tests also leave parts of their work out.)
#[test]
fn kernels_are_right_with_any_lock_and_barrier() {
    for kernel in Kernel::ALL {
        let usual = kernel.usual();
        let scale = KernelScale { size: (usual.size / 2).max(kernel.info().size.least), ..usual };
        let queue = Locks::<Mcs<Native>, _>::new(Wait::Futex, Silent);
        let team = kernel.team::<Native, _, Central<Native>>(4, scale, &queue).unwrap();
        assert_eq!(run(team), Ok(()), "{kernel:?}");
        let barging = Locks::<SpinPark<Native>, _>::new(Wait::SpinPark(8), Silent);
        let team = kernel.team::<Native, _, Dissemination<Native>>(3, scale, &barging).unwrap();
        assert_eq!(run(team), Ok(()), "{kernel:?}");
        // A kernel whose threads have computed nothing fails its check.
        let team = kernel.team::<Native, _, Central<Native>>(2, scale, &queue).unwrap();
        assert!((team.verify)().is_err(), "{kernel:?}");
    }
}

#[test]
fn scales_that_a_kernel_cannot_have_are_refused() {
    let refused = |kernel: Kernel, scale: KernelScale| kernel.check(scale).unwrap_err().to_string();
    let scale = Kernel::Ft.usual();
    let why = refused(Kernel::Ft, KernelScale { size: 24, ..scale });
    assert_eq!(why, "program `ft`: its size (points a side) is 24; expected a power of two from 8 to 64");
    let why = refused(Kernel::Ft, KernelScale { grain: 4, ..scale });
    assert_eq!(why, "program `ft`: its grain, which it does not have, is 4; expected none");
    let why = refused(Kernel::Ft, KernelScale { rounds: 101, ..scale });
    assert_eq!(why, "program `ft`: its number of rounds (steps of time) is 101; expected from 1 to 100");
    let why = refused(Kernel::Ep, KernelScale { size: 256, grain: 512, ..Kernel::Ep.usual() });
    assert!(why.ends_with("is 512; expected a power of two from 4 to 256"), "{why}");
    for kernel in Kernel::ALL {
        assert_eq!((kernel.check(kernel.usual()), Kernel::named(kernel.info().name)), (Ok(()), Some(kernel)));
    }
}
