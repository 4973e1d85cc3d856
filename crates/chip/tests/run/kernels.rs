//! The real kernels on simulated chips: results are right at any number of threads, also while a
//! policy moves threads between fast and slow cores, and the same run comes out the same.

use crate::recorder::Recorder;
use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn};
use baton_machine::Wait;
use baton_programs::kernels::{Kernel, KernelScale};
use baton_programs::monitor::Locks;
use baton_sync::barrier::{RawBarrier, central::Central, dissemination::Dissemination};
use baton_sync::lock::{RawLock, mcs::Mcs, spin_park::SpinPark};

/// A chip of four cores on a mesh or, with a policy, of one fast core and twelve slow ones.
fn chip(policy: Option<&str>) -> Chip {
    let Some(policy) = policy else {
        let text = include_str!("../../../../chips/ocor64.toml");
        return Chip::from_toml_at(text, "ocor64.toml", Some(4), &[]).unwrap();
    };
    let text = include_str!("../../../../chips/barcelona-amp.toml");
    // The keys of chips/1fc-12sc.toml, and time slices that are short compared with a small kernel.
    let settings = ["core.clocks=4-15:1_150_000_000", "os.off=1-3", "os.time_slice=20000", "os.amp.swap_ticks=1"];
    let mut all: Vec<String> = settings.map(str::to_owned).into();
    all.push(format!("os.scheduler={policy}"));
    Chip::from_toml_with(text, "barcelona-amp.toml", &all).unwrap()
}

fn small(kernel: Kernel) -> KernelScale {
    let (size, grain, rounds) = match kernel {
        Kernel::Ep => (1 << 12, 32, 1),
        Kernel::Ft => (8, 1, 1),
        Kernel::Mg => (8, 2, 1),
        Kernel::Search => (1 << 11, 64, 30),
        Kernel::Fft => (16, 1, 1),
    };
    KernelScale { size, grain, rounds, seed: 3 }
}

/// Runs a kernel. Returns the outcome, and how often the kernel's locks were taken.
fn run<L: RawLock<Simulated>, B: RawBarrier<Simulated>>(
    kernel: Kernel,
    (chip, threads, wait): (&Chip, u32, Wait),
) -> (Outcome, u64) {
    let options = Options { heap_bytes: 8 << 20, threads: threads as usize, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).unwrap();
    let recorder = Recorder::default();
    let kit = Locks::<L, _>::new(wait, recorder.clone());
    let team = simulation.outside(|| kernel.team::<Simulated, _, B>(threads, small(kernel), &kit)).unwrap();
    for body in team.bodies {
        simulation.spawn(Spawn::default(), body).unwrap();
    }
    let outcome = simulation.run().unwrap();
    assert!(outcome.finished, "{kernel:?}");
    assert_eq!(simulation.outside(team.verify), Ok(()), "{kernel:?} with {threads} threads");
    let taken = recorder.0.acquisitions();
    (outcome, taken)
}

#[test]
fn kernels_are_right_at_any_number_of_threads() {
    let chip = chip(None);
    for kernel in Kernel::ALL {
        for threads in [1, 4, 16] {
            let with = (&chip, threads, Wait::SpinPark(16));
            let (_, taken) = run::<SpinPark<Simulated>, Central<Simulated>>(kernel, with);
            // Each thread takes the lock to bring its result. In a search, each query is taken
            // under the lock as well, and each thread once finds no query left.
            let expected = if kernel == Kernel::Search { u64::from(2 * threads) + 30 } else { u64::from(threads) };
            assert_eq!(taken, expected, "{kernel:?} with {threads} threads");
        }
        run::<Mcs<Simulated>, Dissemination<Simulated>>(kernel, (&chip, 4, Wait::Pause));
    }
}

/// Runs a kernel under a policy that moves its threads.
fn moved(kernel: Kernel, policy: &str) -> (Outcome, u64) {
    let ran = run::<SpinPark<Simulated>, Central<Simulated>>(kernel, (&chip(Some(policy)), 13, Wait::SpinPark(16)));
    let moves: u64 = ran.0.apps.iter().filter_map(|app| app.amp).map(|amp| amp.migrations).sum();
    assert!(moves > 0, "{kernel:?} under {policy} moves no thread");
    ran
}

#[test]
fn kernels_are_right_while_threads_are_moved() {
    for kernel in Kernel::ALL {
        moved(kernel, "pa");
    }
    moved(Kernel::Search, "rr");
    moved(Kernel::Search, "crit");
}

#[test]
fn a_kernel_whose_threads_are_moved_comes_out_the_same() {
    assert_eq!(moved(Kernel::Search, "pa"), moved(Kernel::Search, "pa"));
}

#[test]
fn more_threads_are_faster() {
    let chip = chip(None);
    for kernel in [Kernel::Ep, Kernel::Ft] {
        let run = |threads| run::<Mcs<Simulated>, Central<Simulated>>(kernel, (&chip, threads, Wait::Pause)).0.cycles.0;
        let (one, four) = (run(1), run(4));
        assert!(four * 3 < one * 2, "{kernel:?}: {one} cycles with one thread, {four} with four");
    }
}
