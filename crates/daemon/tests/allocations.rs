//! A thread that runs and sleeps as before costs no memory: most of what the daemon hears is that.

use baton_daemon::core::Core;
use baton_daemon::input::{Begins, Input};
use baton_daemon::policies;
use baton_daemon::setup::{App, Setup};
use baton_sched::{AppId, Cpu, Cpus, FULL_SPEED, ThreadId};
use baton_units::{CoreId, CpuId};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An allocator that counts allocations.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator with the caller's own arguments; counting
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        // SAFETY: the caller fulfils the contract of `alloc`, which is the same for the system's
        // allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the contract of `dealloc`, which is the same for the system's
        // allocator.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn setup(policy: &str) -> Setup {
    let cpu =
        |id: u32| Cpu { core: CoreId(id), cluster: 0, socket: 0, kind: id, speed: FULL_SPEED, fast: Some(id == 0) };
    let apps = vec![App { name: "x".into(), speedup: Some(1500) }];
    let policy = policies::find(policy).unwrap();
    Setup { policy, slice_ns: 10_000_000, cpus: Cpus(vec![cpu(0), cpu(1)]), usable: vec![true; 2], apps }
}

/// This is a single test, so that nothing else allocates meanwhile.
#[test]
fn a_thread_that_runs_and_sleeps_costs_no_memory() {
    for policy in ["busy-fcs", "rr", "min-tlp", "pa", "static-ipc", "pa-speedup"] {
        let mut core = Core::new(setup(policy));
        for id in 0..200 {
            let begins =
                Begins { app: AppId(0), pid: 7, tid: 7 + id, cpus: vec![0, 1], young: false, inherited: false };
            core.hear(0, &Input::Begins(ThreadId(id), begins)).unwrap();
        }
        // One thread after the other has the fast CPU for a while.
        let mut rounds = |from: u64, to: u64| {
            let before = CALLS.load(Relaxed);
            for round in from..to {
                let (now, id) = (round * 500_000, ThreadId(round as u32 % 200));
                let decisions = [
                    core.hear(now, &Input::Runs(id, CpuId(0))),
                    core.hear(now + 20_000, &Input::Sleeps(id)),
                    core.hear(now + 30_000, &Input::Tick),
                ];
                assert!(decisions.iter().all(|decisions| decisions.as_ref().unwrap().is_empty()), "{policy}");
            }
            CALLS.load(Relaxed) - before
        };
        rounds(0, 400);
        let took = rounds(400, 2_400);
        // Periods of the policies come every 100 ms, and may take memory.
        assert!(took <= 100, "{policy}: {took} allocations in 2,000 rounds");
    }
}
