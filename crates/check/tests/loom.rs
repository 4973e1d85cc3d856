//! Every algorithm on the machine `loom`.

use baton_check::mutant::{MUTANT, SITES};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

mod machine {
    baton_check::machine_suite!(baton_check::world::Loom);
}

mod locks {
    baton_check::lock_suite!(baton_check::world::Loom);

    /// Tests a barging lock whose first waiter is granted the lock at its first sleep. The default
    /// of 16 sleeps is more than a checker can explore.
    #[test]
    fn a_barging_lock_that_is_granted() {
        use baton_check::contract::{ability, lock};
        use baton_check::world::{Loom, World};
        use baton_sync::lock::barging::Barging;
        use baton_sync::lock::mcs_barging::McsQueue;
        type M = <Loom as World>::M;
        type Granted = Barging<M, McsQueue<M>, 0>;
        lock::exclusion::<Loom, Granted>();
        lock::freed_by_the_last::<Loom, Granted>();
        ability::tries_among_waiters::<Loom, Granted>();
    }

    /// Tests a fair lock that hands itself over whenever a thread waits. The default of 500
    /// microseconds does not pass in a checker's execution.
    #[test]
    fn a_fair_lock_without_patience() {
        use baton_check::contract::{ability, lock};
        use baton_check::world::{Loom, World};
        type Hurried = baton_sync::lock::fair::Fair<<Loom as World>::M, 0>;
        lock::exclusion::<Loom, Hurried>();
        lock::freed_by_the_last::<Loom, Hurried>();
        ability::giving_up_together::<Loom, Hurried>();
    }
}

mod barriers {
    baton_check::barrier_suite!(baton_check::world::Loom);

    /// With four participants per node, a tree that loom can explore has one node. With two, it has
    /// a leaf for two, a leaf for one, and a root.
    #[test]
    fn a_tree_with_a_root_above_its_leaves() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Crowd, Loom, World};
        use baton_sync::barrier::tree::Tree;
        type M = <Loom as World>::M;
        let crowd = Crowd { guests: 3, rounds: 1 };
        meet::<Loom, Tree<M>>(crowd, baton_machine::Wait::Pause, |n| Tree::with_fan_in(n, 2));
    }

    /// Tests barriers that know where participants are: two participants at one node and one at
    /// another, then one at each of two nodes, which meet three times.
    #[test]
    fn two_levels_of_known_places() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Crowd, Loom, World};
        use baton_sync::barrier::two_level::TwoLevel;
        type M = <Loom as World>::M;
        let wait = baton_machine::Wait::Pause;
        meet::<Loom, TwoLevel<M>>(Crowd { guests: 3, rounds: 1 }, wait, |_| TwoLevel::placed(&[1, 0, 1]));
        meet::<Loom, TwoLevel<M>>(Crowd { guests: 2, rounds: 3 }, wait, |_| TwoLevel::placed(&[0, 1]));
    }

    /// Tests a barrier that learns where its two participants are, in five meetings: one finds who
    /// was last where, one finds a stranger, one is a census, and two use two levels.
    #[test]
    fn two_levels_of_places_to_learn() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Crowd, Loom, World};
        use baton_sync::barrier::{RawBarrier, two_level::TwoLevel};
        type M = <Loom as World>::M;
        let wait = baton_machine::Wait::Pause;
        meet::<Loom, TwoLevel<M>>(Crowd { guests: 2, rounds: 5 }, wait, TwoLevel::new);
    }

    /// Tests counters by core: two participants on one core, which has a counter, and one on
    /// another core; then two participants whose places are learnt.
    #[test]
    fn levels_of_parts() {
        use baton_check::contract::barrier::meet;
        use baton_check::world::{Crowd, Loom, World};
        use baton_machine::Site;
        use baton_sync::barrier::{RawBarrier, levels::Levels};
        type M = <Loom as World>::M;
        let wait = baton_machine::Wait::Pause;
        let placed = |_| Levels::placed(&[0, 1, 0].map(|core| Site { core, ..Site::default() }));
        meet::<Loom, Levels<M>>(Crowd { guests: 3, rounds: 1 }, wait, placed);
        meet::<Loom, Levels<M>>(Crowd { guests: 2, rounds: 4 }, wait, Levels::new);
    }

    /// Each participant drops out in turn, possibly as the last to arrive; the other two see what
    /// each did before.
    #[test]
    fn the_last_drops_out() {
        use baton_check::contract::barrier::drop_out;
        use baton_check::world::{Loom, World};
        use baton_sync::barrier::{RawBarrier, central::Central, gomp::Gomp};
        type M = <Loom as World>::M;
        let wait = baton_machine::Wait::Pause;
        drop_out::<Loom, Central<M>>(3, 0, wait, Central::new);
        drop_out::<Loom, Gomp<M>>(3, 0, wait, Gomp::new);
    }

    /// A participant drops out of a barrier that counts by parts of the machine: parts that are
    /// known, parts that were learnt, and parts that are being learnt.
    #[test]
    fn dropping_out_of_parts() {
        use baton_check::contract::barrier::drop_out;
        use baton_check::world::{Loom, World};
        use baton_machine::Site;
        use baton_sync::barrier::{RawBarrier, levels::Levels, two_level::TwoLevel};
        type M = <Loom as World>::M;
        let wait = baton_machine::Wait::Pause;
        let placed = |_| Levels::placed(&[0, 1, 0].map(|core| Site { core, ..Site::default() }));
        drop_out::<Loom, Levels<M>>(3, 0, wait, placed);
        drop_out::<Loom, TwoLevel<M>>(3, 0, wait, |_| TwoLevel::placed(&[1, 0, 1]));
        drop_out::<Loom, Levels<M>>(2, 1, wait, Levels::new);
        drop_out::<Loom, TwoLevel<M>>(2, 1, wait, TwoLevel::new);
        drop_out::<Loom, TwoLevel<M>>(2, 2, wait, TwoLevel::new);
    }

    /// A bare barrier must outlive the threads that it lets go, because one of them looks at it
    /// while another frees it.
    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_barrier_that_nothing_outlives() {
        use baton_check::contract::barrier::end;
        use baton_check::world::{Loom, World};
        use baton_sync::barrier::central::Central;
        end::<Loom, Central<<Loom as World>::M>>(baton_machine::Wait::Pause);
    }
}

mod events {
    baton_check::event_suite!(baton_check::world::Loom);
}

mod queues {
    baton_check::queue_suite!(baton_check::world::Loom);
}

mod deque {
    baton_check::deque_suite!(baton_check::world::Loom);
}

mod rwlocks {
    baton_check::rwlock_suite!(baton_check::world::Loom);
}

mod semaphores {
    baton_check::semaphore_suite!(baton_check::world::Loom);
}

mod channels {
    baton_check::channel_suite!(baton_check::world::Loom);
}

mod watched {
    baton_check::watched_suite!(baton_check::world::Loom);
}

mod lending {
    baton_check::lend_suite!(baton_check::world::Loom);
}

mod segments {
    baton_check::segments_suite!(baton_check::world::Loom, baton_check::world::Brief; of_one 1, of_two 2);
}

mod flows {
    baton_check::flow_suite!(steps baton_check::world::Loom);
}

mod once {
    baton_check::once_suite!(baton_check::world::Loom);
}

#[test]
fn every_algorithm_is_in_a_suite_here() {
    baton_check::complete::assert_complete();
}

/// How long a run of this program may take. This is many times the usual time, because loom
/// explores more where less is ordered.
const PATIENCE: Duration = Duration::from_secs(100);

/// Runs this program's tests of the queue `qmd`, with one fence left out or none. Returns whether
/// they passed, and the places of the fences.
fn run_qmd(mutant: Option<&str>, folder: &Path) -> (bool, Vec<String>) {
    let [sites, said] = ["sites", "said"].map(|name| folder.join(name));
    std::fs::write(&sites, "").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("queues::qmd::").env_remove(MUTANT).env(SITES, &sites).env("RUST_BACKTRACE", "0");
    mutant.map(|mutant| command.env(MUTANT, mutant));
    let mut child = command.stdout(std::fs::File::create(&said).unwrap()).spawn().unwrap();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{mutant:?}: the tests of qmd do not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let said = std::fs::read_to_string(&said).unwrap();
    assert!(said.contains("test queues::qmd::transfer"), "{said}");
    assert!(status.success() || said.contains("Causality violation"), "{mutant:?}: {said}");
    let places = std::fs::read_to_string(&sites).unwrap();
    let fences = places.lines().filter(|line| line.contains("queue/qmd.rs:") && line.contains(" fence fence="));
    (status.success(), fences.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect())
}

/// The reference device's dequeue orders nothing, so the acquire after each dequeue of `qmd` is
/// needed.
#[test]
fn loom_objects_to_each_fence_that_is_left_out_of_qmd() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("qmd-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (passes, mut fences) = run_qmd(None, &folder);
    assert!(passes, "the tests of qmd fail as they are");
    fences.sort_unstable();
    fences.dedup();
    assert_eq!(fences.len(), 3, "try_dequeue, dequeue and dequeue_all have a fence each: {fences:?}");
    for fence in fences {
        let (passes, _) = run_qmd(Some(&format!("{fence}:fence=none")), &folder);
        assert!(!passes, "no test objects where the fence at {fence} is left out");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
