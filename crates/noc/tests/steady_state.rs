//! A warm network allocates nothing, and a large network takes little memory.

use baton_noc::arbiter::RoundRobin;
use baton_noc::topology::TopologyConfig;
use baton_noc::traffic::{Flow, Injector};
use baton_noc::{Config, Delivered, Network, Sink};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An allocator that counts allocations and the bytes that are held.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);
static HELD: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator with the caller's own arguments; counting
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        HELD.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller fulfils the contract of `alloc`, which is the same for the system's
        // allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: the caller fulfils the contract of `dealloc`, which is the same for the system's
        // allocator.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn delivered(&mut self, _packet: &Delivered) {
        self.0 += 1;
    }
}

/// This is a single test, so that nothing else allocates meanwhile.
#[test]
fn warm_networks_allocate_nothing_and_large_ones_are_small() {
    // The second configuration has several classes; the first is the reference.
    for config in [Config::default(), Config { classes: 2, ..Config::default() }] {
        let mut network = Network::with_arbiter(&config, RoundRobin).unwrap();
        let flow = Flow { rate: 0.3, ..Flow::default() };
        let mut injector = Injector::new(&flow, network.graph(), config.classes, 1, 0).unwrap();
        let mut sink = Count::default();
        let mut cycles = |n: u64| {
            let before = CALLS.load(Relaxed);
            for _ in 0..n {
                injector.poll(&mut network);
                network.step(&mut sink);
            }
            CALLS.load(Relaxed) - before
        };
        cycles(2000);
        assert_eq!(cycles(5000), 0);
        assert!(sink.0 > 10_000);
    }
    let before = HELD.load(Relaxed);
    let config = Config { topology: TopologyConfig::Mesh { size: [64, 64] }, ..Config::default() };
    let network = Network::with_arbiter(&config, RoundRobin).unwrap();
    let mib = (HELD.load(Relaxed) - before) >> 20;
    assert!(mib < 200 && network.nodes() == 4096, "{mib} MiB");
}
